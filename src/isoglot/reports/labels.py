"""Names of runs in a report: labels that were given, and names that keep different runs apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoglot.reports.run_names import NamedRun, told_apart
from isoglot.reports.scores import run_label
from isoglot.results.rows import Cell, Result, flattened


def labelled(text: str | Path) -> tuple[str, Path]:
    """A label and a path: of ``LABEL=PATH`` both, of the path of something that is there no label.

    Example:
        >>> labelled("mine=runs/alpha=1")
        ('mine', PosixPath('runs/alpha=1'))
    """
    label, separator, path = str(text).partition("=")
    if not separator or not label.strip() or Path(text).exists():
        return "", Path(text)
    return label.strip(), Path(path)


class RunLabels:
    """The labels of folders and files."""

    def __init__(self, paths: Sequence[tuple[str, Path]]) -> None:
        self._labels = {path.resolve(): label for label, path in paths if label}

    def of(self, path: Path) -> str:
        """The label of a file or folder, that of the nearest folder that has one; empty without."""
        path = path.resolve()
        return next((self._labels[p] for p in (path, *path.parents) if p in self._labels), "")

    def names(self, runs: Sequence[tuple[str, Path]]) -> list[str]:
        """What runs with their places are called: a labelled folder's only run as the label, several with it."""
        labels, members = [self.of(path) for _, path in runs], defaultdict[str, set[str]](set)
        for label, (name, _) in zip(labels, runs, strict=True):
            members[label].add(name)
        return [
            name if not label else label if len(members[label]) == 1 else f"{name} ({label})"
            for label, (name, _) in zip(labels, runs, strict=True)
        ]

    def rows(self, rows: Sequence[tuple[Result, Path]]) -> list[Result]:
        """Rows with their files; runs of a labelled folder have its label."""
        labels = self.names([(run_label(row), file) for row, file in rows])
        return [
            row.model_copy(update={"run": name}) if self.of(file) else row
            for (row, file), name in zip(rows, labels, strict=True)
        ]

    def cells(self, cells: Sequence[tuple[Cell, Path]]) -> list[Cell]:
        """Cells with their files; those of a labelled folder have its label as their setting."""
        settings: dict[str, set[str]] = defaultdict(set)
        for cell, file in cells:
            settings[self.of(file)].add(cell.setting)
        labelled_cells = []
        for cell, file in cells:
            if label := self.of(file):
                setting = (
                    label if len(settings[label]) == 1 or not cell.setting else f"{label}, {cell.setting}"
                )
                cell = cell.model_copy(update={"setting": setting})  # noqa: PLW2901
            labelled_cells.append(cell)
        return labelled_cells


def distinct_rows(
    rows: Sequence[tuple[Result, Path]], recipes: Mapping[str, Mapping[str, Any]]
) -> list[Result]:
    """Rows with the checkpoints or folders that they are of, in which runs that differ have different names.

    Two checkpoints are two runs, unless they differ in their seeds alone. ``recipes``: Values of recipes, by their
    hashes.
    """
    made = [replace(made_by_row(row, place), checkpoint=row.checkpoint_hash) for row, place in rows]
    names = told_apart(with_recipes(made, recipes))
    return [
        row if name == one.name else row.model_copy(update={"run": name})
        for (row, _), one, name in zip(rows, made, names, strict=True)
    ]


def made_by_row(row: Result, place: Path) -> NamedRun:
    """What a row's run was made by, as far as the row tells."""
    figure = (row.task, row.language, row.split, row.metric, row.settings)
    return NamedRun(run_label(row), figure, place, row.seed, row.recipe_hash, row.changes)


def with_recipes(made: Sequence[NamedRun], recipes: Mapping[str, Mapping[str, Any]]) -> list[NamedRun]:
    """The same with all values of their recipes, where those of every run of the name are known."""
    unknown = {one.name for one in made if one.recipe_hash not in recipes}
    return [
        one
        if one.name in unknown
        else replace(one, values={**flattened(recipes[one.recipe_hash]), **one.values})
        for one in made
    ]
