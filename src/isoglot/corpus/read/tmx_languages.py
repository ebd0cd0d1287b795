"""Which languages a TMX file holds, read where nobody names them; and the parser that both of its readers use."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

from isoglot.corpus.read.line_files import LineFile
from isoglot.errors import InputError

_MOST_NAMED = 8


def tmx_languages(path: str, given: Sequence[str]) -> tuple[str, str]:
    """Source and target language of a file of exactly two languages, which is read to its end.

    The source is the one that the header names, else the one that comes first. ``en-GB`` counts as ``en``, unless both
    are variants of one language.

    ``given``: Source and target language as the user names them; empty for one that is open.

    Raises:
        InputError: There are more or fewer languages than two.
    """
    state = Path(path).stat()
    header, lines = _languages(path, state.st_size, state.st_mtime_ns)
    names = list(dict.fromkeys(tag.partition("-")[0] for tag in lines))
    if len(names) == 1:
        names = list(lines)
    if len(names) < 2:
        held = f"only {names[0]}" if names else "no language"
        raise InputError(
            f"holds {held}, but two languages are needed; check the xml:lang of its <tuv> elements", path=path
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
    if not any(given):
        return names[0], names[1]
    own = language_tag("".join(given))
    other = next((name for name in names if not _is(own, name)), names[0])
    return given[0] or other, given[1] or other


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
    parser = expat.ParserCreate()
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
    except (LookupError, ValueError) as error:
        raise InputError(
            f"its encoding cannot be read ({error}); convert it: iconv -t utf-8, and say so in its first line",
            path=path,
            line=1,
        ) from error
