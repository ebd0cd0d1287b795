"""``isoglot project``: labels of one language carried to translations of the text, over word links."""

import json
import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from isoglot.aligners.align_file import align_file
from isoglot.aligners.alignment import PairLinks, WordPair
from isoglot.aligners.files.formats import LinkedSentence, LinkReader
from isoglot.aligners.files.matching import matched_rows
from isoglot.aligners.files.pairs import Warnings, more_bitext, read_pairs
from isoglot.aligners.options import AlignRequest, AnyAligner, paths_of
from isoglot.checks import shortened
from isoglot.corpus.open_corpus import Spool
from isoglot.corpus.read.sources import UNNAMED, Source
from isoglot.errors import ConfigurationError, InputError
from isoglot.projection.markup import InlineTags
from isoglot.projection.offsets import CharacterSpans
from isoglot.projection.options import ProjectRequest, ReadyLinks, project_request
from isoglot.projection.questions import Answers
from isoglot.projection.rule import Words
from isoglot.projection.tagged import TaggedWords
from isoglot.projection.units import LabelKind, ProjectionCounts, Unit
from isoglot.runs.disk import full_disk_named
from isoglot.runs.files import check_outputs, text_output, write_text
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of

KINDS: dict[str, type[LabelKind]] = {
    "pos": TaggedWords,
    "ner": TaggedWords,
    "questions": Answers,
    "offsets": CharacterSpans,
    "markup": InlineTags,
}
_SPACE = re.compile(r"[\s\u200b]+")


def project(
    labels: str | Path,
    translation: str | Path,
    out: str | Path,
    request: ProjectRequest | None = None,
    *,
    progress: AnyReporter | None = None,
    **options: Any,
) -> ProjectionCounts:
    """Carry the labels of a text to its translation; the rule is that of :mod:`isoglot.projection.rule`.

    Tagged words and lines are read and written one at a time, whatever the size; a file of questions is in memory.

    Args:
        labels: Labelled text: CoNLL-U or other tagged words, SQuAD's JSON, JSON lines with offsets, inline tags.
        translation: Its translation, sentence by sentence, or question by question with the same ids.
        out: File to write, which `isoglot finetune` reads; ``-`` for standard output.
        request: What to do; by default made of ``options``.
        progress: Shows how far it is.
        **options: Fields of :class:`~isoglot.projection.options.ProjectOptions`, and those of an aligner (``model``,
            ``method``, ``min_probability``, …) or ``links_file``.

    Returns:
        How many spans were lost, split and shortened, and how many words are labelled.

    Raises:
        InputError: A file that cannot be read, or is not parallel to the other.
        ConfigurationError: An unknown option, or an output that cannot be written.
    """
    if request is None:
        request = project_request(labels, **options)
    elif options:
        raise ConfigurationError("got both a request and single options; put everything in the request")
    progress = reporter_of(progress)
    ready = request.links.links_file if isinstance(request.links, ReadyLinks) else None
    _check_outputs(out, [labels, translation, ready], request)
    kind: LabelKind = KINDS[request.kind](labels, translation, out, request)
    units = Spool(kind.units())
    if not sum(len(unit.parts()) for unit in units):
        raise InputError("no sentence has a translation; check the files", path=translation)
    with ExitStack() as stack:
        given = request.links
        if isinstance(given, ReadyLinks):
            linked = _with_ready_links(units, given, labels)
        else:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="isoglot-project-"))
            with full_disk_named(name):
                linked = _with_links(units, _aligned(units, Path(name), request, given, progress))
        file = stack.enter_context(text_output(out))
        for done, (unit, found) in enumerate(linked):
            file.write(kind.text(unit, found))
            if done % 1024 == 0:
                progress.progress("projecting", done, 0)
        if not kind.counts.written:
            problem = "no label could be transferred to it; check that it is the translation"
            raise InputError(problem, path=translation)
        if request.problems is not None:
            rows = [("line", "problem", "tag"), *kind.problems]
            write_text(request.problems, "".join("\t".join(map(str, row)) + "\n" for row in rows))
    return kind.counts


def _check_outputs(out: str | Path, inputs: list[str | Path | None], request: ProjectRequest) -> None:
    reads = [*inputs, *paths_of(request.links, "train_on", "load", "start", "model")]
    saved = paths_of(request.links, "save")
    beside = [*paths_of(request.links, "lexicon"), *([request.problems] if request.problems else [])]
    check_outputs([out, *saved, *beside], reads, folders=saved)
    if str(out) != "-" and request.kind in ("questions", "offsets") and Path(out).suffix != ".jsonl":
        raise ConfigurationError(
            f"{out}: {request.kind} are written as JSON lines, which finetune knows by the suffix; name it .jsonl"
        )


def _write_pairs(path: Path, pairs: Iterable[WordPair]) -> None:
    """Words as lists, which are aligned as they stand, however the text of a saved model was split."""
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            source, target = ([_SPACE.sub("", word) or "_" for word in words] for words in pair)
            file.write(json.dumps({"source": source, "target": target}, ensure_ascii=False) + "\n")


def _aligned(
    units: Iterable[Unit], folder: Path, request: ProjectRequest, aligner: AnyAligner, progress: Reporter
) -> Path:
    """Align the parts of the units; the file of their links."""
    pairs, more, links = (folder / f"{name}.jsonl" for name in ("pairs", "more", "links"))
    own, other = request.source_language or UNNAMED[0], request.target_language or UNNAMED[1]
    parts = ((unit, *part) for unit in units for part in unit.parts())
    _write_pairs(pairs, ((unit.source[a:b], unit.target[c:d]) for unit, (a, b), (c, d) in parts))
    if train_on := getattr(aligner, "train_on", ()):
        given = read_pairs(more_bitext(train_on, [own, other]), mode=request.words, warn=Warnings())
        _write_pairs(more, (pair.words for pair in given))
        aligner = aligner.model_copy(update={"train_on": (str(more),)})
    source = Source(path=str(pairs), format="jsonl", source_language=own, target_language=other)
    align_file([source], links, AlignRequest(aligner=aligner, output="jsonl"), progress=progress)
    return links


def _with_links(units: Iterable[Unit], path: Path) -> Iterator[tuple[Unit, PairLinks]]:
    """The units with their links, of a file that has one line for each part."""
    links = LinkReader(path, predicted=True).sentences()
    for unit in units:
        yield unit, _of_unit([(part, _links_of(next(links))) for part in unit.parts()])


def _with_ready_links(
    units: Spool[Unit], given: ReadyLinks, labels: str | Path
) -> Iterator[tuple[Unit, PairLinks]]:
    """The units with their links, of a file that has one sentence for each unit.

    JSON lines match by their ids where the labels have some too, unless those of the links only number the lines.
    """
    path = given.links_file
    reader = LinkReader(path, predicted=True)
    pairs: Iterator[tuple[Unit | None, LinkedSentence | None]]
    if reader.name == "jsonl":
        needed = "give the links of the same texts"
        pairs = matched_rows(_UnitRows(labels, units), reader, needed=needed, numbered=reader)
    else:
        pairs = zip_longest(units, reader.sentences())
    for number, (unit, sentence) in enumerate(pairs):
        if unit is None:
            problem = f"has more lines than the text has sentences ({number:,}); use links of this text"
            raise InputError(problem, path=path)
        if sentence is None:
            raise InputError(f"ends before sentence {number + 1:,}; one line for each is needed", path=path)
        try:
            links = _of_unit([(unit.whole, _links_of(sentence, given.min_probability))])
        except InputError as error:
            raise error.at(path, sentence.line) from error.__cause__
        yield unit, links


class _UnitRows:
    """Units as the rows of the file of labels."""

    def __init__(self, path: str | Path, units: Spool[Unit]) -> None:
        self.path = path
        self._units = units

    def lines(self) -> Iterator[tuple[int, Unit]]:
        return enumerate(self._units, 1)

    def parse(self, line: int, unit: Unit) -> Unit:
        return unit


def _links_of(sentence: LinkedSentence, least: float = 0.0) -> PairLinks:
    """The links of a sentence in a file that have at least this probability."""
    row = sentence.row or {}
    values = row.get("probabilities") or row.get("similarities")
    links = row.get("links", []) if values else sentence.gold.possible
    if least and links and not values:
        raise InputError(
            "has no probabilities, which --min-probability needs; leave it out, or read `isoglot align -f jsonl`"
        )
    values = values or [1.0] * len(links)
    if not (isinstance(values, list) and len(links) == len(values) and all(map(_is_probability, values))):
        raise InputError(
            f"{len(links)} links, but their values are {shortened(values)}; a list of one number per link is needed"
        )
    kept = sorted(((i, j), p) for (i, j), p in zip(links, values, strict=True) if p >= least)
    return PairLinks([link for link, _ in kept], [p for _, p in kept], 1.0)


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _of_unit(parts: Sequence[tuple[tuple[Words, Words], PairLinks]]) -> PairLinks:
    """Links of parts of a unit as links of its words."""
    links, weights = list[tuple[int, int]](), list[float]()
    for ((a, b), (c, d)), own in parts:
        wrong = next(((i, j) for i, j in own.links if i >= b - a or j >= d - c), None)
        if wrong:
            raise InputError(
                f"link {wrong[0]}-{wrong[1]} of {b - a} and {d - c} words; use links that count the words of this text "
                "(--words)"
            )
        links += [(i + a, j + c) for i, j in own.links]
        weights += own.probabilities
    return PairLinks(links, weights, 1.0)
