"""``isoglot project``: labels of one language carried to translations of the text, over word links."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import tee, zip_longest
from pathlib import Path
from typing import Any

from isoglot.aligners.aligner import Use
from isoglot.aligners.in_parts import aligner_in_parts, links_made_from
from isoglot.aligners.options import AnyAligner, paths_of
from isoglot.aligners.pairs_in_files import PairsInFiles, Warn, Warnings
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.link_files import LinkReader
from isoglot.formats.link_matching import matched_rows
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode
from isoglot.projection.labels import LabelKind, LabelledPair, ProjectionCounts
from isoglot.projection.markup import InlineTags, TranslationMemory
from isoglot.projection.offsets import CharacterSpans
from isoglot.projection.options import ProjectOptions, ReadyLinks, project_options
from isoglot.projection.tagged import TaggedWords
from isoglot.runs.files import check_outputs, text_output
from isoglot.runs.parts import Parts, kept_parts
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of

_KINDS: dict[str, type[LabelKind]] = {
    "pos": TaggedWords,
    "ner": TaggedWords,
    "offsets": CharacterSpans,
    "markup": InlineTags,
}
"""Kinds of labels but questions, whose reader loads torch through `datasets`."""


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
    """Carry the labels of a text to its translation; the rule is that of :mod:`isoglot.projection.rule`.

    Tagged words and lines are read and written one at a time, whatever the size; a file of questions is in memory. An
    aligner that learns from the text reads it twice.

    Args:
        labels: Labelled text: CoNLL-U or other tagged words, SQuAD's JSON, JSON lines with offsets, inline tags; or a
            translation memory in TMX.
        translation: Its translation, sentence by sentence, or question by question with the same ids; none of a
            translation memory, which has both.
        out: File to write, which `isoglot finetune` reads; ``-`` for standard output.
        progress: Shows how far it is.
        resume: Go on from the parts that a stopped run has kept beside the output.
        **options: Fields of :class:`~isoglot.projection.options.ProjectOptions`, and those of an aligner (``model``,
            ``method``, ``min_probability``, …) or ``links_file``.

    Returns:
        How many spans were lost, split and shortened, and how many words are labelled.

    Raises:
        InputError: A file that cannot be read, or is not parallel to the other.
        ConfigurationError: An unknown option, or an output that cannot be written.
    """
    if held := [value for value in (labels, translation) if not isinstance(value, str | Path | None)]:
        raise ConfigurationError(
            f"got {type(held[0]).__name__}, but project reads files; write it to one first, such as JSON lines: "
            "frame.to_json('labels.jsonl', orient='records', lines=True)"
        )
    chosen = project_options(labels, **options)
    links = chosen.links
    reads = [
        labels,
        translation,
        chosen.segmented,
        *paths_of(links, "links_file", "train_on", "load", "start", "model"),
    ]
    saved = paths_of(links, "save")
    outputs = [out, *saved, *paths_of(links, "lexicon"), *([chosen.problems] if chosen.problems else [])]
    check_outputs(outputs, reads, folders=saved)
    if str(out) != "-" and chosen.kind in ("questions", "offsets") and Path(out).suffix != ".jsonl":
        raise ConfigurationError(
            f"{out}: {chosen.kind} are written as JSON lines, which finetune knows by the suffix; name it .jsonl"
        )
    if translation is not None:
        kind = _label_kind(chosen.kind)(labels, translation, out, chosen)
    elif chosen.kind == "markup":
        kind = TranslationMemory(labels, labels, out, chosen)
    else:
        raise ConfigurationError(f"{labels}: name its translation; only a .tmx file holds both")
    inputs = [path for path in (labels, translation) if path is not None]
    made_from = partial(_links_made_from, chosen, inputs)
    engine = getattr(links, "engine", "local")
    with kept_parts(out, made_from, what="projection", resume=resume, engine=engine) as parts:
        _write(kind, _linked(kind, links, parts), reporter_of(progress))
    return kind.counts


def _linked(kind: LabelKind, links: AnyAligner | ReadyLinks, parts: Parts) -> Iterator[LabelledPair]:
    """The pairs with their links, from a file or from an aligner."""
    if isinstance(links, ReadyLinks):
        return _linked_by_file(kind, links)
    return _aligned(kind, links, parts)


def _write(kind: LabelKind, linked: Iterator[LabelledPair], progress: Reporter) -> None:
    """Write the labels of pairs with links, and the list of problems where it is asked for."""
    with kind.writer() as write:
        for done, pair in enumerate(linked):
            if carried := kind.carried(pair):
                write(carried)
            if done % 256 == 0:
                progress.progress("projecting", done, 0)
        if not kind.counts.written:
            problem = "no label could be transferred to it; check that it is the translation"
            raise InputError(problem, path=kind.translation)
        if kind.options.problems is not None:
            rows = [("line", "problem", "tag"), *kind.problems]
            with text_output(kind.options.problems) as file:
                file.write("".join("\t".join(map(str, row)) + "\n" for row in rows))


def _links_made_from(chosen: ProjectOptions, inputs: Sequence[str | Path]) -> dict[str, Any]:
    """What the links of a projection are made from, beside the text of the sentences."""
    if isinstance(chosen.links, ReadyLinks):
        return {}
    return links_made_from(chosen.links, chosen.words, inputs)


def _translated(kind: LabelKind) -> Iterator[LabelledPair]:
    """The pairs of a kind, of which at least one has words on both sides."""
    translated = False
    for pair in kind.pairs():
        translated = translated or all(pair.words)
        yield pair
    if not translated:
        raise InputError("no sentence has a translation; check the files", path=kind.translation)


def _aligned(kind: LabelKind, request: AnyAligner, kept: Parts) -> Iterator[LabelledPair]:
    """The pairs with the links of an aligner, some of them ahead; one that learns reads them once before."""
    pairs: Callable[[], Iterator[LabelledPair]] = partial(_translated, kind)
    from_stream = "-" in map(str, (kind.labels, kind.translation))
    if request.learns and (kind.options.kind == "questions" or from_stream):  # read once, and held
        pairs = list(pairs()).__iter__
    ahead, left = tee(pairs())

    def parts(*, mode: WordMode, warn: Warn | None) -> Iterator[SentencePair]:
        number = 0
        to_learn_from = request.learns and warn is not None
        for pair in pairs() if to_learn_from else ahead:
            for _, _, part in kind.parts(pair):
                number += 1
                if isinstance(warn, Warnings):
                    warn.places.append((number, str(kind.labels), pair.line))
                yield part

    to_link = PairsInFiles(parts)
    use = Use(
        default_words="whitespace",
        train_on_words=kind.options.words,
        in_files=True,
        warn=to_link.warnings,
    )
    linked = aligner_in_parts(request, use, kept).align(to_link)
    for pair in left:
        for first, target_first, _ in kind.parts(pair):
            part = next(linked)
            pair.links += [(first + i, target_first + j) for i, j in part.links]
            pair.probabilities += part.probabilities
        yield pair
    next(linked, None)  # what is reported, and the lexicon, come after the last pair


def _linked_by_file(kind: LabelKind, links: ReadyLinks) -> Iterator[LabelledPair]:
    """The pairs with the links of a file that has one sentence for each.

    JSON lines match by their ids where the labels have some too.
    """
    path = links.links_file
    reader = LinkReader(path)
    rows: Iterator[tuple[LabelledPair | None, SentencePair | None]]
    if reader.name == "jsonl":
        needed = "give the links of the same texts"
        rows = matched_rows(_PairRows(kind), reader, needed=needed)
    else:
        rows = zip_longest(_translated(kind), reader.sentences())
    for number, (pair, sentence) in enumerate(rows):
        if pair is None:
            problem = f"has more lines than the text has sentences ({number:,}); use links of this text"
            raise InputError(problem, path=path)
        if sentence is None:
            raise InputError(f"ends before sentence {number + 1:,}; one line for each is needed", path=path)
        values = sentence.more.get("probabilities") or sentence.more.get("similarities")
        pair.links = sentence.more.get("links", []) if values else sentence.links
        source, target = map(len, pair.words)
        numbers = isinstance(values, list) and all(
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            for value in values
        )
        problem = ""
        if values and not (numbers and len(values) == len(pair.links)):
            problem = (
                f"{len(pair.links)} links, but their values are {shortened(values)}; a list of one number per link is "
                "needed"
            )
        elif links.min_probability and pair.links and not values:
            problem = (
                "has no probabilities, which [[min_probability]] needs; leave it out, or read `isoglot align -f "
                "jsonl`"
            )
        elif outside := [(i, j) for i, j in pair.links if i >= source or j >= target]:
            problem = (
                f"link {outside[0][0]}-{outside[0][1]} of {source} and {target} words; use links that count the words "
                "of this text ([[words]])"
            )
        if problem:
            raise InputError(problem, path=path, line=sentence.line)
        if values:
            probable = sorted(
                ((i, j), value)
                for (i, j), value in zip(pair.links, values, strict=True)
                if value >= links.min_probability
            )
            pair.links, pair.probabilities = [link for link, _ in probable], [value for _, value in probable]
        yield pair


class _PairRows:
    """Pairs as the rows of the file of labels."""

    def __init__(self, kind: LabelKind) -> None:
        self.path = kind.labels
        self._pairs = _translated(kind)

    def lines(self) -> Iterator[tuple[int, LabelledPair]]:
        return enumerate(self._pairs, 1)

    def parse(self, line: int, pair: LabelledPair) -> LabelledPair:
        return pair
