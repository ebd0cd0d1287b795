"""Name the changed sizes of a study: in a table's caption if all rows share them, else in the labels of the rows.

A cell's ``setting`` is a text of several *changes*: ``order=paper, steps=50``. Most changes are of a size of the study,
``steps=50``; a user may also give a label of their own, ``second try``.
"""

from collections.abc import Mapping, Sequence

from isoglot.results.rows import Cell

_SEPARATOR = ", "
_VARIANT = "variant"
"""The variant of a study is no size, but is named among the changes: ``variant=literal``."""


class SizeChanges:
    """The changes of all cells of a table.

    One study ran with ``order=paper, steps=50``, another one with ``order=paper``:

    1. The caption names the change that all cells share, ``order=paper``.
    2. A row of the first study is called ``XLM-Align (steps=50)``.
    3. A row that does not depend on the steps, such as fast_align's, has the same name in both studies, and is one row.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._size_names = {name for cell in cells for name in cell.sizes} | {_VARIANT}
        # The sizes that each row depends on: those of all its cells together. One cell may depend on `steps` alone, its
        # neighbour on `alpha` too.
        self._sizes_of_row: dict[tuple[tuple[str, ...], str, str], set[str]] = {}
        for cell in cells:
            self._sizes_of_row.setdefault(_row_in_study(cell), {_VARIANT}).update(cell.sizes)
        settings = dict.fromkeys(cell.setting for cell in cells)
        first, *others = [_changes_in(setting) for setting in settings]
        self.shared: list[str] = []
        for change in first:
            if self._is_of_size(change) and all(change in other for other in others):
                self.shared.append(change)

    def of(self, cell: Cell) -> str:
        """Return the text that the label of the cell's row shows in brackets: ``steps=50``; often empty.

        It has the labels that a user gave, and the changes of sizes that the row depends on, without the shared ones.
        """
        sizes_of_row = self._sizes_of_row[_row_in_study(cell)]
        shown = []
        for change in _changes_in(cell.setting):
            is_users_label = not self._is_of_size(change)
            concerns_row = _size_of(change) in sizes_of_row
            if is_users_label or (concerns_row and change not in self.shared):
                shown.append(change)
        return _SEPARATOR.join(shown)

    def _is_of_size(self, change: str) -> bool:
        """Whether a change is one of a size, ``steps=50``; otherwise it is a label that a user gave."""
        return "=" in change and _size_of(change) in self._size_names


def size_list(cells: Sequence[Cell], changes: SizeChanges) -> str:
    """List every size that the cells ran with; empty if no cell has sizes.

    Sizes that are equal in all settings come first, then those of each setting that differ:
    ``Sizes (in brackets: at scale paper): layers 4 (12); steps=50: steps 50 (1000); unchanged: steps 100 (1000).``
    """
    sizes_by_setting: dict[str, dict[str, object]] = {}
    paper_sizes: dict[str, object] = {}
    # All names, in the order of the study. Each cell has only some of them, in this order.
    names: list[str] = []
    for cell in cells:
        if not cell.sizes:
            continue
        sizes_by_setting.setdefault(cell.setting, {}).update(cell.sizes)
        paper_sizes |= cell.paper_sizes
        _insert(names, list(cell.sizes))
    if not sizes_by_setting:
        return ""

    def listed(names: Sequence[str], sizes: Mapping[str, object]) -> str:
        """Write ``layers 4 (12), steps 50``, with the paper's size in brackets where it differs."""
        texts = []
        for name in names:
            size = sizes[name]
            paper_size = paper_sizes.get(name, size)
            texts.append(f"{name} {size} ({paper_size})" if paper_size != size else f"{name} {size}")
        return ", ".join(texts)

    first, *others = sizes_by_setting.values()

    def is_shared(name: str) -> bool:
        return name in first and all(name in other and other[name] == first[name] for other in others)

    shared = [name for name in names if is_shared(name)]
    parts = [listed(shared, first)]
    for setting, sizes in sizes_by_setting.items():
        differing = [name for name in names if name in sizes and name not in shared]
        if differing:
            title = _SEPARATOR.join(change for change in _changes_in(setting) if change not in changes.shared)
            parts.append(f"{title or 'unchanged'}: {listed(differing, sizes)}")
    heading = "Sizes (in brackets: at scale paper)" if paper_sizes else "Sizes"
    return f"{heading}: {'; '.join(filter(None, parts))}."


def _insert(names: list[str], more: Sequence[str]) -> None:
    """Insert the new ones among ``more`` into ``names``, each behind the name that it follows in ``more``.

    Example:
        >>> names = ["layers", "steps"]
        >>> _insert(names, ["layers", "alpha", "steps", "beta"])
        >>> names
        ['layers', 'alpha', 'steps', 'beta']
    """
    place = 0
    for name in more:
        if name in names:
            place = names.index(name) + 1
        else:
            names.insert(place, name)
            place += 1


def _row_in_study(cell: Cell) -> tuple[tuple[str, ...], str, str]:
    """Return the three fields that cells of one row of one study share.

    In the table, rows of two studies may still become one row: rule 3 of :class:`SizeChanges`.
    """
    return cell.row, cell.run, cell.setting


def _changes_in(setting: str) -> list[str]:
    """Split a setting into its changes: ``order=paper, steps=50`` has two, an empty setting none."""
    return setting.split(_SEPARATOR) if setting else []


def _size_of(change: str) -> str:
    """Return the name of the size that a change is about: ``steps`` of ``steps=50``."""
    return change.partition("=")[0]
