"""A sentence pair with all that its row says: readers yield it, filters and aligners pass it on, writers write it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any
from xml.etree import ElementTree

from isoglot.corpus.encode.words import locate_words
from isoglot.corpus.open_corpus import CorpusInput
from isoglot.corpus.read.readers import PAIR_READERS
from isoglot.corpus.read.records import Chunk
from isoglot.corpus.read.sources import LANGUAGES, UNNAMED, Source
from isoglot.corpus.read.tmx import Tags

Spans = list[tuple[int, int]]
_NO_WORDS: tuple[Sequence[str], Sequence[str]] = ((), ())
_WORD_NAMES = (("source_words", "target_words"), ("src", "tgt"))
_TAG_NAMES = (("source_tags", "target_tags"), ("src_tags", "tgt_tags"))


@dataclass(slots=True)
class TextPair:
    """Two sentences that translate each other, and all that their row says of them.

    Args:
        texts: Source and target as they stand in the row.
        words: The words of both sides, where the row has them or the text was cut; else none.
        languages: Codes by which the pair is read; a row's own label (``en-US``) is in ``more``.
        id: What the row is called: ``id`` of JSON lines, ``tuid`` of TMX.
        tags: In-line tags of TMX.
        spans: Characters of the words, where the text alone does not say it.
        path: File that has the row.
        line: Line of the file where the row begins, from 1; None of data that has no lines.
        cells: Other columns of a table.
        more: What else the row says, by name: keys of JSON lines, columns, notes and properties of TMX.
    """

    texts: tuple[str, str]
    words: tuple[Sequence[str], Sequence[str]] = _NO_WORDS
    languages: tuple[str, str] = ("", "")
    id: Any = None
    tags: tuple[Tags, Tags] = ((), ())
    spans: tuple[Spans, Spans] | None = None
    path: str | None = None
    line: int | None = None
    cells: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def placed(self) -> tuple[tuple[str, str], tuple[Spans, Spans]]:
        """Both texts and the characters of each word in them; a text that the words do not spell is joined anew."""
        if self.spans is not None:
            return self.texts, self.spans
        texts, spans = [], []
        for text, words in zip(self.texts, self.words, strict=True):
            places = locate_words(text, words)
            texts.append(" ".join(words) if places is None else text)
            spans.append(locate_words(texts[-1], words) or [] if places is None else places)
        return (texts[0], texts[1]), (spans[0], spans[1])

    def others(self, *, reverse: bool = False) -> dict[str, Any]:
        """What the row says beside texts, words, id and tags, as keys of JSON lines; languages where they are known.

        ``reverse``: The target is written as the source.
        """
        named = zip(LANGUAGES["bitext"], self.languages, strict=True)
        others = {**{name: tag for name, tag in named if tag and tag not in UNNAMED}, **self.more}
        return {_turned(name): value for name, value in others.items()} if reverse else others

    def row(self) -> dict[str, Any]:
        """The pair as an object of JSON lines."""
        sides = ("source", "target")
        row: dict[str, Any] = {} if self.id is None else {"id": self.id}
        row |= zip(sides, self.texts, strict=True)
        if any(self.words):
            row |= {f"{side}_words": list(words) for side, words in zip(sides, self.words, strict=True)}
        if any(self.tags):
            row |= {f"{side}_tags": tags for side, tags in zip(sides, self.tags, strict=True)}
        return row | self.others()


def _turned(name: str) -> str:
    """The name of a value once the sides are exchanged."""
    side, line, rest = name.partition("_")
    return f"{ {'source': 'target', 'target': 'source'}.get(side, side) }{line}{rest}" if line else name


def input_pairs(given: CorpusInput, start: int = 0, stop: int | None = None) -> Iterator[TextPair]:
    """The pairs of an input; of a prepared folder the rows ``start`` to ``stop`` − 1.

    Words and links of a folder that has word links are those of its rows.
    """
    if given.manifest is None:
        yield from given.loop(source_pairs(given.source))
        return
    for row in given.rows(start, stop):
        source, target = (row[name] or "" for name in LANGUAGES["bitext"])
        pair = TextPair((row["source"], row["target"]), languages=(source, target))
        if given.manifest.kind == "aligned":
            pair.words, pair.more = (row["source_words"], row["target_words"]), {"links": row["links"]}
        yield pair


def source_pairs(source: Source) -> Iterator[TextPair]:
    """The pairs of a raw source, in bounded memory."""
    for chunk in PAIR_READERS[str(source.format)].chunks(source, "bitext", None):
        yield from chunk_pairs(source, chunk)


def chunk_pairs(source: Source, chunk: Chunk) -> list[TextPair]:
    """The pairs of a chunk of a source."""
    fields, lines = PAIR_READERS[str(source.format)].fields(source, "bitext", chunk)
    rest: list[Iterable[Any]] = [fields.get("more", repeat({})), fields.get("cells", repeat(()))]
    rows = zip(lines, fields["source"], fields["target"], *rest, strict=False)
    source_language, target_language = source.languages("bitext")
    pairs = []
    for line, first, second, more, cells in rows:
        pair = TextPair((first, second), languages=(source_language, target_language))
        pair.path, pair.line, pair.cells = source.path, line, cells
        if not (isinstance(first, str) and isinstance(second, str)):
            sides = (("", side) if isinstance(side, list) else (side, ()) for side in (first, second))
            texts, words = zip(*((text or " ".join(words), words) for text, words in sides), strict=True)
            pair.texts, pair.words = texts, words
        if more:
            _take(pair, dict(more))
        elif cells:
            pair.more = {"columns": cells}
        pairs.append(pair)
    return pairs


def _take(pair: TextPair, more: dict[str, Any]) -> None:
    """Give a pair what its row says beside both sides: id, words and in-line tags, and the rest by name."""
    pair.id, pair.more = more.pop("id", None), more
    for names in _WORD_NAMES:
        if not any(pair.words) and all(_is_words(more.get(name)) for name in names):
            pair.words = more.pop(names[0]), more.pop(names[1])
    for names in _TAG_NAMES:
        if names[0] in more and names[1] in more:
            first, second = (_tags(more[name], text) for name, text in zip(names, pair.texts, strict=True))
            if first is not None and second is not None:
                pair.tags = first, second
                del more[names[0]], more[names[1]]


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _tags(value: Any, text: str) -> Tags | None:
    """In-line tags of a text; None for what is not."""
    if isinstance(value, tuple):  # of the reader of TMX
        return value
    match value:
        case [*items] if all(
            isinstance(item, list) and list(map(type, item)) == [int, str] for item in items
        ):
            tags = tuple((place, xml) for place, xml in items)
            places = [place for place, _ in tags]
        case _:
            return None
    if places != sorted(places) or not 0 <= min(places, default=0) <= max(places, default=0) <= len(text):
        return None
    try:
        ElementTree.fromstring(f"<seg>{''.join(xml for _, xml in tags)}</seg>")  # noqa: S314 - no declarations inside
    except ElementTree.ParseError:
        return None
    return tags
