"""Labels of character spans in JSON lines, as Prodigy, spaCy and doccano write them.

Read are ``{"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}`` and, under ``entities``, ``label`` or
``labels``, lists ``[start, end, label]``. Written are ``text``, ``spans`` and, for ``finetune --task ner``, ``words``
and their IOB2 ``tags``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.aligners.alignment import PairLinks
from isoglot.checks import shortened
from isoglot.corpus.read.line_files import numbered_lines, numbered_objects
from isoglot.corpus.read.sources import bare_suffix
from isoglot.errors import InputError
from isoglot.projection.rule import Words, project_spans
from isoglot.projection.tagged import by_character, entity_tags
from isoglot.projection.units import LabelKind, Unit, span_words

_NAMES = ("spans", "entities", "label", "labels")


class _Text(NamedTuple):
    """A labelled text with its translation."""

    name: Any  # its id, where it has one
    text: str  # of the translation
    spans: list[Words]  # characters of the translation's words
    kinds: list[str]
    words: list[Words]  # source words of each label


class CharacterSpans(LabelKind):
    """Labelled texts, and their translations as lines or as objects with a text."""

    def units(self) -> Iterator[Unit]:
        """One unit per text."""
        for (number, row), other in self.paired(numbered_objects(self.labels), self._translated()):
            text, marked = _labelled(row, self.labels, number)
            spans, others = self.cut(text), self.cut(other)
            words = [span_words(spans, start, end) for start, end, _ in marked]
            own = _Text(row.get("id"), other, others, [kind for *_, kind in marked], words)
            yield Unit([text[a:b] for a, b in spans], [other[a:b] for a, b in others], own)

    def text(self, unit: Unit, found: PairLinks) -> str:
        """One object; a text without a translation is left out."""
        self.counts.examples += 1
        own: _Text = unit.labels
        length = len(own.spans)
        projected = project_spans(own.words, found, length, gap=self.request.gap)
        self.counts.add(projected)
        tags = entity_tags(own.kinds, projected, found, length, self.request.uncertain)
        if tags is None or not length:
            return ""
        words, tags = by_character(unit.target, tags, self.request.words)
        self.counts.add_tags(tags)
        spans = [
            {"start": own.spans[span.words[0]][0], "end": own.spans[span.words[1] - 1][1], "label": kind}
            for kind, span in zip(own.kinds, projected, strict=True)
            if span.words is not None
        ]
        row = {"text": own.text, "spans": spans, "words": words, "tags": tags}
        named = {} if own.name is None else {"id": own.name}
        return json.dumps({**named, **row}, ensure_ascii=False) + "\n"

    def _translated(self) -> Iterator[str]:
        if bare_suffix(str(self.translation)) not in (".jsonl", ".ndjson"):
            yield from (line for _, line in numbered_lines(self.translation))
            return
        for number, row in numbered_objects(self.translation):
            if not isinstance(row.get("text"), str):
                raise InputError("no 'text' to carry labels to; add it", path=self.translation, line=number)
            yield row["text"]


def _labelled(row: dict[str, Any], path: str | Path, line: int) -> tuple[str, list[tuple[int, int, str]]]:
    """A text and its labels: first character, the one after the last, and name."""
    text, name = row.get("text"), next((name for name in _NAMES if name in row), None)
    if not isinstance(text, str) or name is None or not isinstance(row[name], list):
        raise InputError(
            'a labelled text is {"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}; correct it',
            path=path,
            line=line,
        )
    found = []
    for given in row[name]:
        span = [given.get(key) for key in ("start", "end", "label")] if isinstance(given, dict) else given
        match span:
            case [int(start), int(end), str(kind)] if 0 <= start < end <= len(text) and kind:
                found.append((start, end, kind))
            case _:
                raise InputError(
                    f"{shortened(given)} is not a span with a label in a text of {len(text)} characters; correct it",
                    path=path,
                    line=line,
                )
    return text, found
