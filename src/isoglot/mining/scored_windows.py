"""Windows of pairs with the rules that drop them and their scores, made here or on a Ray cluster, and kept as parts.

With scores, this process reads the pairs and applies the rules, because the pairs that pass decide where a window ends;
workers score windows. Rules alone need no windows, so workers apply them to chunks of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from isoglot.aligners.load_aligner import aligner_request, made_of
from isoglot.aligners.options import SavedModel
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.corpus.filter.filters import clean
from isoglot.formats.sentence_pair import SentencePair
from isoglot.mining.options import FilterRequest
from isoglot.mining.pair_rules import PairRules
from isoglot.mining.pair_scores import PairScorer, Scores, UnknownOfPairs
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.parts import BlockResult, Parts, content_of, input_sizes
from isoglot.runs.pool import WorkPool

MISSING_LANGUAGE = "missing_language"
"""Why a unit of a translation memory is dropped that lacks one of the two languages."""
Row = tuple[SentencePair, tuple[str, str], Sequence[str]]
"""A pair as it was given, its clean text, and the rules that drop it."""
_CHUNK = 4096
_MOST_IN_WINDOW = 16
"""A window ends with this many times ``pool`` pairs, even if few of them pass: all of its pairs are in memory."""
_NO_SCORE = {"engine", "workers", "duplicates", "min_cosine", "min_margin", "min_alignment", "min_coverage"}
"""Options that change no score and no rule of a single pair."""


@dataclass(frozen=True)
class PairWindow:
    """Consecutive pairs, and how many come before them.

    Args:
        first: Number of pairs before these.
        rows: The pairs.
        earlier: Texts of pairs before these, which fill up a short window.
    """

    first: int
    rows: list[Row]
    earlier: Sequence[tuple[str, str]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send to another process only what rules and scores read of the pairs."""
        bare = []
        for pair, texts, reasons in self.rows:
            sent = SentencePair(pair.texts, languages=pair.languages, tags=pair.tags, path=pair.path)
            sent.line = pair.line
            bare.append((sent, texts, reasons))
        return PairWindow, (self.first, bare, self.earlier)

    def content(self) -> str:
        """A hash of the pairs and of the rules that drop them."""
        rows = ((texts, list(reasons), pair.languages, pair.tags) for pair, texts, reasons in self.rows)
        return content_of([*rows, list(self.earlier)])

    def passing(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """The pairs that no rule drops: what warnings call each of them, and its clean texts."""
        for number, (pair, texts, reasons) in enumerate(self.rows, self.first + 1):
            if not reasons:
                place = "" if pair.line is None else f"{pair.path}:{pair.line}, "
                yield f"{place}pair {number}", texts


def scores_of(scorer: PairScorer, window: PairWindow) -> BlockResult:
    """Score the pairs of a window that no rule drops."""
    passing = list(window.passing())
    scores = scorer([texts for _, texts in passing], [name for name, _ in passing], window.earlier)
    columns: dict[str, list[Any]] = {"known": [known is not None for known in scores]}
    for name in scorer.names:
        columns[name] = [None if known is None else known[name] for known in scores]
    kinds = {"known": "flags", **dict.fromkeys(scorer.names, "numbers")}
    return BlockResult(columns, kinds, {"unknown": scorer.take_unknown()})


def reasons_of(rules: PairRules, chunk: PairWindow) -> BlockResult:
    """Name the rules that drop each pair of a chunk."""
    rows = _with_reasons([pair for pair, _, _ in chunk.rows], rules)
    columns = {
        # A unit that lacks a language has been noticed by whoever reads the pairs.
        "reasons": [
            list(given or found) for (_, _, given), (_, _, found) in zip(chunk.rows, rows, strict=True)
        ],
        "source": [texts[0] for _, texts, _ in rows],
        "target": [texts[1] for _, texts, _ in rows],
    }
    return BlockResult(columns, {"reasons": "lists of texts", "source": "texts", "target": "texts"})


class _ScoreWorker:
    """The rules and models of a worker of a cluster, loaded once."""

    rules: PairRules
    scorer: PairScorer


def start(request: FilterRequest) -> None:
    """Load the rules, and encoder and aligner as far as scores are asked for, in a worker."""
    _ScoreWorker.rules, _ScoreWorker.scorer = PairRules(request), PairScorer(request)


def score_window(window: PairWindow) -> BlockResult:
    """Score the pairs of a window in a worker."""
    return scores_of(_ScoreWorker.scorer, window)


def apply_rules(chunk: PairWindow) -> BlockResult:
    """Name the rules that drop each pair of a chunk in a worker."""
    return reasons_of(_ScoreWorker.rules, chunk)


class ScoredWindows:
    """Applies rules and scores to pairs.

    Args:
        request: The rules, and what scores.
        parts: Where finished windows are kept; by default nowhere.

    Attributes:
        names: Names of the scores.
    """

    def __init__(self, request: FilterRequest, parts: Parts | None = None) -> None:
        self._request = request
        self._parts = parts or Parts(None, dict, what="filtering")
        self._rules, self._scorer = PairRules(request), PairScorer(request)
        self.names = self._scorer.names
        self._here = request.engine == "local"

    def windows(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[PairWindow, Iterator[Scores]]]:
        """Windows of the pairs in their order, with the scores of the pairs that no rule drops."""
        if self.names:
            yield from self._scored(pairs)
        else:
            yield from self._ruled(pairs)

    def _scored(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[PairWindow, Iterator[Scores]]]:
        unknown = UnknownOfPairs()
        work = partial(scores_of, self._scorer) if self._here else score_window
        with self._pool(loads=True) as pool:
            windows = self._windows_to_score(pairs)
            for window, found in self._parts.results(windows, work, pool, PairWindow.content):
                unknown.add(found.reports["unknown"])
                yield window, self._scores_in(found)
        unknown.warn()

    def _ruled(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[PairWindow, Iterator[Scores]]]:
        work = partial(reasons_of, self._rules) if self._here else apply_rules
        with self._pool(loads=False) as pool:
            for window, found in self._parts.results(_chunks(pairs), work, pool, PairWindow.content):
                columns = [found.columns[name] for name in ("reasons", "source", "target")]
                rows: list[Row] = [
                    (pair, (source, target), reasons)
                    for (pair, _, _), reasons, source, target in zip(window.rows, *columns, strict=True)
                ]
                ruled = PairWindow(window.first, rows)
                yield ruled, iter([{} for _ in ruled.passing()])

    def _windows_to_score(self, pairs: Iterator[SentencePair]) -> Iterator[PairWindow]:
        """Cut pairs into windows of ``pool`` pairs that pass the rules, among which neighbours are searched.

        1. A window ends with the pair that is the ``pool``-th to pass, or earlier if few pass.
        2. A window with fewer passing pairs, such as the last one, is filled up with texts of pairs before it: among a
           few pairs a margin would mean little.
        """
        pool = self._request.pool
        waiting: list[Row] = []
        earlier: list[tuple[str, str]] = []
        passed = first = 0

        def window() -> PairWindow:
            """The window of the pairs that wait; earlier pairs fill it up if it is short."""
            missing = pool - passed
            filling = earlier[-missing:] if missing > 0 and passed and self._request.model is not None else []
            made = PairWindow(first, waiting, filling)
            texts = [texts for _, texts, reasons in waiting if not reasons]
            if texts:
                earlier[:] = [*filling, *texts][-pool:]
            return made

        for languages, run in groupby(pairs, key=attrgetter("languages")):
            self._scorer.require_languages(languages)
            while chunk := list(islice(run, _CHUNK)):
                for row in _with_reasons(chunk, self._rules):
                    waiting.append(row)
                    passed += not row[2]
                    if passed == pool or len(waiting) == _MOST_IN_WINDOW * pool:
                        yield window()
                        first, waiting, passed = first + len(waiting), [], 0
        yield window()

    def _scores_in(self, found: BlockResult) -> Iterator[Scores]:
        """The scores of a table, pair by pair."""
        columns = [found.columns[name] for name in self.names]
        for is_known, *values in zip(found.columns["known"], *columns, strict=True):
            yield dict(zip(self.names, values, strict=True)) if is_known else None

    def _pool(self, *, loads: bool) -> WorkPool:
        """This process, which has loaded all, or a cluster."""
        request = self._request
        if self._here:
            return WorkPool(1)
        from isoglot.runs.cluster import RayPool, ResidentPool  # noqa: PLC0415 - the usual run does without

        if loads:
            return ResidentPool(request.workers, start, request)
        return RayPool(request.workers, start, request)


def _chunks(pairs: Iterator[SentencePair]) -> Iterator[PairWindow]:
    """Pairs of the same languages, some thousand at a time."""
    first = 0
    for _, run in groupby(pairs, key=attrgetter("languages")):
        while chunk := list(islice(run, _CHUNK)):
            yield PairWindow(first, [(pair, pair.texts, _lacking(pair)) for pair in chunk])
            first += len(chunk)


def _with_reasons(pairs: Sequence[SentencePair], rules: PairRules) -> list[Row]:
    """Pairs of the same languages with their clean texts and the rules that drop them."""
    # Rules and scores see clean text. The pair itself stays as it was given.
    cleaned = [_cleaned(pair) for pair in pairs]
    rows: list[Row] = []
    reasons_of_pairs = rules.reasons(cleaned, pairs[0].languages)
    for pair, clean_pair, reasons in zip(pairs, cleaned, reasons_of_pairs, strict=True):
        rows.append((pair, clean_pair.texts, _lacking(pair) or reasons))
    return rows


def _lacking(pair: SentencePair) -> list[str]:
    """The reason to drop a pair whose unit of a translation memory lacks a language; of other pairs no reason."""
    return [MISSING_LANGUAGE] if pair.unit is not None and not pair.unit.complete else []


def _cleaned(pair: SentencePair) -> SentencePair:
    """The pair with the text that is judged: on one line, single spaces, no control characters."""
    source, target = (clean(text.replace("\n", " ")) for text in pair.texts)
    return pair if (source, target) == pair.texts else replace(pair, texts=(source, target))


def scores_made_from(request: FilterRequest, inputs: Iterable[str | Path]) -> dict[str, Any]:
    """Values on which scores depend, beside the text of the pairs: if one differs, kept scores are not taken."""
    aligner, model = request.aligner, request.model
    options = request.model_dump(exclude={"aligner", "model", *_NO_SCORE})
    recorded: dict[str, Any] = {"options": options, "inputs": input_sizes(inputs)}
    recorded["aligner"], recorded["model"] = str(aligner), str(model)
    if isinstance(aligner, str):
        chosen = aligner_request(model=aligner)
        recorded["links"] = made_of(chosen)
        if isinstance(chosen, SavedModel):
            recorded["links"] = fingerprint(chosen.load)
    if isinstance(model, str):
        recorded["vectors"] = hash_checkpoint(checkpoint_folder(model))
    return recorded
