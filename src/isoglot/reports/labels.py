"""What runs are called in a report: labels that were given, and names that keep different runs apart."""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from isoglot import results
from isoglot.reports.scores import run_label
from isoglot.results import Cell, Result


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
        """Rows with their files; runs of a labelled folder have its label, and those of different recipes differ.

        Runs of one name that have several recipes in one place get other names: by their folder, or the recipe. A
        recipe's hash covers its seed, so the seeds of one run are distinguished by their numbers.
        """
        labels = self.names([(run_label(row), file) for row, file in rows])
        named = [
            (row.model_copy(update={"run": name}) if self.of(file) else row, file)
            for (row, file), name in zip(rows, labels, strict=True)
        ]
        runs: dict[str, list[tuple[Result, Path]]] = defaultdict(list)
        for row, file in named:
            runs[run_label(row)].append((row, file))
        endings: dict[str, dict[Path, str]] = {}
        for name, members in runs.items():
            if _conflict([row for row, _ in members]):
                files = list(dict.fromkeys(file for _, file in members))
                parts = ([row for row, path in members if path == file] for file in files)
                endings[name] = {}
                if len(files) > 1 and not any(map(_conflict, parts)):
                    # the shortest names of the files, without the folders that all are in
                    paths = [f.parent if f.name == results.FILE_NAME else f.with_suffix("") for f in files]
                    paths = [path.resolve() for path in paths]
                    common = os.path.commonpath([path.parent for path in paths])
                    names = (path.relative_to(common).as_posix() for path in paths)
                    endings[name] = dict(zip(files, names, strict=True))
        renamed = []
        for row, file in named:
            if (name := run_label(row)) in endings:
                ending = endings[name].get(file, f"recipe {row.recipe_hash[:8]}")
                row = row.model_copy(update={"run": f"{name} ({ending})"})  # noqa: PLW2901
            renamed.append(row)
        return renamed

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


def _conflict(rows: Sequence[Result]) -> bool:
    """Whether two recipes made one figure."""
    recipes: dict[tuple[object, ...], str] = {}
    for row in rows:
        figure = (row.task, row.language, row.split, row.metric, row.settings, row.seed)
        if row.recipe_hash and recipes.setdefault(figure, row.recipe_hash) != row.recipe_hash:
            return True
    return False
