"""Word alignments to look at: one sentence pair a line of JSON, with gold links where there are any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from isoglot.checks import is_number, mistakes_of
from isoglot.errors import InputError

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
    path = Path(path)
    found = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); name a JSONL file of pairs", path=path
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            pair = AlignedPair.model_validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"no aligned pair ({mistakes_of(error)[0]}); a line is an object with src, tgt, links, sure and "
                "possible; fix or delete the line",
                path=path, line=number,
            ) from error  # fmt: skip
        size = (len(pair.src), len(pair.tgt))
        for name, links in (
            ("links", pair.links),
            ("sure", pair.sure or []),
            ("possible", pair.possible or []),
        ):
            outside = [link for link in links if link[0] >= size[0] or link[1] >= size[1]]
            if outside:
                raise InputError(
                    f"{name} has {list(outside[0])}, and there are {size[0]} source and {size[1]} target words; "
                    "links count words from 0, source first",
                    path=path, line=number,
                )  # fmt: skip
        found.append(Sentence(pair, _classes(pair)))
    return found


def quality(sentences: Sequence[Sentence]) -> Quality | None:
    """Scores over the pairs that have gold links; ``None`` where none has or nothing could be counted."""
    found = sure = found_sure = found_possible = 0
    for sentence in sentences:
        pair = sentence.pair
        if pair.sure is None and pair.possible is None:
            continue
        links, certain = frozenset(pair.links), frozenset(pair.sure or ())
        possible = certain | frozenset(pair.possible or ())
        found += len(links)
        sure += len(certain)
        found_sure += len(links & certain)
        found_possible += len(links & possible)
    if not found or not sure:
        return None
    return Quality(
        100 * found_possible / found, 100 * found_sure / sure,
        100 * (1 - (found_sure + found_possible) / (found + sure)),
    )  # fmt: skip


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
