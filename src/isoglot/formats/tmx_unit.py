"""A TMX file as data: its header, and units with every translation, so that the file can be written again.

    TmxUnit: en, de-DE, fr      one <tu>, with its attributes, notes and properties
    TmxPair: that unit, 0, 1    the pair of its translations 0 (en) and 1 (de-DE)

A :class:`~isoglot.formats.sentence_pair.SentencePair` that is read from TMX has a TmxPair as its ``unit``. TMX is
written from the units, with all their translations; other formats are written from the pairs.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from isoglot.formats.inline_tags import Tags

_LOG = logging.getLogger(__name__)
_ID_AND_LANGUAGE = frozenset({"tuid", "xml:lang", "lang"})
"""Attributes that are columns of their own in a row."""


class TmxNote(NamedTuple):
    """An element of a header, unit or translation: a note, a property, or an element that TMX does not know.

    ``property_type``: The type of a property; empty for other elements.
    ``text``: The text of a note or property; None for other elements.
    ``xml``: The element as it is written.
    """

    property_type: str
    text: str | None
    xml: str


@dataclass(frozen=True, slots=True)
class TmxHeader:
    """Everything before the first unit.

    ``doctype``: The declaration as it is written; empty if there is none.
    ``root``: Attributes of ``<tmx>``.
    ``attributes``: Attributes of ``<header>``.
    ``content``: XML of the notes, properties and user-defined encodings of the header.
    """

    doctype: str = ""
    root: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    content: str = ""


@dataclass(frozen=True, slots=True)
class TmxVariant:
    """One translation of a unit: a ``<tuv>``.

    ``language``: The tag of its language in the form in which tags are compared, ``pt-br``.
    ``text``: Text of its ``<seg>`` without in-line tags; None if it has no ``<seg>``.
    """

    language: str
    attributes: Mapping[str, str]
    notes: tuple[TmxNote, ...]
    text: str | None = None
    tags: Tags = ()
    segment_attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TmxUnit:
    """A unit with all its translations.

    ``number``: Number of the unit in its file, from 1.
    ``source_numbers``, ``target_numbers``: Numbers of the translations in the source and in the target language, from
    0: of ``en, de-DE, de-AT``, English is 0, and German is 1 and 2.
    ``reversed``: Whether the sides of its pairs were exchanged after they were read.
    """

    path: str
    line: int
    number: int
    header: TmxHeader
    attributes: Mapping[str, str]
    notes: tuple[TmxNote, ...]
    variants: tuple[TmxVariant, ...]
    source_numbers: tuple[int, ...] = ()
    target_numbers: tuple[int, ...] = ()
    reversed: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """The file and number of the unit, which together no other unit has."""
        return self.path, self.number

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The numbers of the source and target translation of each complete pair of the unit.

        A unit of ``en, de-DE, de-AT`` has two complete pairs of English and German, ``(0, 1)`` and ``(0, 2)``. A unit
        of ``en, fr``, which lacks German, has none.
        """
        return [(source, target) for source in self.source_numbers for target in self.target_numbers]

    @property
    def other_languages(self) -> list[str]:
        """Languages of the translations that are in no pair, as the file writes them."""
        paired = {*self.source_numbers, *self.target_numbers}
        return [
            written_language(variant.attributes)
            for number, variant in enumerate(self.variants)
            if number not in paired
        ]


@dataclass(frozen=True, slots=True)
class TmxPair:
    """Two translations of a unit that are a pair, by their numbers.

    A unit that lacks one of the languages is skipped, or read as one TmxPair with None for the missing side.
    """

    unit: TmxUnit
    source_number: int | None
    target_number: int | None

    @property
    def complete(self) -> bool:
        """Whether the unit has both languages."""
        return self.source_number is not None and self.target_number is not None

    def transpose(self) -> "TmxPair":
        """The pair with its sides exchanged."""
        unit = replace(
            self.unit,
            source_numbers=self.unit.target_numbers,
            target_numbers=self.unit.source_numbers,
            reversed=not self.unit.reversed,
        )
        return TmxPair(unit, self.target_number, self.source_number)


class OtherLanguages:
    """Counts translations that are in no pair of their unit, for which only TMX has room."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._last_unit: tuple[str, int] | None = None

    def add(self, pair: TmxPair | None) -> None:
        """Count the other translations of a pair's unit; pairs of one unit follow one another, and count once."""
        if pair is not None and pair.unit.key != self._last_unit:
            self._last_unit = pair.unit.key
            self._counts.update(pair.unit.other_languages)

    def warn(self, path: str) -> None:
        """Report how many translations were left out, because the file has no room for them."""
        if self._counts:
            counts = ", ".join(f"{language} {count:,}" for language, count in self._counts.items())
            _LOG.warning(
                "%s: has no room for the units' other languages (%s); write a .tmx file to keep them",
                path,
                counts,
            )


def pair_values(pair: TmxPair) -> dict[str, Any]:
    """Collect the values of a pair beside its two texts, by the names that they have in a row of JSON lines.

    ``id, attributes, notes, properties`` are of the unit; ``source_language, source_attributes, source_notes,
    source_properties, source_segment_attributes, source_tags`` are of the source translation, and the same with
    ``target_``. A name without a value is left out.
    """
    unit = pair.unit
    values: dict[str, Any] = {}
    if "tuid" in unit.attributes:
        values["id"] = unit.attributes["tuid"]
    values |= _attributes_and_notes(unit.attributes, unit.notes)
    for side, number in (("source", pair.source_number), ("target", pair.target_number)):
        of_side = {"tags": ()} if number is None else variant_values(unit.variants[number])
        values |= {f"{side}_{name}": value for name, value in of_side.items()}
    return values


def variant_values(variant: TmxVariant) -> dict[str, Any]:
    """Collect the values of one translation beside its text, by name."""
    language = written_language(variant.attributes)
    values: dict[str, Any] = {"language": language} if language else {}
    values |= _attributes_and_notes(variant.attributes, variant.notes)
    if variant.segment_attributes:
        values["segment_attributes"] = dict(variant.segment_attributes)
    return values | {"tags": variant.tags}


def _attributes_and_notes(attributes: Mapping[str, str], notes: Sequence[TmxNote]) -> dict[str, Any]:
    """Collect the attributes, notes and properties of a unit or a translation, by these names.

    ``<note>ok</note><prop type="domain">law</prop><prop type="domain">EU</prop>`` becomes ``{"notes": ["ok"],
    "properties": {"domain": ["law", "EU"]}}``; a type that occurs once has its text alone: ``{"domain": "law"}``.
    """
    values: dict[str, Any] = {}
    others = {name: value for name, value in attributes.items() if name not in _ID_AND_LANGUAGE}
    if others:
        values["attributes"] = others
    for note in notes:
        if note.text is None:  # an element that TMX does not know
            continue
        if not note.property_type:
            values.setdefault("notes", []).append(note.text)
            continue
        properties = values.setdefault("properties", {})
        earlier = properties.get(note.property_type)
        if earlier is None:
            properties[note.property_type] = note.text
        elif isinstance(earlier, str):
            properties[note.property_type] = [earlier, note.text]
        else:
            earlier.append(note.text)
    return values


def written_language(attributes: Mapping[str, str]) -> str:
    """The language of a translation as its file writes it; empty if the file does not say.

    TMX 1.4 says ``xml:lang``; older files have ``lang``.
    """
    return attributes.get("xml:lang") or attributes.get("lang") or ""


def xml_attributes(attributes: Mapping[str, str]) -> str:
    """Write attributes as XML, each with a space before it.

    Example:
        >>> xml_attributes({"type": "a&b", "x": "1"})
        ' type="a&amp;b" x="1"'
    """
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
