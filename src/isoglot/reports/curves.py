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
    """Curves of the run in a folder: of ``trainer_state.json``, or of its checkpoint that got furthest.

    Only the folder itself and its ``checkpoint-*`` folders are looked at. A state that is cut off is passed over, for
    another checkpoint has most of it.
    """
    best: Mapping[str, Any] = {}
    furthest = 0
    for path in sorted([folder / TRAINER_STATE, *folder.glob(f"checkpoint-*/{TRAINER_STATE}")]):
        state = read_json(path) or {}  # none there, or its writer was killed
        steps = state.get("global_step")
        if isinstance(steps, int) and isinstance(state.get("log_history"), list) and steps >= furthest:
            best, furthest = state, steps
    points: dict[str, dict[float, float]] = defaultdict(dict)
    for entry in best.get("log_history", ()):
        for name, value in entry.items():
            if name in _SKIPPED or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if math.isfinite(value) and isinstance(entry.get("step"), int | float):
                points[name][float(entry["step"])] = float(value)
    curves = []
    for name, values in points.items():  # a few hundred: means over neighbours, so that noise is no trend
        steps, size = sorted(values), math.ceil(len(values) / _MOST_POINTS)
        parts = [steps[i : i + size] for i in range(0, len(steps), size)]
        means = tuple(fmean(values[step] for step in part) for part in parts)
        if len(steps) > 1:
            curves.append(Curve(label, name, tuple(map(fmean, parts)), means))
    return curves


def curve_figures(curves: Sequence[Curve]) -> list[Lines]:
    """One chart a quantity, a line a run; runs of one label (seeds) are one line, their mean, with their deviation.

    Losses come first, then the figures of evaluations and of objectives. Where seeds share no steps, each is a line.
    """
    grouped: dict[str, dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for curve in curves:
        grouped[curve.quantity][curve.run].append(curve)
    charts: list[Lines] = []
    for name in sorted(
        grouped,
        key=lambda n: (n != "loss", not n.endswith("/loss"), not n.startswith("eval_"), "/" not in n, n),
    ):
        series: list[LineSeries] = []
        for run, seeds in grouped[name].items():
            values = [dict(zip(curve.steps, curve.values, strict=True)) for curve in seeds]
            shared = sorted(set(values[0]).intersection(*values[1:]))
            if len(seeds) == 1 or len(shared) < 2:
                series += [LineSeries(label=run, x=list(c.steps), y=list(c.values)) for c in seeds]
                continue
            y = [fmean(v[step] for v in values) for step in shared]
            sd: list[float | None] = [stdev([v[step] for v in values]) for step in shared]
            series.append(LineSeries(label=f"{run} ({len(seeds)} runs)", x=shared, y=y, sd=sd))
        charts.append(Lines(kind="lines", title=name, x_label="step", y_label=name, series=series))
    return charts
