"""Read the counts that :func:`isoglot.reports.paired.compare` is given: folders, files, or counts in memory.

    a system's predictions ──> {task, language and split: {seed: counts of the examples, by metric}}

``evaluations_of_system`` does this for each system; ``matched_by_seed`` then pairs the runs of two systems.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import common_code
from isoglot.results.example_counts import ENDING, CountsFile, ExampleCounts
from isoglot.results.rows import name_without_seed

Predictions = str | Path | Mapping[str, ExampleCounts]
"""Predictions of one run: a folder or file of counts, or the counts by metric."""
Key = tuple[str, str, str]
"""Task, language and split; empty for counts in memory."""
SeedCounts = dict[Any, CountsFile]
"""Counts of one system's runs by seed: ``{1: ..., 2: ...}``.

Runs without a recorded seed stand under their places in the list that the user gave, a single one under ``None``.
"""


def evaluations_of_system(predictions: Predictions | Sequence[Predictions]) -> dict[Key, SeedCounts]:
    """Read all counts of one system, which may have several runs that differ in their seeds."""
    runs: list[Any] = [predictions]
    # A text is a sequence too, but a single path.
    if isinstance(predictions, Sequence) and not isinstance(predictions, str):
        runs = [*predictions]
    if not runs or not all(isinstance(run, str | Path | Mapping) for run in runs):
        raise ConfigurationError(
            f"expected folders of predictions, or counts by metric, got {shortened(predictions)}"
        )
    evaluations: dict[Key, SeedCounts] = {}
    for number, run in enumerate(runs, 1):
        for key, counts in _evaluations(run):
            seed = counts.about.get("seed")
            if seed is None and len(runs) > 1:
                seed = number
            by_seed = evaluations.setdefault(key, {})
            if seed in by_seed:
                raise ConfigurationError(
                    f"{run if isinstance(run, str | Path) else 'counts'}: holds {' '.join(key)} of several "
                    f"checkpoints{'' if seed is None else f' with seed {seed}'}; give the runs of one system, which "
                    "differ in their seeds alone"
                )
            by_seed[seed] = counts
    for key, by_seed in evaluations.items():
        _require_one_system(key, by_seed)
    return evaluations


def _require_one_system(key: Key, by_seed: SeedCounts) -> None:
    """Refuse runs that differ in more than their seeds: their mean would be the value of no system."""
    kinds = set()
    for counts in by_seed.values():
        name = name_without_seed(str(counts.about.get("run")), counts.about.get("seed"))
        values = {**(counts.about.get("changes") or {}), **(counts.about.get("options") or {})}
        kinds.add(f"{name} {json.dumps(values, sort_keys=True)}")
    if len(kinds) > 1:
        raise ConfigurationError(
            f"{' '.join(key)}: the runs differ in more than their seeds ({'; '.join(sorted(kinds))}); compare one "
            "system with another, each by its seeds"
        )


def matched_by_seed(
    key: Key, first: SeedCounts, second: SeedCounts
) -> tuple[list[Any], list[CountsFile], list[CountsFile]]:
    """Return the seeds that both systems have, and the counts of each system in the order of these seeds.

    1. Two single runs are matched whatever their seeds are, under the seed of the first one.
    2. Of several runs only those with a seed that the other system has too are compared.
    """
    if len(first) == len(second) == 1:  # 1
        return [*first], [*first.values()], [*second.values()]
    seeds = [seed for seed in first if seed in second]  # 2
    if not seeds:
        raise ConfigurationError(
            f"{' '.join(key)}: no seed in common, first has {', '.join(map(str, first))}, second "
            f"{', '.join(map(str, second))}; evaluate runs of the same seeds"
        )
    return seeds, [first[seed] for seed in seeds], [second[seed] for seed in seeds]


def counts_by_metric(files: Sequence[CountsFile]) -> dict[str, list[ExampleCounts]]:
    """Group the counts of runs by metric, for the metrics that all runs have."""
    metrics = [name for name in files[0].metrics if all(name in file.metrics for file in files)]
    return {name: [file.metrics[name] for file in files] for name in metrics}


def _evaluations(run: Predictions) -> Iterator[tuple[Key, CountsFile]]:
    """Yield the counts of one run with their task, language and split, which are empty for counts in memory."""
    if isinstance(run, Mapping):
        if wrong := [name for name, counts in run.items() if not isinstance(counts, ExampleCounts)]:
            raise ConfigurationError(
                f"{wrong[0]}: expected ExampleCounts, got {shortened(run[wrong[0]])}; "
                "isoglot.results.example_counts.shares makes them of one number from 0 to 1 per example"
            )
        yield ("", "", ""), CountsFile({}, run)
        return
    path = Path(run)
    files = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise InputError(
            f"holds no counts of examples (*{ENDING}); evaluate with [[predictions='{path}']], and add [[again=True]] "
            "if predictions exist already",
            path=path,
        )
    for file in files:
        counts_file = CountsFile.read(file)
        task, language, split = (str(counts_file.about.get(name)) for name in ("task", "language", "split"))
        yield (task, common_code(language), split), counts_file


def listed_evaluations(evaluations: Mapping[Key, SeedCounts]) -> str:
    """List what a system was evaluated on: ``pos de test, own counts``."""
    return ", ".join(" ".join(key).strip() or "own counts" for key in evaluations)


def listed_metrics(evaluations: Mapping[Key, SeedCounts]) -> str:
    """List a system's metrics with their numbers of examples: ``f1 of 1,000, accuracy of 1,000``."""
    sizes: dict[str, int] = {}
    for by_seed in evaluations.values():
        first_run = next(iter(by_seed.values()))
        sizes |= {name: len(counts) for name, counts in first_run.metrics.items()}
    return ", ".join(f"{name} of {size:,}" for name, size in sizes.items()) or "none"
