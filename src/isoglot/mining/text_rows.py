"""Sentences of one language, read from a file: lines of text, JSON lines, or one language of a TMX file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import same_language
from isoglot.corpus.filter.filters import clean
from isoglot.formats.foreign import foreign
from isoglot.formats.inline_tags import are_inline_tags
from isoglot.formats.line_files import numbered_lines, numbered_objects
from isoglot.formats.sentence_pair import SentencePair, take_row_values
from isoglot.formats.sources import UNNAMED, by_suffix
from isoglot.formats.tmx import tmx_sentences
from isoglot.formats.tmx_unit import variant_values


class TextRow(NamedTuple):
    """A sentence, its line, and what else its row says."""

    line: int
    text: str
    more: Mapping[str, Any] = {}  # keys of JSON lines, notes and properties of TMX

    @property
    def cleaned(self) -> str:
        """The text as it is encoded and compared, on one line and with single spaces; ``text`` is what is written."""
        return clean(self.text.replace("\n", " "))


def require_texts(paths: Sequence[str]) -> None:
    """Refuse files that do not have one sentence per line, as far as their names tell."""
    for path in paths:
        if message := foreign(path):
            raise ConfigurationError(message)
        if (form := by_suffix(path)) not in (None, "jsonl", "tmx"):
            raise ConfigurationError(
                f"{path}: got {form}, but one sentence per line is needed; cut the sentences out, into a .txt file, or "
                'a .jsonl file of {"text": "..."}'
            )


def text_rows(path: str, language: str) -> Iterator[TextRow]:
    """Read the sentences of a file, in their order; a blank line is a blank sentence.

    ``language``: The translations to read from TMX; the language that rows of JSON lines may name. Where nobody named
    a language, it is empty or one of :data:`UNNAMED`, and rows may name any.
    """
    form = by_suffix(path)
    is_named = language not in ("", *UNNAMED)
    if form is None:
        yield from (TextRow(line, text) for line, text in numbered_lines(path))
        return
    if form == "tmx":
        if not is_named:
            raise ConfigurationError(
                f"{path}: whose sentences are read from a translation memory? Add [[languages=('en', 'de')]]"
            )
        for unit, variant in tmx_sentences(path, language):
            more = {"id": unit.attributes["tuid"]} if "tuid" in unit.attributes else {}
            more |= {key: value for key, value in variant_values(variant).items() if value}
            yield TextRow(unit.line, variant.text or "", more)
        return
    for line, row in numbered_objects(path):
        text, tag = row.pop("text", None), row.get("language")
        if not isinstance(text, str):
            raise InputError(
                f"has no text; one sentence per line is needed: name it 'text' (found {', '.join(row) or 'nothing'})",
                path=path,
                line=line,
            )
        if is_named and isinstance(tag, str) and not same_language(tag, language):
            raise InputError(
                f"language is {tag!r}, expected {language!r}; keep one language in a file",
                path=path,
                line=line,
            )
        yield TextRow(line, text, row)


def pair_of_rows(
    source: Sequence[TextRow], target: Sequence[TextRow], languages: tuple[str, str]
) -> SentencePair:
    """Make a pair of the rows of both sides: their texts joined by spaces, and what else the rows say.

    1. A value of the rows of a side is named by the side: ``id`` of the source rows is ``source_id``.
    2. If the rows of a side have different values, the pair has a list with the value of each row.
    3. Inline tags are joined as the texts are: a tag of the second row stands behind the first row's text and a space.
       Other values called ``tags``, such as ``["B-PER", "O"]``, are treated by rules 1 and 2.
    """
    values: dict[str, Any] = {}
    all_tags = [row.more["tags"] for row in (*source, *target) if "tags" in row.more]
    has_inline_tags = bool(all_tags) and all(map(are_inline_tags, all_tags))
    for side, rows in (("source", source), ("target", target)):
        if has_inline_tags:
            values[f"{side}_tags"] = _joined_tags(rows)  # 3
        names = dict.fromkeys(name for row in rows for name in row.more)  # each once, in their order
        for name in names:
            if name == "tags" and has_inline_tags:
                continue
            of_rows = [row.more.get(name) for row in rows]
            is_same = all(value == of_rows[0] for value in of_rows)
            values[f"{side}_{name}"] = of_rows[0] if is_same else of_rows  # 1, 2
    texts = (" ".join(row.text for row in source), " ".join(row.text for row in target))
    pair = SentencePair(texts, languages=languages)
    take_row_values(pair, values)
    return pair


def _joined_tags(rows: Sequence[TextRow]) -> list[list[Any]]:
    """The inline tags of rows as offset and XML; offsets count characters of the joined text."""
    tags = []
    start = 0  # of the row in the joined text
    for row in rows:
        for offset, xml, *_ in row.more.get("tags", ()):
            tags.append([start + offset, xml])
        start += len(row.text) + 1
    return tags
