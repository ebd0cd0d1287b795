"""``isoglot.figures`` and ``isoglot.tables``: a report's charts as Altair objects, and its tables as frames."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import altair as alt

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.reports.charts import draw
from isoglot.reports.curves import curve_figures
from isoglot.reports.options import CompareOptions
from isoglot.reports.render import comparison_tables, gathered
from isoglot.reports.sweeps import sweep_figures
from isoglot.reports.table import Table
from isoglot.results.rows import Result

_COLOUR = re.compile(r"var\((--\w+)\)")


def figures(runs: str | Path | Result | Iterable[str | Path | Result]) -> dict[str, alt.Chart]:
    """Return the charts of runs: results of sweeps, losses and speed of trainings, and figures of analyses and studies.

    Args:
        runs: Folders of runs, studies or analyses, files of results, or results; ``LABEL=FOLDER`` names a run.

    Returns:
        Charts by their titles, in the order of the report: ``figures("runs/tlm")["loss"].save("loss.svg")``. Charts of
        one title are numbered: ``loss``, ``loss (2)``.

    Raises:
        ConfigurationError: The folders hold no figure.
        InputError: A figure that cannot be read.
    """
    several = [runs] if isinstance(runs, str | Path | Result) else list(runs)
    material, scores = gathered(several, CompareOptions())
    swept = sweep_figures(material.varied, scores, "en")
    drawn = [draw(figure) for figure in (*swept, *material.figures, *curve_figures(material.curves))]
    if not drawn:
        places = [str(run) for run in several if not isinstance(run, Result)] or ["these results"]
        raise ConfigurationError(
            f"{', '.join(places)}: no figure; name a run's folder, or one that isoglot.analyse wrote to"
        )
    sheet = files("isoglot.reports").joinpath("templates", "report.css").read_text("utf-8")
    colours: dict[str, str] = {}
    for name, colour in re.findall(r"(--\w+): (#\w+)", sheet):
        colours.setdefault(name, colour)  # of the light theme, which stands first
    charts: dict[str, alt.Chart] = {}
    for chart in drawn:
        for (panel, _), described in zip(chart.panels, chart.altair, strict=True):
            title = _free_title(" ".join(filter(None, (chart.title, panel))), charts)
            spec = _with_colours(described.to_dict(), colours)
            charts[title] = alt.Chart.from_dict({**spec, "title": title})
    return charts


def tables(runs: str | Path | Result | Iterable[str | Path | Result], **options: Any) -> list[Table]:
    """Return the tables of ``isoglot report compare``: a row for each run, the mean and deviation of its seeds.

    Runs of a sweep are named by what differs: ``tlm layer=4``. Each run after the first has its difference below it.

    Args:
        runs: Run or study folders, folders of them, files of results, or results.
        **options: Options of :class:`isoglot.reports.options.CompareOptions`, such as ``rename={"tlm": "ours"}``.

    Returns:
        A table for each task and kind of metric, which notebooks show; ``to_frame()`` has its numbers.

    Raises:
        ConfigurationError: The runs have no results.
        InputError: A run is missing, or a file in it is wrong (``file:line``).
    """
    several = [runs] if isinstance(runs, str | Path | Result) else list(runs)
    found = comparison_tables(several, validated(CompareOptions, options))
    if not found:
        raise ConfigurationError("no results; name folders or files of `isoglot evaluate`, or pass its rows")
    return found


def _free_title(title: str, taken: Container[str]) -> str:
    """Return the title, with a number behind it if another chart has the title already."""
    free, number = title, 2
    while free in taken:
        free = f"{title} ({number})"
        number += 1
    return free


def _with_colours(value: Any, colours: dict[str, str]) -> Any:
    """Replace the variables of a page's style sheet, ``var(--c0)``, by colours in a chart's description."""
    if isinstance(value, dict):
        return {key: _with_colours(inner, colours) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_colours(inner, colours) for inner in value]
    return _COLOUR.sub(lambda name: colours[name[1]], value) if isinstance(value, str) else value
