"""Correlations of a study: Spearman's ρ over its points, and the scatter that the report draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from isoglot.report.stats import rank_correlation
from isoglot.report.table import Column, Row, Table, TableCell, figure
from isoglot.studies.plan import PlannedPoint, PlannedTable
from isoglot.studies.units import value_of

__all__ = ["SYSTEMS", "correlation_table", "points_of", "scatters"]

Measured = Mapping[str, Mapping[str, float]]
SYSTEMS = {"mlm": "MLM", "xlm": "XLM", "dict_mlm": "DICT-MLM", "align_mlm": "ALIGN-MLM"}
"""Systems as the papers and their tables write them; any other is called as in its study."""


def points_of(
    points: Sequence[PlannedPoint], measured: Measured, *, sign: int
) -> list[tuple[PlannedPoint, float, float]]:
    """Points of which both numbers are measured: means over seeds, y times the sign."""
    found = []
    for point in points:
        sides = [[value_of(term, measured) for term in side.values()] for side in (point.x, point.y)]
        known = [[v for v in side if v is not None] for side in sides]
        if all(known) and all(len(k) == len(s) for k, s in zip(known, sides, strict=True)):
            found.append((point, fmean(known[0]), sign * fmean(known[1])))
    return found


def correlation_table(table: Table, planned: PlannedTable, measured: Measured) -> None:
    """Fill a table: a row a task, ours above the paper's."""
    if planned.correlation is None:
        return
    entry = planned.correlation.entry
    table.columns = [Column("ρ", "Spearman's rank correlation"), Column("p", "two-tailed"), Column("points")]
    for row in planned.rows:
        points = planned.correlation.points[row.label]
        own = points_of(points, measured, sign=entry.sign)
        found = rank_correlation([x for _, x, _ in own], [y for _, _, y in own])
        rho, below = (row.values.get(name) for name in ("rho", "p_below"))
        marks = sorted({p.mark for p in points if p.mark})
        note = table.note(f"left out: {'; '.join(marks)}") if marks else 0
        count = TableCell(f"{len(own)} of {len(points)}", float(len(own)), note=note)
        if found is None:
            table.rows.append(Row(row.label, (TableCell("…"), TableCell("…"), count), "ours"))
        else:
            rho_cell = TableCell(figure(found.rho, digits=3), found.rho)
            table.rows.append(Row(row.label, (rho_cell, TableCell(f"{found.p:.3g}", found.p), count), "ours"))
        theirs = (
            TableCell(figure(rho, digits=3), float(rho)) if isinstance(rho, int | float) else TableCell("–")
        )
        table.rows.append(
            Row("paper", (theirs, TableCell(f"< {below}"), TableCell(str(len(points)))), "paper")
        )


def scatters(planned: PlannedTable, measured: Measured) -> list[tuple[str, dict[str, Any]]]:
    """File name and content of each task's scatter, as :mod:`isoglot.report.figure_files` reads it."""
    if planned.correlation is None:
        return []
    entry, found = planned.correlation.entry, []
    for label, task in entry.rows.items():
        own = points_of(planned.correlation.points[label], measured, sign=1)
        if not own:
            continue
        quantity = "Δ" if entry.setting == "delta" else entry.setting.replace("_", "-")
        content = {
            "kind": "scatter",
            "title": f"{label}: {entry.x.replace('_', ' ')} and {quantity}",
            "x_label": f"{entry.x.replace('_', ' ')} (%)",
            "y_label": f"{quantity} of {label}",
            "points": [
                {"x": x, "y": y, "label": _shown(p.label), "group": _shown(p.group)} for p, x, y in own
            ],
            "correlate": "-y" if entry.sign < 0 else "y",
            "note": f"Means over seeds; {planned.paper.name}.",
        }
        found.append((f"{planned.name}-{task}", content))
    return found


def _shown(label: str) -> str:
    """A point's title with its system, the first part, as papers write it."""
    system, separator, rest = label.partition(" / ")
    return SYSTEMS.get(system, system) + separator + rest
