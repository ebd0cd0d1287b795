"""`isoglot filter`: drop pairs that are not translations, by rules, sentence vectors and word links.

Rules come first, and only pairs that pass them are scored. Pairs are scored a window at a time, so memory does not grow
with the input; the last window, which may be short, is filled up with the pairs before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.checkpoints.folder import BOX
from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import Tabular
from isoglot.core.languages import split_codes
from isoglot.corpus.manifest import is_prepared
from isoglot.corpus.open_corpus import Corpus, open_corpus
from isoglot.formats.given_row import with_values
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.pairs_in_memory import pairs_in_memory
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.mining.duplicates import FirstPairs, Place
from isoglot.mining.histogram import Histogram
from isoglot.mining.options import FilterRequest
from isoglot.mining.pair_rules import check_pair_rules
from isoglot.mining.pair_scores import Scores
from isoglot.mining.scored_windows import FilterBatch, ScoredWindows, scores_made_from
from isoglot.runs.files import check_outputs, write_json
from isoglot.runs.parts import kept_parts
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of, with_progress

if TYPE_CHECKING:
    from isoglot.aligners.aligner import Aligner
    from isoglot.mining.vectors import SentenceEncoder

UNKNOWN = "unknown_text"
"""The reason of a pair of which a side has no word that the encoder knows."""
DUPLICATE = "duplicate"
"""The reason of a pair whose text an earlier kept pair has."""


@dataclass(frozen=True, slots=True)
class JudgedPair(Tabular):
    """A pair, the reasons to drop it, and its scores by name.

    1. A kept pair has no reasons.
    2. A pair that rules drop has the names of these rules, and no scores.
    3. A pair with low scores has the names of these scores: ``("margin", "alignment")``.
    4. Another reason comes alone: :data:`UNKNOWN`, without scores, or :data:`DUPLICATE`. The text of a duplicate stands
       at ``duplicate_of``, the file and line of an earlier pair (of data in memory None and its number, from 1).
    """

    pair: SentencePair
    reasons: tuple[str, ...]
    scores: Mapping[str, float]
    duplicate_of: Place | None = None

    def to_dict(self) -> dict[str, Any]:
        """The pair's row, the first reason and the scores by name; the user's columns keep their names."""
        row = self.pair.row()
        for name in ("source_language", "target_language"):
            # Languages that were named in the call are no part of the user's row.
            if name not in self.pair.more:
                row.pop(name, None)
        return with_values(row, {"reason": self.reason, **self.scores})

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
    """Counts of pairs that were read, kept and dropped, and histograms of the scores of those that pass the rules."""

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    histograms: dict[str, Histogram] = field(default_factory=dict)
    preset: dict[str, Any] = field(default_factory=dict)
    """The name of the preset and the values of its options; empty without one."""

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
        recorded = {"read": self.read, "kept": self.kept, "dropped": dict(self.dropped), "histograms": spread}
        return {"preset": self.preset, **recorded} if self.preset else recorded


def filter_pairs(
    pairs: Any,
    *,
    model: str | Path | SentenceEncoder | None = None,
    aligner: Aligner | str | Path | None = BOX,
    languages: str | Sequence[str] = ("", ""),
    progress: AnyReporter = True,
    **options: Any,
) -> Iterator[JudgedPair]:
    """Judge sentence pairs: their scores, and why a pair is dropped.

    A pair with a side of which an encoder's vocabulary knows no word is dropped as ``unknown_text``.

    Args:
        pairs: Sources and targets, of which a few thousand are in memory at a time: pairs, dictionaries, or a frame, a
            ``pyarrow.Table`` or data set with the columns ``source`` and ``target``, whose other columns go along in
            ``pair.more``; or a path or several, as ``isoglot filter`` takes them.
        model: Encoder of sentences for ``cosine`` and ``margin``: a folder or hub name, or any function from texts
            to vectors, such as a :class:`isoglot.tasks.text_vectors.TextEncoder`.
        aligner: Aligner of words for ``alignment``, ``source_coverage`` and ``target_coverage``: an encoder, a saved
            statistical model, ``package.module:Name`` or an object (:class:`isoglot.Aligner`); None for none.
        languages: Codes of both languages, for the rule of scripts: ``("en", "de")`` or ``"en,de"``; a statistical
            model of others is refused.
        progress: A bar in notebooks and on terminals (``True``), or none.
        **options: Other fields of :class:`isoglot.mining.options.FilterRequest`, such as ``min_margin=1.02``; of a
            ``model`` with a name also those of its vectors, such as ``layer=8``.

    Returns:
        Each pair as it was given, in its place: one for each row, in their order, so that
        ``frame[[not pair.reason for pair in found]]`` keeps a frame's index and types. Rules and scores see its text
        with single spaces.

    Example:
        >>> found = filter_pairs([("Good morning.", "Guten Morgen."), ("Hello", "Hello")], max_copied=0.6)
        >>> [(pair.reason, sorted(pair.scores)) for pair in found]
        [('', ['alignment', 'source_coverage', 'target_coverage']), ('copied', [])]
    """
    request = validated(FilterRequest, {"model": model, "aligner": aligner, **options})
    tags = split_codes(languages) if isinstance(languages, str) else list(languages)
    if len(tags) != 2:
        raise ConfigurationError(f"languages: expected two codes such as ('en', 'de'), got {languages!r}")
    source_language, target_language = tags
    are_named = any(tags)

    paths = _paths_in(pairs)
    # If the call names no languages, the pairs of prepared folders have those of their folder.
    are_in_folders = bool(paths) and all(map(is_prepared, paths))
    checked_sources = []
    if are_named or not are_in_folders:
        # A source of which no file is read: it stands for the languages of the call.
        checked_sources = [Source(path="-", source_language=source_language, target_language=target_language)]
    check_pair_rules(checked_sources, request)
    windows = ScoredWindows(request)

    total = 0  # pairs, for the bar; 0 if it is not known
    if pairs is None:
        raise ConfigurationError("expected sentence pairs, got None")
    if paths:
        if not are_named and not are_in_folders:
            listed = ", ".join(repr(str(path)) for path in paths)
            texts = f"; of texts one pair is written [({listed})]" if len(paths) == 2 else ""
            raise ConfigurationError(f"name the languages of {listed}, such as languages=('en', 'de'){texts}")
        given = open_corpus(paths, "bitext", languages=tags if are_named else ()).pairs()
    else:
        remedy = "rename the two columns of text to 'source' and 'target'"
        held = pairs_in_memory(pairs, None, None, whole=True, remedy=remedy)
        given, total = _texts_alone(held), held.length or 0
    if are_named:
        given = _in_languages(given, (source_language, target_language))
    judged = _judged(given, windows, request)
    return with_progress(judged, reporter_of(progress), "filter", total=total)


def _paths_in(pairs: Any) -> list[str | Path]:
    """Return the paths of sentence pairs in files; no path if the pairs are data in memory."""
    paths = [pairs] if isinstance(pairs, str | Path) else pairs
    if isinstance(paths, list | tuple) and all(isinstance(path, str | Path) for path in paths):
        return list(paths)
    return []


def _in_languages(pairs: Iterable[SentencePair], languages: tuple[str, str]) -> Iterator[SentencePair]:
    """Yield the pairs, with the languages that the call names in place of their own."""
    for pair in pairs:
        pair.languages = languages
        yield pair


def _texts_alone(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
    """Yield pairs in memory; refuse one whose sides were given as words, which rules and scores do not read."""
    for number, pair in enumerate(pairs, 1):
        if any(pair.words):
            raise ConfigurationError(
                f"pair {number}: expected two texts, got words; join them: ' '.join(words)"
            )
        yield pair


def filter_files(
    corpus: Corpus,
    out: Sequence[str],
    request: FilterRequest,
    *,
    dropped: str | Path | None = None,
    report: str | Path | None = None,
    progress: AnyReporter | None = None,
    resume: bool = False,
) -> FilterReport:
    """Filter a bitext: kept pairs to ``out``, the others with their reasons to ``dropped``, counts to ``report``.

    Encoder and aligner are loaded when the inputs have been checked. ``resume``: Use the finished results
    that a stopped run has left beside the output.
    """
    inputs = [path for corpus_input in corpus.inputs for path in corpus_input.source.files()]
    check_outputs([*out, *(path for path in (dropped, report) if path is not None)], inputs)
    check_pair_rules([raw.source for raw in corpus.inputs if raw.manifest is None], request)
    progress, counts = reporter_of(progress), FilterReport()
    total = corpus.row_count()
    _note_preset(request, counts, progress)
    with ExitStack() as stack:
        made_from = partial(scores_made_from, request, inputs)
        finished = stack.enter_context(
            kept_parts(out[0], made_from, what="filtering", resume=resume, engine=request.engine)
        )
        write = stack.enter_context(pair_writer(out, corpus.languages))
        write_dropped = (
            stack.enter_context(pair_writer([str(dropped)], corpus.languages)) if dropped else None
        )
        windows = ScoredWindows(request, finished)
        several = len(corpus.inputs) > 1
        for judged in _judged(corpus.pairs(incomplete=True), windows, request):
            # Both files have a header, even if no pair is kept, or none dropped.
            if not counts.read:
                write.begin(judged.pair, list(windows.score_names))
                if write_dropped is not None:
                    names = list(_verdict(judged, windows.score_names, request, several=several))
                    write_dropped.begin(judged.pair, names)
            counts.add(judged)
            if not judged.reason:
                write(judged.pair, judged.scores)
            elif write_dropped is not None:
                write_dropped(judged.pair, _verdict(judged, windows.score_names, request, several=several))
            if counts.read % 1024 == 0:
                progress.progress("filtering", counts.read, total)
        if report is not None:
            write_json(report, counts.recorded())
    return counts


def _note_preset(request: FilterRequest, report: FilterReport, progress: Reporter) -> None:
    """Say which preset is used, with the values of its options, and record it."""
    if request.preset is None:
        return
    values = {}
    for name, value in request.preset_values.items():
        is_plain = value is None or isinstance(value, str | int | float)
        values[name] = value if is_plain else type(value).__name__  # an encoder or aligner in memory
    report.preset = {"name": request.preset, **values}
    listed = ", ".join(f"{name} {value}" for name, value in values.items())
    progress.note(f"preset {request.preset}: {listed}")


def _verdict(
    judged: JudgedPair, score_names: Iterable[str], request: FilterRequest, *, several: bool
) -> dict[str, Any]:
    """The values that `--dropped` writes behind a pair, by the same names for every pair.

    Scores that a pair does not have are empty. ``several``: There are several inputs, so places name the file too.
    """
    pair = judged.pair
    verdict: dict[str, Any] = {
        "reasons": ",".join(judged.reasons),
        "line": "" if pair.line is None else pair.line,
    }
    if several:
        verdict["path"] = pair.path or ""
    if request.duplicates != "keep":
        verdict["duplicate_of"] = _place_text(judged.duplicate_of, several=several)
    return {**verdict, **dict.fromkeys(score_names, ""), **judged.scores}


def _judged(
    pairs: Iterator[SentencePair], windows: ScoredWindows, request: FilterRequest
) -> Iterator[JudgedPair]:
    """Judge pairs, in their order: by rules, then by scores, and at last as duplicates."""
    first_pairs = None if request.duplicates == "keep" else FirstPairs(request.duplicates)
    for batch, scores in windows.batches(pairs):
        judged = _judged_batch(batch, scores, request.thresholds)
        yield from judged if first_pairs is None else _without_duplicates(judged, batch, first_pairs)


def _judged_batch(
    batch: FilterBatch, scores: Iterator[Scores], thresholds: Mapping[str, float]
) -> Iterator[JudgedPair]:
    """Judge the pairs of a batch by the rules that drop them, and by the scores of the other pairs."""
    for row in batch.rows:
        if row.reasons:
            yield JudgedPair(row.pair, tuple(row.reasons), {})
            continue
        scores_of_pair = next(scores)
        if scores_of_pair is None:
            yield JudgedPair(row.pair, (UNKNOWN,), {})
            continue
        low = tuple(name for name, least in thresholds.items() if scores_of_pair[name] < least)
        yield JudgedPair(row.pair, low, scores_of_pair)


def _without_duplicates(
    judged_pairs: Iterator[JudgedPair],
    batch: FilterBatch,
    first_pairs: FirstPairs,
) -> Iterator[JudgedPair]:
    """Drop pairs of a batch whose text an earlier kept pair has.

    This rule comes last: a pair that another rule or a low score drops does not stand in the way of a later one.
    """
    every = list(judged_pairs)
    kept = [number for number, judged in enumerate(every) if not judged.reasons]
    cleaned: list[SentencePair] = []
    places: list[Place] = []
    for number in kept:
        pair, texts, _ = batch.rows[number]
        cleaned.append(replace(pair, texts=texts))
        if pair.line is None:
            # Data in memory: the number of the pair, from 1.
            places.append((None, batch.pairs_before + number + 1))
        else:
            places.append((pair.path, pair.line))
    earlier = dict(zip(kept, first_pairs.earlier(cleaned, places), strict=True))
    for number, judged in enumerate(every):
        place = earlier.get(number)
        if place is None:
            yield judged
        else:
            yield replace(judged, reasons=(DUPLICATE,), duplicate_of=place)


def _place_text(place: Place | None, *, several: bool) -> str:
    """The line of a pair, with its file where there are several."""
    if place is None:
        return ""
    path, line = place
    return f"{path}:{line}" if several and path else str(line)
