"""Inline tags of HTML, XLIFF and TMX: lines with tags and their translations without, in; translations with tags out.

A line is one segment. What stands between an opening tag and its end (``<b> </b>``, ``<g id="1"> </g>``; ``<bpt i="1">
</bpt>`` and ``<ept i="1"></ept>``; ``<bx/>`` and ``<ex/>``, ``<sc/>`` and ``<ec/>`` of one number) is a span. A tag
that stands alone (``<br>``, ``<x id="1"/>``, ``<ph> </ph>``), and a span that is lost, goes before the word that is
linked to the next source word, where there is none behind the one that is linked to the word before it. So every tag of
the source is in the translation, once, and elements stay inside those that hold them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from isoglot.aligners.alignment import PairLinks
from isoglot.corpus.encode.words import split_words
from isoglot.corpus.read.line_files import numbered_lines, parsed
from isoglot.errors import InputError
from isoglot.projection.rule import Words, project_spans
from isoglot.projection.units import CutText, LabelKind, Unit

_INSIDE = r"""(?:=\s*"[^"<]*"|=\s*'[^'<]*'|[^<>])*+"""
"""Attributes, whose values may hold a ``>``."""
_TAG = re.compile(
    rf"<(bpt|ept|ph|it|ut)\b{_INSIDE}(?<!/)>.*?</\1\s*>|<!--.*?-->|</?[A-Za-z]{_INSIDE}>|</?[A-Za-z][^<>]*>",
    re.DOTALL,
)
_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")
_NUMBER = {
    "bpt": "i", "ept": "i", "bx": "rid|id", "ex": "rid|id", "sc": "id", "ec": "startRef",
}  # fmt: skip
_ENDS = {"ept": "bpt", "ex": "bx", "ec": "sc"}
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905


class _Element(NamedTuple):
    """A tag, or a pair of tags and the words between them."""

    opening: str
    closing: str
    words: Words  # of the source; empty for a tag that stands alone
    parent: int | None = None  # the element that holds it, by its number


class InlineTags(LabelKind):
    """Lines with inline tags, and their translations."""

    def units(self) -> Iterator[Unit]:
        """One unit per line."""
        parse = partial(parse_tags, cut=lambda text: self.cut(text).words)
        labelled = parsed(parse, numbered_lines(self.labels), self.labels)
        translated = parsed(_without_tags, numbered_lines(self.translation), self.translation)
        for (words, elements), text in self.paired(zip_longest(labelled, translated)):
            target = self.cut(text)
            yield Unit(words, target.words, (target, elements))

    def text(self, unit: Unit, found: PairLinks) -> str:
        """The translation with the tags."""
        elements: list[_Element]
        target, elements = unit.labels
        self.counts.examples += 1
        self.counts.written += 1
        spans, parents = [element.words for element in elements], [element.parent for element in elements]
        projected = project_spans(spans, found, len(unit.target), gap=self.request.gap, parents=parents)
        # a tag that stands alone marks nothing that could be lost
        self.counts.fates.update(own.fate for own, (a, b) in zip(projected, spans, strict=True) if a < b)
        return place_tags(target, elements, [span.words for span in projected], found) + "\n"


def _without_tags(text: str) -> str:
    if found := _TAG.search(text):
        raise InputError(f"{found[0]} is in the translation; remove its tags")
    return text


def parse_tags(line: str, cut: Callable[[str], list[str]] = split_words) -> tuple[list[str], list[_Element]]:
    """The words of a line, and its tags.

    Raises:
        InputError: An end without its beginning, or the reverse.

    Example:
        >>> parse_tags("a <b>c</b><br>")  # doctest: +ELLIPSIS
        (['a', 'c'], [_Element(opening='<b>', closing='</b>', words=(1, 2), parent=None), ...])
    """
    words: list[str] = []
    found: list[_Element] = []
    open_: list[tuple[str, int]] = []  # what is open: its name and number, its place among the elements
    at = 0
    for tag in _TAG.finditer(line):
        words += cut(line[at : tag.start()])
        at, here = tag.end(), len(words)
        key, role = _role(tag[0])
        if role == "close":
            _close(tag[0], key, here, found, open_)
            continue
        holders = [number for name, number in open_ if not _numbered(name)]
        found.append(_Element(tag[0], "", (here, here), holders[-1] if holders else None))
        if role == "open":
            open_.append((key, len(found) - 1))
    words += cut(line[at:])
    if open_:
        raise InputError(f"{found[open_[-1][1]].opening} is not closed; correct the line")
    return words, found


def _close(tag: str, key: str, here: int, found: list[_Element], open_: list[tuple[str, int]]) -> None:
    """Close the innermost open element of a name; only tags with numbers may cross others."""
    began = next((number for name, number in reversed(open_) if name == key), None)
    crossed = [name for name, number in open_ if began is not None and number > began]
    if began is None or not (_numbered(key) or all(map(_numbered, crossed))):
        raise InputError(f"{tag} does not close what was opened last; correct the line")
    open_.remove((key, began))
    own = found[began]
    found[began] = own._replace(closing=tag, words=(own.words[0], here))
    for _, number in open_:
        if found[number].parent == began:  # it goes on behind the end of what held it
            found[number] = found[number]._replace(parent=own.parent)


def _numbered(name: str) -> bool:
    """Whether tags are paired by their numbers, which may cross elements and hold none."""
    return " " in name


def _role(tag: str) -> tuple[str, str]:
    """A tag's name, with its number where that pairs it, and whether it opens, closes or stands alone."""
    match = _NAME.match(tag)
    name = match[1].lower() if match else ""
    if name in _NUMBER:
        number = re.search(rf"\b(?:{_NUMBER[name]})\s*=\s*[\"']?([^\"'\s>]*)", tag)
        return f"{_ENDS.get(name, name)} {number[1] if number else ''}", "close" if name in _ENDS else "open"
    if tag.startswith("</"):
        return name, "close"
    alone = not name or tag.endswith("/>") or name in _VOID or name in ("ph", "it", "ut")
    return name, "alone" if alone else "open"


def place_tags(
    target: CutText, elements: Sequence[_Element], places: Sequence[Words | None], found: PairLinks
) -> str:
    """A translation with its tags; ``places`` are the words of each element there, none for one without."""
    # where a tag stands, whether what it marks begins there (else it ends there), and its order among those alike
    tags: list[tuple[int, bool, tuple[int, ...], str]] = []
    bounds = [None if own is None else target.characters(own) for own in places]
    for number, (element, own) in enumerate(zip(elements, bounds, strict=True)):
        if own is not None:
            tags.append((own[0], True, (number,), element.opening))
            tags.append((own[1], False, (-number, 1), element.closing))
            continue
        holder = element.parent
        while holder is not None and bounds[holder] is None:
            holder = elements[holder].parent
        place = _beside(element.words[0], found, target.spans)
        start, end = (0, len(target.text)) if holder is None else bounds[holder] or (0, 0)
        place, tag = min(max(place, start), end), element.opening + element.closing
        if holder is not None and place == end:
            tags.append((place, False, (-holder, 0, number), tag))
        else:
            tags.append((place, True, (number,), tag))
    parts, at = [], 0
    for place, _, _, tag in sorted(tags):
        parts += [target.text[at:place], tag]
        at = place
    return "".join([*parts, target.text[at:]])


def _beside(word: int, found: PairLinks, spans: list[Words]) -> int:
    """The character where a tag before a source word belongs."""
    after = [(source, target) for source, target in found.links if source >= word]
    if after:
        return spans[min(after)[1]][0]
    return spans[max(found.links)[1]][1] if found.links else spans[-1][1] if spans else 0
