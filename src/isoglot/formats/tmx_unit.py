"""A TMX file as data: its header, and units with every translation, so that it can be written again.

A pair that is read from a unit carries the unit (:class:`TmxPair`). Whoever writes TMX writes units, with all their
translations, attributes, notes and properties; whoever writes another format writes the pair.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from isoglot.formats.inline_tags import Tags

_LOG = logging.getLogger(__name__)
_NAMED = frozenset({"tuid", "xml:lang", "lang"})
"""Attributes that have a place of their own in a row."""


class TmxNote(NamedTuple):
    """An element beside a translation: a note, a property, or something that TMX does not know.

    ``kind``: The type of a property; empty of all others.
    ``text``: Its text; None of elements that are neither note nor property.
    """

    kind: str
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

    ``language``: Its tag in the form in which tags are compared, ``pt-br``.
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

    ``sources``, ``targets``: Numbers of the translations in the source and in the target language.
    ``reversed``: Whether the pairs of the unit were turned round after they were read.
    """

    path: str
    line: int
    number: int
    header: TmxHeader
    attributes: Mapping[str, str]
    notes: tuple[TmxNote, ...]
    variants: tuple[TmxVariant, ...]
    sources: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    reversed: bool = False

    @property
    def place(self) -> tuple[str, int]:
        """File and number, which no other unit has."""
        return self.path, self.number

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Numbers of the source and target translation of each pair of the unit.

        A unit of ``en, de-DE, de-AT`` has two pairs of English and German.
        """
        return [(source, target) for source in self.sources for target in self.targets]

    @property
    def other_languages(self) -> list[str]:
        """Languages of the translations that are in no pair, as the file writes them."""
        paired = {*self.sources, *self.targets}
        return [
            written_language(variant.attributes)
            for number, variant in enumerate(self.variants)
            if number not in paired
        ]


@dataclass(frozen=True, slots=True)
class TmxPair:
    """The unit of a pair, and which of its translations are source and target; None for a side that it lacks."""

    unit: TmxUnit
    source: int | None
    target: int | None

    @property
    def complete(self) -> bool:
        """Whether the unit has both languages."""
        return self.source is not None and self.target is not None

    def transpose(self) -> "TmxPair":
        """The pair with its sides exchanged."""
        unit = replace(
            self.unit,
            sources=self.unit.targets,
            targets=self.unit.sources,
            reversed=not self.unit.reversed,
        )
        return TmxPair(unit, self.target, self.source)


class OtherLanguages:
    """A count of translations in other languages than those of a pair, which only TMX has room for."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._place: tuple[str, int] | None = None

    def add(self, pair: TmxPair | None) -> None:
        """Count those of the unit of a pair, once."""
        if pair is not None and pair.unit.place != self._place:
            self._place = pair.unit.place
            self._counts.update(pair.unit.other_languages)

    def warn(self, path: str) -> None:
        """Report how many translations a file has no room for."""
        if self._counts:
            counts = ", ".join(f"{language} {count:,}" for language, count in self._counts.items())
            _LOG.warning(
                "%s: has no room for the units' other languages (%s); write a .tmx file to keep them",
                path,
                counts,
            )


def row_values(pair: TmxPair) -> dict[str, Any]:
    """The values of a row of JSON lines beside the two texts of its pair, by name.

    ``id, attributes, notes, properties`` are those of the unit; ``source_language, source_attributes, source_notes,
    source_properties, source_segment_attributes, source_tags`` those of a translation, as far as there are any.
    """
    unit = pair.unit
    values: dict[str, Any] = {}
    if "tuid" in unit.attributes:
        values["id"] = unit.attributes["tuid"]
    values |= _attributes_and_notes(unit.attributes, unit.notes)
    for side, number in (("source", pair.source), ("target", pair.target)):
        of_side = {"tags": ()} if number is None else variant_values(unit.variants[number])
        values |= {f"{side}_{name}": value for name, value in of_side.items()}
    return values


def variant_values(variant: TmxVariant) -> dict[str, Any]:
    """The values of one translation beside its text, by name."""
    language = written_language(variant.attributes)
    values: dict[str, Any] = {"language": language} if language else {}
    values |= _attributes_and_notes(variant.attributes, variant.notes)
    if variant.segment_attributes:
        values["segment_attributes"] = dict(variant.segment_attributes)
    return values | {"tags": variant.tags}


def _attributes_and_notes(attributes: Mapping[str, str], notes: Sequence[TmxNote]) -> dict[str, Any]:
    """Attributes, notes and properties of a unit or a translation, by these names.

    ``<note>ok</note><prop type="domain">law</prop><prop type="domain">EU</prop>`` becomes ``{"notes": ["ok"],
    "properties": {"domain": ["law", "EU"]}}``; a type that occurs once has its text alone: ``{"domain": "law"}``.
    """
    values: dict[str, Any] = {}
    others = {name: value for name, value in attributes.items() if name not in _NAMED}
    if others:
        values["attributes"] = others
    for note in notes:
        if note.text is None:  # an element that TMX does not know
            continue
        if not note.kind:
            values.setdefault("notes", []).append(note.text)
            continue
        properties = values.setdefault("properties", {})
        earlier = properties.get(note.kind)
        if earlier is None:
            properties[note.kind] = note.text
        elif isinstance(earlier, str):
            properties[note.kind] = [earlier, note.text]
        else:
            earlier.append(note.text)
    return values


def written_language(attributes: Mapping[str, str]) -> str:
    """The language of a translation as its file writes it; empty without one.

    TMX 1.4 says ``xml:lang``; older files have ``lang``.
    """
    return attributes.get("xml:lang") or attributes.get("lang") or ""


def xml_attributes(attributes: Mapping[str, str]) -> str:
    """Attributes, each with a space before it.

    Example:
        >>> xml_attributes({"type": "a&b", "x": "1"})
        ' type="a&amp;b" x="1"'
    """
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
