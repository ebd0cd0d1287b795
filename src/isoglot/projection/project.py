"""``isoglot project``: labels of one language carried to translations of the text, over word links.

:func:`project` checks what it is asked for, takes the kind of labels, gets links for its pairs (from an aligner or from
a file), and writes each pair with its labels.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import tee, zip_longest
from pathlib import Path
from typing import Any

from isoglot.aligners.aligner import Use
from isoglot.aligners.in_parts import aligner_in_parts, links_made_from
from isoglot.aligners.options import AnyAligner, paths_of
from isoglot.aligners.pairs_in_files import PairsInFiles, Warnings
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.link_files import LinkReader
from isoglot.formats.link_matching import matched_rows
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode
from isoglot.projection.labels import LabelKind, LabelledPair, ProjectionCounts, ReportedTag
from isoglot.projection.markup import InlineTags, TranslationMemory
from isoglot.projection.offsets import CharacterSpans
from isoglot.projection.options import ProjectOptions, ReadyLinks, project_options
from isoglot.projection.tagged import TaggedWords
from isoglot.runs.files import check_outputs, text_output
from isoglot.runs.json_lines import JSON_LINES
from isoglot.runs.parts import Parts, kept_parts
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of

_KINDS: dict[str, type[LabelKind]] = {
    "pos": TaggedWords,
    "ner": TaggedWords,
    "offsets": CharacterSpans,
    "markup": InlineTags,
}
"""All kinds of labels except questions, whose reader loads torch through `datasets`."""


def _label_kind(name: str) -> type[LabelKind]:
    """The class that reads and writes labels of a kind."""
    if name == "questions":
        from isoglot.projection.questions import Answers  # noqa: PLC0415 - loads torch through `datasets`

        return Answers
    return _KINDS[name]


def project(
    labels: str | Path,
    translation: str | Path | None,
    out: str | Path,
    *,
    progress: AnyReporter = True,
    resume: bool = False,
    **options: Any,
) -> ProjectionCounts:
    """Carry the labels of a text to its translation, by the rules of :mod:`isoglot.projection.rule`.

    Tagged words and lines are read and written one at a time, so that files may be larger than memory; a file of
    questions is in memory. An aligner that learns from the text reads it twice.

    Args:
        labels: Labelled text: CoNLL-U or other tagged words, SQuAD's JSON, JSON lines with offsets, inline tags; or a
            translation memory in TMX.
        translation: Its translation, sentence by sentence, or question by question with the same ids; None for a
            translation memory, which has both.
        out: File to write, which `isoglot finetune` reads; ``-`` for standard output.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        resume: Go on from the parts that a stopped run has kept beside the output.
        **options: Fields of :class:`~isoglot.projection.options.ProjectOptions`, and those of an aligner (``model``,
            ``method``, ``min_probability``, …) or ``links_file``.

    Returns:
        Counts: how many spans were lost, split and shortened, and how many words are labelled.

    Raises:
        InputError: A file that cannot be read, or is not parallel to the other.
        ConfigurationError: An unknown option, or an output that cannot be written.
    """
    in_memory = [value for value in (labels, translation) if not isinstance(value, str | Path | None)]
    if in_memory:
        raise ConfigurationError(
            f"got {type(in_memory[0]).__name__}, but project reads files; write it to one first, such as JSON lines: "
            "frame.to_json('labels.jsonl', orient='records', lines=True)"
        )
    chosen = project_options(labels, **options)
    _check_files(labels, translation, out, chosen)
    if translation is not None:
        kind = _label_kind(chosen.kind)(labels, translation, out, chosen)
    elif chosen.kind == "markup":
        kind = TranslationMemory(labels, labels, out, chosen)
    else:
        raise ConfigurationError(f"{labels}: name its translation; only a .tmx file holds both")
    inputs = [path for path in (labels, translation) if path is not None]
    made_from = partial(_links_made_from, chosen, inputs)
    engine = getattr(chosen.links, "engine", "local")
    with kept_parts(out, made_from, what="projection", resume=resume, engine=engine) as kept:
        _write(kind, _linked(kind, chosen.links, kept), reporter_of(progress))
    return kind.counts


def _linked(kind: LabelKind, request: AnyAligner | ReadyLinks, kept: Parts) -> Iterator[LabelledPair]:
    """Yield the pairs with their links, from an aligner or from a file.

    ``request``: The options of the aligner, or of the file.
    ``kept``: Links that a stopped run has kept beside the output, in parts; an aligner goes on from them.
    """
    if isinstance(request, ReadyLinks):
        return _linked_by_file(kind, request)
    return _linked_by_aligner(kind, request, kept)


def _write(kind: LabelKind, linked: Iterator[LabelledPair], progress: Reporter) -> None:
    """Write the labels of pairs with links, and the list of problems where it is asked for."""
    with kind.writer() as write:
        for done, pair in enumerate(linked):
            carried = kind.carried(pair)
            if carried:
                write(carried)
            if done % 256 == 0:
                progress.progress("projecting", done, 0)
        if not kind.counts.written:
            problem = "no label could be transferred to it; check that it is the translation"
            raise InputError(problem, path=kind.translation_path)
        if kind.options.problems is not None:
            rows = [ReportedTag._fields, *kind.problems]
            with text_output(kind.options.problems) as file:
                file.write("".join("\t".join(map(str, row)) + "\n" for row in rows))


def _links_made_from(chosen: ProjectOptions, inputs: Sequence[str | Path]) -> dict[str, Any]:
    """Values on which the links of a projection depend, beside the text of the sentences."""
    if isinstance(chosen.links, ReadyLinks):
        return {}
    return links_made_from(chosen.links, chosen.words, inputs)


def _check_files(
    labels: str | Path, translation: str | Path | None, out: str | Path, chosen: ProjectOptions
) -> None:
    """Refuse outputs that cannot be written, would overwrite an input or each other, or have the wrong suffix."""
    request = chosen.links
    inputs = [
        labels,
        translation,
        chosen.segmented,
        *paths_of(request, "links_file", "train_on", "load", "start", "model"),
    ]
    saved = paths_of(request, "save")
    outputs = [out, *saved, *paths_of(request, "lexicon")]
    if chosen.problems:
        outputs.append(chosen.problems)
    check_outputs(outputs, inputs, folders=saved)
    if str(out) != "-" and chosen.kind in ("questions", "offsets") and Path(out).suffix not in JSON_LINES:
        raise ConfigurationError(
            f"{out}: {chosen.kind} are written as JSON lines, which finetune knows by the suffix; name it .jsonl"
        )


def _pairs_of(kind: LabelKind) -> Iterator[LabelledPair]:
    """Yield the pairs of a kind; refuse files in which no pair has words on both sides."""
    translated = False
    for pair in kind.pairs():
        translated = translated or all(pair.words)
        yield pair
    if not translated:
        raise InputError("no sentence has a translation; check the files", path=kind.translation_path)


def _linked_by_aligner(kind: LabelKind, request: AnyAligner, kept: Parts) -> Iterator[LabelledPair]:
    """Yield the pairs with the links of an aligner.

    The aligner gets window pairs (sentences of contexts), and reads some of them ahead of the pairs that are yielded.
    An aligner that learns reads all of them once before that.
    """
    read: Callable[[], Iterator[LabelledPair]] = partial(_pairs_of, kind)
    from_stream = "-" in map(str, (kind.labels_path, kind.translation_path))
    if request.learns and (kind.options.kind == "questions" or from_stream):
        in_memory = list(read())  # a stream cannot be read twice, and questions are in memory anyway
        read = in_memory.__iter__
    # The same pairs twice: once for the aligner, which reads ahead, and once to be yielded with their links.
    to_align, to_yield = tee(read())

    def read_windows(*, mode: WordMode, warn: Warnings | None) -> Iterator[SentencePair]:
        """Yield the window pairs of all pairs; called for each loop of the aligner over the bitext.

        ``mode``: How text is cut. No effect: the kind of labels has cut the pairs into words.
        ``warn``: Told the places of the pairs, for warnings. None after the first loop.
        """
        del mode
        is_first_loop = warn is not None
        # An aligner that learns loops twice: first to learn, then to align. The first loop reads all pairs by itself,
        # because `to_align` would keep all of them in memory until they are yielded.
        pairs = read() if request.learns and is_first_loop else to_align
        number = 0
        for pair in pairs:
            for _, _, window_pair in kind.window_pairs(pair):
                number += 1
                if warn is not None:
                    warn.places.append((number, str(kind.labels_path), pair.line))
                yield window_pair

    bitext = PairsInFiles(read_windows)
    use = Use(
        default_word_mode="whitespace",
        train_on_word_mode=kind.options.words,
        in_files=True,
        warn=bitext.warnings,
    )
    aligned_windows = aligner_in_parts(request, use, kept).align(bitext)
    for pair in to_yield:
        for first, target_first, _ in kind.window_pairs(pair):
            pair.add_links(next(aligned_windows), (first, target_first))
        yield pair
    next(aligned_windows, None)  # the aligner writes its lexicon and its warnings after the last pair


def _linked_by_file(kind: LabelKind, request: ReadyLinks) -> Iterator[LabelledPair]:
    """Yield the pairs with the links of a file that has one sentence for each.

    JSON lines match by their ids where the labels have some too.
    """
    path = request.links_file
    reader = LinkReader(path)
    rows: Iterator[tuple[LabelledPair | None, SentencePair | None]]
    if reader.name == "jsonl":
        needed = "give the links of the same texts"
        rows = matched_rows(_PairRows(kind), reader, needed=needed)
    else:
        rows = zip_longest(_pairs_of(kind), reader.sentences())
    for number, (pair, sentence) in enumerate(rows):
        if pair is None:
            problem = f"has more lines than the text has sentences ({number:,}); use links of this text"
            raise InputError(problem, path=path)
        if sentence is None:
            raise InputError(f"ends before sentence {number + 1:,}; one line for each is needed", path=path)
        values = sentence.more.get("probabilities") or sentence.more.get("similarities")
        # With values the links are taken in the order of the row, which is that of its values.
        pair.links = sentence.more.get("links", []) if values else sentence.links
        problem = _problem_of_links(pair, values, request.min_probability)
        if problem:
            raise InputError(problem, path=path, line=sentence.line)
        if values:
            _keep_probable_links(pair, values, request.min_probability)
        yield pair


def _problem_of_links(pair: LabelledPair, values: Any, min_probability: float) -> str:
    """Say what is wrong with the links of a pair, which have these values; empty if nothing is."""
    source, target = map(len, pair.words)
    if values and not (_are_numbers(values) and len(values) == len(pair.links)):
        return (
            f"{len(pair.links)} links, but their values are {shortened(values)}; a list of one number per link is "
            "needed"
        )
    if min_probability and pair.links and not values:
        return (
            "has no probabilities, which [[min_probability]] needs; leave it out, or read `isoglot align -f "
            "jsonl`"
        )
    for i, j in pair.links:
        if i >= source or j >= target:
            return (
                f"link {i}-{j} of {source} and {target} words; use links that count the words "
                "of this text ([[words]])"
            )
    return ""


def _are_numbers(values: Any) -> bool:
    """Whether values are a list of finite numbers; of JSON's types, true and false are none."""
    if not isinstance(values, list):
        return False
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )


def _keep_probable_links(pair: LabelledPair, values: Sequence[float], min_probability: float) -> None:
    """Leave out the links of a pair below the minimum; sort the others, and set their values as probabilities.

    A link that is there several times counts once, with its highest value.
    """
    value_of: dict[tuple[int, int], float] = {}
    for (i, j), value in zip(pair.links, values, strict=True):
        if value >= min_probability:
            value_of[i, j] = max(value, value_of.get((i, j), value))
    pair.links = sorted(value_of)
    pair.probabilities = [value_of[link] for link in pair.links]


class _PairRows:
    """Pairs as the rows of the file of labels, to be matched by their ids."""

    def __init__(self, kind: LabelKind) -> None:
        self.path = kind.labels_path
        self._pairs = _pairs_of(kind)

    def lines(self) -> Iterator[tuple[int, LabelledPair]]:
        return enumerate(self._pairs, 1)

    def parse(self, line: int, pair: LabelledPair) -> LabelledPair:
        return pair
