"""``isoglot align``: bitext in, word links out, by a statistical or an embedding-based aligner."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from isoglot.align.align_ray import PART_PAIRS, RayJob, aligned_by_ray, corpus_of, parts_folder
from isoglot.align.alignment import LinkTable
from isoglot.align.embedding.aligner import EmbeddingAligner, PairLinks
from isoglot.align.embedding.options import METHODS as EMBEDDING_METHODS
from isoglot.align.embedding.options import EmbeddingOptions
from isoglot.align.embedding.scores import sentence_scores
from isoglot.align.files.output import OUTPUT_FORMATS, write_corpus, write_lines
from isoglot.align.files.pairs import RawPair, WordMode, read_pairs
from isoglot.align.statistical.eflomal import METHOD as EFLOMAL
from isoglot.align.statistical.eflomal import EflomalAligner
from isoglot.align.statistical.lexicon_export import lexicon, write_lexicon
from isoglot.align.statistical.methods import METHODS as STATISTICAL_METHODS
from isoglot.align.statistical.model import AGREEMENT, StatisticalAligner
from isoglot.corpus.read.sources import Source
from isoglot.errors import ConfigurationError
from isoglot.runs.files import refuse_overwriting

__all__ = ["AlignRequest", "align_file"]

_LOG = logging.getLogger(__name__)
# Outputs without word numbers, or with numbers that recipes read.
_UNNUMBERED = ("corpus", "offsets", "words")
_MOST_WARNINGS = 20
_LOADED_WINDOW = 8192  # pairs that a loaded model aligns at a time; the result does not depend on it


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
            refuse_overwriting(written, [*reads, request.load])
    if request.engine == "ray":
        job = RayJob.build(
            corpus_of([path for source in sources for path in source.files()]),
            parts_folder(out),
            str(request.model),
            options=request.embedding_options().model_dump(),
            words=request.words,
            part_pairs=request.part_pairs,
        )
        with aligned_by_ray(job, workers=request.workers, progress=progress) as parts:
            return _write(parts, out, request)
    warn = _Warnings()
    pairs = read_pairs(sources, mode=request.words, warn=warn)
    languages = (sources[0].source_language or "", sources[0].target_language or "")
    by_encoder = request.method in EMBEDDING_METHODS
    found = (
        _by_embedding(pairs, request, warn) if by_encoder else _by_statistics(pairs, request, languages, warn)
    )
    count = _write(found if progress is None else _shown(found, progress), out, request)
    warn.sum_up()
    return count


def _write(found: Iterable[tuple[RawPair, PairLinks]], out: str | Path, request: AlignRequest) -> int:
    if request.output == "corpus":
        return write_corpus(found, Path(out))
    return write_lines(found, out, name=request.output, base=request.base, reverse=request.reverse)


def _by_embedding(
    pairs: Iterable[RawPair], request: AlignRequest, warn: _Warnings
) -> Iterator[tuple[RawPair, PairLinks]]:
    aligner = EmbeddingAligner(str(request.model), options=request.embedding_options(), warn=warn)
    iterator = iter(pairs)
    first = 0
    while window := list(islice(iterator, aligner.window)):
        links = aligner.align_pairs((pair.words for pair in window), first=first)
        yield from zip(window, links, strict=True)
        first += len(window)


def _by_statistics(
    pairs: Iterable[RawPair], request: AlignRequest, languages: tuple[str, str], warn: _Warnings
) -> Iterator[tuple[RawPair, PairLinks]]:
    settings = dict(request.options)
    if request.symmetrisation is not None:
        settings["symmetrisation"] = request.symmetrisation
    if request.load is not None:
        aligner = StatisticalAligner.load(request.load, **settings)
        if "threshold" in settings and aligner.symmetrisation != AGREEMENT:
            raise ConfigurationError(
                f"--set threshold given, but {request.load} is read by {aligner.symmetrisation}, which has none; leave "
                "it out, or add --symmetrise agreement"
            )
        if request.method not in (aligner.method, AlignRequest.method):
            raise ConfigurationError(
                f"--method {request.method} given, but {request.load} holds a model of {aligner.method}; leave it out"
            )
        _keep(aligner, request, languages)
        iterator, first = iter(pairs), 0
        while window := list(islice(iterator, _LOADED_WINDOW)):
            yield from _linked(window, aligner.align_words(*_sides(window)).links, request, warn, first)
            first += len(window)
        return
    if request.method == EFLOMAL:
        program = EflomalAligner.build(**settings)  # before the input is read: is it there?
        own = list(pairs)
        yield from _linked(own, program.align_words(*_sides(own, _more(request))), request, warn)
        return
    aligner = StatisticalAligner(request.method, lowercase=request.lowercase, **settings)
    own = list(pairs)
    result = aligner.fit_align_words(*_sides(own, _more(request)))
    _keep(aligner, request, languages)
    yield from _linked(own, result.links, request, warn)


def _more(request: AlignRequest) -> list[RawPair]:
    if not request.also_train_on:
        return []
    warn = _Warnings()
    pairs = list(read_pairs(request.also_train_on, mode=request.words, warn=warn))
    warn.sum_up()
    return pairs


def _sides(pairs: list[RawPair], more: Sequence[RawPair] = ()) -> tuple[list[list[str]], list[list[str]]]:
    return [p.words[0] for p in (*pairs, *more)], [p.words[1] for p in (*pairs, *more)]


def _keep(aligner: StatisticalAligner, request: AlignRequest, languages: tuple[str, str]) -> None:
    """Write the model and the lexicon that were asked for."""
    if request.save is not None:
        aligner.save(request.save)
    if request.lexicon is not None and aligner.model is not None:
        entries = lexicon(aligner.model, source_language=languages[0], target_language=languages[1])
        write_lexicon(entries, request.lexicon)


def _linked(
    pairs: list[RawPair], table: LinkTable, request: AlignRequest, warn: _Warnings, first: int = 0
) -> Iterator[tuple[RawPair, PairLinks]]:
    """The pairs beside their links; rows of the table past the last pair were only learned from."""
    for number, pair in enumerate(pairs, first + 1):
        if not all(pair.words):
            warn(number, f"the {'target' if pair.words[0] else 'source'} side is empty; it gets no links")
    if table.probability is None:
        for pair, links in zip(pairs, table.lists(), strict=False):
            yield pair, PairLinks([(i, j) for i, j in links], [], math.nan)
        return
    if request.min_probability is not None:
        kept = table.probability >= request.min_probability
        table = LinkTable.build(
            len(table), table.sentence[kept], table.source[kept], table.target[kept], table.probability[kept]
        )
    values = [] if table.probability is None else table.probability.tolist()
    unseen = [0] * (len(table) - len(pairs))
    scores = sentence_scores(table, *([len(p.words[side]) for p in pairs] + unseen for side in (0, 1)))
    for row, (pair, links) in enumerate(zip(pairs, table.lists(), strict=False)):
        if scores[row] < (request.min_score or 0.0):
            yield pair, PairLinks([], [], float(scores[row]))
            continue
        probabilities = values[table.offsets[row] : table.offsets[row + 1]]
        yield pair, PairLinks([(i, j) for i, j in links], probabilities, float(scores[row]))


def _shown(found: Iterable[tuple[RawPair, PairLinks]], progress: Any) -> Iterator[tuple[RawPair, PairLinks]]:
    for done, item in enumerate(found, 1):
        if done % 512 == 0:
            progress.progress("aligning", done, 0)
        yield item


class _Warnings:
    """Says what is wrong with a pair: once a pair, and of very many only the first and how many more there were."""

    def __init__(self) -> None:
        self._told: set[int] = set()
        self._more = 0

    def __call__(self, number: int, message: str) -> None:
        if number in self._told:
            return
        if len(self._told) == _MOST_WARNINGS:
            self._more += 1
            return
        self._told.add(number)
        _LOG.warning("pair %d: %s", number, message)

    def sum_up(self) -> None:
        """Called at the end."""
        if self._more:
            _LOG.warning("%d more warnings of this kind; look at the input", self._more)
