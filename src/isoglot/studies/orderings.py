"""Which of a paper's orderings of its rows our figures have too: what small scales can be held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from isoglot.report.papers import PaperRow

__all__ = ["Ordering", "orderings", "told"]

_TOGETHER = ("transformation", "setting", "pairs")
"""Rows are compared with rows that have these attributes in common."""


@dataclass(frozen=True)
class Ordering:
    """One column's pairs of rows.

    Args:
        column: its id.
        same: pairs in the paper's order here too.
        pairs: pairs that the paper orders and that are measured.
        clear: pairs that the paper has at least a point apart.
        clear_same: those of them in its order here.
    """

    column: str
    same: int
    pairs: int
    clear_same: int
    clear: int


def orderings(
    rows: Sequence[PaperRow],
    columns: Sequence[str],
    ours: Mapping[tuple[int, str], float],
    *,
    least: float = 1.0,
) -> list[Ordering]:
    """Compare the order of every two rows under one setting, column by column.

    Args:
        rows: the paper's.
        columns: ids.
        ours: (row, column) -> our figure.
        least: how far two of the paper's figures are apart at least to count as clear.
    """
    found = []
    for column in columns:
        signs: list[tuple[bool, bool]] = []
        for first, second in combinations(range(len(rows)), 2):
            if any(rows[first].attributes.get(k) != rows[second].attributes.get(k) for k in _TOGETHER):
                continue
            printed = [rows[i].values.get(column) for i in (first, second)]
            own = [ours.get((i, column)) for i in (first, second)]
            if None in own or not all(isinstance(v, int | float) for v in printed):
                continue
            theirs = float(str(printed[0])) - float(str(printed[1]))
            here = float(str(own[0])) - float(str(own[1]))
            if theirs:
                signs.append((theirs * here > 0, abs(theirs) >= least))
        if signs:
            same = sum(agree for agree, _ in signs)
            clear = [agree for agree, is_clear in signs if is_clear]
            found.append(Ordering(column, same, len(signs), sum(clear), len(clear)))
    return found


def told(found: Sequence[Ordering]) -> str:
    """The orderings in one line; empty for none."""
    if not found:
        return ""
    each = ", ".join(f"{o.column} {o.same} of {o.pairs} ({o.clear_same} of {o.clear})" for o in found)
    return (
        "Pairs of rows of one setting that stand in the paper's order here too (in brackets: of those that the paper "
        f"has at least one point apart): {each}."
    )
