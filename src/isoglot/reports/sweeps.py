"""Charts of sweeps: a measure over the numbers tried for one value of a recipe, with intervals over the seeds.

``layer`` is a value of a recipe; 4, 6 and 8 are the numbers that the runs of a sweep tried for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from isoglot.reports.figure_files import Lines, LineSeries
from isoglot.reports.grid import metric_name, target_languages
from isoglot.reports.run_names import VariedRun
from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.stats import CONFIDENCE, Score, half_interval
from isoglot.results.rows import SHARES
from isoglot.runs.sweep import shown_value


@dataclass
class _SweepLine:
    """One line of a chart: scores by the number on the axis, ``{4: Score(...), 6: Score(...)}``."""

    label: str
    scores: dict[float, Score] = field(default_factory=dict)


def sweep_figures(varied: Mapping[str, VariedRun], scores: ReportScores, source: str) -> list[Lines]:
    """Make one chart for each task and each axis, where runs of one name differ in a number.

    1. Axis. The axis is the value for which the most different numbers were tried, among the values in which runs of
       one name differ.
    2. Lines. Each combination of the other values in which the runs differ is a line of its own.
    3. Names. Runs of several names with the same axis share a chart.

    Runs ``tlm`` with ``layer`` 4, 6 and 8, each with ``weight`` 0.5 and 1: layers go along the axis, and the lines are
    ``tlm weight=0.5`` and ``tlm weight=1``.
    """
    runs: dict[str, VariedRun] = {}
    for label in scores.runs:
        run = _run_of(label, varied)
        if run is not None:
            runs[label] = run
    # Axis -> label of a run -> the number on the axis, and the label of the line.
    places_by_axis: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
    for name in dict.fromkeys(run.name for run in runs.values()):
        members = {label: run for label, run in runs.items() if run.name == name}
        axis = _axis_of(list(members.values()))  # 1
        if axis is None:
            continue
        for label, run in members.items():
            if axis in run.values:
                place = float(run.values[axis]), _line_label(label, run, axis)
                places_by_axis[axis][label] = place  # 2, 3
    figures = []
    for axis, places in places_by_axis.items():
        for measure in main_measures([*scores.values]):
            figure = _figure(axis, places, measure, scores, source)
            if figure is not None:
                figures.append(figure)
    return figures


def _run_of(label: str, varied: Mapping[str, VariedRun]) -> VariedRun | None:
    """Find the run behind the label of a row; ``None`` if the run does not differ from others of its name.

    The label may end in the options of an evaluation: ``tlm weight=1 (layer=3)`` is the run ``tlm weight=1``.
    """
    names = [name for name in varied if label == name or label.startswith(f"{name} (")]
    return varied[max(names, key=len)] if names else None


def _axis_of(runs: Sequence[VariedRun]) -> str | None:
    """Choose the value that goes along the axis: that with the most numbers tried; of several such, the first.

    ``None`` unless at least two numbers were tried for a value. Texts, and true or false, have no place along an axis.
    """
    axis, most = None, 1
    for name in dict.fromkeys(name for run in runs for name in run.values):
        tried = [run.values[name] for run in runs if name in run.values]
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in tried)
        if are_numbers and len(set(tried)) > most:
            axis, most = name, len(set(tried))
    return axis


def _line_label(label: str, run: VariedRun, axis: str) -> str:
    """Label a line ``tlm weight=0.5``: the run's name, the values that differ except the axis, evaluation options."""
    others = [f"{name}={shown_value(value)}" for name, value in run.values.items() if name != axis]
    evaluation_options = label[len(run.label) :].strip()
    return " ".join(filter(None, [run.name, *others, evaluation_options]))


def _figure(
    axis: str, places: Mapping[str, tuple[float, str]], measure: Measure, scores: ReportScores, source: str
) -> Lines | None:
    """Describe the chart of one measure; ``None`` if fewer than two numbers on the axis have a score."""
    languages = target_languages(scores, measure, source)
    means = scores.means(measure, languages)
    lines: dict[str, _SweepLine] = {}
    for label, (number, line_label) in places.items():
        if label in means:
            line = lines.setdefault(line_label, _SweepLine(line_label))
            line.scores[number] = means[label]
    axis_numbers = sorted({number for line in lines.values() for number in line.scores})
    if len(axis_numbers) < 2:
        return None
    series = []
    for line in lines.values():
        numbers = sorted(line.scores)
        points = [line.scores[number] for number in numbers]
        deviations = [score.sd for score in points]
        has_deviations = any(deviation is not None for deviation in deviations)
        series.append(
            LineSeries(
                label=line.label,
                x=numbers,
                y=[score.mean for score in points],
                sd=deviations if has_deviations else None,
                interval=[half_interval(score) for score in points],
            )
        )
    unit = " (%)" if measure.base_metric in SHARES else ""
    metric = metric_name(measure.metric)
    all_scores = [score for line in lines.values() for score in line.scores.values()]
    shown_languages = languages[0] if len(languages) == 1 else f"Mean of {', '.join(languages)}"
    return Lines(
        kind="lines",
        title=f"{measure.title}: {metric} by {axis}",
        x_label=axis,
        y_label=f"{metric}{unit}",
        series=series,
        better="lower" if lower_is_better(measure.metric) else "higher",
        x_scale=_scale(axis_numbers),
        note=f"{shown_languages}. {_seed_note(all_scores)}",
    )


def _seed_note(scores: Sequence[Score]) -> str:
    """Say over how many seeds the points of a chart are means, and what the bars at the points show."""
    seeds = sorted({score.seeds for score in scores})
    if seeds == [1]:
        return "One seed: chance between seeds cannot be ruled out."
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"Means over {count} seeds; bars are {CONFIDENCE} % intervals of the mean (Student's t)."


def _scale(values: Sequence[float]) -> Literal["linear", "log"]:
    """Choose the scale on which ascending values lie more evenly.

    1. A value of 0 or below has no logarithm: the scale is linear.
    2. Two values lie evenly on any scale: the scale is logarithmic if one is at least 10 times the other.
    3. Otherwise compare, on each scale, the longest gap between neighbours with the shortest. The scale with the
       smaller ratio is chosen: linear for 4, 6, 8 (2/2 there), logarithmic for 1e-5, 3e-5, 1e-4 (1.2/1.1 there, and 7/2
       on a linear scale).
    """
    if values[0] <= 0:  # 1
        return "linear"
    if len(values) == 2:  # 2
        return "log" if values[1] >= 10 * values[0] else "linear"
    gaps = [after - before for before, after in pairwise(values)]
    log_gaps = [math.log(after / before) for before, after in pairwise(values)]
    linear_ratio = max(gaps) / min(gaps)
    log_ratio = max(log_gaps) / min(log_gaps)
    return "log" if log_ratio < linear_ratio else "linear"  # 3
