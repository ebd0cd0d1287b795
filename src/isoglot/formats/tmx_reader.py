"""Read the units of TMX files as events: no tree of the file is ever built, so its size does not matter.

The parser calls :class:`TmxReader` at each start and end of an element and for each piece of text. Each element that
has begun and not ended yet is an object (``_Open...``), and an event belongs to the innermost one:

    <tmx> <header> note, prop                                    _OpenElement
          <body>   <tu> note, prop                               _OpenUnit, _OpenElement
                        <tuv> note, prop                         _OpenVariant, _OpenElement
                              <seg> text, <hi>, <ph> code </ph>  _OpenSegment

A *code* is an inline element whose content is code of another format (``<ph>{1}</ph>``): it is one tag with all that
it holds. Other inline elements (``<hi>``) are a start tag and an end tag, and the text between them is text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from isoglot.core.errors import InputError
from isoglot.formats.inline_tags import Tag, end_tag, start_tag, xml_text
from isoglot.formats.line_files import LineFile, Meter
from isoglot.formats.tmx_unit import (
    TmxHeader,
    TmxNote,
    TmxUnit,
    TmxVariant,
    written_language,
    xml_attributes,
)

_CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})
"""Elements of TMX whose content is code of another format; ``sub`` is allowed only inside the others."""


class TmxReader:
    """Reads the units of a file, with the translations in all languages.

    Comments and white space between elements are not kept; everything else of a unit is.
    """

    def __init__(self, path: str, meter: Meter | None = None) -> None:
        self.header = TmxHeader()
        self._path, self._meter = path, meter
        self._finished: list[TmxUnit] = []  # since `units` last yielded
        self._count = 0  # of the units so far
        self._unit: _OpenUnit | None = None
        self._variant: _OpenVariant | None = None
        self._segment: _OpenSegment | None = None
        self._element: _OpenElement | None = None  # a note, property or unknown element, wherever it stands
        self._in_header = False
        self._header_content: list[str] = []
        self._parser = tmx_parser(path)
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._unknown_entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    @property
    def line(self) -> int:
        """The line of the file that is read now."""
        return self._parser.CurrentLineNumber

    def units(self) -> Iterator[TmxUnit]:
        """Yield the units of the file, in their order and in bounded memory."""
        with LineFile(self._path, self._meter) as file:
            for _, data in file.chunks():
                feed(self._parser, data, self._path)
                yield from self._take_finished()
            feed(self._parser, b"", self._path, last=True)
        yield from self._take_finished()

    def _take_finished(self) -> list[TmxUnit]:
        finished, self._finished = self._finished, []
        return finished

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: int) -> None:
        """Keep the declaration without its internal subset, which is not read, and so is not written again."""
        identifier = f" PUBLIC {quoteattr(public)}" if public else " SYSTEM" if system else ""
        location = f" {quoteattr(system)}" if system else ""
        self.header = TmxHeader(doctype=f"<!DOCTYPE {name}{identifier}{location}>")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        """Pass the start of an element to the innermost object that is open, or open an object for it."""
        if self._segment is not None:
            self._segment.start(name, attributes)
        elif self._element is not None:
            self._element.start(name, attributes)
        elif self._in_header:
            self._element = _OpenElement(name, attributes)
        elif self._variant is not None:
            # TMX has one <seg> a translation; a second one is kept as any unknown element.
            if name == "seg" and self._variant.segment is None:
                self._segment = _OpenSegment(attributes)
            else:
                self._element = _OpenElement(name, attributes)
        elif self._unit is not None:
            if name == "tuv":
                self._variant = _OpenVariant(attributes)
            else:
                self._element = _OpenElement(name, attributes)
        elif name == "tu":
            self._unit = _OpenUnit(attributes, self.line)
        elif name == "tmx":
            self.header = replace(self.header, root=dict(attributes))
        elif name == "header":
            self.header = replace(self.header, attributes=dict(attributes))
            self._in_header = True

    def _end(self, name: str) -> None:
        """Pass the end of an element to the innermost object; if that is complete, give it to the object around it."""
        if self._segment is not None:
            is_complete = self._segment.end(name)
            if is_complete and self._variant is not None:
                self._variant.segment = self._segment
                self._segment = None
        elif self._element is not None:
            if self._element.end(name):
                self._keep_note(self._element.note())
                self._element = None
        elif self._in_header:
            self.header = replace(self.header, content="".join(self._header_content))
            self._in_header = False
        elif self._variant is not None:
            if self._unit is not None:
                self._unit.variants.append(self._variant.finished())
            self._variant = None
        elif self._unit is not None:
            self._count += 1
            self._finished.append(self._unit.finished(self._path, self._count, self.header))
            self._unit = None

    def _keep_note(self, note: TmxNote) -> None:
        """Add a finished element to the translation, unit or header that holds it."""
        if self._variant is not None:
            self._variant.notes.append(note)
        elif self._unit is not None:
            self._unit.notes.append(note)
        else:
            self._header_content.append(note.xml)

    def _characters(self, text: str) -> None:
        if self._segment is not None:
            self._segment.characters(text)
        elif self._element is not None:
            self._element.characters(text)

    def _unknown_entity(self, name: str, is_parameter: bool) -> None:
        """Keep ``&name;`` in notes and codes, and refuse it in text.

        The parser skips an entity that a DTD in another file may declare, as that file is not read. Without this
        handler the entity would vanish from the text silently.
        """
        if self._element is not None:
            self._element.entity(name)
        elif self._segment is not None and self._segment.in_code:
            self._segment.code_entity(name)
        elif not is_parameter and self._segment is not None:
            raise InputError(
                f"&{name}; is not one of XML's own entities, and no other file is read; write the character itself",
                path=self._path,
                line=self.line,
            )


class _OpenUnit:
    """A unit that has begun and not ended."""

    def __init__(self, attributes: Mapping[str, str], line: int) -> None:
        self._attributes, self._line = dict(attributes), line
        self.notes: list[TmxNote] = []
        self.variants: list[TmxVariant] = []

    def finished(self, path: str, number: int, header: TmxHeader) -> TmxUnit:
        return TmxUnit(
            path=path,
            line=self._line,
            number=number,
            header=header,
            attributes=self._attributes,
            notes=tuple(self.notes),
            variants=tuple(self.variants),
        )


class _OpenVariant:
    """A translation that has begun and not ended."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self._attributes = dict(attributes)
        self.notes: list[TmxNote] = []
        self.segment: _OpenSegment | None = None

    def finished(self) -> TmxVariant:
        language = language_tag(written_language(self._attributes))
        if self.segment is None:
            return TmxVariant(language, self._attributes, tuple(self.notes))
        return TmxVariant(
            language=language,
            attributes=self._attributes,
            notes=tuple(self.notes),
            text="".join(self.segment.text),
            tags=tuple(self.segment.tags),
            segment_attributes=self.segment.attributes,
        )


class _OpenElement:
    """A note, a property or an unknown element that has begun and not ended, with all that it holds."""

    def __init__(self, name: str, attributes: Mapping[str, str]) -> None:
        self._name = name
        self._property_type = attributes.get("type", "") if name == "prop" else ""
        self._text: list[str] = []
        self._xml = [f"<{name}{xml_attributes(attributes)}>"]
        self._depth = 1  # number of open elements: this one and those inside it

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._xml.append(f"<{name}{xml_attributes(attributes)}>")
        self._depth += 1

    def end(self, name: str) -> bool:
        """Add the end of an element; return whether it was the end of this one."""
        self._xml.append(f"</{name}>")
        self._depth -= 1
        return not self._depth

    def characters(self, text: str) -> None:
        self._text.append(text)
        self._xml.append(xml_text(text))

    def entity(self, name: str) -> None:
        self._text.append(f"&{name};")
        self._xml.append(f"&{name};")

    def note(self) -> TmxNote:
        text = "".join(self._text) if self._name in ("note", "prop") else None
        return TmxNote(self._property_type, text, "".join(self._xml))


class _OpenSegment:
    """A segment that has begun and not ended: its text, and its inline tags with their places in the text.

    ``R&amp;D <hi>now</hi> <ph x="1">{1}</ph>`` has the text ``R&D now `` and three tags: ``<hi>`` before character 4,
    ``</hi>`` before 7, and ``<ph x="1">{1}</ph>`` before 8.
    """

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = dict(attributes)
        self.text: list[str] = []  # pieces
        self.tags: list[Tag] = []
        self._length = 0  # of the text so far
        self._depth = 1  # number of open elements, <seg> among them
        self._depth_of_code = 0  # number of open elements that are a code or stand inside one
        # If the last event was the start of an element, its attributes: if the next event is its end, it is empty.
        self._just_opened: Mapping[str, str] | None = None

    @property
    def in_code(self) -> bool:
        """Whether an inline code is open, whose text is no text of the segment."""
        return self._depth_of_code > 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Start an element: inside a code it belongs to the code's tag, else it is a tag of its own."""
        xml = f"<{name}{xml_attributes(attributes)}>"
        self._depth += 1
        self._just_opened = attributes
        if self._depth_of_code:
            self._extend_code(xml)
            self._depth_of_code += 1
        elif name in _CODES:
            # A `sub` outside a code is not in NATIVE_CODES, so it would open an element; `empty` makes it one tag that
            # stands alone.
            self.tags.append(start_tag(self._length, xml, name, attributes, empty=name == "sub"))
            self._depth_of_code = 1
        else:
            # A code of XLIFF, such as <x>, is none of TMX: it opens an element. If it is empty, `end` makes it a code.
            tag = start_tag(self._length, xml, name, attributes)
            self.tags.append(tag._replace(role="open", pair_number=""))

    def end(self, name: str) -> bool:
        """End an element; return whether that was the segment."""
        self._depth -= 1
        if self._depth == 0:
            return True
        attributes, self._just_opened = self._just_opened, None
        if attributes is not None:
            # The element is empty. The parser does not tell <br/> from <br></br>, and <br/> is usual.
            tag = self.tags[-1]._replace(xml=f"{self.tags[-1].xml[:-1]}/>")
            if not self._depth_of_code:
                tag = start_tag(tag.offset, tag.xml, name, attributes, empty=True)
            self.tags[-1] = tag
        elif self._depth_of_code:
            self._extend_code(f"</{name}>")
        else:
            self.tags.append(end_tag(self._length, f"</{name}>", name))
        if self._depth_of_code:
            self._depth_of_code -= 1
        return False

    def characters(self, text: str) -> None:
        """Add text: inside a code to its tag, else to the text of the segment."""
        self._just_opened = None
        if self._depth_of_code:
            self._extend_code(xml_text(text))
        else:
            self.text.append(text)
            self._length += len(text)

    def code_entity(self, name: str) -> None:
        """Add an unknown entity to the code that is open."""
        self._just_opened = None
        self._extend_code(f"&{name};")

    def _extend_code(self, xml: str) -> None:
        """Add XML to the tag of the code that is open."""
        self.tags[-1] = self.tags[-1]._replace(xml=self.tags[-1].xml + xml)


def language_tag(language: str) -> str:
    """A language tag in the form in which tags are compared: ``de_AT`` and ``de-AT`` are ``de-at``."""
    return language.replace("_", "-").lower()


def tmx_parser(path: str) -> expat.XMLParserType:
    """Make a parser that refuses entity declarations: these could fetch other files, or grow without bound."""
    # A LineFile yields UTF-8, whatever encoding the file declares.
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True

    def refuse(name: str, *_: object) -> None:
        raise InputError(
            f"declares the entity {name!r}; a TMX file needs none: remove the declaration",
            path=path,
            line=parser.CurrentLineNumber,
        )

    parser.EntityDeclHandler = refuse
    return parser


def feed(parser: expat.XMLParserType, data: bytes, path: str, *, last: bool = False) -> None:
    """Parse some bytes of a file."""
    try:
        parser.Parse(data, last)
    except expat.ExpatError as error:
        raise InputError(
            f"not well-formed XML ({expat.ErrorString(error.code)}, column {error.offset}): fix or fetch the file",
            path=path,
            line=error.lineno,
        ) from error
