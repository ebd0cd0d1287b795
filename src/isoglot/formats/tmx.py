"""TMX translation memories, read as events: no tree is ever built, so size does not matter."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from isoglot.errors import InputError
from isoglot.formats.line_files import CHUNK_LINES, Chunk, LineFile, Meter

_LOG = logging.getLogger(__name__)
_MOST_NAMED = 8
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})
_NAMED = frozenset({"tuid", "xml:lang", "lang"})
"""Attributes that have a place of their own."""


def tmx_chunks(path: str, languages: Sequence[str], meter: Meter | None = None) -> Iterator[Chunk]:
    """Translation units of two languages, a few thousand pairs at a time.

    ``xml:lang="en-GB"`` counts as ``en``, unless a variant is asked for by its own name. Text inside in-line codes
    (`bpt ept ph it ut`) is mark-up and left out; text inside `hi` is kept. Units that lack one of the languages are
    passed over and counted.
    """
    units = _Units(path, languages)
    with LineFile(path, meter) as file:
        for _, data in file.chunks():
            feed(units.parser, data, path)
            while len(units.pairs) >= CHUNK_LINES:
                yield units.pop()
        feed(units.parser, b"", path, last=True)
        while units.pairs or units.incomplete:
            yield units.pop()
    units.check_languages()


@lru_cache(64)  # a file is read more than once
def warn_of_incomplete(path: str, languages: tuple[str, ...], count: int) -> None:
    """Report units that were passed over because they lack one of the languages."""
    _LOG.warning("%s: units without %s are left out: %s", path, " or ".join(languages), f"{count:,}")


class _Units:
    """Collects pairs from the events of one file."""

    def __init__(self, path: str, languages: Sequence[str]) -> None:
        self._path = path
        self._languages = list(map(language_tag, languages))
        self.pairs: list[tuple[int, str, str, dict[str, Any]]] = []
        self.incomplete = 0
        self._seen: set[str] = set()
        self._complete: set[str] = set()
        self._unit: dict[str, tuple[str, dict[str, Any]]] = {}
        self._about: list[dict[str, Any]] = [
            {}
        ]  # of the header, or of the unit and its translation that are open
        self._note: tuple[str, list[str]] | None = None  # type and text of a property, no type of a note
        self._line = 1
        self._language = ""
        self._text: list[str] | None = None
        self._tags: list[tuple[int, str]] = []
        self._opened = False  # whether nothing has come since the last tag, which opens an element
        self._codes = 0  # how many elements are open from the outermost in-line code on
        self.parser = tmx_parser(path)
        self.parser.SkippedEntityHandler = self._unknown
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def pop(self) -> Chunk:
        """The next pairs, and the units passed over before."""
        chunk, self.pairs = self.pairs[:CHUNK_LINES], self.pairs[CHUNK_LINES:]
        incomplete, self.incomplete = self.incomplete, 0
        return Chunk(chunk[0][0] if chunk else self._line, chunk, incomplete=incomplete)

    def check_languages(self) -> None:
        """Fail if a language that is asked for never occurs, or has no sentence."""
        missing = [w for w in self._languages if w not in self._complete]
        if mute := [w for w in missing if any(_is(tag, w) for tag in self._seen)]:
            raise self._wrong(
                f"no <tuv> in {' and '.join(mute)} has a <seg>, which holds its sentence; correct the file"
            )
        if missing:
            raise self._wrong(
                f"no unit in {' and '.join(missing)}; the languages are {', '.join(sorted(self._seen)) or 'none'}"
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit, self._line = {}, self.parser.CurrentLineNumber
            self._about = [_about(attributes, id=attributes.get("tuid"))]
        elif name == "tuv":
            self._language = unit_language(attributes)
            self._seen.add(self._language)
            label = attributes.get("xml:lang") or attributes.get("lang")
            self._about.append(_about(attributes, language=label))
        elif name == "seg":
            self._text, self._tags, self._codes = [], [], 0
        elif self._text is None and name in ("note", "prop"):
            self._note = attributes.get("type", "") if name == "prop" else "", []
        elif self._text is not None:
            self._tag(f"<{name}{''.join(f' {k}={quoteattr(v)}' for k, v in attributes.items())}>")
            self._opened = True
            if self._codes or name in _CODES:
                self._codes += 1

    def _end(self, name: str) -> None:
        if name == "seg" and self._text is not None:
            about = {**self._about[-1], "tags": tuple(self._tags)}
            self._unit.setdefault(self._language, ("".join(self._text), about))
            self._text = None
        elif name == "tuv":
            self._about = self._about[:1]
        elif name == "tu":
            source, target = (self._side(w) for w in self._languages)
            if source is None or target is None:
                self.incomplete += 1
            else:
                sides = {"source": source[1], "target": target[1]}.items()
                more = {f"{side}_{key}": value for side, about in sides for key, value in about.items()}
                self.pairs.append((self._line, source[0], target[0], self._about[0] | more))
        elif self._note is not None and self._text is None:
            self._end_note(*self._note)
        elif self._text is not None:
            if self._opened:  # an empty element, as it is usually written
                position, xml = self._tags.pop()
                self._tags.append((position, f"{xml[:-1]}/>"))
            else:
                self._tag(f"</{name}>")
            self._opened = False
            if self._codes:
                self._codes -= 1

    def _end_note(self, kind: str, parts: list[str]) -> None:
        """Keep a note, or a property, of whose type there may be several."""
        about, text, self._note = self._about[-1], "".join(parts), None
        if not kind:
            about.setdefault("notes", []).append(text)
            return
        properties = about.setdefault("properties", {})
        match properties.get(kind):
            case None:
                properties[kind] = text
            case str(first):
                properties[kind] = [first, text]
            case several:
                several.append(text)

    def _characters(self, text: str) -> None:
        if self._note is not None:
            self._note[1].append(text)
        elif self._text is not None and self._codes:
            self._opened = False
            self._tag(escape(text))
        elif self._text is not None:
            self._opened = False
            self._text.append(text)

    def _tag(self, xml: str) -> None:
        """A tag at the end of the text so far, or more of the in-line code that is open."""
        if self._codes:
            position, begun = self._tags.pop()
            self._tags.append((position, begun + xml))
        else:
            self._tags.append((sum(map(len, self._text or ())), xml))

    def _side(self, language: str) -> tuple[str, dict[str, Any]] | None:
        """The segment in a language: its exact tag first, then any variant of it."""
        tags = [language, *(tag for tag in self._unit if tag.startswith(f"{language}-"))]
        side = next((self._unit[tag] for tag in tags if tag in self._unit), None)
        if side is not None:
            self._complete.add(language)
        return side

    def _unknown(self, name: str, is_parameter: bool) -> None:
        """An entity of a file beside, which is not read: without this, it would vanish from the text."""
        if self._note is not None:
            self._note[1].append(f"&{name};")
        elif self._codes:
            self._opened = False
            self._tag(f"&{name};")
        elif not is_parameter and self._text is not None:
            raise self._wrong(
                f"&{name}; is not one of XML's own entities, and no other file is read; write the character itself"
            )

    def _wrong(self, message: str) -> InputError:
        return InputError(message, path=self._path, line=self.parser.CurrentLineNumber)


def _about(attributes: Mapping[str, str], **named: str | None) -> dict[str, Any]:
    """What a unit or a translation says of itself in its attributes."""
    rest = {name: value for name, value in attributes.items() if name not in _NAMED}
    known: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    return known | ({"attributes": rest} if rest else {})


def tmx_languages(path: str, named: Sequence[str]) -> tuple[str, str]:
    """Source and target language of a file of exactly two languages, which is read to its end.

    The source is the one that the header names, else the one that comes first. ``en-GB`` counts as ``en``, unless both
    are variants of one language.

    ``named``: Source and target language as the user names them; empty for one that is open.

    Raises:
        InputError: There are more or fewer languages than two.
    """
    state = Path(path).stat()
    header, lines = _languages(path, state.st_size, state.st_mtime_ns)
    names = list(dict.fromkeys(tag.partition("-")[0] for tag in lines))
    if len(names) == 1:
        names = list(lines)
    if len(names) < 2:
        content = f"only {names[0]}" if names else "no language"
        raise InputError(
            f"holds {content}, but two languages are needed; check the xml:lang of its <tuv> elements",
            path=path,
        )
    if names[2:]:
        listed = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
        raise InputError(
            f"holds {listed}, and two languages are read; choose them: --source-lang {names[0]} --target-lang "
            f"{names[1]}",
            path=path,
            line=next(line for tag, line in lines.items() if _is(tag, names[2])),
        )
    if _is(header, names[1]):
        names.reverse()
    if not any(named):
        return names[0], names[1]
    named_tag = language_tag("".join(named))
    rest = next((name for name in names if not _is(named_tag, name)), names[0])
    return named[0] or rest, named[1] or rest


def _is(tag: str, language: str) -> bool:
    """Whether a tag is this one or a variant of it."""
    return f"{tag}-".startswith(f"{language}-")


@lru_cache(8)
def _languages(path: str, size: int, time: int) -> tuple[str, Mapping[str, int]]:
    """The source that the header names, and each tag of a unit with its first line; read again after a change."""
    del size, time
    parser, source, lines = tmx_parser(path), [""], dict[str, int]()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "header":
            source[0] = language_tag(attributes.get("srclang", ""))
        elif name == "tuv" and (tag := unit_language(attributes)):
            lines.setdefault(tag, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    with LineFile(path) as file:
        for _, data in file.chunks():
            feed(parser, data, path)
    feed(parser, b"", path, last=True)
    return source[0], lines


def language_tag(language: str) -> str:
    """A tag in the form in which tags are compared."""
    return language.replace("_", "-").lower()


def unit_language(attributes: Mapping[str, str]) -> str:
    """The tag of a translation in a unit."""
    return language_tag(attributes.get("xml:lang") or attributes.get("lang") or "")


def tmx_parser(path: str) -> expat.XMLParserType:
    """A parser that refuses entity declarations, so that no file can make it fetch or blow up anything."""
    parser = expat.ParserCreate("utf-8")  # which a LineFile gives, whatever the file declares
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
