"""Sentence pairs as units of TMX.

A pair that was read from a unit is written as this unit: with every translation, attribute, note and property, and with
the text and the in-line tags that the pair has now. The pairs of one unit, which come one after the other, are one unit
again. A pair from elsewhere is a unit of its own.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any
from xml.sax.saxutils import quoteattr

from isoglot.core.errors import ConfigurationError
from isoglot.formats.inline_tags import segment, xml_text
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import LANGUAGE_TAG, UNNAMED
from isoglot.formats.tmx_unit import (
    TmxHeader,
    TmxNote,
    TmxPair,
    TmxUnit,
    TmxVariant,
    written_language,
    xml_attributes,
)
from isoglot.runs.xml_text import XmlText

_LOG = logging.getLogger(__name__)
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NEW_HEADER = {
    "creationtool": "isoglot",
    "creationtoolversion": "1",
    "segtype": "sentence",
    "o-tmf": "isoglot",
    "adminlang": "en",
    "srclang": "",
    "datatype": "plaintext",
}
_OWN = "x-isoglot-"
"""How the types of our properties begin, so that they are never those of the file; TMX asks for ``x-``."""
_ATTRIBUTES = frozenset(
    ["changedate", "changeid", "creationdate", "creationid", "creationtool", "creationtoolversion", "datatype",
     "lastusagedate", "o-encoding", "o-tmf", "segtype", "srclang", "usagecount", "xml:space"]
)  # fmt: skip
"""Attributes of TMX's units and translations, beside their ids and languages."""
_NO_LANGUAGE = "a TMX file names its languages; add [[languages=('en', 'de')]]"


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
    """Writes units; characters that XML forbids are left out and counted."""

    def __init__(self, file: IO[str], path: str, languages: Sequence[str]) -> None:
        self._file, self._path, self._languages = file, path, languages
        self._legal = XmlText()
        self._header: TmxHeader | None = None  # the one that is written
        self._header_path = ""
        self._open: list[tuple[SentencePair, TmxPair, Mapping[str, Any]]] = []
        """Pairs of the unit that is not written yet, as more of them may come."""

    def write(self, pair: SentencePair, values: Mapping[str, Any]) -> None:
        """Write a pair, and what is known of it as properties."""
        if pair.unit is None:
            self._write_open_unit()
            self._begin(str(pair.row_values().get("source_language", self._languages[0])))
            self._file.write(self._legal(_new_unit(pair, values, self._path)))
            return
        if self._open and self._open[0][1].unit.place != pair.unit.unit.place:
            self._write_open_unit()
        self._open.append((pair, pair.unit, values))

    def end(self) -> None:
        """Write the end of the file."""
        self._write_open_unit()
        self._begin(self._languages[0])
        self._file.write("</body>\n</tmx>\n")
        self._legal.warn(self._path)

    def _write_open_unit(self) -> None:
        if self._open:
            unit = self._open[0][1].unit
            self._begin(self._languages[0], unit)
            self._file.write(self._legal(_same_unit(self._open)))
            self._open = []

    def _begin(self, label: str, unit: TmxUnit | None = None) -> None:
        """Write the header, which is that of the file that the first unit is from."""
        header = TmxHeader() if unit is None else unit.header
        path = "" if unit is None else unit.path
        if self._header is not None:
            if path and path != self._header_path and header != self._header:
                _LOG.warning(
                    "%s: has the header of %s; that of %s differs and is left out",
                    self._path,
                    self._header_path or "isoglot",
                    path,
                )
                self._header_path = path
            return
        self._header, self._header_path = header, path
        if unit is None:
            source = label if _is_language(label) else self._languages[0]
            header = TmxHeader(
                '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', {"version": "1.4"}, _NEW_HEADER | {"srclang": source}
            )
        elif unit.reversed:
            turned = next((written_language(unit.variants[n].attributes) for n in unit.sources), label)
            header = TmxHeader(
                header.doctype, header.root, {**header.attributes, "srclang": turned}, header.content
            )
        doctype = f"{header.doctype}\n" if header.doctype else ""
        root, attributes = xml_attributes(header.root), xml_attributes(header.attributes)
        about = f">{header.content}</header>" if header.content else "/>"
        self._file.write(
            self._legal(f"{_DECLARATION}{doctype}<tmx{root}>\n<header{attributes}{about}\n<body>\n")
        )


def _is_language(tag: str) -> bool:
    return tag not in UNNAMED and LANGUAGE_TAG.fullmatch(tag.lower()) is not None


def _same_unit(pairs: Sequence[tuple[SentencePair, TmxPair, Mapping[str, Any]]]) -> str:
    """A unit that was read, with those of its pairs that are written.

    A translation in one of the two languages is left out if none of the pairs that are written has it: a filter that
    drops German of Austria and keeps German of Germany writes the unit without German of Austria. Translations in
    other languages stay.
    """
    unit = pairs[0][1].unit
    variants = list(unit.variants)
    notes = {number: list(variant.notes) for number, variant in enumerate(variants)}
    unit_notes = list(unit.notes)
    written = set[int]()
    for pair, place, values in pairs:
        for side, number in enumerate((place.source, place.target)):
            if number is not None:
                written.add(number)
                variants[number] = _changed(unit.variants[number], variants[number], pair, side)
        # Values of the only pair belong to the unit, those of one of several pairs to its target.
        several = len(unit.pairs) > 1 and place.target is not None
        kept = notes[place.target] if several and place.target is not None else unit_notes
        suffix = f"-{(place.source or 0) + 1}" if several and len(unit.sources) > 1 else ""
        _add_values(kept, values, suffix)
    left_out = {*unit.sources, *unit.targets} - written if unit.pairs else set()
    order = [number for number in range(len(variants)) if number not in left_out]
    if unit.reversed:
        rank = {**dict.fromkeys(unit.targets, 1), **dict.fromkeys(unit.sources, 0)}
        order.sort(key=lambda number: rank.get(number, 2))
    translations = "".join(_translation(variants[number], notes[number]) for number in order)
    about = "".join(note.xml for note in unit_notes)
    return f"<tu{xml_attributes(unit.attributes)}>{about}{translations}</tu>\n"


def _changed(read: TmxVariant, now: TmxVariant, pair: SentencePair, side: int) -> TmxVariant:
    """A translation as the pair has it, if no earlier pair of the unit has changed it."""
    text, tags = pair.texts[side], pair.tags[side]
    if now is not read or (text, tags) == (read.text, read.tags):
        return now
    return replace(read, text=text, tags=tags)


def _translation(variant: TmxVariant, notes: Sequence[TmxNote]) -> str:
    about = "".join(note.xml for note in notes)
    content = ""
    if variant.text is not None:
        attributes = xml_attributes(variant.segment_attributes)
        content = f"<seg{attributes}>{segment(variant.text, variant.tags)}</seg>"
    return f"<tuv{xml_attributes(variant.attributes)}>{about}{content}</tuv>"


def _add_values(notes: list[TmxNote], values: Mapping[str, Any], suffix: str) -> None:
    """Add values as properties; those that an earlier command wrote by these names give way."""
    own = {f"{_OWN}{name}{suffix}": value for name, value in values.items()}
    notes[:] = [note for note in notes if note.kind not in own]
    for kind, value in own.items():
        notes.append(TmxNote(kind, _value(value), _property(kind, _value(value))))


def _value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _new_unit(pair: SentencePair, values: Mapping[str, Any], path: str) -> str:
    """A unit of a pair from elsewhere; what TMX has no place for is a property of its name."""
    rest = pair.row_values()
    own = {f"{_OWN}{name}": _value(value) for name, value in values.items()}
    match rest.get("properties"):
        case dict(known):  # values of an earlier command give way
            rest["properties"] = {kind: text for kind, text in known.items() if kind not in own}
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
        space = _segment_attributes(rest, f"{side}_")
        sides.append(f"<tuv {attributes}>{notes}<seg{space}>{segment(text, tags)}</seg></tuv>")
    attributes, notes = _about(rest, "")
    properties = "".join(_property(key, value) for key, value in {**rest, **own}.items())
    return f"<tu{name}{attributes}>{notes}{properties}{''.join(sides)}</tu>\n"


def _segment_attributes(rest: dict[str, Any], prefix: str) -> str:
    """Attributes of a segment, taken from what a row says of a side."""
    match rest.get(name := f"{prefix}segment_attributes"):
        case {"xml:space": "preserve" | "default" as space, **others} if not others:
            del rest[name]
            return f' xml:space="{space}"'
    return ""


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
            notes = "".join(f"<note>{xml_text(text)}</note>" for text in texts)
            del rest[name]
    match rest.get(name := f"{prefix}properties"):
        case dict(values):
            several = ((key, value if isinstance(value, list) else [value]) for key, value in values.items())
            notes += "".join(_property(key, text) for key, texts in several for text in texts)
            del rest[name]
    return attributes, notes


def _property(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<prop type={quoteattr(name)}>{xml_text(text)}</prop>"
