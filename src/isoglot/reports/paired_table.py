"""Runs with predictions beside each other: differences on the same examples, their intervals and p."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import common_code
from isoglot.reports.grid import metric_name
from isoglot.reports.paired import SAMPLES, Comparison, paired
from isoglot.reports.paired_files import Key, SeedCounts
from isoglot.reports.runs import Material
from isoglot.reports.scores import Measure, main_measures, row_labels
from isoglot.reports.stats import CONFIDENCE, shown_p
from isoglot.reports.table import Table, TableCell, decimals, shown_number

_MATCHED_FIELDS = ("task", "language", "split", "seed", "checkpoint_hash", "options")
"""Fields that counts share with the row of results measured with them.

The run's name is not one of them: a report may have changed it.
"""


def paired_table(material: Material, baseline: str | None) -> Table | None:
    """Compare each run with the baseline in the main metric of each task, language and split.

    1. Without a baseline, or if the baseline has no counts, each run is compared with the first run.
    2. Seeds that both runs have go together: an example's outputs of all of them are exchanged, or drawn, at once.
    3. Runs that were measured on different examples, or have no seed in common, are left out with a note.

    ``None`` if no two runs can be compared.
    """
    runs = _counts_by_run(material)
    if len(runs) < 2:
        return None
    reference = baseline if baseline in runs else next(iter(runs))
    rows: list[list[str | TableCell]] = []
    notes = []
    for run, evaluations in runs.items():
        if run == reference:
            continue
        shared = [key for key in evaluations if key in runs[reference]]
        for key in shared:
            task, language, split = key
            comparison = _compared(evaluations[key], runs[reference][key])
            if comparison is None:
                where = " ".join(filter(None, key))
                notes.append(f"{run}, {where}: measured on other examples or seeds; left out.")
                continue
            metric, difference, p = comparison.metric, comparison.difference, comparison.p
            low = shown_number(comparison.low, signed=True, digits=decimals(metric))
            high = shown_number(comparison.high, signed=True, digits=decimals(metric))
            # `p = 0.031` without `p =`, which the heading says; `p < 0.001` becomes `< 0.001`.
            p_text = shown_p(p).removeprefix("p ").removeprefix("= ")
            rows.append([
                run, Measure(task, split, metric).title, language, metric_name(metric),
                TableCell.of(comparison.first, metric), TableCell.of(comparison.second, metric),
                TableCell.of(difference, metric, signed=True, tooltip=f"{difference:.3f}"), f"{low} to {high}",
                TableCell(p_text, p, tooltip=f"p = {p:.5f}"),
                TableCell(f"{comparison.examples:,}", float(comparison.examples),
                          tooltip=f"{comparison.differing:,} of them differ"),
            ])  # fmt: skip
    if not rows:
        return None
    headings = ["run", "task", "language", "metric", "value", reference, "difference"]
    headings += [f"{CONFIDENCE} % interval", "p", "examples"]
    caption = (
        f"Each run against {reference} on the same examples, in points. The {CONFIDENCE} % interval is the paired "
        f"bootstrap's over examples, p that of approximate randomisation over examples, two-sided "
        f"({SAMPLES:,} samples). Seeds that both runs have go together. p is not corrected for the number of rows: of "
        "twenty rows without any difference one is below 0.05 on average."
    )
    table = Table.listing(f"Paired differences from {reference}", caption, headings, rows)
    return replace(table, id="paired", notes=notes)


def _counts_by_run(material: Material) -> dict[str, dict[Key, SeedCounts]]:
    """Sort counts: run -> task, language and split -> seed -> counts."""
    keys = (_key(row.model_dump()) for row in material.rows)
    labels = dict(zip(keys, row_labels(material.rows), strict=True))
    # Runs are in the order of the rows of results, not of the counts: so every run of a row has its place first.
    runs: dict[str, dict[Key, SeedCounts]] = {label: {} for label in labels.values()}
    for counts_file, own_name in material.counts:
        about = counts_file.about
        key = (str(about.get("task")), common_code(str(about.get("language"))), str(about.get("split")))
        # Counts take the label of the row of results that was measured with them; without such a row, their own name.
        run = labels.get(_key(about)) or own_name
        runs.setdefault(run, {}).setdefault(key, {})[about.get("seed")] = counts_file
    return {run: evaluations for run, evaluations in runs.items() if evaluations}


def _key(about: Mapping[str, Any]) -> str:
    """Return the values of :data:`_MATCHED_FIELDS` as one text, by which counts find their row of results."""
    return json.dumps([about.get(name) for name in _MATCHED_FIELDS], sort_keys=True)


def _compared(first: SeedCounts, second: SeedCounts) -> Comparison | None:
    """Compare two runs in their main metric over the seeds that both have; ``None`` if the examples differ."""
    seeds = [seed for seed in first if seed in second]
    data_hashes = {file.about.get("data") for file in (*first.values(), *second.values())}
    if not seeds or len(data_hashes) > 1:
        return None
    metric = main_measures([Measure("", "", name) for name in first[seeds[0]].metrics])[0].metric
    try:
        counts_of_first = [first[seed].metrics[metric] for seed in seeds]
        counts_of_second = [second[seed].metrics[metric] for seed in seeds]
        comparisons = paired({metric: counts_of_first}, {metric: counts_of_second})
        return comparisons[0] if comparisons else None
    except (KeyError, ConfigurationError):  # another metric, other classes, or other numbers of examples
        return None
