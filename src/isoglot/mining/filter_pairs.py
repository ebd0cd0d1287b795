"""`isoglot filter`: pairs that are not translations, by sentence vectors, word links and the rules of `prepare`.

Rules come first, and only pairs that pass them are scored. Pairs are scored a window at a time, so memory does not grow
with the input; the last window, which may be short, is filled up with the pairs before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.checkpoints.folder import BOX
from isoglot.checks import validated
from isoglot.corpus.filter.filters import clean
from isoglot.corpus.open_corpus import Corpus
from isoglot.errors import ConfigurationError
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.pairs_in_memory import pairs_in_memory
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.frames import Tabular
from isoglot.languages import codes_of
from isoglot.mining.histogram import Histogram
from isoglot.mining.options import FilterOptions
from isoglot.mining.pair_rules import PairRules, check_pair_rules
from isoglot.mining.pair_scores import PairScorer
from isoglot.python_messages import names_arguments
from isoglot.runs.files import check_outputs, write_json
from isoglot.runs.reporter import AnyReporter, reporter_of, with_progress

if TYPE_CHECKING:
    from isoglot.aligners.embedding.aligner import EmbeddingAligner
    from isoglot.aligners.statistical.model import StatisticalAligner
    from isoglot.mining.vectors import SentenceEncoder

UNKNOWN = "unknown_text"
"""Why a pair is dropped of which a side has no word that the encoder knows."""
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class JudgedPair(Tabular):
    """A pair, every rule or low score or :data:`UNKNOWN` that drops it, and its scores by name.

    A kept pair has no reasons. A pair that a rule drops has no scores.
    """

    pair: SentencePair
    reasons: tuple[str, ...]
    scores: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Both texts, the first reason and the scores by name."""
        return {"source": self.pair.source, "target": self.pair.target, "reason": self.reason, **self.scores}

    @property
    def reason(self) -> str:
        """The first of the reasons; empty for a kept pair."""
        return next(iter(self.reasons), "")

    @property
    def source(self) -> str:
        """The source text."""
        return self.pair.texts[0]

    @property
    def target(self) -> str:
        """The target text."""
        return self.pair.texts[1]


@dataclass(slots=True)
class FilterReport:
    """What became of the pairs, and how the scores of those that pass the rules are spread."""

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    histograms: dict[str, Histogram] = field(default_factory=dict)

    def add(self, pair: JudgedPair) -> None:
        """Count a pair."""
        self.read += 1
        self.kept += not pair.reason
        if pair.reason:
            self.dropped[pair.reason] += 1
        for name, value in pair.scores.items():
            self.histograms.setdefault(name, Histogram()).add([value])

    def recorded(self) -> dict[str, Any]:
        """The report as a JSON object."""
        spread = {name: histogram.recorded() for name, histogram in self.histograms.items()}
        return {"read": self.read, "kept": self.kept, "dropped": dict(self.dropped), "histograms": spread}


@names_arguments
def filter_pairs(
    pairs: Any,
    *,
    model: str | Path | SentenceEncoder | None = None,
    aligner: EmbeddingAligner | StatisticalAligner | str | Path | None = BOX,
    languages: str | Sequence[str] = ("", ""),
    progress: AnyReporter = True,
    **options: Any,
) -> Iterator[JudgedPair]:
    """Judge sentence pairs: their scores, and why a pair is dropped.

    A pair with a side of which an encoder's vocabulary knows no word is dropped as ``unknown_text``.

    Args:
        pairs: Sources and targets, of which a few thousand are in memory at a time: pairs, dictionaries, a data set or
            a frame with the columns ``source`` and ``target``.
        model: Encoder of sentences for ``cosine`` and ``margin``: a folder or hub name, or any function from texts
            to vectors, such as a :class:`isoglot.tasks.text_vectors.TextEncoder`.
        aligner: Aligner of words for ``alignment``, ``source_coverage`` and ``target_coverage``: an encoder or a saved
            statistical model; None for none.
        languages: Codes of both languages, for the rule of scripts: ``("en", "de")`` or ``"en,de"``; a statistical
            model of others is refused.
        progress: A bar in notebooks and on terminals (``True``), or none.
        **options: Fields of :class:`isoglot.mining.options.FilterOptions`, such as ``min_margin=1.02``.

    Returns:
        Each pair, cleaned of repeated spaces, in its place.

    Example:
        >>> found = filter_pairs([("Good morning.", "Guten Morgen."), ("Hello", "Hello")], max_copied=0.6)
        >>> [(pair.reason, sorted(pair.scores)) for pair in found]
        [('', ['alignment', 'source_coverage', 'target_coverage']), ('copied', [])]
    """
    chosen = validated(FilterOptions, options, what="filter option")
    tags = codes_of(languages) if isinstance(languages, str) else list(languages)
    if len(tags) != 2:
        raise ConfigurationError(f"languages: expected two codes such as ('en', 'de'), got {languages!r}")
    scorer = PairScorer(model, aligner, chosen)
    source, target = tags
    check_pair_rules([Source(path="-", source_language=source, target_language=target)], chosen)
    if pairs is None:
        raise ConfigurationError("expected sentence pairs, got None")
    texts = pairs_in_memory(pairs, None, None)

    def rows() -> Iterator[SentencePair]:
        for number, pair in enumerate(texts, 1):
            if any(pair.words):
                raise ConfigurationError(
                    f"pair {number}: expected two texts, got words; join them: ' '.join(words)"
                )
            pair.languages = (source, target) if source or target else pair.languages
            yield pair

    total = len(pairs) if isinstance(pairs, list | tuple) or hasattr(pairs, "iloc") else 0
    return with_progress(_judged(rows(), scorer, chosen), reporter_of(progress), "filter", total=total)


def filter_files(
    corpus: Corpus,
    out: Sequence[str],
    options: FilterOptions,
    scorer: Callable[[], PairScorer],
    *,
    dropped: str | Path | None = None,
    report: str | Path | None = None,
    progress: AnyReporter | None = None,
) -> FilterReport:
    """Filter a bitext: kept pairs to ``out``, the others with their reasons to ``dropped``, counts to ``report``.

    ``scorer`` makes the scorer, which is done when the inputs have been checked.
    """
    inputs = [path for corpus_input in corpus.inputs for path in corpus_input.source.files()]
    check_outputs([*out, *(path for path in (dropped, report) if path is not None)], inputs)
    check_pair_rules([raw.source for raw in corpus.inputs if raw.manifest is None], options)
    progress, counts = reporter_of(progress), FilterReport()
    with ExitStack() as stack:
        write = stack.enter_context(pair_writer(out, corpus.languages))
        write_dropped = (
            stack.enter_context(pair_writer([str(dropped)], corpus.languages)) if dropped else None
        )
        pair_scorer = scorer()
        blank = dict.fromkeys(pair_scorer.names, "")
        for judged in _judged(corpus.pairs(), pair_scorer, options):
            counts.add(judged)
            if not judged.reason:
                write(judged.pair, judged.scores)
            elif write_dropped is not None:
                pair = judged.pair
                position = {"line": "" if pair.line is None else pair.line}
                if len(corpus.inputs) > 1:
                    position["path"] = pair.path or ""
                reasons = {"reasons": ",".join(judged.reasons), **position}
                write_dropped(pair, {**reasons, **blank, **judged.scores})
            if counts.read % 1024 == 0:
                progress.progress("filtering", counts.read, 0)
        if report is not None:
            write_json(report, counts.recorded())
    return counts


def _judged(
    pairs: Iterator[SentencePair], scorer: PairScorer, options: FilterOptions
) -> Iterator[JudgedPair]:
    """Pairs in their order: rules chunk by chunk, scores a window of those that pass at a time."""
    rules = PairRules(options)
    waiting: list[tuple[SentencePair, Sequence[str]]] = []
    passed = first = 0
    for languages, run in groupby(pairs, key=attrgetter("languages")):
        scorer.require_languages(languages)
        while chunk := list(islice(run, _CHUNK)):
            for pair in chunk:  # but for text whose characters or words something else in its row counts
                if not (any(pair.tags) or any(pair.words)):
                    source, target = (clean(text.replace("\n", " ")) for text in pair.texts)
                    pair.texts = source, target
            for pair, reasons in zip(chunk, rules.reasons(chunk, languages), strict=True):
                waiting.append((pair, reasons))
                passed += not reasons
                if passed == options.pool or len(waiting) == 16 * options.pool:
                    yield from _scored(waiting, first, scorer, options.thresholds)
                    first, waiting, passed = first + len(waiting), [], 0
    yield from _scored(waiting, first, scorer, options.thresholds)
    scorer.warn()


def _scored(
    rows: Sequence[tuple[SentencePair, Sequence[str]]],
    first: int,
    scorer: PairScorer,
    thresholds: Mapping[str, float],
) -> Iterator[JudgedPair]:
    """``first``: How many pairs came before these."""
    texts, names = [], []
    for number, (pair, rules) in enumerate(rows, first + 1):
        if not rules:
            texts.append(pair.texts)
            names.append(f"pair {number}" if pair.line is None else f"{pair.path}:{pair.line}, pair {number}")
    all_scores = iter(scorer(texts, names))
    for pair, rules in rows:
        scores = None if rules else next(all_scores)
        if scores is None:
            yield JudgedPair(pair, tuple(rules) or (UNKNOWN,), {})
            continue
        low = tuple(name for name, least in thresholds.items() if scores[name] < least)
        yield JudgedPair(pair, low, scores)
