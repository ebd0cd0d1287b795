"""Word links made block by block: on this machine or on a Ray cluster, kept beside the output while it is made.

An encoder and a saved statistical model link each pair by itself, so blocks of pairs can be linked anywhere and in any
order. Blocks begin at multiples of the windows in which an encoder encodes, so the links do not depend on them. Only
where an input pauses a block ends early, so that its links are written at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from isoglot.aligners.aligner import Aligner, Use
from isoglot.aligners.alignment import WINDOW, usable_words
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.aligners.load_aligner import loaded, made_of
from isoglot.aligners.options import AnyAligner, Encoder, SavedModel
from isoglot.aligners.pairs_in_files import Warnings, silent
from isoglot.corpus.encode.unknown import UNLINKED, UnknownWords
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.parts import BlockResult, Parts, content_of, input_sizes
from isoglot.runs.pool import WorkPool

_CHANGE_NO_LINK = {"save", "engine", "workers", "part_pairs", "any_language", *LexiconOptions.model_fields}
"""Options of an aligner with which the links of an earlier run can still be used."""
_COLUMNS = {
    "source": "lists of integers",
    "target": "lists of integers",
    "probabilities": "lists of numbers",
    "score": "numbers",
}
"""Columns in which the links of a block are kept, one row a pair."""


@dataclass(frozen=True)
class PairBlock:
    """Consecutive pairs of the input."""

    first: int
    """Number of pairs before the block."""
    pairs: list[SentencePair]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only what an aligner reads to another process: texts, words and languages."""
        bare = [SentencePair(pair.texts, pair.words, languages=pair.languages) for pair in self.pairs]
        return PairBlock, (self.first, bare)

    def content(self) -> str:
        """Return a hash of what an aligner reads, by which the links of an earlier run are recognised."""
        return content_of((pair.texts, *map(list, pair.words), pair.languages) for pair in self.pairs)


@dataclass(frozen=True)
class LinkSettings:
    """The settings with which a worker links blocks."""

    request: Encoder | SavedModel
    word_mode: WordMode


class BlockLinker:
    """Link blocks of pairs by an aligner that is loaded once.

    Warnings and unknown words are returned with the links. So the process that reads the pairs can report them, in the
    order of the pairs, whether a block was linked here, on another machine or in an earlier run.
    """

    def __init__(self, settings: LinkSettings) -> None:
        self._word_mode = settings.word_mode
        self._request = request = settings.request
        self._warnings: list[tuple[int, str]] = []
        self._aligner: Any  # an EmbeddingAligner or a StatisticalAligner
        if isinstance(request, SavedModel):
            from isoglot.aligners.with_statistics import load_saved_aligner  # noqa: PLC0415 - loads numba

            self._aligner = load_saved_aligner(request, Use()).model
            return
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
        from isoglot.modules.allocator import keep_few_primitives  # noqa: PLC0415

        keep_few_primitives()
        self._aligner = EmbeddingAligner(request.model, options=request.options, warn=self._note)

    @property
    def window(self) -> int:
        """Number of pairs that are linked together."""
        return WINDOW if isinstance(self._request, SavedModel) else int(self._aligner.window)

    def __call__(self, block: PairBlock) -> BlockResult:
        """Link the words of a block of pairs."""
        self._warnings.clear()
        unknown = UnknownWords(UNLINKED)
        if isinstance(self._request, Encoder):
            from isoglot.aligners.embedding.running_text import align_running  # noqa: PLC0415 - loads torch

            linked = align_running(
                self._aligner, block.pairs, mode=self._word_mode, first=block.first, unknown=unknown.add_pair
            )
        else:
            linked = self._aligner.align_pairs(
                block.pairs,
                foreign_text=_NoForeignText(),
                warn=lambda number, message: self._note(block.first + number, message),
                min_probability=self._request.min_probability,
                min_score=self._request.min_score,
            )
        return _stored_links(list(linked), {"warnings": list(self._warnings), "unknown": asdict(unknown)})

    def _note(self, number: int, message: str) -> None:
        """Keep a warning about the pair of this 1-based number."""
        self._warnings.append((number, message))


class _LinkWorker:
    """The state of a worker process of a cluster."""

    linker: BlockLinker  # set by `start`, once a process


def start(settings: LinkSettings) -> None:
    """Load the aligner of a worker."""
    _LinkWorker.linker = BlockLinker(settings)


def link_block(block: PairBlock) -> BlockResult:
    """Link the words of a block of pairs in a worker."""
    return _LinkWorker.linker(block)


class _NoForeignText:
    """Count no unknown words: the process that reads the pairs counts them, in :meth:`AlignerInParts._linked`."""

    def look(self, *_: object) -> None:
        """Count nothing."""


def _stored_links(linked: Sequence[SentencePair], reports: Mapping[str, Any]) -> BlockResult:
    """Store the links of pairs as columns, one row a pair; :func:`_with_stored_links` reads them."""
    columns = {
        "source": [[i for i, _ in pair.links] for pair in linked],
        "target": [[j for _, j in pair.links] for pair in linked],
        "probabilities": [pair.probabilities for pair in linked],
        "score": [pair.score for pair in linked],
    }
    return BlockResult(columns, _COLUMNS, reports)


class AlignerInParts(Aligner):
    """Link pairs in blocks by an encoder or a saved statistical model; blocks of an earlier run are not linked again.

    Args:
        request: The aligner and its options.
        use: Settings of the verb that uses the aligner.
        parts: Store of finished blocks.
        paused: Returns whether no more input is waiting. Then a block ends early, so that whoever types a line into a
            pipe sees its links at once.
    """

    def __init__(
        self, request: Encoder | SavedModel, use: Use, parts: Parts, paused: Callable[[], bool]
    ) -> None:
        self._request, self._use, self._parts, self._paused = request, use, parts, paused
        self.values = request.values
        self._saved: Any = None
        if isinstance(request, SavedModel):
            self._saved = loaded(request, use)
            self.languages, self.words = self._saved.languages, self._saved.words
        else:
            self.words = use.word_mode or use.default_word_mode or "unicode"

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Link the words of each pair, and write the lexicon if one is asked for; a block of pairs is read ahead."""
        linked = self._linked(pairs)
        if not isinstance(self._request, Encoder):
            from isoglot.aligners.with_statistics import with_counted_lexicon  # noqa: PLC0415 - loads numba

            self._saved.write_outputs()
            return with_counted_lexicon(linked, self._request, self._use)
        from isoglot.aligners.with_encoder import with_reports  # noqa: PLC0415 - loads torch

        return with_reports(linked, self._request, self._use)

    def _linked(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Link the pairs block by block, and report what was noticed in each block."""
        unknown, warn = UnknownWords(UNLINKED), self._use.warn or Warnings()
        # Notices text in a language that a saved model has not learned; an encoder has `unknown` for this.
        foreign_text = None if self._saved is None else self._saved.model.foreign_text()
        settings = LinkSettings(self._request, self.words or "unicode")
        with _workplace(settings) as (pool, link, size):
            blocks = self._blocks(pairs, size)
            for block, result in self._parts.results(blocks, link, pool, PairBlock.content):
                if foreign_text is not None:
                    usable = [usable_words(pair.words, 0, silent) for pair in block.pairs]
                    foreign_text.look([source for source, _ in usable], [target for _, target in usable])
                unknown.join(UnknownWords(**result.reports["unknown"]))
                for number, message in result.reports["warnings"]:
                    pair = block.pairs[number - block.first - 1]
                    # The pair may have been read so long ago that its file and line are forgotten.
                    if isinstance(warn, Warnings):
                        warn.places.append((number, pair.path, pair.line))
                    warn(number, message)
                yield from _with_stored_links(block.pairs, result)
        unknown.warn()

    def _blocks(self, pairs: Iterable[SentencePair], size: int) -> Iterator[PairBlock]:
        """Cut pairs into words and yield them in blocks of ``size``; a block is smaller where the input pauses."""
        first, mode = 0, self.words or "unicode"
        iterator = (pair.cut(mode) for pair in pairs)
        while block := _until_paused(islice(iterator, size), self._paused):
            yield PairBlock(first, block)
            first += len(block)


@contextmanager
def _workplace(settings: LinkSettings) -> Iterator[tuple[WorkPool, Callable[[PairBlock], BlockResult], int]]:
    """Yield a pool of workers, the function that they run on a block, and the number of pairs of a block.

    This process does the work alone, or with ``engine=ray`` the processes of a Ray cluster, each with an aligner of its
    own.
    """
    request = settings.request
    if isinstance(request, SavedModel) or request.engine == "local":
        linker = BlockLinker(settings)
        with WorkPool(1) as here:
            yield here, linker, linker.window
        return
    from isoglot.runs.cluster import ResidentPool  # noqa: PLC0415 - the usual run does without

    gpu = request.options.device != "cpu"
    with ResidentPool(request.workers, start, settings, gpu=gpu) as pool:
        yield pool, link_block, request.part_pairs


def aligner_in_parts(
    request: AnyAligner,
    use: Use,
    parts: Parts,
    *,
    paused: Callable[[], bool] = lambda: False,
) -> Aligner:
    """Load an aligner that keeps finished work in ``parts``, so that a stopped run can go on.

    - An encoder and a saved model keep the links of each block as soon as it is linked.
    - A method that learns keeps the links of the whole text once it has learned.
    - A user's class keeps nothing.
    """
    if isinstance(request, Encoder | SavedModel):
        return AlignerInParts(request, use, parts, paused)
    return loaded(request, replace(use, kept_links=parts))


def links_made_from(
    request: AnyAligner, word_mode: WordMode | None, inputs: Sequence[str | Path]
) -> dict[str, Any]:
    """Record what the links of files depend on; kept links of another record are not used.

    The text of the pairs is not recorded here: it is compared block by block, by :meth:`PairBlock.content`.

    ``word_mode``: How the user has text cut into words.

    ``inputs``: Files and folders that are read; their sizes are recorded, which shows most changes before any work.
    """
    recorded: dict[str, Any] = {
        "aligner": request.model_dump(mode="json", exclude=_CHANGE_NO_LINK),
        "words": word_mode,
        "inputs": input_sizes(inputs),
        **made_of(request),
    }
    if isinstance(request, Encoder):
        recorded["part_pairs"] = request.part_pairs if request.engine == "ray" else None
    if isinstance(request, SavedModel):
        recorded["model"] = fingerprint(request.load)
    return recorded


def _until_paused(pairs: Iterator[SentencePair], paused: Callable[[], bool]) -> list[SentencePair]:
    """Take pairs until the input pauses or ends."""
    block = []
    for pair in pairs:
        block.append(pair)
        if paused():
            break
    return block


def _with_stored_links(pairs: Sequence[SentencePair], result: BlockResult) -> Iterator[SentencePair]:
    """Give pairs the links that :func:`_stored_links` stored."""
    columns = [result.columns[name] for name in _COLUMNS]
    for pair, source, target, probabilities, score in zip(pairs, *columns, strict=True):
        pair.links = list(zip(source, target, strict=True))
        pair.probabilities, pair.score = probabilities, score
        yield pair
