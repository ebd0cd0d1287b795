"""Sentence pairs as units of TMX."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair, Tags
from isoglot.formats.sources import LANGUAGE_TAG, UNNAMED
from isoglot.runs.xml_text import XmlText

_TMX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
    '<header creationtool="isoglot" creationtoolversion="1" segtype="sentence" o-tmf="isoglot" adminlang="en" '
    'srclang={source} datatype="plaintext"/>\n<body>\n'
)
_ATTRIBUTES = frozenset(
    ["changedate", "changeid", "creationdate", "creationid", "creationtool", "creationtoolversion", "datatype",
     "lastusagedate", "o-encoding", "o-tmf", "segtype", "srclang", "usagecount"]
)  # fmt: skip
"""Attributes of TMX's units and translations, beside their ids and languages."""
_NO_LANGUAGE = "a TMX file names its languages; add --source-lang en --target-lang de"


def require_languages(languages: Sequence[str], path: str) -> None:
    """Refuse to write TMX in languages that have no name.

    Raises:
        ConfigurationError: A language is missing.
    """
    if not all(map(_is_language, languages)):
        raise ConfigurationError(f"{path}: {_NO_LANGUAGE}")


@contextmanager
def tmx_writer(file: IO[str], path: str, languages: Sequence[str]) -> Iterator["TmxWriter"]:
    """Write units between the header and the end of a file."""
    writer = TmxWriter(file, path, languages)
    yield writer
    writer.end()


class TmxWriter:
    """Writes a unit for each pair; characters that XML forbids are left out and counted."""

    def __init__(self, file: IO[str], path: str, languages: Sequence[str]) -> None:
        self._file, self._path, self._languages = file, path, languages
        self._legal, self._begun = XmlText(), False

    def write(self, pair: SentencePair, values: Mapping[str, Any]) -> None:
        """Write a pair, and what is known of it as properties."""
        self._begin(str(pair.row_values().get("source_language", self._languages[0])))
        self._file.write(self._legal(_unit(pair, values, self._path)))

    def end(self) -> None:
        """Write the end of the file."""
        self._begin(self._languages[0])
        self._file.write("</body>\n</tmx>\n")
        self._legal.warn(self._path)

    def _begin(self, label: str) -> None:
        if not self._begun:
            source = label if _is_language(label) else self._languages[0]
            self._file.write(_TMX.format(source=quoteattr(source)))
            self._begun = True


def _is_language(tag: str) -> bool:
    return tag not in UNNAMED and LANGUAGE_TAG.fullmatch(tag.lower()) is not None


def _unit(pair: SentencePair, values: Mapping[str, Any], path: str) -> str:
    """The line of a translation unit; what TMX has no place for, and the values, are properties of their names."""
    rest = pair.row_values()
    match rest.get("properties"):
        case dict(known):  # values of an earlier command give way
            rest["properties"] = {kind: text for kind, text in known.items() if kind not in values}
    rest |= {
        name: f"{value:.4f}" if isinstance(value, float) else str(value) for name, value in values.items()
    }
    name = "" if pair.id is None else f" tuid={quoteattr(str(pair.id))}"
    sides = []
    for side, text, tags, tag in zip(
        ("source", "target"), pair.texts, pair.tags, pair.languages, strict=True
    ):
        label = str(rest.pop(f"{side}_language", tag))
        language = label if _is_language(label) else tag
        if not _is_language(language):
            raise ConfigurationError(f"{path}: {_NO_LANGUAGE}")
        attributes, notes = _about(rest, f"{side}_")
        attributes = f"xml:lang={quoteattr(language)}{attributes}"
        sides.append(f"<tuv {attributes}>{notes}<seg>{segment(text, tags)}</seg></tuv>")
    attributes, notes = _about(rest, "")
    properties = "".join(_property(key, value) for key, value in rest.items())
    return f"<tu{name}{attributes}>{notes}{properties}{''.join(sides)}</tu>\n"


def _about(rest: dict[str, Any], prefix: str) -> tuple[str, str]:
    """Attributes, and notes and properties, taken from what a row says of its unit or of a side."""
    attributes = notes = ""
    match rest.get(name := f"{prefix}attributes"):
        case dict(values):
            known = {
                key: value for key, value in values.items() if key in _ATTRIBUTES and isinstance(value, str)
            }
            attributes = "".join(f" {key}={quoteattr(value)}" for key, value in known.items())
            rest[name] = {key: value for key, value in values.items() if key not in known}
            if not rest[name]:
                del rest[name]
    match rest.get(name := f"{prefix}notes"):
        case list(texts) if all(isinstance(text, str) for text in texts):
            notes = "".join(f"<note>{escape(text)}</note>" for text in texts)
            del rest[name]
    match rest.get(name := f"{prefix}properties"):
        case dict(values):
            several = ((key, value if isinstance(value, list) else [value]) for key, value in values.items())
            notes += "".join(_property(key, text) for key, texts in several for text in texts)
            del rest[name]
    return attributes, notes


def _property(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<prop type={quoteattr(name)}>{escape(text)}</prop>"


def segment(text: str, tags: Tags = ()) -> str:
    """A text with its in-line tags."""
    parts, end = [], 0
    for offset, tag in tags:
        parts += [escape(text[end:offset]), tag]
        end = offset
    return "".join([*parts, escape(text[end:])])
