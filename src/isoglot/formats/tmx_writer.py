"""Write sentence pairs as units of TMX 1.4.

A pair that was read from a unit is written as this unit: with every translation, attribute, note and property, and with
the text and the inline tags that the pair has now. The pairs of one unit, which follow one another, become one unit
again. A pair of another format becomes a unit of its own.

    (en, de-DE) of unit 1 ─┐
    (en, de-AT) of unit 1 ─┴─ _same_unit ──> <tu> en de-DE de-AT fr </tu>   fr is in no pair, but in unit 1
    (en, de) of a TSV file ── _new_unit ───> <tu> en de </tu>

Dates that were read are written again. isoglot adds none of its own (``creationdate`` of units or of the header), so
that equal pairs make equal files.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any, NamedTuple
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
"""Beginning of the types of our properties, by which they differ from those of the file; TMX asks for ``x-``."""
_ATTRIBUTES_OF_TRANSLATION = frozenset(
    ["changedate", "changeid", "creationdate", "creationid", "creationtool", "creationtoolversion", "datatype",
     "lastusagedate", "o-encoding", "o-tmf", "usagecount", "xml:space"]
)  # fmt: skip
"""Attributes that ``<tuv>`` may have in TMX 1.4, beside its language."""
_ATTRIBUTES_OF_UNIT = _ATTRIBUTES_OF_TRANSLATION | {"segtype", "srclang"}
"""Attributes that ``<tu>`` may have, beside its id."""
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


class _OpenPair(NamedTuple):
    """A pair of the unit that is not written yet."""

    pair: SentencePair
    tmx: TmxPair  # the unit, and the numbers of the pair's two translations in it
    values: Mapping[str, Any]  # what is known of the pair, written as properties


class TmxWriter:
    """A writer of units; characters that XML forbids are left out and counted."""

    def __init__(self, file: IO[str], path: str, languages: Sequence[str]) -> None:
        self._file, self._path, self._languages = file, path, languages
        self._legal = XmlText()
        self._header: TmxHeader | None = None  # the one that is written
        self._header_path = ""  # the file that it was read from; empty for a header of ours
        self._reported_paths: set[str] = set()  # files whose other headers a warning has named
        self._open: list[_OpenPair] = []
        """Pairs of the unit that is not written yet, as more of its pairs may come."""

    def write(self, pair: SentencePair, values: Mapping[str, Any]) -> None:
        """Write a pair, and what is known of it as properties."""
        if pair.unit is None:
            self._write_open_unit()
            self._begin(str(pair.row_values().get("source_language", self._languages[0])))
            self._file.write(self._legal(_new_unit(pair, values, self._path)))
            return
        tmx = pair.unit
        if self._open and self._open[0].tmx.unit.key != tmx.unit.key:
            self._write_open_unit()
        self._open.append(_OpenPair(pair, tmx, values))

    def end(self) -> None:
        """Write the end of the file."""
        self._write_open_unit()
        self._begin(self._languages[0])
        self._file.write("</body>\n</tmx>\n")
        self._legal.warn(self._path)

    def _write_open_unit(self) -> None:
        if self._open:
            self._begin(self._languages[0], self._open[0].tmx.unit)
            self._file.write(self._legal(_same_unit(self._open)))
            self._open = []

    def _begin(self, source_language: str, unit: TmxUnit | None = None) -> None:
        """Write everything before the first unit, unless that is done; warn of other headers.

        ``unit``: The unit that is about to be written. If it is the first one, the header of the memory that it was
        read from is written. Without it (a unit of ours, or an empty file), a header of ours is written, with
        ``source_language``.
        """
        if self._header is not None:
            if unit is not None:
                self._warn_of_other_header(unit)
            return
        header = TmxHeader() if unit is None else unit.header
        self._header = header
        self._header_path = "" if unit is None else unit.path
        if unit is None:
            source = source_language if _is_language(source_language) else self._languages[0]
            header = TmxHeader(
                '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', {"version": "1.4"}, _NEW_HEADER | {"srclang": source}
            )
        elif unit.reversed:
            # The sides were exchanged: the source language is that of the first translation of the present source side.
            sources = (written_language(unit.variants[number].attributes) for number in unit.source_numbers)
            attributes = {**header.attributes, "srclang": next(sources, source_language)}
            header = replace(header, attributes=attributes)
        self._file.write(self._legal(_beginning(header)))

    def _warn_of_other_header(self, unit: TmxUnit) -> None:
        """Warn that the header of a translation memory is left out, as a file has one; once for each memory."""
        if unit.header == self._header or unit.path in self._reported_paths:
            return
        self._reported_paths.add(unit.path)
        _LOG.warning(
            "%s: has the header of %s; that of %s differs and is left out",
            self._path,
            self._header_path or "isoglot",
            unit.path,
        )


def _beginning(header: TmxHeader) -> str:
    """The lines of a file before its first unit."""
    doctype = f"{header.doctype}\n" if header.doctype else ""
    content = f">{header.content}</header>" if header.content else "/>"
    return (
        f"{_DECLARATION}{doctype}<tmx{xml_attributes(header.root)}>\n"
        f"<header{xml_attributes(header.attributes)}{content}\n<body>\n"
    )


def _is_language(tag: str) -> bool:
    return tag not in UNNAMED and LANGUAGE_TAG.fullmatch(tag.lower()) is not None


def _same_unit(open_pairs: Sequence[_OpenPair]) -> str:
    """Write a unit that was read, with the texts, tags and values that its pairs have now.

    1. A translation has the text and tags of the first of its pairs that has changed them.
    2. A unit that had one pair when it was read, or lacks one of the languages, has the pair's values as its
       properties, ``<prop type="x-isoglot-score">``. If it had several pairs, the target of each pair has them, even
       if a single pair is left to write. If the unit has several sources, a target may be in several pairs, so each
       name ends in the number of the source: 1 for the first ``<tuv>`` of the unit as it was read, whatever its
       language, 2 for the second. In the unit ``de, en, en-GB`` (English to German), ``de`` has ``x-isoglot-score-2``
       of its pair with ``en``, and ``x-isoglot-score-3`` of its pair with ``en-GB``. Neither number changes if
       ``<tuv>`` are left out (3) or reordered (4).
    3. A translation in one of the two languages is left out if none of the pairs that are written has it: a filter that
       drops German of Austria and keeps German of Germany writes the unit without German of Austria. Translations in
       other languages stay.
    4. In a unit whose sides were exchanged, the sources come first, then the targets, then other languages.
    """
    unit = open_pairs[0].tmx.unit
    variants = list(unit.variants)
    notes = {number: list(variant.notes) for number, variant in enumerate(variants)}
    unit_notes = list(unit.notes)
    written: set[int] = set()
    for pair, tmx, values in open_pairs:
        for side, number in enumerate((tmx.source_number, tmx.target_number)):
            if number is not None:
                written.add(number)
                variants[number] = _changed(unit.variants[number], variants[number], pair, side)  # 1
        if tmx.source_number is None or tmx.target_number is None or len(unit.pairs) == 1:
            # 2. The unit lacks one of the languages, or had one pair.
            _add_values(unit_notes, values, "")
        else:
            suffix = f"-{tmx.source_number + 1}" if len(unit.source_numbers) > 1 else ""
            _add_values(notes[tmx.target_number], values, suffix)
    # 3. A unit that lacks one of the languages has no complete pair, and keeps all its translations.
    left_out = {*unit.source_numbers, *unit.target_numbers} - written if unit.pairs else set()
    order = list(range(len(variants)))
    if unit.reversed:  # 4
        sides = [*unit.source_numbers, *unit.target_numbers]
        order = sides + [number for number in order if number not in sides]
    kept = [number for number in order if number not in left_out]
    written_variants = "".join(_translation(variants[number], notes[number]) for number in kept)
    written_notes = "".join(note.xml for note in unit_notes)
    return f"<tu{xml_attributes(unit.attributes)}>{written_notes}{written_variants}</tu>\n"


def _changed(read: TmxVariant, now: TmxVariant, pair: SentencePair, side: int) -> TmxVariant:
    """Give a translation the text and tags of a pair, unless an earlier pair of the unit has changed it.

    ``read``: The translation as it was read. ``now``: The translation as earlier pairs left it.
    """
    text, tags = pair.texts[side], pair.tags[side]
    if now is not read or (text, tags) == (read.text, read.tags):
        return now
    return replace(read, text=text, tags=tags)


def _translation(variant: TmxVariant, notes: Sequence[TmxNote]) -> str:
    """Write a translation, which may have no segment."""
    written_notes = "".join(note.xml for note in notes)
    content = ""
    if variant.text is not None:
        attributes = xml_attributes(variant.segment_attributes)
        content = f"<seg{attributes}>{segment(variant.text, variant.tags)}</seg>"
    return f"<tuv{xml_attributes(variant.attributes)}>{written_notes}{content}</tuv>"


def _add_values(notes: list[TmxNote], values: Mapping[str, Any], suffix: str) -> None:
    """Add values as properties; those of the same names that an earlier command wrote are replaced."""
    own = {f"{_OWN}{name}{suffix}": _value(value) for name, value in values.items()}
    notes[:] = [note for note in notes if note.property_type not in own]
    notes += [TmxNote(name, text, _property(name, text)) for name, text in own.items()]


def _value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _new_unit(pair: SentencePair, values: Mapping[str, Any], path: str) -> str:
    """Write a pair that was read from another format as a unit.

    Columns that :func:`isoglot.formats.tmx_unit.pair_values` names (``attributes``, ``source_notes`` ...) go back to
    where TMX has them; every other column is a property of its name: ``{"year": 2011}`` is
    ``<prop type="year">2011</prop>``.
    """
    rest = pair.row_values()  # each step removes the columns that it writes
    own = {f"{_OWN}{name}": _value(value) for name, value in values.items()}
    properties = rest.get("properties")
    if isinstance(properties, dict):  # values of an earlier command are replaced
        rest["properties"] = {name: text for name, text in properties.items() if name not in own}
    unit_id = "" if pair.id is None else f" tuid={quoteattr(str(pair.id))}"
    sides = []
    for side, text, tags, given in zip(
        ("source", "target"), pair.texts, pair.tags, pair.languages, strict=True
    ):
        # The row's own label (`de-AT`) before the language that was given for all rows (`de`).
        label = str(rest.pop(f"{side}_language", given))
        language = label if _is_language(label) else given
        if not _is_language(language):
            raise ConfigurationError(f"{path}: {_NO_LANGUAGE}")
        attributes, notes = _take_attributes_and_notes(rest, f"{side}_")
        segment_attributes = _take_segment_attributes(rest, f"{side}_")
        written_segment = f"<seg{segment_attributes}>{segment(text, tags)}</seg>"
        sides.append(f"<tuv xml:lang={quoteattr(language)}{attributes}>{notes}{written_segment}</tuv>")
    attributes, notes = _take_attributes_and_notes(rest, "")
    others = "".join(_property(key, value) for key, value in {**rest, **own}.items())
    return f"<tu{unit_id}{attributes}>{notes}{others}{''.join(sides)}</tu>\n"


def _take_segment_attributes(rest: dict[str, Any], prefix: str) -> str:
    """Write the attributes of a segment and remove them from ``rest``: TMX allows ``xml:space`` alone."""
    name = f"{prefix}segment_attributes"
    given = rest.get(name)
    if isinstance(given, dict) and given in ({"xml:space": "preserve"}, {"xml:space": "default"}):
        del rest[name]
        return f' xml:space="{given["xml:space"]}"'
    return ""


def _take_attributes_and_notes(rest: dict[str, Any], prefix: str) -> tuple[str, str]:
    """Take attributes, notes and properties of the unit or of a side out of ``rest``, and write them as XML.

    Returns the attributes, ``' creationdate="20200101T000000Z"'``, and the notes and properties,
    ``<note>formal</note><prop type="year">2011</prop>``. There are no defaults: a row without attributes gives ``""``.
    A column that has one of these names and something else in it (``notes`` that is no list of texts) stays in
    ``rest``.

    ``prefix``: Beginning of the names: ``source_``, ``target_``, or empty for the unit.
    """
    attributes = notes = ""
    given = rest.get(f"{prefix}attributes")
    if isinstance(given, dict):
        # An attribute that TMX does not allow here would make the file invalid; it becomes a property.
        allowed = _ATTRIBUTES_OF_TRANSLATION if prefix else _ATTRIBUTES_OF_UNIT
        known = {key: value for key, value in given.items() if key in allowed and isinstance(value, str)}
        attributes = xml_attributes(known)
        rest[f"{prefix}attributes"] = {key: value for key, value in given.items() if key not in known}
        if not rest[f"{prefix}attributes"]:
            del rest[f"{prefix}attributes"]
    texts = rest.get(f"{prefix}notes")
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        notes = "".join(f"<note>{xml_text(text)}</note>" for text in texts)
        del rest[f"{prefix}notes"]
    properties = rest.get(f"{prefix}properties")
    if isinstance(properties, dict):
        for name, value in properties.items():
            for text in value if isinstance(value, list) else [value]:  # several of a type are a list
                notes += _property(name, text)
        del rest[f"{prefix}properties"]
    return attributes, notes


def _property(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<prop type={quoteattr(name)}>{xml_text(text)}</prop>"
