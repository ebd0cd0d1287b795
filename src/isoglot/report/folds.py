"""Many tables on one page: folds that tell what is in them, so that the page is no wall of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from isoglot.report.html import Markup, element
from isoglot.report.page import table_block
from isoglot.report.papers import PAPERS, PaperTable, paper_table
from isoglot.report.table import Table, figure

__all__ = ["own_tables", "paper_folds"]

_OPEN = 4
"""So many tables beside the papers' stand open."""


def own_tables(tables: Sequence[Table]) -> list[Markup]:
    """Tables by task; those of a task's further metrics behind folds."""
    return [
        _fold(table, element("b", element("bdi", table.title))) if table.secondary else table_block(table)
        for table in tables
    ]


def paper_folds(tables: Sequence[Table]) -> list[Markup]:
    """Tables beside the papers', by paper: each behind a fold that tells how ours compare.

    Args:
        tables: with a paper's figures in them.
    """
    parts: list[Markup] = []
    papers = list(PAPERS)
    order = sorted(tables, key=lambda t: _place(paper_table(t.paper), papers))
    for key, members in groupby(order, key=lambda t: paper_table(t.paper).paper):
        parts.append(element("h3", PAPERS[key]))
        for table in members:
            paper = paper_table(table.paper)
            name = element("b", f"{paper.cited.partition(', ')[2]}: {paper.title}")
            of = element("bdi", table.title.partition(", beside ")[0])
            told = element("span", _told(table), class_="told")
            parts.append(_fold(table, name, " · ", of, " ", told, opened=len(tables) <= _OPEN))
    return parts


def _place(paper: PaperTable, papers: Sequence[str]) -> tuple[int, float]:
    number = float(paper.number) if paper.number.isdigit() else float("inf")
    return papers.index(paper.paper), number


def _fold(table: Table, *title: Markup | str, opened: bool = False) -> Markup:
    inner = table_block(table, heading=False)
    return element("details", element("summary", *title), inner, class_="fold beside", open=opened)


def _told(table: Table) -> str:
    """Which of our runs stand there, and how far from the paper's."""
    ours = ", ".join(
        row.header for row, below in pairwise(table.rows) if (row.kind, below.kind) == ("ours", "paper")
    )
    cells = [
        cell
        for row in table.rows
        if row.kind == "difference"
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.value is not None and not column.average
    ]
    if not ours:
        return "no line for these runs"
    same, other, close = table.orderings
    ordered = f"; {same} of {same + other} orderings as in the paper" if same + other else ""
    if close:
        ordered += f", {close} within noise" if ordered else f"; {close} orderings within noise"
    if not cells:
        return f"{ours}: not comparable{ordered}"
    shown = sorted(cells, key=lambda cell: cell.value or 0.0)
    low, high = (figure(cell.value or 0.0, signed=True, digits=cell.digits) for cell in (shown[0], shown[-1]))
    return f"{ours}: {low}{ordered}" if len(shown) == 1 else f"{ours}: {low} to {high}{ordered}"
