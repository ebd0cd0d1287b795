"""Training curves of run folders, read from the trainer's own state."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from isoglot.reports.figure_files import Lines, LineSeries
from isoglot.runs.files import read_json

TRAINER_STATE = "trainer_state.json"
"""Where the trainer keeps what it logged."""
_SKIPPED = frozenset({"epoch", "step", "total_flos", "train_loss", "train_runtime"})
_MOST_POINTS = 300


@dataclass(frozen=True)
class Curve:
    """One quantity of one run over its steps."""

    run: str
    quantity: str  # the trainer's name of it (`loss`, `masked_lm/loss`, `eval_f1`)
    steps: tuple[float, ...]
    values: tuple[float, ...]


def read_curves(folder: Path, label: str) -> list[Curve]:
    """Read the curves of the run in a folder, from the ``trainer_state.json`` that got furthest.

    1. The folder itself and its ``checkpoint-*`` folders are looked at, and no others.
    2. A state that is cut off is skipped: an earlier checkpoint has most of it.
    3. Of more than 300 steps, neighbours are averaged, so that noise does not look like a trend.
    """
    best: Mapping[str, Any] = {}
    furthest = 0
    for path in sorted([folder / TRAINER_STATE, *folder.glob(f"checkpoint-*/{TRAINER_STATE}")]):
        state = read_json(path) or {}  # 2
        steps = state.get("global_step")
        if isinstance(steps, int) and isinstance(state.get("log_history"), list) and steps >= furthest:
            best, furthest = state, steps
    # Quantity -> step -> value; of a step that was logged twice, after a resumed run, the last value counts.
    points: dict[str, dict[float, float]] = defaultdict(dict)
    for entry in best.get("log_history", ()):
        for name, value in entry.items():
            if name in _SKIPPED or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if math.isfinite(value) and isinstance(entry.get("step"), int | float):
                points[name][float(entry["step"])] = float(value)
    curves = []
    for name, values in points.items():
        if len(values) < 2:
            continue
        steps = sorted(values)
        size = math.ceil(len(steps) / _MOST_POINTS)  # 3
        neighbours = [steps[start : start + size] for start in range(0, len(steps), size)]
        mean_steps = tuple(fmean(part) for part in neighbours)
        mean_values = tuple(fmean(values[step] for step in part) for part in neighbours)
        curves.append(Curve(label, name, mean_steps, mean_values))
    return curves


def curve_figures(curves: Sequence[Curve]) -> list[Lines]:
    """Make one chart for each quantity, with a line for each run.

    1. Runs of one label, which differ in their seeds, are one line: their mean, with their standard deviation. It has
       the steps that all seeds logged; if they share fewer than two, each seed is a line.
    2. The loss comes first, then other losses, then scores of evaluations, then quantities of objectives.
    """
    grouped: dict[str, dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for curve in curves:
        grouped[curve.quantity][curve.run].append(curve)
    charts: list[Lines] = []
    for name in sorted(grouped, key=_place_of_quantity):
        series: list[LineSeries] = []
        for run, seeds in grouped[name].items():
            value_at = [dict(zip(curve.steps, curve.values, strict=True)) for curve in seeds]  # step -> value
            shared_steps = sorted(set(value_at[0]).intersection(*value_at[1:]))
            if len(seeds) == 1 or len(shared_steps) < 2:
                series += [LineSeries(label=run, x=list(c.steps), y=list(c.values)) for c in seeds]
                continue
            means: list[float] = []
            deviations: list[float | None] = []
            for step in shared_steps:
                values = [of_seed[step] for of_seed in value_at]
                means.append(fmean(values))
                deviations.append(stdev(values))
            label = f"{run} ({len(seeds)} runs)"
            series.append(LineSeries(label=label, x=shared_steps, y=means, sd=deviations))
        charts.append(Lines(kind="lines", title=name, x_label="step", y_label=name, series=series))
    return charts


def _place_of_quantity(name: str) -> tuple[bool, bool, bool, bool, str]:
    """Return the key by which quantities are sorted: rule 2 of :func:`curve_figures`, then by the alphabet."""
    return name != "loss", not name.endswith("/loss"), not name.startswith("eval_"), "/" not in name, name
