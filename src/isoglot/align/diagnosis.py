"""Is a bad alignment score the alignment's fault? Signs of word numbers or sides that do not match the gold file."""

from __future__ import annotations

from collections.abc import Sequence

from isoglot.align.alignment import Alignment
from isoglot.align.scoring import AlignmentScore, GoldAlignment, score

_DROP = 0.10
"""How far (absolute AER) the other reading must be better to be worth a word: wrong bases cost 0.3 and more."""


def diagnose(alignments: Sequence[Alignment], gold: Sequence[GoldAlignment]) -> str | None:
    """A hint where another reading of the links scores far better, else None.

    Tried are links shifted by one both ways (a 0-based file read as 1-based, or the reverse), the two sides
    exchanged, and both.
    """
    given = score(alignments, gold).aer
    readings: list[tuple[str, AlignmentScore]] = []
    for reverse in (False, True):
        turned = [a.transpose() for a in alignments] if reverse else list(alignments)
        for shift in (-1, 0, 1):
            if shift == 0 and not reverse:
                continue
            moved = [Alignment(frozenset((i + shift, j + shift) for i, j in a.links)) for a in turned]
            what = {
                -1: "they count from 1 (--base 1)",
                0: "",
                1: "the gold file counts from 1 (--gold-base 1)",
            }[shift]
            sides = "their sides are exchanged (--reverse)" if reverse else ""
            readings.append((" and ".join(part for part in (what, sides) if part), score(moved, gold)))
    reading, best = min(readings, key=lambda r: r[1].aer)
    if best.aer > given - _DROP:
        return None
    return f"AER would be {100 * best.aer:.2f} instead of {100 * given:.2f} if the links are read as if {reading}"
