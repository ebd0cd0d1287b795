"""TMX translation memories, read as events: no tree is ever built, so size does not matter."""

from collections.abc import Iterator
from xml.parsers import expat

from isoglot.corpus.read.line_files import CHUNK_LINES, LineFile, Meter
from isoglot.corpus.read.records import Chunk, Fields
from isoglot.corpus.read.sources import Kind, Source
from isoglot.errors import InputError

_CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})


def tmx_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    """Translation units of two languages, a few thousand pairs at a time.

    ``xml:lang="en-GB"`` counts as ``en``, unless a variant is asked for by its own name. Text inside in-line codes
    (`bpt ept ph it ut`) is mark-up and left out; text inside `hi` is kept. Units that lack one of the languages are
    passed over and counted. Entity declarations are refused, so no file can make the reader fetch or blow up anything.
    """
    units = _Units(source)
    with LineFile(source.path, meter) as file:
        for _, data in file.chunks():
            units.feed(data)
            while len(units.pairs) >= CHUNK_LINES:
                yield units.pop()
        units.feed(b"", last=True)
        while units.pairs or units.incomplete:
            yield units.pop()
    units.check_languages()


def tmx_fields(source: Source, kind: Kind, chunk: Chunk) -> Fields:
    """The pairs of one chunk."""
    lines, sources, targets = ([pair[i] for pair in chunk.payload] for i in range(3))
    return {"source": sources, "target": targets}, lines


class _Units:
    """Collects pairs from the events of one file."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        self._wanted = (_tag(source.source_language or ""), _tag(source.target_language or ""))
        self.pairs: list[tuple[int, str, str]] = []
        self.incomplete = 0
        self._seen: set[str] = set()
        self._found: set[str] = set()
        self._unit: dict[str, str] = {}
        self._line = 1
        self._language = ""
        self._text: list[str] | None = None
        self._codes = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.EntityDeclHandler = self._refuse
        self._parser.SkippedEntityHandler = self._unknown
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """Parse some bytes."""
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError as error:
            raise InputError(
                f"not well-formed XML ({expat.ErrorString(error.code)}, column {error.offset}): fix or fetch the file",
                path=self._path,
                line=error.lineno,
            ) from error
        except (LookupError, ValueError) as error:
            raise InputError(
                f"its encoding cannot be read ({error}); convert it: iconv -t utf-8, and say so in its first line",
                path=self._path,
                line=1,
            ) from error

    def pop(self) -> Chunk:
        """The next pairs, and the units passed over before."""
        taken, self.pairs = self.pairs[:CHUNK_LINES], self.pairs[CHUNK_LINES:]
        incomplete, self.incomplete = self.incomplete, 0
        return Chunk(taken[0][0] if taken else self._line, taken, incomplete=incomplete)

    def check_languages(self) -> None:
        """Fail if a language that is asked for never occurs."""
        missing = [w for w in self._wanted if w not in self._found]
        if missing:
            raise self._wrong(
                f"no unit in {' and '.join(missing)}; the languages are {', '.join(sorted(self._seen)) or 'none'}"
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit, self._line = {}, self._parser.CurrentLineNumber
        elif name == "tuv":
            self._language = _tag(attributes.get("xml:lang") or attributes.get("lang") or "")
            self._seen.add(self._language)
        elif name == "seg":
            self._text, self._codes = [], 0
        elif self._text is not None and name in _CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        if name == "seg" and self._text is not None:
            self._unit.setdefault(self._language, "".join(self._text))
            self._text = None
        elif name == "tu":
            source, target = (self._side(w) for w in self._wanted)
            if source is None or target is None:
                self.incomplete += 1
            else:
                self.pairs.append((self._line, source, target))
        elif self._text is not None and name in _CODES:
            self._codes -= 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._text.append(text)

    def _side(self, wanted: str) -> str | None:
        """The segment in a language: its exact tag first, then any variant of it."""
        tag = (
            wanted
            if wanted in self._unit
            else next((t for t in self._unit if t.startswith(f"{wanted}-")), None)
        )
        if tag is None:
            return None
        self._found.add(wanted)
        return self._unit[tag]

    def _refuse(self, name: str, *_: object) -> None:
        raise self._wrong(f"declares the entity {name!r}; a TMX file needs none: remove the declaration")

    def _unknown(self, name: str, is_parameter: bool) -> None:
        """An entity of a file beside, which is not read: without this, it would vanish from the text."""
        if not is_parameter and self._text is not None and not self._codes:
            raise self._wrong(
                f"&{name}; is not one of XML's own entities, and no other file is read; write the character itself"
            )

    def _wrong(self, message: str) -> InputError:
        return InputError(message, path=self._path, line=self._parser.CurrentLineNumber)


def _tag(language: str) -> str:
    return language.replace("_", "-").lower()
