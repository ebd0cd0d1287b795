"""Sentences of one language from a file: lines, or rows of JSON lines, which keep what else they say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import same_language
from isoglot.corpus.filter.filters import clean
from isoglot.formats.foreign import foreign
from isoglot.formats.line_files import numbered_lines, numbered_objects
from isoglot.formats.sentence_pair import SentencePair, take_row_values
from isoglot.formats.sources import UNNAMED, by_suffix
from isoglot.formats.tmx import tmx_sentences
from isoglot.formats.tmx_unit import variant_values


class TextRow(NamedTuple):
    """A sentence, where it stands, and what else its row says."""

    line: int
    text: str
    more: Mapping[str, Any] = {}

    @property
    def cleaned(self) -> str:
        """The text with single spaces, as it is compared with others; what is written is the text itself."""
        return clean(self.text.replace("\n", " "))


def require_texts(paths: Sequence[str]) -> None:
    """Refuse files whose names say that a line is more than a sentence."""
    for path in paths:
        if message := foreign(path):
            raise ConfigurationError(message)
        if (form := by_suffix(path)) not in (None, "jsonl", "tmx"):
            raise ConfigurationError(
                f"{path}: got {form}, but one sentence per line is needed; cut the sentences out, into a .txt file, or "
                'a .jsonl file of {"text": "..."}'
            )


def text_rows(path: str, language: str) -> Iterator[TextRow]:
    """The sentences of a file in their order, blank ones among them."""
    form = by_suffix(path)
    if form is None:
        yield from (TextRow(line, text) for line, text in numbered_lines(path))
        return
    if form == "tmx":
        if language in ("", *UNNAMED):
            raise ConfigurationError(
                f"{path}: whose sentences are read from a translation memory? Add [[languages=('en', 'de')]]"
            )
        for unit, variant in tmx_sentences(path, language):
            name = {"id": unit.attributes["tuid"]} if "tuid" in unit.attributes else {}
            values = {key: value for key, value in variant_values(variant).items() if value}
            yield TextRow(unit.line, variant.text or "", name | values)
        return
    for line, row in numbered_objects(path):
        text, tag = row.pop("text", None), row.get("language")
        if not isinstance(text, str):
            raise InputError(
                f"has no text; one sentence per line is needed: name it 'text' (found {', '.join(row) or 'nothing'})",
                path=path,
                line=line,
            )
        if isinstance(tag, str) and language not in UNNAMED and not same_language(tag, language):
            raise InputError(
                f"language is {tag!r}, expected {language!r}; keep one language in a file",
                path=path,
                line=line,
            )
        yield TextRow(line, text, row)


def pair_of_rows(
    source: Sequence[TextRow], target: Sequence[TextRow], languages: tuple[str, str]
) -> SentencePair:
    """Rows of both sides as a pair, their texts joined by spaces, with what else they say.

    A value that differs between the rows of a side is a list of one value for each.
    """
    sides = dict(zip(("source", "target"), (source, target), strict=True))
    values: dict[str, Any] = {}
    for side, rows in sides.items():
        tags, length = [], 0
        for row in rows:
            tags += [[length + offset, xml] for offset, xml, *_ in row.more.get("tags", ())]
            length += len(row.text) + 1
        if any("tags" in row.more for row in (*source, *target)):
            values[f"{side}_tags"] = tags
        for name in dict.fromkeys(name for row in rows for name in row.more if name != "tags"):
            every = [row.more.get(name) for row in rows]
            values[f"{side}_{name}"] = every[0] if all(value == every[0] for value in every) else every
    texts = (" ".join(row.text for row in source), " ".join(row.text for row in target))
    pair = SentencePair(texts, languages=languages)
    take_row_values(pair, values)
    return pair
