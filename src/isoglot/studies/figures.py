"""Figures of a study: drawn from its checkpoints as ``isoglot analyse`` draws them, one unit of work each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import did_you_mean
from isoglot.runs.reporter import Reporter
from isoglot.studies.file import FigureEntry
from isoglot.studies.resolve import Resolver, UnavailableError
from isoglot.studies.units import Unit
from isoglot.studies.values import MISSING, substitute

__all__ = ["PlannedFigure", "check_figure", "collect_figures", "draw_figure", "plan_figure"]


@dataclass(frozen=True)
class PlannedFigure:
    """A figure and the unit that draws it.

    Args:
        name: in the study, and of its files.
        entry: of the study.
        unit: ``None`` where it is left out.
        mark: why it is left out.
    """

    name: str
    entry: FigureEntry
    unit: Unit | None = None
    mark: str = ""


def plan_figure(resolver: Resolver, name: str, entry: FigureEntry) -> PlannedFigure:
    """The unit that draws a figure, of the study's first seed.

    Raises:
        ConfigurationError: names that are not there.
    """
    study = resolver.study
    shared = {**study.values, **entry.values, "seed": study.seeds[0]}
    needs: list[Unit] = []
    used: set[str] = set()

    def find(wanted: str, fact: str | None) -> Any:
        if wanted in shared and fact is None:
            used.add(wanted)
            return shared[wanted]
        if wanted not in study.data:
            return MISSING
        unit = resolver.data(wanted, shared)
        needs.append(unit)
        return f"<unit:{unit.key}.{fact}>" if fact else f"<unit:{unit.key}>"

    places = []
    try:
        for panel in entry.panels:
            if unknown := sorted(set(panel.values) - set(study.values)):
                raise ConfigurationError(
                    f"figures.{name}: {unknown[0]!r} is no value of this study; "
                    f"{did_you_mean(unknown[0], study.values)}"
                )
            trained, place = resolver.checkpoint(panel.system, {**shared, **panel.values})
            needs += [] if trained is None else [trained]
            used |= set() if trained is None else trained.used
            places.append(place)
        options = substitute(entry.options, find, place=f"figures.{name}.options")
    except UnavailableError as reason:
        return PlannedFigure(name, entry, mark=str(reason))
    config = {
        "checkpoint": places[-1],  # by which the study's work is divided in parts
        "checkpoints": places,
        "labels": [panel.label for panel in entry.panels],
        "type": entry.type,
        "options": {**options, "name": name},
    }
    unit = Unit("figure", f"{study.name} {name}", config, tuple(needs), frozenset(used), "", study.seeds[0])
    return PlannedFigure(name, entry, unit)


def check_figure(config: Mapping[str, Any]) -> None:
    """Refuse options that the figure does not take.

    Raises:
        ConfigurationError: one of them.
    """
    _request(str(config["type"]), config["options"])


def draw_figure(config: Mapping[str, Any], out: Path, report: Reporter) -> list[str]:
    """Draw a figure into ``out/figures``.

    Args:
        config: of the unit, all names filled in.
        out: the unit's folder.
        report: told about the work.

    Returns:
        Names of the files.
    """
    request = _request(str(config["type"]), config["options"])
    from isoglot.analysis import analyse_links, analyse_map  # noqa: PLC0415 - loads the libraries

    draw: Any = analyse_map.analyse_map if config["type"] == "map" else analyse_links.analyse_layers
    written = draw(config["checkpoints"], request, out=out, labels=config["labels"], progress=report)
    return [path.name for path in written]


def collect_figures(folders: Sequence[Path], out: Path) -> list[Path]:
    """Copy the figures of finished units to a study's folder; those that are not drawn yet are left out."""
    found = [path for folder in folders for path in sorted((folder / "figures").glob("*.json*"))]
    if found:
        out.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copyfile(path, out / path.name)) for path in found]


def _request(kind: str, options: Mapping[str, Any]) -> Any:
    from isoglot.analysis.analyse_links import LayersRequest  # noqa: PLC0415
    from isoglot.analysis.analyse_map import MapRequest  # noqa: PLC0415
    from isoglot.analysis.word_map import Projection  # noqa: PLC0415 - loads the libraries

    values = dict(options)
    try:
        if kind == "map":
            values["projection"] = Projection(**values.get("projection", {}))
            return MapRequest(**values)
        return LayersRequest(**values)
    except TypeError as error:
        raise ConfigurationError(
            f"figure of type {kind}: {error}; its options are those of `isoglot analyse {kind}`"
        ) from error
