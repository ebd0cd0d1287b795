"""Names of runs in a report: labels that the user gave to inputs, and names that keep different runs apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isoglot.reports.run_names import RunEntry, told_apart
from isoglot.reports.scores import run_label
from isoglot.results.rows import Cell, Result, flattened


def labelled(text: str | Path) -> tuple[str, Path]:
    """Split ``LABEL=PATH`` into its label and path; the label is empty without one, or if the whole text is a path.

    Example:
        >>> labelled("mine=runs/alpha=1")
        ('mine', PosixPath('runs/alpha=1'))
    """
    label, separator, path = str(text).partition("=")
    if not separator or not label.strip() or Path(text).exists():
        return "", Path(text)
    return label.strip(), Path(path)


class RunLabels:
    """The labels of inputs: ``mine=runs/a`` labels all files below ``runs/a`` with ``mine``.

    The label of a run, which a report shows, is made from its input's label and the run's own name (:meth:`names`).
    """

    def __init__(self, inputs: Sequence[tuple[str, Path]]) -> None:
        self._labels = {path.resolve(): label for label, path in inputs if label}

    def of(self, path: Path) -> str:
        """Return the label of a file or folder, or of the nearest folder above it; empty if none has one."""
        path = path.resolve()
        for place in (path, *path.parents):
            if place in self._labels:
                return self._labels[place]
        return ""

    def names(self, runs: Sequence[tuple[str, Path]]) -> list[str]:
        """Name runs, each given as its own name and its file or folder.

        1. A run without a label keeps its own name.
        2. The only run of a labelled input is called by the label: ``mine``.
        3. Several runs of a labelled input keep their names, with the label behind them: ``tlm (mine)``.
        """
        labels = [self.of(path) for _, path in runs]
        own_names: dict[str, set[str]] = defaultdict(set)  # by label
        for label, (own_name, _) in zip(labels, runs, strict=True):
            own_names[label].add(own_name)
        names = []
        for label, (own_name, _) in zip(labels, runs, strict=True):
            if not label:
                names.append(own_name)
            elif len(own_names[label]) == 1:
                names.append(label)
            else:
                names.append(f"{own_name} ({label})")
        return names

    def rows(self, rows: Sequence[tuple[Result, Path]]) -> list[Result]:
        """Rename the runs of rows by :meth:`names`; each row is given with its file. Rows without a label stay."""
        names = self.names([(run_label(row), file) for row, file in rows])
        renamed = []
        for (row, file), name in zip(rows, names, strict=True):
            renamed.append(row.model_copy(update={"run": name}) if self.of(file) else row)
        return renamed

    def cells(self, cells: Sequence[tuple[Cell, Path]]) -> list[Cell]:
        """Put the label of an input in front of the ``setting`` of its cells; each cell is given with its file.

        A setting is a text of changed sizes, ``steps=50``.

        1. The cells of ``mine=runs/a`` with the settings ``steps=50`` and ``steps=90`` get ``mine, steps=50`` and
           ``mine, steps=90``.
        2. A cell without a setting gets the label alone, ``mine``. So does every cell if all have the same setting.
        """
        settings: dict[str, set[str]] = defaultdict(set)  # by label
        for cell, file in cells:
            settings[self.of(file)].add(cell.setting)
        labelled_cells = []
        for cell, file in cells:
            label = self.of(file)
            if not label:
                labelled_cells.append(cell)
                continue
            setting = label  # 2
            if cell.setting and len(settings[label]) > 1:
                setting = f"{label}, {cell.setting}"  # 1
            labelled_cells.append(cell.model_copy(update={"setting": setting}))
        return labelled_cells


def distinct_rows(
    rows: Sequence[tuple[Result, Path]], recipes: Mapping[str, Mapping[str, Any]]
) -> list[Result]:
    """Rename the runs of rows so that different runs have different names.

    Two checkpoints are two runs, unless they differ only in their seeds.

    Args:
        rows: Each row with the checkpoint or folder that it was measured on.
        recipes: Hash of a recipe -> values of the recipe.
    """
    entries = [replace(entry_of_row(row, place), checkpoint=row.checkpoint_hash) for row, place in rows]
    return with_run_names([row for row, _ in rows], told_apart(with_recipes(entries, recipes)))


def with_run_names(rows: Sequence[Result], names: Sequence[str]) -> list[Result]:
    """Give each row's run its new name. A row whose run keeps its name stays as it is, with the seed in the name."""
    renamed = []
    for row, name in zip(rows, names, strict=True):
        renamed.append(row if name == run_label(row) else row.model_copy(update={"run": name}))
    return renamed


def entry_of_row(row: Result, place: Path) -> RunEntry:
    """Describe a row as an entry of its run; the recipe's values are added by :func:`with_recipes`."""
    measured = (row.task, row.language, row.split, row.metric, row.settings)
    return RunEntry(run_label(row), measured, place, row.seed, row.recipe_hash, row.changes)


def with_recipes(entries: Sequence[RunEntry], recipes: Mapping[str, Mapping[str, Any]]) -> list[RunEntry]:
    """Add to each entry all values of its recipe.

    Entries of one name get them only if the recipe of each of these entries is known: otherwise the values that only
    some entries have would count as differences.

    ``recipes``: Hash of a recipe -> values of the recipe.
    """
    names_without_recipe = {entry.name for entry in entries if entry.recipe_hash not in recipes}
    completed = []
    for entry in entries:
        if entry.name in names_without_recipe:
            completed.append(entry)
        else:
            values = {**flattened(recipes[entry.recipe_hash]), **entry.values}
            completed.append(replace(entry, values=values))
    return completed
