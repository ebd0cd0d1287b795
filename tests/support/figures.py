"""A figure that is written, read and drawn."""

from __future__ import annotations

from pathlib import Path

from isoglot.reports.charts import draw
from isoglot.reports.figure_files import ReportFigure, read_figure


def figure(path: Path) -> ReportFigure:
    found = read_figure(path)
    draw(found)
    return found
