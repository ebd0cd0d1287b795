"""Give different runs of one name different names: by the values that differ, else by folder, else by the recipe.

Two runs called ``tlm``, of which one reads layer 1 and the other layer 2, become ``tlm layer=1`` and ``tlm layer=2``.

A report reads rows of results, training curves and files of counts, called *entries* here. Which entries are of one run
is found out from what each entry says of its run. Open ``told_apart`` first.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoglot.results import rows as results
from isoglot.runs.sweep import short_names, shown_value

_MOST_VALUES = 5
"""A name with more values than this is too long to read: the folder or the recipe names the run instead."""
_NOT_OF_A_SWEEP = ("seed", "name")


@dataclass(frozen=True)
class RunEntry:
    """One row of results, training curve or file of counts, as far as it says which run it came from.

    Two entries with the same name and the same ``measured`` are of different runs if their values differ, or if they
    have one seed and different recipes or checkpoints.

    Args:
        name: The run's name without its seed, ``tlm``; several runs may have it.
        measured: The thing measured, such as task, language, split, metric and options: a run has one entry for each,
            or one for each seed.
        place: The file or folder that the entry was read from.
        seed: The run's seed, if it is known.
        recipe_hash: Hash of the run's recipe, which covers the seed.
        values: What is known to differ between trainings, by name: the changed sizes of the run's study, and, once
            :func:`~isoglot.reports.labels.with_recipes` has added them, all values of its recipe by dotted name.
        checkpoint: Hash of the checkpoint, where two checkpoints of one recipe are two runs.
    """

    name: str
    measured: tuple[Any, ...]
    place: Path
    seed: int | None = None
    recipe_hash: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str = ""


@dataclass(frozen=True)
class VariedRun:
    """A run that differs from others of its name in values of its training.

    Args:
        name: The name that the runs share: ``tlm``.
        label: The name that tells it apart: ``tlm layer=4``.
        values: The values that differ, by their short names: ``{"layer": 4}``.
    """

    name: str
    label: str
    values: Mapping[str, Any]


def varied_runs(entries: Sequence[RunEntry], labels: Sequence[str]) -> dict[str, VariedRun]:
    """Find the runs that differ from others of their name in values alone: their labels end in these values.

    ``labels``: The names that :func:`told_apart` gave the entries.
    """
    varied = {}
    for name, members in _indices_by_name(entries).items():
        differing = _differing_values([entries[index] for index in members])
        short = short_names(differing)
        for index in members:
            known = entries[index].values
            values = {short[key]: known[key] for key in differing if key in known}
            label = name + "".join(f" {key}={shown_value(value)}" for key, value in values.items())
            if values and labels[index] == label:
                varied[label] = VariedRun(name, label, values)
    return varied


def told_apart(entries: Sequence[RunEntry]) -> list[str]:
    """Return for each entry the name of its run; where several runs share a name, each gets an ending.

    Entries of one run get one name: the seeds of a run, and its tasks.

    Example:
        >>> sweep = [{"objectives.align.layer": 1, "steps": 5}, {"objectives.align.layer": 2, "steps": 5}]
        >>> told_apart([RunEntry("tlm", ("pos",), Path("results.jsonl"), values=values) for values in sweep])
        ['tlm layer=1', 'tlm layer=2']
    """
    names = [entry.name for entry in entries]
    for members in _indices_by_name(entries).values():
        group = [entries[index] for index in members]
        if _holds_several_runs(group):
            for index, ending in zip(members, _endings(group), strict=True):
                names[index] += ending
    return names


def _indices_by_name(entries: Sequence[RunEntry]) -> dict[str, list[int]]:
    """Group the indices of entries in the list by the names of their runs."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(entries):
        groups[entry.name].append(index)
    return groups


def _endings(group: Sequence[RunEntry]) -> list[str]:
    """Find the ending for the name of each entry, by three ways in turn.

    1. The values that differ: `` layer=1``.
    2. Among entries of several runs that still share an ending, their folders: `` (a)``.
    3. Among entries of several runs that still share both, the hashes of their recipes: `` (recipe 0a1b2c3d)``.
    """
    ways: list[Callable[[Sequence[RunEntry]], list[str] | None]] = [_by_values, _by_folder, _by_recipe]
    endings = [""] * len(group)
    for way in ways:
        sharing: dict[str, list[int]] = defaultdict(list)  # entries that share an ending so far
        for index, ending in enumerate(endings):
            sharing[ending].append(index)
        for members in sharing.values():
            alike = [group[index] for index in members]
            further = way(alike) if _holds_several_runs(alike) else None
            if further is None:
                continue
            for index, ending in zip(members, further, strict=True):
                endings[index] += ending
    return endings


def _by_values(group: Sequence[RunEntry]) -> list[str] | None:
    """End in every value in which any of the entries differ, ``layer=1``; ``None`` if no value does, or too many do."""
    differing = _differing_values(group)
    if not 0 < len(differing) <= _MOST_VALUES:
        return None
    short = short_names(differing)
    endings = []
    for entry in group:
        known = [name for name in differing if name in entry.values]
        endings.append("".join(f" {short[name]}={shown_value(entry.values[name])}" for name in known))
    return endings


def _differing_values(group: Sequence[RunEntry]) -> list[str]:
    """Name the values in which any of the entries differ; a value that only some of them have differs too."""
    differing = []
    for name in _value_names(group):
        texts = {_value_as_text(entry, name) for entry in group}
        if len(texts) > 1:
            differing.append(name)
    return differing


def _by_folder(group: Sequence[RunEntry]) -> list[str] | None:
    """End in the folder, ``(a)``, below the folder that all have in common; ``None`` if one folder has several runs."""
    places = list(dict.fromkeys(entry.place for entry in group))
    if len(places) < 2:
        return None
    for place in places:
        if _holds_several_runs([entry for entry in group if entry.place == place]):
            return None
    shown_folders = []
    for place in places:
        # results.jsonl stands for its folder; of any other file the name is shown, without the suffix.
        shown = place.parent if place.name == results.FILE_NAME else place
        if shown.is_file():
            shown = shown.with_suffix("")
        shown_folders.append(shown.resolve())
    common = os.path.commonpath([folder.parent for folder in shown_folders])
    endings = {}
    for place, folder in zip(places, shown_folders, strict=True):
        endings[place] = f" ({folder.relative_to(common).as_posix()})"
    return [endings[entry.place] for entry in group]


def _by_recipe(group: Sequence[RunEntry]) -> list[str]:
    """End in the recipe's hash, ``(recipe 0a1b2c3d)``, if nothing readable tells the runs apart."""
    return [f" (recipe {entry.recipe_hash[:8]})" for entry in group]


def _holds_several_runs(group: Sequence[RunEntry]) -> bool:
    """Whether entries of one name come from several runs.

    They do if any two entries with the same ``measured`` are of different runs:

    1. They are of different runs if their values differ, whatever their seeds are.
    2. They are of different runs if they have one seed and different hashes of recipe or checkpoint. The hash of a
       recipe covers the seed, so one run has another hash for each seed.
    """
    first_values: dict[tuple[Any, ...], str] = {}
    first_hashes: dict[tuple[Any, ...], str] = {}
    for entry in group:
        compared = {name: entry.values[name] for name in _value_names([entry])}
        values = json.dumps(compared, sort_keys=True, default=str)
        if first_values.setdefault(entry.measured, values) != values:  # 1
            return True
        hashes = entry.recipe_hash + entry.checkpoint
        if hashes and first_hashes.setdefault((*entry.measured, entry.seed), hashes) != hashes:  # 2
            return True
    return False


def _value_names(group: Sequence[RunEntry]) -> list[str]:
    """Name the values that any of the entries has, in their order, without the seed and the name."""
    names = dict.fromkeys(name for entry in group for name in entry.values)
    return [name for name in names if name not in _NOT_OF_A_SWEEP]


def _value_as_text(entry: RunEntry, name: str) -> str:
    """Return a value as JSON, so that 1 and true differ; empty if the entry has no such value."""
    if name not in entry.values:
        return ""
    return json.dumps(entry.values[name], sort_keys=True, default=str)
