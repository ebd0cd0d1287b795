"""Tags in a line of HTML, XLIFF or TMX: its text without them, where each stands in it, and the elements they make."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from isoglot.checks import shortened
from isoglot.errors import InputError
from isoglot.formats.words import has_unspaced
from isoglot.projection.rule import Words

Role = Literal["open", "close", "alone"]
_STARTS = {"bpt": "ept", "bx": "ex", "sc": "ec"}
"""Codes of XLIFF and TMX that begin a pair, each a tag of its own, and those that end it."""
_ENDS = {end: start for start, end in _STARTS.items()}
_NUMBERS = ("startref", "rid", "i", "id")
"""Attributes that tell which codes are a pair, the most telling one first."""
_CODES = frozenset({*_STARTS, *_ENDS, "x", "ph", "it", "ut"})
"""Elements that hold codes of another format and no text."""
_CDATA = "cdata"
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_ATTRIBUTE_TEXT = r"(?:\"[^\"]*\"|'[^']*'|[^>\"'])*"
_SUBFLOW = re.compile(rf"(<sub\b{_ATTRIBUTE_TEXT}>|</sub\s*>)")
_START = re.compile(rf"<(/?[A-Za-z_][\w:.-]*)({_ATTRIBUTE_TEXT})>")
_NUMBER = re.compile(r"(?<![\w:-])(x|id)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_UNFINISHED = re.compile(r"<[A-Za-z/!?]")


class Tag(NamedTuple):
    """A tag: a start, an end, an empty element, a comment, or native code with all that it holds."""

    text: str  # as it is written
    name: str  # in lower case; of codes with the number of their pair
    role: Role
    offset: int  # character of the text before which it stands
    before: str | None = None  # white space directly before it; none where another tag is, or the line begins
    after: str | None = None


class Element(NamedTuple):
    """A tag that stands alone, or a pair of tags and what is between them."""

    opening: int  # number of its tag
    closing: int  # of its last tag, which may be the same
    parent: int | None  # number of the element that holds it


class MarkedText(NamedTuple):
    """A line without its tags, and these."""

    text: str
    tags: list[Tag]
    elements: list[Element]  # by their first tags
    crossing: list[tuple[int, int]]  # tags of pairs of codes of which an element holds one alone

    def segments(self) -> list[Words]:
        """Characters of the text that are cut into words by themselves.

        A word ends at tags, but not at a single one of a pair (``<b>W</b>ord``) in a language with spaces.
        """
        cuts = [0]
        for offset, tags in groupby(self.tags, key=lambda tag: tag.offset):
            roles = [tag.role for tag in tags]
            if roles in (["open"], ["close"]) and not has_unspaced(
                self.text[max(offset - 1, 0) : offset + 1]
            ):
                continue
            cuts.append(offset)
        return [*pairwise([*cuts, len(self.text)])]


def parse_markup(line: str) -> MarkedText:
    """A line as its text and its tags.

    Raises:
        InputError: A tag is not complete, or an element is not closed where it may be.

    Example:
        >>> marked = parse_markup('Tom &amp; <b id="1">Jerry</b><br>')
        >>> marked.text, [tag.name for tag in marked.tags], [element.opening for element in marked.elements]
        ('Tom & Jerry', ['b', 'b', 'br'], [0, 2])
    """
    text, tags = read_tags(line)
    offsets = [0, *(tag.offset for tag in tags), len(text)]
    gaps = [text[start:end] for start, end in pairwise(offsets)]
    tags = [
        tag._replace(
            before=gap[len(gap.rstrip()) :] if gap else None,
            after=following[: len(following) - len(following.lstrip())] if following else None,
        )
        for tag, (gap, following) in zip(tags, pairwise(gaps), strict=True)
    ]
    closings, crossing = _pairs(tags)
    elements: list[Element] = []
    holders: list[int] = []  # the elements that are open
    for number, tag in enumerate(tags):
        if holders and elements[holders[-1]].closing == number:
            holders.pop()
            continue
        closing = closings.get(number, number)
        elements.append(Element(number, closing, holders[-1] if holders else None))
        if tag.role == "open" and closing > number:
            holders.append(len(elements) - 1)
    return MarkedText(text, tags, elements, crossing)


def read_tags(line: str) -> tuple[str, list[Tag]]:
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
        if token.name in _CODES and token.role == "open":
            codes.append(token)
        elif token.name in _CODES and token.role == "close":
            if not codes or codes[-1].name != token.name:
                raise _unopened(source)
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
    return "".join(text), tags


def _tag(token: "_Token", source: str, offset: int) -> Tag:
    """A tag; codes of pairs are tags of their own, and are called by their number."""
    name, role = token.name, token.role or "alone"
    if name in _CODES:
        pair = "" if token.isolated else _ENDS.get(name, name if name in _STARTS else "")
        role = "alone" if not pair else "close" if name in _ENDS else "open"
        name = f"{pair} {token.number}" if pair else name
    return Tag(source, name, role, offset)


def spaces_around(tags: Sequence[Tag]) -> list[tuple[str | None, str | None]]:
    """White space between each tag, or the tags that it stands beside, and the text on both sides."""
    before, after = [tag.before for tag in tags], [tag.after for tag in tags]
    for number in range(1, len(tags)):
        before[number] = before[number - 1] if before[number] is None else before[number]
        after[-1 - number] = after[-number] if after[-1 - number] is None else after[-1 - number]
    return [*zip(before, after, strict=True)]


def first_tag(line: str) -> str | None:
    """The first tag of a line; none of one without, where a ``<`` may begin text."""
    tokens = _Tokenizer(line).tokens if "<" in line else []
    ends = [*(token.start for token in tokens[1:]), len(line)]
    return next(
        (line[token.start : end] for token, end in zip(tokens, ends, strict=False) if token.role), None
    )


def without_subflows(tag: Tag) -> str:
    """A tag as it is copied to another language: text that its code holds for translators (``<sub>``) is left out.

    Example:
        >>> (tag,) = read_tags('<ph>{fn}<sub>A footnote.</sub></ph>')[1]
        >>> without_subflows(tag)
        '<ph>{fn}<sub></sub></ph>'
    """
    if tag.name.split()[0:1] == ["sub"] or "<sub" not in tag.text or tag.text.startswith("<sub"):
        return tag.text
    parts, depth = list[str](), 0
    for part in _SUBFLOW.split(tag.text):
        if part.startswith("<sub") and not part.endswith("/>"):
            depth += 1
            parts += [part] * (depth == 1)
        elif part.startswith("</sub"):
            parts += [part] * (depth == 1)
            depth -= 1
        elif not depth:
            parts.append(part)
    return "".join(parts)


def different_tags(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    """Tags that only one side of a pair has, of two sides that both have tags: ``lost`` or ``added``, and the tag.

    Tags match by name and number (``x`` of TMX, ``id``), then by name where one has no number; codes may hold other
    text. Of a missing pair of tags the opening one is named.

    Example:
        >>> different_tags(["<hi>", "</hi>", "<ph/>", "<hi>", "</hi>"], ["<hi>", "</hi>"])
        [('lost', '<ph/>'), ('lost', '<hi>')]
    """
    problems = []
    for problem, here, there in (("lost", source, target), ("added", target, source)):
        unmatched = _unmatched(here, there)
        openings = Counter(_pair_name(tag) for tag in unmatched if not _closes(tag))
        for tag in unmatched:
            name = _pair_name(tag)
            if _closes(tag) and openings[name] > 0:
                openings[name] -= 1
                continue
            problems.append((problem, tag))
    return problems


def _unmatched(tags: Sequence[str], others: Sequence[str]) -> list[str]:
    """The tags without a counterpart among others."""
    free = [_identity(tag) for tag in others]
    rest = []
    for tag in tags:  # those of the same number first, whatever stands before them
        if _identity(tag) in free:
            free.remove(_identity(tag))
        else:
            rest.append(tag)
    unmatched = []
    for tag in rest:
        name, number = _identity(tag)
        like = next((other for other in free if other[0] == name and not (number and other[1])), None)
        if like is None:
            unmatched.append(tag)
        else:
            free.remove(like)
    return unmatched


def _identity(tag: str) -> tuple[str, str]:
    """Name of a tag, with the slash of a closing one, and its number."""
    start = _START.match(tag)
    name, attributes = (start[1].lower(), start[2]) if start else (tag, "")
    numbers = {match[1]: match[2] or match[3] for match in _NUMBER.finditer(attributes)}
    return name, numbers.get("x") or numbers.get("id") or ""


def _closes(tag: str) -> bool:
    name = _identity(tag)[0]
    return name.startswith("/") or name in _ENDS


def _pair_name(tag: str) -> str:
    """The name of the pair that a tag is of."""
    name = _identity(tag)[0].removeprefix("/")
    return _ENDS.get(name, name)


class _Token(NamedTuple):
    """A stretch of a line, up to the next one."""

    start: int
    data: str = ""  # of text, as it reads; of a start, as it is written
    name: str = ""  # also of text in a CDATA section
    role: Role | None = None  # none of text
    number: str = ""  # what pairs it with another tag
    isolated: bool = False


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
        written, values = self.get_starttag_text() or "", dict(attrs)
        number = next(filter(None, map(values.get, _NUMBERS)), "")
        alone = written.endswith("/>") or tag in _VOID
        isolated = values.get("isolated") == "yes"
        self.tokens.append(
            _Token(self._position(), written, tag, "alone" if alone else "open", number, isolated)
        )

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


def _pairs(tags: Sequence[Tag]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """The closing tag of each tag that opens a nested element, and the pairs of codes that cross others."""
    closings: dict[int, int] = {}
    crossing: list[tuple[int, int]] = []
    nested: list[int] = []  # what is open, without codes that are known to cross
    codes = defaultdict[str, list[int]](list)  # open codes by their name
    done: set[int] = set()
    for number, tag in enumerate(tags):
        while nested and nested[-1] in done:
            nested.pop()
        if tag.role == "open":
            nested.append(number)
            if " " in tag.name:
                codes[tag.name].append(number)
        elif tag.role == "close" and " " in tag.name:
            if not codes[tag.name]:
                raise _unopened(tag.text)
            opening = codes[tag.name].pop()
            done.add(opening)
            if nested and nested[-1] == opening:
                closings[opening] = number
            else:
                crossing.append((opening, number))
        elif tag.role == "close":
            while nested and (" " in tags[nested[-1]].name):
                nested.pop()
            if not nested or tags[nested[-1]].name != tag.name:
                raise _unopened(tag.text)
            closings[nested.pop()] = number
    left = [*nested, *(number for numbers in codes.values() for number in numbers)]
    if unclosed := [number for number in left if number not in done]:
        raise InputError(
            f"{tags[unclosed[-1]].text} is not closed in its line, which is a segment; correct it"
        )
    return closings, crossing


def _unopened(tag: str) -> InputError:
    return InputError(f"{shortened(tag)} does not close what was opened last; correct the line")
