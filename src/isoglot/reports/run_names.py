"""Names that keep runs of one name apart: by the values in which they differ, else by folder, else by the recipe."""

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
"""A name with more values than this is not read any more: the folder or the recipe names the run then."""
_NOT_OF_A_SWEEP = ("seed", "name")
_ABSENT = object()


@dataclass(frozen=True)
class NamedRun:
    """What something in a report was made by: a row of results, or a training curve.

    Two of them are of different runs if they are called the same and show the same ``figure``, but have different
    values, or for one seed different recipes.
    """

    name: str
    figure: tuple[Any, ...]
    place: Path
    seed: int | None = None
    recipe_hash: str = ""
    # By dotted name, those of the recipe that are known.
    values: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str = ""  # hash, where two checkpoints of one recipe are two runs


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


def varied_runs(made: Sequence[NamedRun], labels: Sequence[str]) -> dict[str, VariedRun]:
    """By its label each run of ``made`` that its values alone tell apart from others of its name."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(made):
        groups[one.name].append(number)
    varied = {}
    for name, members in groups.items():
        differing = _differing_values([made[number] for number in members])
        short = short_names(differing)
        for number in members:
            values = {short[key]: made[number].values[key] for key in differing if key in made[number].values}
            label = name + "".join(f" {key}={shown_value(value)}" for key, value in values.items())
            if values and labels[number] == label:
                varied[label] = VariedRun(name, label, values)
    return varied


def told_apart(made: Sequence[NamedRun]) -> list[str]:
    """The name of each, changed where one name stands for several runs.

    Example:
        >>> sweep = [{"objectives.align.layer": 1, "steps": 5}, {"objectives.align.layer": 2, "steps": 5}]
        >>> told_apart([NamedRun("tlm", ("pos",), Path("results.jsonl"), values=values) for values in sweep])
        ['tlm layer=1', 'tlm layer=2']
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(made):
        groups[one.name].append(number)
    names = [one.name for one in made]
    for members in groups.values():
        group = [made[number] for number in members]
        if not _conflict(group):
            continue
        for number, ending in zip(members, _endings(group), strict=True):
            names[number] += ending
    return names


def _endings(group: Sequence[NamedRun]) -> list[str]:
    """What follows the name of each: values; and where these are not enough, a folder or the recipe's hash."""
    ways: list[Callable[[Sequence[NamedRun]], list[str] | None]] = [_by_values, _by_folder, _by_recipe]
    endings = [""] * len(group)
    for way in ways:
        parts: dict[str, list[int]] = defaultdict(list)
        for number, ending in enumerate(endings):
            parts[ending].append(number)
        for members in parts.values():
            part = [group[number] for number in members]
            further = way(part) if _conflict(part) else None
            for number, text in zip(members, further or [""] * len(members), strict=True):
                endings[number] += text
    return endings


def _by_values(group: Sequence[NamedRun]) -> list[str] | None:
    """``layer=1``: every value in which any of the runs differ; ``None`` where there are none, or too many."""
    differing = _differing_values(group)
    if not 0 < len(differing) <= _MOST_VALUES:
        return None
    short = short_names(differing)
    endings = []
    for one in group:
        shown = [f"{short[name]}={shown_value(one.values[name])}" for name in differing if name in one.values]
        endings.append("".join(f" {text}" for text in shown))
    return endings


def _differing_values(group: Sequence[NamedRun]) -> list[str]:
    """Names of the values in which any of the runs differ."""
    return [name for name in _names(group) if len({_typed(one, name) for one in group}) > 1]


def _by_folder(group: Sequence[NamedRun]) -> list[str] | None:
    """``(a)``: the shortest paths that differ; ``None`` where one place has several runs."""
    places = list(dict.fromkeys(one.place for one in group))
    if len(places) < 2 or any(_conflict([one for one in group if one.place == place]) for place in places):
        return None
    folders = []
    for place in places:
        if place.name == results.FILE_NAME:
            place = place.parent  # noqa: PLW2901
        folders.append((place.with_suffix("") if place.is_file() else place).resolve())
    common = os.path.commonpath([folder.parent for folder in folders])
    named = {
        place: folder.relative_to(common).as_posix() for place, folder in zip(places, folders, strict=True)
    }
    return [f" ({named[one.place]})" for one in group]


def _by_recipe(group: Sequence[NamedRun]) -> list[str]:
    """``(recipe 0a1b2c3d)``, where nothing readable is known."""
    return [f" (recipe {one.recipe_hash[:8]})" for one in group]


def _conflict(group: Sequence[NamedRun]) -> bool:
    """Whether different runs made one figure.

    A recipe's hash covers its seed, so hashes are compared for one seed, and the values, without it, for all.
    """
    values: dict[tuple[Any, ...], str] = {}
    models: dict[tuple[Any, ...], str] = {}
    for one in group:
        text = json.dumps({name: one.values[name] for name in _names([one])}, sort_keys=True, default=str)
        if values.setdefault(one.figure, text) != text:
            return True
        seeded, model = (*one.figure, one.seed), one.recipe_hash + one.checkpoint
        if model and models.setdefault(seeded, model) != model:
            return True
    return False


def _names(group: Sequence[NamedRun]) -> list[str]:
    """Names of the values that any of the runs has, in their order, without the seed's."""
    names = dict.fromkeys(name for one in group for name in one.values)
    return [name for name in names if name not in _NOT_OF_A_SWEEP]


def _typed(one: NamedRun, name: str) -> str:
    """A value as text, by which it is compared; 1 and true differ."""
    value = one.values.get(name, _ABSENT)
    return "" if value is _ABSENT else json.dumps(value, sort_keys=True, default=str)
