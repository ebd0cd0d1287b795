"""What runs are called in a report: labels that were given, and names that keep different runs apart."""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from isoglot import results
from isoglot.reports.scores import run_label
from isoglot.results import Cell, Result


def labelled(given: str | Path) -> tuple[str, Path]:
    """A label and a path: of ``LABEL=PATH`` both, of the path of something that is there no label.

    Example:
        >>> labelled("mine=runs/alpha=1")
        ('mine', PosixPath('runs/alpha=1'))
    """
    label, separator, path = str(given).partition("=")
    if not separator or not label.strip() or Path(given).exists():
        return "", Path(given)
    return label.strip(), Path(path)


class RunLabels:
    """The labels of folders and files."""

    def __init__(self, given: Sequence[tuple[str, Path]]) -> None:
        self._labels = {path.resolve(): label for label, path in given if label}

    def of(self, path: Path) -> str:
        """The label of a file or folder, that of the nearest folder that has one; empty without."""
        place = path.resolve()
        return next((self._labels[p] for p in (place, *place.parents) if p in self._labels), "")

    def names(self, runs: Sequence[tuple[str, Path]]) -> list[str]:
        """What runs with their places are called: a labelled folder's only run as the label, several with it."""
        labels, own = [self.of(place) for _, place in runs], defaultdict[str, set[str]](set)
        for label, (name, _) in zip(labels, runs, strict=True):
            own[label].add(name)
        return [
            name if not label else label if len(own[label]) == 1 else f"{name} ({label})"
            for label, (name, _) in zip(labels, runs, strict=True)
        ]

    def rows(self, read: Sequence[tuple[Result, Path]]) -> list[Result]:
        """Rows with their files; runs of a labelled folder have its label, and those of different recipes differ."""
        names = self.names([(run_label(row), file) for row, file in read])
        named = [
            (row.model_copy(update={"run": name}) if self.of(file) else row, file)
            for (row, file), name in zip(read, names, strict=True)
        ]
        return _apart(named)

    def cells(self, read: Sequence[tuple[Cell, Path]]) -> list[Cell]:
        """Cells with their files; those of a labelled folder have its label as their setting."""
        settings: dict[str, set[str]] = defaultdict(set)
        for cell, file in read:
            settings[self.of(file)].add(cell.setting)
        found = []
        for cell, file in read:
            label = self.of(file)
            told = label if len(settings[label]) == 1 else ", ".join(filter(None, (label, cell.setting)))
            found.append(cell.model_copy(update={"setting": told}) if label else cell)
        return found


def _apart(read: Sequence[tuple[Result, Path]]) -> list[Result]:
    """Give runs of one name other names where they have several recipes in one place: by their folder, or the recipe.

    A recipe's hash covers its seed, so the seeds of one run are distinguished by their numbers.
    """
    runs: dict[str, list[tuple[Result, Path]]] = defaultdict(list)
    for row, file in read:
        runs[run_label(row)].append((row, file))
    endings: dict[str, dict[Path, str] | None] = {}
    for name, own in runs.items():
        if _conflict([row for row, _ in own]):
            files = list(dict.fromkeys(file for _, file in own))
            alone = all(not _conflict([row for row, file in own if file == one]) for one in files)
            endings[name] = _places(files) if alone and len(files) > 1 else None
    found = []
    for row, file in read:
        name = run_label(row)
        if name in endings:
            places = endings[name]
            told = places[file] if places else f"recipe {row.recipe_hash[:8]}"
            row = row.model_copy(update={"run": f"{name} ({told})"})  # noqa: PLW2901
        found.append(row)
    return found


def _conflict(rows: Sequence[Result]) -> bool:
    """Whether two recipes made one figure."""
    recipes: dict[tuple[object, ...], str] = {}
    for row in rows:
        place = (row.task, row.language, row.split, row.metric, row.settings, row.seed)
        if row.recipe_hash and recipes.setdefault(place, row.recipe_hash) != row.recipe_hash:
            return True
    return False


def _places(files: Sequence[Path]) -> dict[Path, str]:
    """The shortest names of files, without the folders that all are in."""
    plain = {f: (f.parent if f.name == results.FILE_NAME else f.with_suffix("")).resolve() for f in files}
    common = os.path.commonpath([place.parent for place in plain.values()])
    return {file: place.relative_to(common).as_posix() for file, place in plain.items()}
