"""Labels of character spans in JSON lines, as Prodigy, spaCy and doccano write them.

Read are ``{"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}`` and, under ``entities``, ``label`` or
``labels``, lists ``[start, end, label]``. Written are ``text``, ``spans``, for ``finetune --task ner`` ``words`` and
their IOB2 ``tags``, and what else the rows say that is not about the labelled text.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Any, Generic, TypeVar

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.formats.line_files import numbered_lines, numbered_objects
from isoglot.formats.link_matching import matched_rows
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import bare_suffix
from isoglot.projection.labels import LabelKind, LabelledPair, characters, covered
from isoglot.projection.tagged import by_character, entity_tags
from isoglot.runs.json_lines import row_id

_NAMES = ("spans", "entities", "label", "labels")
_OF_THE_TEXT = {"text", *_NAMES, "tokens", "words", "tags", "language"}
"""Keys that say something of the labelled text alone."""


Pair = TypeVar("Pair", bound=SentencePair)


class _Texts(Generic[Pair]):
    """JSON lines that hold a text each; ``read`` makes of an object a pair with one side."""

    def __init__(self, path: str | Path, read: Callable[[dict[str, Any]], Pair]) -> None:
        self.path = path
        self._read = read

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return numbered_objects(self.path)

    def parse(self, line: int, row: dict[str, Any]) -> Pair:
        try:
            pair = self._read(row)
            pair.id, pair.line = row_id(row), line
        except InputError as error:
            raise error.at(self.path, line) from error.__cause__
        return pair


class CharacterSpans(LabelKind):
    """Labelled texts, and their translations as lines or as objects with a text.

    Objects match by their ids where both files have them, lines by their place.
    """

    def pairs(self) -> Iterator[LabelledPair]:
        """One pair per text, labelled with names and words of its spans."""
        labelled = _Texts(self.labels, _labelled)
        rows: Iterable[tuple[LabelledPair | None, SentencePair | None]]
        if bare_suffix(str(self.translation)) in (".jsonl", ".ndjson"):
            translated = _Texts(self.translation, _translated)
            rows = matched_rows(labelled, translated, needed="translate the same texts, or leave the ids out")
        else:
            lines = (SentencePair(("", text)) for _, text in numbered_lines(self.translation))
            rows = zip_longest(starmap(labelled.parse, labelled.lines()), lines)
        for pair, translation in self.paired(rows):
            pair.texts = pair.source, translation.target
            pair.words, pair.spans = zip(*map(self.cut, pair.texts), strict=True)
            pair.labels = [(kind, covered(pair.spans[0], start, end)) for start, end, kind in pair.labels]
            pair.more = {**pair.more, **translation.more}
            yield pair

    def carried(self, pair: LabelledPair) -> str:
        """One object; a text without a translation is left out."""
        self.counts.examples += 1
        kinds, entities = [kind for kind, _ in pair.labels], [words for _, words in pair.labels]
        projected = self.project(entities, pair)
        tags = entity_tags(kinds, projected, pair, self.options.uncertain)
        if not tags:
            return ""
        words, tags = by_character(pair.target_words, tags, self.options.words)
        self.counts.add_tags(tags)
        (_, text), (_, cut) = pair.texts_and_spans
        located = [
            (kind, *characters(cut, span.words))
            for kind, span in zip(kinds, projected, strict=True)
            if span.words is not None
        ]
        spans = [{"start": start, "end": end, "label": kind} for kind, start, end in located]
        row = {**pair.more, "text": text, "spans": spans, "words": words, "tags": tags}
        if self.options.target_language:
            row["language"] = self.options.target_language
        return json.dumps(row, ensure_ascii=False) + "\n"


def _translated(row: dict[str, Any]) -> SentencePair:
    match row:
        case {"text": str(text)}:
            names = row.keys() - {"id", *_OF_THE_TEXT} | row.keys() & {"language"}
            return SentencePair(("", text), more={name: row[name] for name in row if name in names})
    raise InputError("no 'text' to carry labels to; add it")


def _labelled(row: dict[str, Any]) -> LabelledPair:
    """The text, its labels (first character, the one after the last, and name), and what else the row says."""
    text, marked = row.get("text"), next((row[name] for name in _NAMES if name in row), None)
    if not isinstance(text, str) or not isinstance(marked, list):
        raise InputError(
            'a labelled text is {"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}; correct it'
        )
    labels = []
    for item in marked:
        span = [item.get(key) for key in ("start", "end", "label")] if isinstance(item, dict) else item
        match span:
            case [int(start), int(end), str(kind)] if 0 <= start < end <= len(text) and kind:
                labels.append((start, end, kind))
            case _:
                raise InputError(
                    f"{shortened(item)} is not a span with a label in a text of {len(text)} characters; correct it"
                )
    more = {
        name: value
        for name, value in row.items()
        if name not in _OF_THE_TEXT and (name, value) != ("id", None)
    }
    return LabelledPair((text, ""), labels=labels, more=more)
