"""The sentence pairs of a raw file, each with all that its row says."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any
from xml.etree import ElementTree

from isoglot.errors import InputError
from isoglot.formats.readers import Reader
from isoglot.formats.sentence_pair import SentencePair, Tags
from isoglot.formats.sources import Source

_WORD_NAMES = (("source_words", "target_words"), ("src", "tgt"))
_TAG_NAMES = (("source_tags", "target_tags"), ("src_tags", "tgt_tags"))


def source_pairs(source: Source) -> Iterator[SentencePair]:
    """The pairs of a raw source, in bounded memory.

    A line that cannot be read is a pair without texts, so that every line keeps its place; ``problem`` says why.
    """
    reader, line, unread = Reader(source, whole=True), 0, True
    source_language, target_language = source.languages("bitext")
    for chunk in reader.chunks():
        fields = reader.fields(chunk)
        rest: list[Iterable[Any]] = [
            fields.values.get("more", repeat({})),
            fields.values.get("cells", repeat(())),
        ]
        rows = zip(fields.lines, fields.values["source"], fields.values["target"], *rest, strict=False)
        for line, first, second, more, cells in rows:
            pair = SentencePair((first, second), languages=(source_language, target_language))
            pair.path, pair.line, pair.cells = source.path, line, cells
            if not (isinstance(first, str) and isinstance(second, str)):
                sides = (("", side) if isinstance(side, list) else (side, ()) for side in (first, second))
                texts, words = zip(*((text or " ".join(words), words) for text, words in sides), strict=True)
                pair.texts, pair.words = texts, words
            if more:
                take_row_values(pair, dict(more))
            elif cells:
                pair.more = {"columns": cells}
            if line in fields.problems:
                pair.problem = fields.problems[line]
            unread = unread and pair.problem is not None and not any(pair.texts)
            yield pair
    if line and unread:
        separator = {"bars": "|||", "tsv": "\t"}.get(source.format or "", ",")
        raise InputError(
            f"no line has {separator!r} between two sentences; give a second file, or name the --input-format",
            path=source.path,
            line=1,
        )


def take_row_values(pair: SentencePair, more: dict[str, Any]) -> None:
    """Give a pair what its row says beside both sides: id, words and in-line tags, and the rest by name."""
    pair.id, pair.more = more.pop("id", None), more
    for names in _WORD_NAMES:
        sides = [more.get(name) for name in names]
        if not any(pair.words) and all(
            isinstance(side, list) and all(isinstance(word, str) for word in side) for side in sides
        ):
            pair.words = more.pop(names[0]), more.pop(names[1])
    for names in _TAG_NAMES:
        if names[0] in more and names[1] in more:
            first, second = (_tags(more[name], text) for name, text in zip(names, pair.texts, strict=True))
            if first is not None and second is not None:
                pair.tags = first, second
                del more[names[0]], more[names[1]]


def _tags(value: Any, text: str) -> Tags | None:
    """In-line tags of a text; None for what is not."""
    if isinstance(value, tuple):  # of the reader of TMX
        return value
    match value:
        case [*items] if all(
            isinstance(item, list) and list(map(type, item)) == [int, str] for item in items
        ):
            tags = tuple((position, xml) for position, xml in items)
            positions = [position for position, _ in tags]
        case _:
            return None
    if positions != sorted(positions) or not 0 <= min(positions, default=0) <= max(
        positions, default=0
    ) <= len(text):
        return None
    try:
        ElementTree.fromstring(f"<seg>{''.join(xml for _, xml in tags)}</seg>")  # noqa: S314 - no declarations inside
    except ElementTree.ParseError:
        return None
    return tags
