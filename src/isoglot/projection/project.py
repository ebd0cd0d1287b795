"""``isoglot project``: labels of one language carried to translations of the text, over word links."""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from isoglot.aligners.align_file import align_file
from isoglot.aligners.alignment import PairLinks, WordPair
from isoglot.aligners.files.formats import LinkedSentence, LinkReader
from isoglot.aligners.files.pairs import Warnings, more_bitext, read_pairs
from isoglot.aligners.options import AlignRequest, AnyAligner, paths_of
from isoglot.corpus.open_corpus import Spool
from isoglot.corpus.read.line_files import parsed
from isoglot.corpus.read.sources import UNNAMED, Source
from isoglot.errors import ConfigurationError, InputError
from isoglot.projection.markup import InlineTags
from isoglot.projection.offsets import CharacterSpans
from isoglot.projection.options import ProjectRequest, ReadyLinks, project_request
from isoglot.projection.questions import Answers
from isoglot.projection.tagged import TaggedWords
from isoglot.projection.units import LabelKind, ProjectionCounts, Unit
from isoglot.runs.files import check_outputs, text_output
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
    with tempfile.TemporaryDirectory(prefix="isoglot-project-") as folder:
        given = request.links
        if not isinstance(given, ReadyLinks):
            given = ReadyLinks(links_file=_aligned(units, Path(folder), request, given, progress))
        with text_output(out) as file:
            for done, (unit, found) in enumerate(_linked(units, _ready_links(given), whole=ready)):
                file.write(kind.text(unit, found))
                if done % 1024 == 0:
                    progress.progress("projecting", done, 0)
            if not kind.counts.written:
                problem = "no label could be transferred to it; check that it is the translation"
                raise InputError(problem, path=translation)
    return kind.counts


def _check_outputs(out: str | Path, inputs: list[str | Path | None], request: ProjectRequest) -> None:
    reads = [*inputs, *paths_of(request.links, "train_on", "load", "start", "model")]
    saved = paths_of(request.links, "save")
    check_outputs([out, *saved, *paths_of(request.links, "lexicon")], reads, folders=saved)
    if str(out) != "-" and request.kind in ("questions", "offsets") and Path(out).suffix != ".jsonl":
        raise ConfigurationError(
            f"{out}: {request.kind} are written as JSON lines, which finetune knows by the suffix; name it .jsonl"
        )


def _write_pairs(path: Path, pairs: Iterable[WordPair]) -> None:
    """Words as text that is cut at spaces into as many words."""
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            source, target = (" ".join(_SPACE.sub("", word) or "_" for word in words) for words in pair)
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


def _ready_links(given: ReadyLinks) -> Iterator[tuple[int | None, PairLinks]]:
    """Line and links of each pair of a file."""

    def kept_of(own: LinkedSentence) -> tuple[int | None, PairLinks]:
        row, least = own.row or {}, given.min_probability
        values = row.get("probabilities") or row.get("similarities")
        links = row.get("links", []) if values else own.gold.possible
        if least and links and not values:
            raise InputError(
                "has no probabilities, which --min-probability needs; leave it out, or read `isoglot align -f jsonl`"
            )
        values = values or [1.0] * len(links)
        if len(links) != len(values) or not all(isinstance(value, int | float) for value in values):
            raise InputError(
                f"{len(links)} links but {len(values)} probabilities; one number per link is needed"
            )
        kept = sorted(((i, j), p) for (i, j), p in zip(links, values, strict=True) if p >= least)
        return own.line, PairLinks([link for link, _ in kept], [p for _, p in kept], 1.0)

    sentences = LinkReader(given.links_file, predicted=True).sentences()
    return parsed(kept_of, ((own.line, own) for own in sentences), given.links_file)


def _linked(
    units: Iterable[Unit], links: Iterator[tuple[int | None, PairLinks]], *, whole: Path | None
) -> Iterator[tuple[Unit, PairLinks]]:
    """The units with their links, whose word numbers are those of the whole unit.

    ``whole``: The file of links, where it has one sentence for each unit and not for each of its parts.
    """
    number = 0
    for number, unit in enumerate(units, 1):
        shifted, weights = list[tuple[int, int]](), list[float]()
        for (a, b), (c, d) in unit.parts() if whole is None else [unit.whole]:
            line, own = next(links, (None, None))
            if own is None:
                raise InputError(f"ends before sentence {number:,}; one line for each is needed", path=whole)
            wrong = [(i, j) for i, j in own.links if i >= b - a or j >= d - c]
            if wrong:
                raise InputError(
                    f"link {wrong[0][0]}-{wrong[0][1]} of {b - a} and {d - c} words; use links that count the "
                    "words of this text (--words)",
                    path=whole,
                    line=line,
                )
            shifted += [(i + a, j + c) for i, j in own.links]
            weights += own.probabilities
        yield unit, PairLinks(shifted, weights, 1.0)
    if whole is not None and next(links, None) is not None:
        problem = f"has more lines than the text has sentences ({number:,}); use links of this text"
        raise InputError(problem, path=whole)
