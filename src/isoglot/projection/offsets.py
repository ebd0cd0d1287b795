"""Labels of character spans in JSON lines, as Prodigy, spaCy and doccano write them.

Read are ``{"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}`` and, under ``entities``, ``label`` or
``labels``, lists ``[start, end, label]``. Written are ``text``, ``spans`` and, for ``finetune --task ner``, ``words``
and their IOB2 ``tags``.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.aligners.alignment import PairLinks
from isoglot.aligners.files.matching import matched_rows
from isoglot.checks import shortened
from isoglot.corpus.read.line_files import numbered_lines, numbered_objects
from isoglot.corpus.read.sources import bare_suffix
from isoglot.errors import InputError
from isoglot.projection.tagged import by_character, entity_tags
from isoglot.projection.units import CutText, LabelKind, Unit
from isoglot.runs.records import row_id

_NAMES = ("spans", "entities", "label", "labels")


class _OffsetText(NamedTuple):
    """A row of a file of texts."""

    line: int
    id: str | None
    content: Any


class _Texts:
    """JSON lines that hold a text each; ``read`` makes of an object what is needed of it."""

    def __init__(self, path: str | Path, read: Callable[[dict[str, Any]], Any]) -> None:
        self.path = path
        self._read = read

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return numbered_objects(self.path)

    def parse(self, line: int, row: dict[str, Any]) -> _OffsetText:
        try:
            return _OffsetText(line, row_id(row), self._read(row))
        except InputError as error:
            raise error.at(self.path, line) from error.__cause__


class CharacterSpans(LabelKind):
    """Labelled texts, and their translations as lines or as objects with a text.

    Objects match by their ids where both files have them, lines by their place.
    """

    def units(self) -> Iterator[Unit]:
        """One unit per text."""
        labelled = _Texts(self.labels, _labelled)
        pairs: Iterable[tuple[_OffsetText | None, _OffsetText | None]]
        if bare_suffix(str(self.translation)) in (".jsonl", ".ndjson"):
            translated = _Texts(self.translation, _translated)
            pairs = matched_rows(
                labelled, translated, needed="translate the same texts, or leave the ids out"
            )
        else:
            lines = (_OffsetText(line, None, text) for line, text in numbered_lines(self.translation))
            pairs = zip_longest(starmap(labelled.parse, labelled.lines()), lines)
        for row, translation in self.paired(pairs):
            named, text, marked = row.content
            source, target = self.cut(text), self.cut(translation.content)
            entities = [(kind, source.covered(start, end)) for start, end, kind in marked]
            labels = named, target, entities
            yield Unit(source.words, target.words, labels, id=row.id, line=row.line)

    def text(self, unit: Unit, found: PairLinks) -> str:
        """One object; a text without a translation is left out."""
        self.counts.examples += 1
        target: CutText
        named, target, entities = unit.labels
        length = len(unit.target)
        projected = self.projected([words for _, words in entities], found, length)
        kinds = [kind for kind, _ in entities]
        tags = entity_tags(kinds, projected, found, length, self.request.uncertain)
        if tags is None or not length:
            return ""
        words, tags = by_character(unit.target, tags, self.request.words)
        self.counts.add_tags(tags)
        spans = []
        for kind, span in zip(kinds, projected, strict=True):
            if span.words is not None:
                start, end = target.characters(span.words)
                spans.append({"start": start, "end": end, "label": kind})
        row = {**named, "text": target.text, "spans": spans, "words": words, "tags": tags}
        return json.dumps(row, ensure_ascii=False) + "\n"


def _translated(row: dict[str, Any]) -> str:
    match row:
        case {"text": str(text)}:
            return text
    raise InputError("no 'text' to carry labels to; add it")


def _labelled(row: dict[str, Any]) -> tuple[dict[str, Any], str, list[tuple[int, int, str]]]:
    """The id as it is written, the text, and its labels: first character, the one after the last, and name."""
    text, marked = row.get("text"), next((row[name] for name in _NAMES if name in row), None)
    if not isinstance(text, str) or not isinstance(marked, list):
        raise InputError(
            'a labelled text is {"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}; correct it'
        )
    found = []
    for given in marked:
        span = [given.get(key) for key in ("start", "end", "label")] if isinstance(given, dict) else given
        match span:
            case [int(start), int(end), str(kind)] if 0 <= start < end <= len(text) and kind:
                found.append((start, end, kind))
            case _:
                raise InputError(
                    f"{shortened(given)} is not a span with a label in a text of {len(text)} characters; correct it"
                )
    return {"id": row["id"]} if row.get("id") is not None else {}, text, found
