"""Name the changed sizes of a study: once in a table's caption if all rows share them, else in the rows' labels."""

from collections.abc import Mapping, Sequence

from isoglot.results.rows import Cell

_SEPARATOR = ", "
_VARIANT = "variant"


class SizeChanges:
    """The changes of all cells of a table, each a text such as ``steps=50``.

    Two studies, of which one ran with ``order=paper, steps=50`` and the other with ``order=paper``: the caption says
    ``order=paper``, and a row of the first is called ``XLM-Align (steps=50)``. A row that does not depend on the steps,
    such as fast_align's, has the same name in both, and is one row.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._known = {name for cell in cells for name in cell.sizes} | {_VARIANT}
        # The sizes that each row was measured with; cells of one row may depend on different sizes.
        self._used: dict[tuple[tuple[str, ...], str, str], set[str]] = {}
        for cell in cells:
            self._used.setdefault(_line(cell), {_VARIANT}).update(cell.sizes)
        first, *others = (_parts(setting) for setting in dict.fromkeys(cell.setting for cell in cells))
        self.shared = [
            part for part in first if self._is_size(part) and all(part in other for other in others)
        ]

    def of(self, cell: Cell) -> str:
        """What a cell's row is called by beside its name: a label that was given, and changes that not all share."""
        used = self._used[_line(cell)]
        shown = []
        for part in _parts(cell.setting):
            if self._is_size(part) and (part in self.shared or _name(part) not in used):
                continue
            shown.append(part)
        return _SEPARATOR.join(shown)

    def _is_size(self, part: str) -> bool:
        """Whether a part of a setting is a change of a size; else it is a label that a report was given."""
        return "=" in part and _name(part) in self._known


def size_list(cells: Sequence[Cell], changed: SizeChanges) -> str:
    """Every size that the cells ran with; of several settings, the sizes that differ after the others."""
    sizes: dict[str, dict[str, object]] = {}
    paper: dict[str, object] = {}
    names: list[str] = []  # in the order of the study, of which each cell has a part
    for cell in cells:
        if not cell.sizes:
            continue
        sizes.setdefault(cell.setting, {}).update(cell.sizes)
        paper |= cell.paper_sizes
        _insert(names, list(cell.sizes))
    if not sizes:
        return ""

    def listed(names: Sequence[str], values: Mapping[str, object]) -> str:
        texts = []
        for name in names:
            at_paper = paper.get(name, values[name])
            texts.append(f"{name} {values[name]}" + (f" ({at_paper})" if at_paper != values[name] else ""))
        return ", ".join(texts)

    first, *rest = sizes.values()
    shared = [name for name in names if name in first and all(_same(name, first, other) for other in rest)]
    parts = [listed(shared, first)]
    for setting, values in sizes.items():
        own = [name for name in names if name in values and name not in shared]
        if own:
            title = _SEPARATOR.join(part for part in _parts(setting) if part not in changed.shared)
            parts.append(f"{title or 'unchanged'}: {listed(own, values)}")
    heading = "Sizes (in brackets: at scale paper)" if paper else "Sizes"
    return f"{heading}: {'; '.join(filter(None, parts))}."


def _same(name: str, first: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return name in other and other[name] == first[name]


def _insert(names: list[str], more: Sequence[str]) -> None:
    """Put names that are new behind those that they follow."""
    place = 0
    for name in more:
        if name in names:
            place = names.index(name) + 1
        else:
            names.insert(place, name)
            place += 1


def _line(cell: Cell) -> tuple[tuple[str, ...], str, str]:
    """What cells of one row have in common."""
    return cell.row, cell.run, cell.setting


def _parts(setting: str) -> list[str]:
    return setting.split(_SEPARATOR) if setting else []


def _name(part: str) -> str:
    """The size that a change is of: ``steps`` of ``steps=50``."""
    return part.partition("=")[0]
