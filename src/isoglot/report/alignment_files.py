"""Word alignments to look at: one sentence pair a line of JSON, with gold links where there are any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from isoglot.checks import is_number
from isoglot.runs.records import read_records

LinkClass = Literal["sure", "possible", "error", "missed", "plain"]
"""A link in the gold's sure links, in its possible ones, in neither; a sure one not found; one without gold."""

Links = frozenset[tuple[int, int]]


def _words(given: object) -> object:
    return given.split() if isinstance(given, str) else given


def _links(given: object) -> object:
    if isinstance(given, str):  # Pharaoh: 0-0 1-2, possible links 1p2
        parts = [re.split(r"[-p]", part) for part in given.split()]
        if any(len(part) != 2 or not all(map(is_number, part)) for part in parts):
            raise ValueError(f"{given[:40]!r} are no links; write 0-0 1-2 or [[0, 0], [1, 2]]")
        return [(int(i), int(j)) for i, j in parts]
    return given


_Words = Annotated[list[str], BeforeValidator(_words), Field(min_length=1)]
_Links = Annotated[
    list[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]], BeforeValidator(_links)
]


class AlignedPair(BaseModel):
    """One line of the file.

    Args:
        src: source words, a list or one string cut at white space.
        links: found links, 0-based pairs or Pharaoh text.
        sure: gold links that are sure; with neither gold list, links are shown without judgement.
        possible: gold links that are possible (sure ones need not be repeated).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    src: _Words
    tgt: _Words
    links: _Links = []
    sure: _Links | None = None
    possible: _Links | None = None
    src_language: str = ""
    tgt_language: str = ""
    id: str | int = ""

    @model_validator(mode="after")
    def _links_are_between_words(self) -> Self:
        size = (len(self.src), len(self.tgt))
        for name, links in (("links", self.links), ("sure", self.sure), ("possible", self.possible)):
            outside = [link for link in links or [] if link[0] >= size[0] or link[1] >= size[1]]
            if outside:
                raise ValueError(
                    f"{name} has {list(outside[0])}, and there are {size[0]} source and {size[1]} target words; "
                    "links count words from 0, source first"
                )
        return self


@dataclass(frozen=True)
class Sentence:
    """A pair with each link's class."""

    pair: AlignedPair
    classes: dict[tuple[int, int], LinkClass]  # link -> class; missed sure links are among them

    @property
    def errors(self) -> int:
        """How many links are wrong or missed."""
        return sum(c in ("error", "missed") for c in self.classes.values())


@dataclass(frozen=True)
class Quality:
    """Scores of all the pairs of a file together (Och and Ney 2003)."""

    precision: float  # share of found links that are possible, in percent
    recall: float  # share of sure links that are found, in percent
    aer: float  # 1 − (|A∩S| + |A∩P|) / (|A| + |S|), in percent


def read_alignments(path: str | Path) -> list[Sentence]:
    """The pairs of a file."""
    pairs = read_records(Path(path), AlignedPair, what="sentence pair", wrong="no aligned pair")
    return [Sentence(pair, _classes(pair)) for pair in pairs]


def quality(sentences: Sequence[Sentence]) -> Quality | None:
    """Scores over the pairs that have gold links; ``None`` where none has or nothing could be counted."""
    kinds = Counter(kind for sentence in sentences for kind in sentence.classes.values())
    sure, possible = kinds["sure"], kinds["possible"]
    found, gold = sure + possible + kinds["error"], sure + kinds["missed"]
    if not found or not gold:
        return None
    aer = 1 - (sure + sure + possible) / (found + gold)
    return Quality(100 * (sure + possible) / found, 100 * sure / gold, 100 * aer)


def _classes(pair: AlignedPair) -> dict[tuple[int, int], LinkClass]:
    links: Links = frozenset(pair.links)
    if pair.sure is None and pair.possible is None:
        return dict.fromkeys(sorted(links), "plain")
    sure, possible = frozenset(pair.sure or ()), frozenset(pair.possible or ())
    classes: dict[tuple[int, int], LinkClass] = {}
    for link in sorted(links | sure):
        if link not in links:
            classes[link] = "missed"
        else:
            classes[link] = "sure" if link in sure else "possible" if link in possible else "error"
    return classes
