"""Lines with inline tags of HTML, XLIFF or TMX: read into text and tags, and written again.

In a line, ``&lt;`` and ``&amp;`` are characters of the text. Tags stay as they are written.
"""

import html
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.formats.inline_tags import (
    NATIVE_CODES,
    MarkedText,
    Role,
    Tag,
    Tags,
    end_tag,
    marked_text,
    start_tag,
    unopened,
)

_CDATA = "cdata"
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_ATTRIBUTE_TEXT = r"(?:\"[^\"]*\"|'[^']*'|[^>\"'])*"
_SUBFLOW = re.compile(rf"(<sub\b{_ATTRIBUTE_TEXT}>|</sub\s*>)")
_UNFINISHED = re.compile(r"<[A-Za-z/!?]")
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);|.", re.DOTALL)
_ESCAPED = {"&": "&amp;", "<": "&lt;"}


def parse_markup(line: str) -> MarkedText:
    """A line as its text, its tags, and the elements that they make.

    Raises:
        InputError: A tag is not complete, or an element is not closed where it may be.

    Example:
        >>> marked = parse_markup('Tom &amp; <b id="1">Jerry</b><br>')
        >>> marked.text, [tag.name for tag in marked.tags], [element.opening for element in marked.elements]
        ('Tom & Jerry', ['b', 'b', 'br'], [0, 2])
    """
    return marked_text(*read_tags(line))


def read_tags(line: str) -> tuple[str, Tags]:
    """The text of a line, references to characters resolved, and its tags.

    Raises:
        InputError: A tag is not complete.
    """
    text, tags, length = list[str](), list[Tag](), 0
    codes: list[_Token] = []  # the code that is open, and those in it
    for token, following in pairwise([_Token(0), *_Tokenizer(line).tokens, _Token(len(line))]):
        source = line[token.start : following.start]
        complete = source.endswith(">") and (token.name == _CDATA or token.data in ("", source))
        if not complete if token.name or token.role else _UNFINISHED.search(source):
            raise InputError(
                f"{shortened(source)} has a tag that is not complete; complete it, or write &lt; for a < of the text"
            )
        if token.name in NATIVE_CODES and token.role == "open":
            codes.append(token)
        elif token.name in NATIVE_CODES and token.role == "close":
            if not codes or codes[-1].name != token.name:
                raise unopened(source)
            code = codes.pop()
            if not codes:
                tags.append(_tag(code, line[code.start : following.start], length))
        elif not codes and token.role:
            tags.append(_tag(token, source, length))
        elif not codes:
            text.append(token.data)
            length += len(token.data)
    if codes:
        raise InputError(f"{shortened(line[codes[0].start :])} is not closed; correct the line")
    return "".join(text), tuple(tags)


def _tag(token: "_Token", source: str, offset: int) -> Tag:
    """The tag of a token, written as ``source``."""
    if not token.name:
        return Tag(offset, source)
    if token.role == "close":
        return end_tag(offset, source, token.name)
    return start_tag(offset, source, token.name, token.attributes, empty=token.role == "alone")


def tags_of_items(items: Sequence[tuple[int, str]]) -> Tags:
    """Tags of a row of JSON lines, of which each item has an offset and XML.

    An item of several tags (``<b><i>``) is several tags here; one that holds text stays whole, and stands alone.
    """
    tags: list[Tag] = []
    for offset, xml in items:
        try:
            text, read = read_tags(xml)
        except InputError:
            tags.append(Tag(offset, xml, role="open"))  # part of a code, which closes nowhere
            continue
        tags += [Tag(offset, xml)] if text else [tag._replace(offset=offset) for tag in read]
    return tuple(tags)


def unescaped(text: str) -> tuple[str, Sequence[str]]:
    """A text with its references to characters resolved, and how each of its characters is written in markup.

    Raises:
        InputError: The text has a tag.

    Example:
        >>> unescaped("Tom &amp; R&D")
        ('Tom & R&D', ['T', 'o', 'm', ' ', '&amp;', ' ', 'R', '&amp;', 'D'])
    """
    if "&" not in text and "<" not in text:
        return text, text
    if (tag := first_tag(text)) is not None:
        raise InputError(
            f"{shortened(tag)} is in the translation; remove its tags, or write &lt; for a < of the text"
        )
    characters, written = "", list[str]()
    for match in _REFERENCE.finditer(text):
        resolved = html.unescape(match[0])
        characters += resolved
        if resolved == match[0]:
            written += [_ESCAPED.get(character, character) for character in resolved]
        elif resolved:
            written += [match[0], *[""] * (len(resolved) - 1)]
    return characters, written


def first_tag(line: str) -> str | None:
    """The first tag of a line; none of one without, where a ``<`` may begin text."""
    tokens = _Tokenizer(line).tokens if "<" in line else []
    ends = [*(token.start for token in tokens[1:]), len(line)]
    return next(
        (line[token.start : end] for token, end in zip(tokens, ends, strict=False) if token.role), None
    )


def without_subflows(tag: Tag) -> Tag:
    """A tag as it is copied to another language: text that its code holds for translators (``<sub>``) is left out.

    Example:
        >>> (tag,) = read_tags('<ph>{fn}<sub>A footnote.</sub></ph>')[1]
        >>> without_subflows(tag).xml
        '<ph>{fn}<sub></sub></ph>'
    """
    if "<sub" not in tag.xml or tag.xml.startswith("<sub"):
        return tag
    parts, depth = list[str](), 0
    for part in _SUBFLOW.split(tag.xml):
        if part.startswith("<sub") and not part.endswith("/>"):
            depth += 1
            parts += [part] * (depth == 1)
        elif part.startswith("</sub"):
            parts += [part] * (depth == 1)
            depth -= 1
        elif not depth:
            parts.append(part)
    return tag._replace(xml="".join(parts))


class _Token(NamedTuple):
    """A stretch of a line, up to the next one."""

    start: int
    data: str = ""  # of text, as it reads; of a start, as it is written
    name: str = ""  # also of text in a CDATA section
    role: Role | None = None  # none of text
    attributes: Mapping[str, str | None] = {}


class _Tokenizer(HTMLParser):
    """Cuts a line into tags and text; XML's tags are read as well."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.tokens: list[_Token] = []
        # A segment may have line ends, and html.parser counts characters from the last one.
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", line))]
        try:
            self.feed(line)
            self.close()
        except AssertionError as error:  # html.parser's word for a marked section that it does not know
            raise InputError(f"a declaration cannot be read ({error}); correct the line") from error

    def _position(self) -> int:
        """The character at which the token that is being handled begins."""
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def set_cdata_mode(self, elem: str, **options: object) -> None:
        """Tags are read inside all elements."""

    def handle_data(self, data: str) -> None:
        last = self.tokens[-1] if self.tokens else None
        if last is not None and not last.name and last.role is None:
            self.tokens[-1] = last._replace(data=last.data + data)
        else:
            self.tokens.append(_Token(self._position(), data))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        written = self.get_starttag_text() or ""
        role: Role = "alone" if written.endswith("/>") or tag in _VOID else "open"
        self.tokens.append(_Token(self._position(), written, tag, role, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        self.tokens.append(_Token(self._position(), "", tag, "close"))

    def handle_comment(self, data: str) -> None:
        self.tokens.append(_Token(self._position(), "", "", "alone"))

    handle_decl = handle_pi = unknown_decl = handle_comment  # type: ignore[assignment]

    def parse_html_declaration(self, i: int) -> int:
        """A section of CDATA is text, which later releases of Python take for a comment."""
        end = self.rawdata.find("]]>", i) if self.rawdata.startswith("<![CDATA[", i) else -1
        if end < 0:
            return super().parse_html_declaration(i)
        self.tokens.append(_Token(self._position(), self.rawdata[i + len("<![CDATA[") : end], _CDATA))
        return end + len("]]>")
