"""Windows of pairs with the rules that drop them and their scores, made here or on a Ray cluster.

Results are kept for a run that is resumed.

    with scores:    pairs ─> chunks: rules, in this process ─> windows ─> scores, in workers
    rules alone:    pairs ─> chunks ─> rules, in workers

With scores, the rules are applied in this process, because the pairs that pass decide where a window ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

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
_CHUNK = 4096
"""Pairs to which the rules are applied at a time."""
_MOST_IN_WINDOW = 16
"""A window ends with this many times ``pool`` pairs, even if few of them pass: all of its pairs are in memory."""
_NO_SCORE = {"engine", "workers", "duplicates", "min_cosine", "min_margin", "min_alignment", "min_coverage"}
"""Options that change no score and no rule of a single pair."""


class FilterRow(NamedTuple):
    """A pair, and the reasons to drop it that are known so far.

    Before the rules are applied (:func:`_chunks`), the texts are those of the pair, and the only possible reason is
    :data:`MISSING_LANGUAGE`. After that, the texts are clean, and the reasons name all rules that drop the pair.
    """

    pair: SentencePair  # as it was given
    texts: tuple[str, str]
    reasons: Sequence[str]


@dataclass(frozen=True)
class FilterBatch:
    """Consecutive pairs that `filter` works on together: a window to score, or a chunk for the rules.

    Args:
        pairs_before: Number of pairs of the input before these.
        rows: The pairs.
        earlier: Texts of pairs before these, which fill up a short window.
    """

    pairs_before: int
    rows: list[FilterRow]
    earlier: Sequence[tuple[str, str]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send to another process only what rules and scores read of the pairs."""
        bare = []
        for pair, texts, reasons in self.rows:
            sent = SentencePair(pair.texts, languages=pair.languages, tags=pair.tags, path=pair.path)
            sent.line = pair.line
            bare.append(FilterRow(sent, texts, reasons))
        return FilterBatch, (self.pairs_before, bare, self.earlier)

    def content(self) -> str:
        """A hash of the pairs and of the rules that drop them."""
        rows = ((texts, list(reasons), pair.languages, pair.tags) for pair, texts, reasons in self.rows)
        return content_of([*rows, list(self.earlier)])

    def passing(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the pairs that no rule drops: their labels in warnings (``a.tsv:7, pair 3``), and their clean texts."""
        for number, (pair, texts, reasons) in enumerate(self.rows, self.pairs_before + 1):
            if not reasons:
                place = "" if pair.line is None else f"{pair.path}:{pair.line}, "
                yield f"{place}pair {number}", texts


def scores_of(scorer: PairScorer, window: FilterBatch) -> BlockResult:
    """Score the pairs of a window that no rule drops."""
    passing = list(window.passing())
    scores = scorer([texts for _, texts in passing], [label for label, _ in passing], window.earlier)
    # A table, as finished results are stored. `known` is false for a pair of which a side has no known word.
    columns: dict[str, list[Any]] = {"known": [of_pair is not None for of_pair in scores]}
    for name in scorer.score_names:
        columns[name] = [None if of_pair is None else of_pair[name] for of_pair in scores]
    kinds = {"known": "flags", **dict.fromkeys(scorer.score_names, "numbers")}
    return BlockResult(columns, kinds, {"unknown": scorer.take_unknown()})


def reasons_of(rules: PairRules, chunk: FilterBatch) -> BlockResult:
    """Name the rules that drop each pair of a chunk."""
    ruled = _with_reasons([row.pair for row in chunk.rows], rules)
    reasons = []
    for given, found in zip(chunk.rows, ruled, strict=True):
        # _chunks has named the units that lack a language: a worker does not receive the unit of a pair.
        reasons.append(list(given.reasons or found.reasons))
    columns = {
        "reasons": reasons,
        "source": [row.texts[0] for row in ruled],
        "target": [row.texts[1] for row in ruled],
    }
    return BlockResult(columns, {"reasons": "lists of texts", "source": "texts", "target": "texts"})


class _ScoreWorker:
    """The rules and models of a worker of a cluster, loaded once."""

    rules: PairRules
    scorer: PairScorer


def start(request: FilterRequest) -> None:
    """Load the rules, and encoder and aligner as far as scores are asked for, in a worker."""
    _ScoreWorker.rules, _ScoreWorker.scorer = PairRules(request), PairScorer(request)


def score_window(window: FilterBatch) -> BlockResult:
    """Score the pairs of a window in a worker."""
    return scores_of(_ScoreWorker.scorer, window)


def apply_rules(chunk: FilterBatch) -> BlockResult:
    """Name the rules that drop each pair of a chunk in a worker."""
    return reasons_of(_ScoreWorker.rules, chunk)


class ScoredWindows:
    """Applies rules and scores to pairs.

    Args:
        request: The rules, and the encoder and aligner that score.
        finished: Results of finished batches, which a run that is resumed takes again; by default none are stored.

    Attributes:
        score_names: Names of the scores.
    """

    def __init__(self, request: FilterRequest, finished: Parts | None = None) -> None:
        self._request = request
        # Without a folder no result is stored, and `made_from` is never called.
        self._finished = finished or Parts(folder=None, made_from=dict, what="filtering")
        self._rules, self._scorer = PairRules(request), PairScorer(request)
        self.score_names = self._scorer.score_names
        self._here = request.engine == "local"

    def batches(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[FilterBatch, Iterator[Scores]]]:
        """Yield the pairs in their order, in windows or chunks, with the scores of the pairs that no rule drops."""
        if self.score_names:
            yield from self._scored(pairs)
        else:
            yield from self._ruled(pairs)

    def _scored(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[FilterBatch, Iterator[Scores]]]:
        unknown = UnknownOfPairs()
        work = partial(scores_of, self._scorer) if self._here else score_window
        with self._workers(loads=True) as workers:
            windows = self._windows_to_score(pairs)
            for window, found in self._finished.results(windows, work, workers, FilterBatch.content):
                unknown.add(found.reports["unknown"])
                yield window, self._scores_in(found)
        unknown.warn()

    def _ruled(self, pairs: Iterator[SentencePair]) -> Iterator[tuple[FilterBatch, Iterator[Scores]]]:
        work = partial(reasons_of, self._rules) if self._here else apply_rules
        with self._workers(loads=False) as workers:
            for chunk, found in self._finished.results(_chunks(pairs), work, workers, FilterBatch.content):
                columns = [found.columns[name] for name in ("reasons", "source", "target")]
                rows = []
                for given, reasons, source, target in zip(chunk.rows, *columns, strict=True):
                    rows.append(FilterRow(given.pair, (source, target), reasons))
                ruled = FilterBatch(chunk.pairs_before, rows)
                no_scores: list[Scores] = [{} for _ in ruled.passing()]
                yield ruled, iter(no_scores)

    def _windows_to_score(self, pairs: Iterator[SentencePair]) -> Iterator[FilterBatch]:
        """Cut pairs into windows of ``pool`` pairs that pass the rules, among which neighbours are searched.

        1. A window ends with the pair that is the ``pool``-th to pass, or with 16 × ``pool`` pairs, if fewer of these
           pass (:data:`_MOST_IN_WINDOW`).
        2. If margins are asked for, a window with fewer passing pairs, such as the last one, is filled up with texts of
           pairs before it: among a few pairs a margin would mean little. A window without a passing pair has no margin
           and is not filled up.
        3. The rules are applied to pairs of the same languages at a time, but a window may have pairs of several.
        """
        window_size = self._request.pool  # in pairs that pass
        waiting: list[FilterRow] = []
        passed = 0  # how many of the pairs that wait pass the rules
        pairs_before = 0  # how many pairs of the input come before those that wait
        # Texts of the last `window_size` passing pairs before those that wait.
        earlier: list[tuple[str, str]] = []

        for languages, same_languages in groupby(pairs, key=attrgetter("languages")):
            self._scorer.require_languages(languages)
            while pairs_of_chunk := list(islice(same_languages, _CHUNK)):
                for row in _with_reasons(pairs_of_chunk, self._rules):
                    waiting.append(row)
                    passed += not row.reasons
                    if passed == window_size or len(waiting) == _MOST_IN_WINDOW * window_size:
                        window = self._window(pairs_before, waiting, earlier)
                        yield window
                        texts_of_window = [texts for _, texts in window.passing()]
                        earlier = [*earlier, *texts_of_window][-window_size:]
                        pairs_before += len(waiting)
                        waiting, passed = [], 0
        if waiting:
            yield self._window(pairs_before, waiting, earlier)

    def _window(
        self, pairs_before: int, rows: list[FilterRow], earlier: Sequence[tuple[str, str]]
    ) -> FilterBatch:
        """Make a window of rows; if it is short (rule 2), the last of the ``earlier`` texts fill it up."""
        passed = sum(not row.reasons for row in rows)
        missing = self._request.pool - passed
        # Only the margin compares a pair with others, and only for pairs that pass.
        has_margin = self._request.model is not None
        is_filled_up = has_margin and passed > 0 and missing > 0
        return FilterBatch(pairs_before, rows, earlier[-missing:] if is_filled_up else [])

    def _scores_in(self, found: BlockResult) -> Iterator[Scores]:
        """Yield the scores of each pair of a table that :func:`scores_of` made."""
        columns = [found.columns[name] for name in self.score_names]
        for is_known, *values in zip(found.columns["known"], *columns, strict=True):
            yield dict(zip(self.score_names, values, strict=True)) if is_known else None

    def _workers(self, *, loads: bool) -> WorkPool:
        """Choose where the work is done: in this process, which has loaded all, or on a cluster.

        ``loads``: The work needs models, so each worker stays alive with them.
        """
        request = self._request
        if self._here:
            return WorkPool(1)
        from isoglot.runs.cluster import RayPool, ResidentPool  # noqa: PLC0415 - the usual run does without

        if loads:
            return ResidentPool(request.workers, start, request)
        return RayPool(request.workers, start, request)


def _chunks(pairs: Iterator[SentencePair]) -> Iterator[FilterBatch]:
    """Yield chunks of pairs of the same languages, to which the rules are not applied yet."""
    pairs_before = 0
    for _, same_languages in groupby(pairs, key=attrgetter("languages")):
        while pairs_of_chunk := list(islice(same_languages, _CHUNK)):
            rows = [FilterRow(pair, pair.texts, _missing_language(pair)) for pair in pairs_of_chunk]
            yield FilterBatch(pairs_before, rows)
            pairs_before += len(pairs_of_chunk)


def _with_reasons(pairs: Sequence[SentencePair], rules: PairRules) -> list[FilterRow]:
    """Apply the rules to the clean texts of pairs of the same languages."""
    cleaned = [_cleaned(pair) for pair in pairs]
    rows = []
    reasons_of_pairs = rules.reasons(cleaned, pairs[0].languages)
    for pair, clean_pair, reasons in zip(pairs, cleaned, reasons_of_pairs, strict=True):
        rows.append(FilterRow(pair, clean_pair.texts, _missing_language(pair) or reasons))
    return rows


def _missing_language(pair: SentencePair) -> list[str]:
    """The reason to drop a pair whose unit of a translation memory lacks a language; no reason for other pairs."""
    return [MISSING_LANGUAGE] if pair.unit is not None and not pair.unit.complete else []


def _cleaned(pair: SentencePair) -> SentencePair:
    """Clean the texts of a pair: one line, single spaces, no control characters; the pair given is not changed."""
    source, target = (clean(text.replace("\n", " ")) for text in pair.texts)
    return pair if (source, target) == pair.texts else replace(pair, texts=(source, target))


def scores_made_from(request: FilterRequest, inputs: Iterable[str | Path]) -> dict[str, Any]:
    """Collect what scores depend on, beside the texts of the pairs.

    If one value differs from that of a stopped run, the finished scores of that run are not used.
    """
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
