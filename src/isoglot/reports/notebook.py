"""``isoglot.figures``: the charts of a report as Altair objects, which notebooks show and files keep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import altair as alt

from isoglot.core.errors import ConfigurationError
from isoglot.reports.charts import draw
from isoglot.reports.curves import curve_figures
from isoglot.reports.runs import gather

_COLOUR = re.compile(r"var\((--\w+)\)")


def figures(runs: str | Path | Iterable[str | Path]) -> dict[str, alt.Chart]:
    """The charts of runs: losses and speed of trainings, and what :func:`isoglot.analyse` and studies drew.

    Args:
        runs: Folders of runs, studies or analyses; ``LABEL=FOLDER`` names a run.

    Returns:
        Charts by their titles, in the order of the report: ``figures("runs/tlm")["Loss"].save("loss.svg")``.

    Raises:
        ConfigurationError: The folders hold no figure.
        InputError: A figure that cannot be read.
    """
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    material = gather(paths)
    drawn = [draw(figure) for figure in (*material.figures, *curve_figures(material.curves))]
    if not drawn:
        raise ConfigurationError(
            f"{', '.join(map(str, paths))}: no figure; name a run's folder, or one that isoglot.analyse wrote to"
        )
    sheet = files("isoglot.reports").joinpath("templates", "report.css").read_text("utf-8")
    colours: dict[str, str] = {}
    for name, colour in re.findall(r"(--\w+): (#\w+)", sheet):
        colours.setdefault(name, colour)  # of the light theme, which stands first
    charts: dict[str, alt.Chart] = {}
    for chart in drawn:
        for (panel, _), described in zip(chart.panels, chart.altair, strict=True):
            title = " ".join(filter(None, (chart.title, panel)))
            spec = _with_colours(described.to_dict(), colours)
            charts[title] = alt.Chart.from_dict({**spec, "title": title})
    return charts


def _with_colours(value: Any, colours: dict[str, str]) -> Any:
    """A chart's description with colours in place of a page's variables."""
    if isinstance(value, dict):
        return {key: _with_colours(inner, colours) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_colours(inner, colours) for inner in value]
    return _COLOUR.sub(lambda name: colours[name[1]], value) if isinstance(value, str) else value
