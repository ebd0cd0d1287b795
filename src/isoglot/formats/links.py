"""Word links of one sentence pair, as a set and as a Pharaoh line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Self

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.words import split_words

Link = tuple[int, int]
"""Source word and target word, both counted from 0."""
LINK_ITEM = re.compile(r"([0-9]{1,9})([-p?:])([0-9]{1,9})")
"""A link as one word of a line, and its mark: ``0-0`` and ``0:0``, or ``0p0`` and ``0?0`` for a possible link.

Rows of corpora may have all four (:mod:`isoglot.formats.records`); files of links may not have ``0:0``
(:func:`link_items`).

``0-0`` is Pharaoh's form. ``0p0`` is in gold files of lilt's alignment-scripts, which awesome-align reads too, and
``0?0`` in those of the CMU and JHU courses on machine translation.
"""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The word links of one sentence pair.

    Args:
        links: 0-based ``(source word, target word)`` pairs.

    Example:
        >>> forward = Alignment.from_pharaoh("0-0 1-2 10-9")
        >>> (forward & Alignment.from_pharaoh("1-2 0-1")).to_pharaoh()
        '1-2'
        >>> forward.transpose().to_pharaoh()
        '0-0 2-1 9-10'
    """

    links: frozenset[tuple[int, int]]

    def __and__(self, other: Alignment) -> Alignment:
        return Alignment(self.links & other.links)

    def __or__(self, other: Alignment) -> Alignment:
        return Alignment(self.links | other.links)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self.links))

    def __len__(self) -> int:
        return len(self.links)

    def transpose(self) -> Alignment:
        """The same links with the sides exchanged."""
        return Alignment(frozenset((target, source) for source, target in self.links))

    def to_pharaoh(self) -> str:
        """``"0-0 1-2"``: 0-based links, sorted as numbers, not as strings."""
        return " ".join(f"{source}-{target}" for source, target in sorted(self.links))

    @classmethod
    def from_pharaoh(cls, text: str, *, path: str | Path | None = None, line: int | None = None) -> Self:
        """Read one line of 0-based ``source-target`` links; an empty line has no links.

        Raises:
            InputError: An item is not two numbers with a hyphen between them; the error names ``path`` and ``line``.
        """
        items = link_items(text, "two 0-based word numbers such as '3-4'", marks="-", path=path, line=line)
        return cls(frozenset((source, target) for source, _, target in items))


def link_items(
    text: str, form: str, *, marks: str = "-p?", path: str | Path | None = None, line: int | None = None
) -> Iterator[tuple[int, str, int]]:
    """Read the links of a line as source number, mark and target number: ``3p4`` is (3, "p", 4).

    ``form``: The form of a link, as the error describes it. ``marks``: The marks that are allowed.
    """
    for item in split_words(text, mode="whitespace"):
        match = LINK_ITEM.fullmatch(item)
        if match is None or match[2] not in marks:
            raise InputError(
                f"invalid link {item[:60]!r}; links are {form}: correct the line, or name the file's format",
                path=path,
                line=line,
            )
        yield int(match[1]), match[2], int(match[3])


def link_set(links: Iterable[Sequence[int]]) -> frozenset[Link]:
    """Make a set of links from lists of ``[source, target]``.

    Raises:
        ConfigurationError: A link is not a pair of whole numbers.
    """
    try:
        return frozenset((index(source), index(target)) for source, target in links)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"links are pairs of word numbers such as [(0, 0), (1, 2)], got {shortened(links)}"
        ) from None


def link_outside(links: Iterable[Link], source: int, target: int) -> Link | None:
    """Find the lowest link outside a pair with ``source`` and ``target`` words; None if all are inside."""
    outside = (link for link in links if not (0 <= link[0] < source and 0 <= link[1] < target))
    return min(outside, default=None)
