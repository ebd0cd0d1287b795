"""`isoglot filter`: pairs that are not translations, by sentence vectors, word links and the rules of `prepare`.

Rules come first, and only pairs that pass them are scored. Pairs are scored a window at a time, so memory does not grow
with the input; the last window, which may be short, is filled up with the pairs before it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import regex

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.given_pairs import given_pairs
from isoglot.checks import given_texts, validated
from isoglot.corpus.encode.words import split_words
from isoglot.corpus.filter.filters import RowTests, clean
from isoglot.corpus.open_corpus import Corpus
from isoglot.corpus.prepare import check_rules, held_out_hashes, rules_tokenizer
from isoglot.corpus.read.readers import READERS
from isoglot.corpus.read.records import Records
from isoglot.corpus.read.sources import LANGUAGES, Source
from isoglot.errors import ConfigurationError
from isoglot.mining.files import pair_writer
from isoglot.mining.histogram import Histogram
from isoglot.mining.options import FilterOptions
from isoglot.mining.pair_scores import PairScorer
from isoglot.mining.vectors import SentenceEncoder
from isoglot.runs.checkpoint import BOX
from isoglot.runs.files import check_outputs, write_json
from isoglot.runs.reporter import AnyReporter, reporter_of

_LETTER = regex.compile(r"\p{L}")
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair, its scores by name, and the rule or score that drops it, empty for a pair that is kept."""

    source: str
    target: str
    reason: str
    scores: Mapping[str, float]


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


def filter_pairs(
    pairs: Any,
    *,
    model: str | Path | SentenceEncoder | None = None,
    aligner: EmbeddingAligner | str | Path | None = BOX,
    languages: tuple[str, str] = ("", ""),
    **options: Any,
) -> Iterator[JudgedPair]:
    """Judge sentence pairs: their scores, and why a pair is dropped.

    Args:
        pairs: Sources and targets, of which a few thousand are in memory at a time: pairs, dictionaries, a data set or
            a frame with the columns ``source`` and ``target``.
        model: Encoder of sentences for ``cosine`` and ``margin``: a folder or hub name, or any function from texts
            to vectors, such as a :class:`isoglot.tasks.text_vectors.TextEncoder`.
        aligner: Aligner of words for ``alignment``, ``source_coverage`` and ``target_coverage``; None for none.
        languages: Codes of both languages, for the rule of scripts.
        **options: Fields of :class:`isoglot.mining.options.FilterOptions`, such as ``min_margin=1.02``.

    Returns:
        Each pair, cleaned of repeated spaces, in its place.

    Example:
        >>> found = filter_pairs([("Good morning.", "Guten Morgen."), ("Hello", "Hello")], max_copied=0.6)
        >>> [(pair.reason, sorted(pair.scores)) for pair in found]
        [('', ['alignment', 'source_coverage', 'target_coverage']), ('copied', [])]
    """
    wanted = validated(FilterOptions, options, what="filter option")
    if isinstance(languages, str) or len(languages) != 2:
        raise ConfigurationError(f"languages: expected two codes such as ('en', 'de'), got {languages!r}")
    scorer = PairScorer(model, aligner, wanted)
    about = Source(path="-", source_language=languages[0], target_language=languages[1])
    check_rules([about], wanted, "bitext")
    if pairs is None:
        raise ConfigurationError("expected sentence pairs, got None")
    numbered = enumerate(given_pairs(pairs, None, None), 1)
    texts = (tuple(given_texts(pair, f"pair {number}")) for number, pair in numbered)
    return _judged(_chunked(texts, languages), scorer, wanted)


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
    inputs = [path for given in corpus.inputs for path in given.source.files()]
    check_outputs([*out, *(path for path in (dropped, report) if path is not None)], inputs)
    check_rules([given.source for given in corpus.inputs if given.manifest is None], options, "bitext")
    show, found = reporter_of(progress).progress, FilterReport()
    languages = corpus.inputs[0].source.languages("bitext")
    with ExitStack() as stack:
        keep = stack.enter_context(pair_writer(out, languages))
        drop = stack.enter_context(pair_writer([str(dropped)], languages)) if dropped else None
        judging = scorer()
        blank = dict.fromkeys(judging.names, "")
        for pair in _judged(_chunks(corpus), judging, options):
            found.add(pair)
            if not pair.reason:
                keep(pair.source, pair.target, pair.scores)
            elif drop is not None:
                drop(pair.source, pair.target, {"reason": pair.reason, **blank, **pair.scores})
            if found.read % 1024 == 0:
                show("filtering", found.read, 0)
        if report is not None:
            write_json(report, found.recorded())
    return found


_Chunk = tuple[Records, Sequence[str]]


def _chunks(corpus: Corpus) -> Iterator[_Chunk]:
    """All pairs, a few thousand at a time, and their languages."""
    for given in corpus.inputs:
        source = given.source
        if given.manifest is not None:
            for tags, rows in groupby(given.rows(), key=itemgetter(*LANGUAGES["bitext"])):
                pairs = ((row["source"], row["target"]) for row in rows)
                yield from _chunked(pairs, [tag or "" for tag in tags])
        else:
            reader = READERS[source.format or ""]
            for chunk in reader.chunks(source, "bitext", None):
                yield reader.parse(source, "bitext", chunk), source.languages("bitext")


def _chunked(pairs: Iterable[tuple[str, ...]], languages: Sequence[str]) -> Iterator[_Chunk]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, _CHUNK)):
        source, target = map(list, zip(*chunk, strict=True))
        yield Records({"source": source, "target": target}), languages


def _judged(chunks: Iterable[_Chunk], scorer: PairScorer, options: FilterOptions) -> Iterator[JudgedPair]:
    """Pairs in their order: rules chunk by chunk, scores a window of those that pass at a time."""
    tests = RowTests(options, tokenizer=rules_tokenizer(options)[0], held_out=held_out_hashes(options))
    waiting: list[tuple[str, str, str]] = []
    passed = 0
    for records, languages in chunks:
        for name in ("source", "target"):
            records.columns[name] = [clean(text.replace("\n", " ")) for text in records.columns[name]]
        reasons = tests.reasons(records, languages)
        for source, target, reason in zip(*records.sides(), reasons.tolist(), strict=True):
            copied = options.max_copied is not None and copied_share(source, target) > options.max_copied
            why = reason or ("copied" if copied else "")
            waiting.append((source, target, why))
            passed += not why
            if passed == options.pool or len(waiting) == 16 * options.pool:
                yield from _scored(waiting, scorer, options.thresholds)
                waiting, passed = [], 0
    yield from _scored(waiting, scorer, options.thresholds)


def _scored(
    rows: Sequence[tuple[str, str, str]], scorer: PairScorer, thresholds: Mapping[str, float]
) -> Iterator[JudgedPair]:
    scores = iter(scorer([(source, target) for source, target, why in rows if not why]))
    for source, target, why in rows:
        own = {} if why else next(scores)
        low = (name for name, least in thresholds.items() if not why and own[name] < least)
        yield JudgedPair(source, target, why or next(low, ""), own)


def copied_share(source: str, target: str) -> float:
    """How many words of the shorter side also stand on the other, of those that have a letter; 0 where it has none.

    Example:
        >>> copied_share("Tokyo is big.", "Tokyo ist groß."), copied_share("1990", "1990")
        (0.3333333333333333, 0.0)
    """
    words = (split_words(text.casefold()) for text in (source, target))
    one, other = (Counter(word for word in own if _LETTER.search(word)) for own in words)
    return (one & other).total() / max(1, min(one.total(), other.total()))
