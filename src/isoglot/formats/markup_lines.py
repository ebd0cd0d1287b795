"""Read lines with inline tags of HTML, XLIFF or TMX into text and tags.

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
    unopened_tag,
)

_CDATA = "cdata"
# The void elements of HTML, which have no end tag; `param` is obsolete.
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_ATTRIBUTE_TEXT = r"(?:\"[^\"]*\"|'[^']*'|[^>\"'])*"  # a `>` in quotes ends no tag
_SUBFLOW = re.compile(rf"(<sub\b{_ATTRIBUTE_TEXT}>|</sub\s*>)")
_UNFINISHED = re.compile(r"<[A-Za-z/!?]")  # in text, the beginning of a tag that html.parser could not read
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);|.", re.DOTALL)
_ESCAPED = {"&": "&amp;", "<": "&lt;"}


def parse_markup(line: str) -> MarkedText:
    """Read a line: its text, its tags, and the elements that the tags make.

    Raises:
        InputError: A tag is not complete, or an element is not closed, or not where it may be.

    Example:
        >>> marked = parse_markup('Tom &amp; <b id="1">Jerry</b><br>')
        >>> marked.text, [tag.name for tag in marked.tags], [element.opening for element in marked.elements]
        ('Tom & Jerry', ['b', 'b', 'br'], [0, 2])
    """
    return marked_text(*read_tags(line))


def read_tags(line: str) -> tuple[str, Tags]:
    """Read the text of a line, with its references to characters resolved, and its tags.

    ``Press <ph id="1">{k}</ph>!`` has the text ``Press !`` and one tag: a code is one tag with all that it holds.

    Raises:
        InputError: A tag is not complete.
    """
    text: list[str] = []
    tags: list[Tag] = []
    length = 0  # of the text so far
    codes: list[_Token] = []  # the code that is open, and those inside it
    # In a line that begins with half a tag, `<b class="x`, html.parser may skip these characters. The empty token in
    # front covers them like text, so that `_is_unfinished` finds the half tag.
    for token, following in pairwise([_Token(0), *_Tokenizer(line).tokens, _Token(len(line))]):
        source = line[token.start : following.start]
        if _is_unfinished(token, source):
            raise InputError(
                f"{shortened(source)} has a tag that is not complete; complete it, or write &lt; for a < of the text"
            )
        if token.name in NATIVE_CODES and token.role == "open":
            codes.append(token)
        elif token.name in NATIVE_CODES and token.role == "close":
            if not codes or codes[-1].name != token.name:
                raise unopened_tag(source)
            code = codes.pop()
            if not codes:  # the outermost code ends
                tags.append(_tag(code, line[code.start : following.start], length))
        elif not codes and token.role:
            tags.append(_tag(token, source, length))
        elif not codes:
            text.append(token.data)
            length += len(token.data)
    if codes:
        raise InputError(f"{shortened(line[codes[0].start :])} is not closed; correct the line")
    return "".join(text), tuple(tags)


def _is_unfinished(token: "_Token", source: str) -> bool:
    """Whether a tag is cut off (``<b class="x``), or text has the beginning of a tag.

    ``html.parser`` does not refuse such a tag, but goes on behind it as browsers do. So the characters up to the next
    token must be this token and nothing else.
    """
    is_text = not token.name and token.role is None
    if is_text:
        return _UNFINISHED.search(source) is not None
    if not source.endswith(">"):
        return True
    if token.name == _CDATA or not token.data:
        return False  # CDATA, whose data are its text, or an end tag or comment, which has none
    return token.data != source  # a start tag, whose data are the tag as html.parser read it


def _tag(token: "_Token", source: str, offset: int) -> Tag:
    """Make the tag of a token; ``source``: The tag as it is written."""
    if not token.name:
        return Tag(offset, source)
    if token.role == "close":
        return end_tag(offset, source, token.name)
    return start_tag(offset, source, token.name, token.attributes, empty=token.role == "alone")


def tags_of_items(items: Sequence[tuple[int, str]]) -> Tags:
    """Read the tags of a row of JSON lines; each item has an offset and XML.

    1. An item of several tags (``<b><i>``) becomes several tags.
    2. An item that holds text is one tag, which stands alone.
    3. An item that is only a part of a code is one tag, which opens and is never closed.
    """
    tags: list[Tag] = []
    for offset, xml in items:
        try:
            text, read = read_tags(xml)
        except InputError:
            tags.append(Tag(offset, xml, role="open"))  # 3
            continue
        if text:
            tags.append(Tag(offset, xml))  # 2
        else:
            tags += [tag._replace(offset=offset) for tag in read]  # 1
    return tuple(tags)


def unescaped(text: str) -> tuple[str, Sequence[str]]:
    """Resolve the references to characters in a text; also return each character as markup writes it.

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
    characters = ""
    written: list[str] = []  # one for each character
    for match in _REFERENCE.finditer(text):
        resolved = html.unescape(match[0])
        characters += resolved
        if resolved == match[0]:
            # A character, and no reference. Markup has to write `&` and `<` as references.
            written += [_ESCAPED.get(character, character) for character in resolved]
        elif resolved:
            # A reference may stand for two characters (`&NotEqualTilde;`): the first one is written as the reference.
            written += [match[0], *[""] * (len(resolved) - 1)]
    return characters, written


def first_tag(line: str) -> str | None:
    """Find the first tag of a line, as it is written; None for a line without tags, such as ``1 < 2``."""
    if "<" not in line:
        return None
    for token, following in pairwise([*_Tokenizer(line).tokens, _Token(len(line))]):
        if token.role:
            return line[token.start : following.start]
    return None


def without_subflows(tag: Tag) -> Tag:
    """Remove the text that a code holds for translators (``<sub>``), for a tag that is copied to another language.

    Example:
        >>> (tag,) = read_tags('<ph>{fn}<sub>A footnote.</sub></ph>')[1]
        >>> without_subflows(tag).xml
        '<ph>{fn}<sub></sub></ph>'
    """
    if "<sub" not in tag.xml or tag.xml.startswith("<sub"):
        return tag
    parts: list[str] = []
    depth = 0  # of elements <sub>
    for part in _SUBFLOW.split(tag.xml):
        is_start = part.startswith("<sub") and not part.endswith("/>")
        is_end = part.startswith("</sub")
        is_tag = is_start or is_end
        depth += is_start
        is_outermost_tag = is_tag and depth == 1
        is_outside = not is_tag and depth == 0
        if is_outermost_tag or is_outside:
            parts.append(part)
        depth -= is_end
    return tag._replace(xml="".join(parts))


class _Token(NamedTuple):
    """A tag, comment or text in a line; it ends where the next token starts."""

    start: int  # character of the line
    data: str = ""  # text with its references resolved; of a start tag, the tag as it is written
    name: str = ""  # of the element; `_CDATA` of a CDATA section, empty of other text and of comments
    role: Role | None = None  # None of text
    attributes: Mapping[str, str | None] = {}


class _Tokenizer(HTMLParser):
    """Cuts a line into tags and text: HTML as browsers read it, and the tags of XML."""

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
        """Do nothing: without this, html.parser would take tags inside ``<script>`` for text."""

    def handle_data(self, data: str) -> None:
        last = self.tokens[-1] if self.tokens else None
        # html.parser passes text in pieces.
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
        """Read a section of CDATA as text, as XML does; later releases of Python take it for a comment."""
        end = self.rawdata.find("]]>", i) if self.rawdata.startswith("<![CDATA[", i) else -1
        if end < 0:
            return super().parse_html_declaration(i)
        self.tokens.append(_Token(self._position(), self.rawdata[i + len("<![CDATA[") : end], _CDATA))
        return end + len("]]>")
