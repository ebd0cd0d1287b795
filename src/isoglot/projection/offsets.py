"""Labels of character spans in JSON lines, as Prodigy, spaCy and doccano write them.

In: ``{"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}``. The spans may also be called ``entities``,
``label`` or ``labels``, and be lists ``[start, end, label]``.

Out: ``text`` and ``spans`` of the translation; ``words`` and their IOB2 ``tags``, which ``finetune --task ner`` reads;
and the other keys of the rows, except those that describe the labelled text.
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
from isoglot.projection.labels import LabelKind, LabelledPair, characters, covered
from isoglot.projection.tagged import by_character, entity_tags
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES, row_id

_SPAN_KEYS = ("spans", "entities", "label", "labels")
_KEYS_OF_THE_TEXT = {"text", *_SPAN_KEYS, "tokens", "words", "tags", "language"}
"""Keys that describe the labelled text alone, and not its translation."""

Pair = TypeVar("Pair", bound=SentencePair)


class _Texts(Generic[Pair]):
    """JSON lines that hold a text each; ``read`` turns an object into a pair whose other side is empty."""

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
            raise error.at(self.path, line) from error.__cause__  # `read` does not know the line
        return pair


class CharacterSpans(LabelKind):
    """Labelled texts, and their translations as lines or as objects with a text.

    Objects match by their ids where both files have them, lines by their place.
    """

    def pairs(self) -> Iterator[LabelledPair]:
        """Yield one pair per text, labelled with the name and the range of words of each span."""
        labelled = _Texts(self.labels_path, _labelled)
        rows: Iterable[tuple[LabelledPair | None, SentencePair | None]]
        if bare_suffix(str(self.translation_path)) in JSON_LINES:
            translated = _Texts(self.translation_path, _translated)
            rows = matched_rows(labelled, translated, needed="translate the same texts, or leave the ids out")
        else:
            lines = (SentencePair(("", text)) for _, text in numbered_lines(self.translation_path))
            rows = zip_longest(starmap(labelled.parse, labelled.lines()), lines)
        for pair, translation in self.paired(rows):
            pair.texts = pair.source, translation.target
            pair.words, pair.spans = zip(*map(self.cut, pair.texts), strict=True)
            source_spans = pair.spans[0]
            pair.labels = [(name, covered(source_spans, start, end)) for name, (start, end) in pair.labels]
            pair.more = {**pair.more, **translation.more}
            yield pair

    def carried(self, pair: LabelledPair) -> str:
        """Write one object; a text without a translation is left out."""
        self.counts.examples += 1
        names = [name for name, _ in pair.labels]
        projected = self.project([source_range for _, source_range in pair.labels], pair)
        tags = entity_tags(names, projected, pair, self.options.uncertain)
        if not tags:
            return ""
        words, tags = by_character(pair.target_words, tags, self.options.words)
        self.counts.add_tags(tags)
        (_, text), (_, target_spans) = pair.texts_and_spans
        spans = []
        for name, span in zip(names, projected, strict=True):
            if span.target_range is not None:
                start, end = characters(target_spans, span.target_range)
                spans.append({"start": start, "end": end, "label": name})
        row = {**pair.more, "text": text, "spans": spans, "words": words, "tags": tags}
        if self.options.target_language:
            row["language"] = self.options.target_language
        return json.dumps(row, ensure_ascii=False) + "\n"


def _translated(row: dict[str, Any]) -> SentencePair:
    """Read the object of a translation; unlike that of a labelled text, its language is kept and its id is not."""
    text = row.get("text")
    if not isinstance(text, str):
        raise InputError("no 'text' to carry labels to; add it")
    left_out = {"id", *_KEYS_OF_THE_TEXT} - {"language"}
    return SentencePair(("", text), more={key: value for key, value in row.items() if key not in left_out})


def _labelled(row: dict[str, Any]) -> LabelledPair:
    """Read a labelled text; until the text is cut into words, its labels have ranges of characters."""
    text = row.get("text")
    marked = next((row[key] for key in _SPAN_KEYS if key in row), None)
    if not isinstance(text, str) or not isinstance(marked, list):
        raise InputError(
            'a labelled text is {"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}; correct it'
        )
    labels = []
    for item in marked:
        span = [item.get(key) for key in ("start", "end", "label")] if isinstance(item, dict) else item
        match span:
            case [int(start), int(end), str(name)] if 0 <= start < end <= len(text) and name:
                labels.append((name, (start, end)))
            case _:
                raise InputError(
                    f"{shortened(item)} is not a span with a label in a text of {len(text)} characters; correct it"
                )
    more = {key: value for key, value in row.items() if key not in _KEYS_OF_THE_TEXT}
    if more.get("id", "") is None:  # a null id says that there is none
        del more["id"]
    return LabelledPair((text, ""), labels=labels, more=more)
