"""``isoglot align``: bitext in, word links out, by a statistical or an embedding-based aligner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from isoglot.align.align_statistics import Warnings, by_statistics
from isoglot.align.alignment import PairLinks
from isoglot.align.embedding.options import METHODS as EMBEDDING_METHODS
from isoglot.align.embedding.options import EmbeddingOptions
from isoglot.align.files.output import OUTPUT_FORMATS, write_corpus, write_lines
from isoglot.align.files.pairs import read_pairs
from isoglot.align.statistical.eflomal import METHOD as EFLOMAL
from isoglot.align.statistical.methods import METHODS as STATISTICAL_METHODS
from isoglot.align.statistical.model import AGREEMENT
from isoglot.corpus.encode.words import WordMode
from isoglot.corpus.read.sources import Source
from isoglot.errors import ConfigurationError
from isoglot.runs.files import refuse_overwriting

__all__ = ["AlignRequest", "align_file"]

# Outputs without word numbers, or with numbers that recipes read.
_UNNUMBERED = ("corpus", "offsets", "words")
# Pairs of a part on Ray: minutes of work on a CPU, and a multiple of the aligners' windows.
PART_PAIRS = 16_384

Found = Iterator[tuple[Any, PairLinks]]


@dataclass(frozen=True)
class AlignRequest:
    """What ``isoglot align`` is to do.

    Args:
        method: a statistical method, ``eflomal`` (an external program, which tells no probabilities) or one of
            :data:`isoglot.align.embedding.options.METHODS`.
        model: embedding methods: folder or hub name of the encoder.
        options: the method's own, by name.
        words: how text is cut into words.
        symmetrisation: statistical methods: how the two directions become one; by default the method's own.
        lowercase: statistical methods: compare words without case.
        load: statistical methods: a saved model to align with, instead of training one on the input.
        save: statistical methods: where to keep the model.
        also_train_on: statistical methods: more bitext to learn from; only the input is written.
        lexicon: statistical methods: write the translation table here, as MUSE does.
        min_probability: leave out links below this probability.
        min_score: leave out all links of a pair below this score.
        output: line format, or ``corpus`` for an ALIGNED corpus folder.
        base: what the first word is counted as in the output; by default the format's own.
        reverse: write the target side first.
        engine: ``local``, or ``ray`` to align parts of a prepared folder on all of a Ray cluster.
        workers: with Ray: how many processes align at the same time, each with an encoder of its own.
        part_pairs: with Ray: pairs of a part, the unit of work that is done or not done when a run is resumed.
    """

    method: str = "fast_align"
    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    words: WordMode = "whitespace"
    symmetrisation: str | None = None
    lowercase: bool = False
    load: Path | None = None
    save: Path | None = None
    also_train_on: tuple[Source, ...] = ()
    lexicon: Path | None = None
    min_probability: float | None = None
    min_score: float | None = None
    output: str = "pharaoh"
    base: int | None = None
    reverse: bool = False
    engine: str = "local"
    workers: int | None = None
    part_pairs: int = PART_PAIRS

    def check(self) -> None:
        """Refuse what does not fit together, before any file is read.

        Raises:
            ConfigurationError: every mistake found.
        """
        problems = []
        if self.method not in (*STATISTICAL_METHODS, EFLOMAL, *EMBEDDING_METHODS):
            raise ConfigurationError(
                f"method {self.method!r} given; statistical: {', '.join(STATISTICAL_METHODS)}, {EFLOMAL}; "
                f"with an encoder: {', '.join(EMBEDDING_METHODS)}"
            )
        if self.method in EMBEDDING_METHODS:
            if self.model is None:
                problems.append(f"method {self.method} needs an encoder: --model FOLDER or a hub name")
            if given := self._given(
                "--load", "--save", "--lexicon", "--train-on", "--lowercase", "--symmetrise"
            ):
                problems.append(f"{given}: only statistical methods learn from bitext; leave it out")
            problems += [f"--set {line}" for line in self.embedding_options().unused()]
        else:
            problems += self._statistical_problems()
        for flag, value in (("--min-probability", self.min_probability), ("--min-score", self.min_score)):
            if value is not None and not 0 <= value <= 1:
                problems.append(f"{flag} {value} given; it is a number from 0 to 1, for example {flag} 0.5")
        if self.output not in (*OUTPUT_FORMATS, "corpus"):
            problems.append(
                f"output format {self.output!r} given; there are {', '.join(OUTPUT_FORMATS)}, and corpus for a folder"
            )
        if self.base is not None and self.output in _UNNUMBERED:
            problems.append(
                f"--base: format {self.output} writes no word numbers to choose a base for; leave it out"
            )
        if self.reverse and self.output == "corpus":
            problems.append(
                "--reverse: a corpus is written as it is read; leave it out, or exchange the input's sides"
            )
        problems += self._engine_problems()
        if problems:
            raise ConfigurationError(problems)

    def embedding_options(self) -> EmbeddingOptions:
        """The options of an embedding method, the thresholds among them.

        Raises:
            ConfigurationError: an unknown name or a bad value.
        """
        thresholds = {"min_probability": self.min_probability, "min_score": self.min_score}
        given = {name: value for name, value in thresholds.items() if value is not None}
        return EmbeddingOptions.build(method=self.method, **{**given, **self.options})

    def _given(self, *flags: str) -> str:
        """Those of the flags that were given."""
        values = {
            "--load": self.load, "--save": self.save, "--lexicon": self.lexicon, "--train-on": self.also_train_on,
            "--lowercase": self.lowercase, "--symmetrise": self.symmetrisation,
            "--min-probability": self.min_probability, "--min-score": self.min_score,
        }  # fmt: skip
        return ", ".join(flag for flag in flags if values[flag])

    def _statistical_problems(self) -> list[str]:
        problems = []
        if self.model is not None:
            problems.append(f"--model: method {self.method} uses no encoder; leave it out, or use --load")
        if self.method == EFLOMAL:
            flags = ("--load", "--save", "--lexicon", "--lowercase", "--min-probability", "--min-score")
            if given := self._given(*flags):
                problems.append(
                    f"{given}: {EFLOMAL} keeps no model, compares words as they are and tells no probabilities; "
                    "leave it out, or use --method hmm"
                )
        elif "threshold" in self.options and self._plainly_symmetrised():
            problems.append(
                "--set threshold: only --symmetrise agreement has a threshold; leave it out, or choose that"
            )
        if self.load is not None and self.method != EFLOMAL:
            if given := self._given("--train-on", "--lowercase"):
                problems.append(f"{given}: a loaded model is not trained; leave out --load or that")
            if fixed := sorted(set(self.options) - {"threshold"}):
                problems.append(
                    f"--set {', '.join(fixed)}: of a loaded model only --symmetrise and --set threshold=… can be "
                    "changed; leave it out, or train without --load"
                )
        return problems

    def _plainly_symmetrised(self) -> bool:
        """Whether the two directions become one without posteriors, as far as this can be told unread."""
        usual = None if self.load is not None else STATISTICAL_METHODS[self.method].symmetrisation
        return (self.symmetrisation or usual or AGREEMENT) != AGREEMENT

    def _engine_problems(self) -> list[str]:
        if self.engine not in ("local", "ray"):
            return [f"--engine {self.engine!r} given; it is local or ray"]
        if self.engine == "local":
            return ["--workers: only --engine ray has workers; leave it out"] if self.workers else []
        problems = []
        if self.method not in EMBEDDING_METHODS:
            problems.append(
                f"--engine ray: {self.method} learns from the whole text at once; use a method with --model, or "
                "--engine local"
            )
        if self.workers is not None and self.workers < 1:
            problems.append(f"--workers {self.workers} given; at least 1 is needed")
        return problems


def align_file(
    sources: Sequence[Source], out: str | Path, request: AlignRequest, *, progress: Any = None
) -> int:
    """Align bitext files.

    Args:
        sources: what to align.
        out: file, ``-`` for standard output, or with ``output="corpus"`` a folder.
        request: everything else.
        progress: object with ``progress(label, done, total)`` and ``note(text)``.

    Returns:
        How many pairs were aligned (those that cannot be aligned keep their place and count).

    Raises:
        ConfigurationError: what was asked does not fit together.
        InputError: a file cannot be read.
    """
    request.check()
    reads = [path for source in (*sources, *request.also_train_on) for path in source.files()]
    for written in (out, request.save, request.lexicon):
        if written is not None:
            refuse_overwriting(written, [*reads, request.load, request.model])
    warn = Warnings()
    with ExitStack() as stack:
        found: Found
        if request.engine == "ray":
            found = stack.enter_context(_by_ray(sources, out, request, progress))
        elif request.method in EMBEDDING_METHODS:
            found = _by_embedding(sources, request, warn)
        else:
            found = by_statistics(sources, request, warn)
        count = _write(found if progress is None else _shown(found, progress), out, request)
    warn.sum_up()
    return count


def _write(found: Found, out: str | Path, request: AlignRequest) -> int:
    if request.output == "corpus":
        return write_corpus(found, Path(out))
    return write_lines(found, out, name=request.output, base=request.base, reverse=request.reverse)


def _by_ray(
    sources: Sequence[Source], out: str | Path, request: AlignRequest, progress: Any
) -> AbstractContextManager[Found]:
    from isoglot.align.align_ray import RayJob, aligned_by_ray, corpus_of, parts_folder  # noqa: PLC0415 - loads torch

    job = RayJob.build(
        corpus_of([path for source in sources for path in source.files()]),
        parts_folder(out),
        str(request.model),
        options=request.embedding_options().model_dump(),
        words=request.words,
        part_pairs=request.part_pairs,
    )
    return aligned_by_ray(job, workers=request.workers, progress=progress)


def _by_embedding(sources: Sequence[Source], request: AlignRequest, warn: Warnings) -> Found:
    from isoglot.align.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    aligner = EmbeddingAligner(str(request.model), options=request.embedding_options(), warn=warn)
    pairs, first = read_pairs(sources, mode=request.words, warn=warn), 0
    while window := list(islice(pairs, aligner.window)):
        links = aligner.align_pairs((pair.words for pair in window), first=first)
        yield from zip(window, links, strict=True)
        first += len(window)


def _shown(found: Found, progress: Any) -> Found:
    for done, item in enumerate(found, 1):
        if done % 512 == 0:
            progress.progress("aligning", done, 0)
        yield item
