"""Read data in memory, whatever holds them, by rows or columns; and put results back beside them.

=================================================  ==============================  ==================================
given                                              read as                         results go back into
=================================================  ==============================  ==================================
a pandas frame                                     :class:`PandasFrame`            a copy, with its index and types
a polars frame, eager or lazy                      :class:`PolarsFrame`            a polars frame, eager or lazy
a ``pyarrow.Table``                                :class:`ArrowTable`             a ``pyarrow.Table``
a ``datasets.Dataset``                             :class:`HeldDataset`            a pandas frame
a dictionary of lists                              :class:`ColumnTable`            a pandas frame
a list, an array, a column, a stream, an iterator  :class:`Items`                  a pandas frame
=================================================  ==============================  ==================================

No library is imported to look at an object: an object of a library exists only if somebody has imported the library.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from typing import Any

from isoglot.core.checks import levels_outside, shortened
from isoglot.core.errors import ConfigurationError
from isoglot.formats.given_row import free_names
from isoglot.formats.plain_values import cell, class_names, inner_value, is_a, plain

CONTAINERS = (
    "a datasets.Dataset, a pandas or polars frame, a pyarrow.Table, a dictionary of lists, or a list of "
    "dictionaries"
)
"""Objects that hold rows, as messages about other objects list them."""
_AT_ONCE = 10_000
"""Values of a column of Arrow, polars or a data set that become Python objects at a time."""


class RowTable:
    """Rows of a table: columns with names, all of the same length.

    Values that are read are plain Python (:func:`plain`); values of columns that only pass through stay as they are.

    Attributes:
        data: The object that was given, which is only read.
        name: What messages call it.
        names: Names of the columns: texts, or numbers and tuples where a frame has these.
    """

    def __init__(self, data: Any, name: str, names: Iterable[Any], length: int) -> None:
        self.data, self.name, self.names, self._length = data, name, list(names), length

    def __len__(self) -> int:
        return self._length

    def values(self, column: Any) -> Iterable[Any]:
        """The values of a column as the object holds them."""
        raise NotImplementedError

    def with_columns(self, columns: Mapping[str, Sequence[Any]], examples: Mapping[str, Any]) -> Any:
        """Return the data with more columns; by default as a pandas frame.

        ``examples``: A value for each new column, which tells the type of a column without rows.
        """
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        frame = pd.DataFrame({column: list(self.values(column)) for column in self.names})
        return PandasFrame(frame, self.name).with_columns(columns, examples)

    def has(self, column: Any) -> bool:
        """Whether there is a column of this name; for ``translation.en``, also whether there is ``translation``."""
        return column in self.names or _head(column) in self.names

    def column(self, column: Any) -> Iterator[Any]:
        """The values of a column as plain Python; ``translation.en`` looks into dictionaries.

        Raises:
            ConfigurationError: Several columns have the name, or a value is bytes that are not UTF-8.
        """
        held = column if column in self.names else _head(column)
        if (count := self.names.count(held)) > 1:
            raise ConfigurationError(
                f"{self.name}: {count} columns are called {held!r}; rename all but one of them"
            )
        inside = [] if held == column else str(column).split(".")[1:]
        for number, value in enumerate(self.values(held), 1):
            # Most values are texts: no name for messages is made for them.
            if type(value) is str and not inside:
                yield value
                continue
            yield inner_value(cell(value, f"row {number}: column {held!r}"), inside, f"row {number}")

    def records(self) -> Iterator[dict[Any, Any]]:
        """Each row by the names of its columns, with its values as the object holds them."""
        if not self.names:
            return iter([{} for _ in range(len(self))])
        columns = [self.values(name) for name in self.names]
        return (dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True))


class PandasFrame(RowTable):
    """A pandas frame, or one that behaves as such; columns may be called by numbers or by tuples."""

    def __init__(self, data: Any, name: str) -> None:
        super().__init__(data, name, data.columns, len(data))

    def values(self, column: Any) -> Iterable[Any]:
        """The values of the first column that is called so."""
        series: Iterable[Any] = self.data.iloc[:, self.names.index(column)]
        return series

    def with_columns(self, columns: Mapping[str, Sequence[Any]], examples: Mapping[str, Any]) -> Any:
        """Copy the frame with its index; if columns are called by tuples, so are new ones: ``("prediction", "")``."""
        frame, levels = self.data.copy(), self.data.columns.nlevels
        for column, values in columns.items():
            # A list has no index, so values go to rows by their order.
            new = list(values) if len(values) else _no_rows(examples[column])
            frame[column if levels == 1 else (column, *[""] * (levels - 1))] = new
        return frame


class PolarsFrame(RowTable):
    """A polars frame; a lazy one is computed once, and given back as a lazy one."""

    def __init__(self, data: Any, name: str) -> None:
        self._lazy = hasattr(data, "collect")
        self._frame = data.collect() if self._lazy else data
        super().__init__(data, name, self._frame.columns, self._frame.height)

    def values(self, column: Any) -> Iterable[Any]:
        """Yield the values."""
        series = self._frame[column]
        for start in range(0, len(series), _AT_ONCE):
            yield from series.slice(start, _AT_ONCE).to_list()

    def with_columns(self, columns: Mapping[str, Sequence[Any]], examples: Mapping[str, Any]) -> Any:
        """Make a polars frame, lazy if this one is."""
        polars = sys.modules["polars"]
        new_columns = []
        for column, values in columns.items():
            # Without rows, the example tells the type of the column, and `head` removes it again.
            series = polars.Series(column, _lists(values or [examples[column]]), strict=False)
            new_columns.append(series.head(len(values)))
        frame = self._frame.with_columns(new_columns)
        return frame.lazy() if self._lazy else frame


class ArrowTable(RowTable):
    """A ``pyarrow.Table``."""

    def __init__(self, data: Any, name: str) -> None:
        super().__init__(data, name, data.column_names, data.num_rows)

    def values(self, column: Any) -> Iterable[Any]:
        """Yield the values."""
        for batch in self.data.select([self.names.index(column)]).to_batches(_AT_ONCE):
            yield from batch.column(0).to_pylist()

    def with_columns(self, columns: Mapping[str, Sequence[Any]], examples: Mapping[str, Any]) -> Any:
        """Make a table, with the metadata of this one."""
        arrow = sys.modules["pyarrow"]
        table = self.data
        for column, values in columns.items():
            # Without rows, the example tells the type of the column, and `slice` removes it again.
            array = arrow.array(_lists(values or [examples[column]]))
            table = table.append_column(column, array.slice(0, len(values)))
        return table


class HeldDataset(RowTable):
    """A ``datasets.Dataset``, of which only the columns that are asked for are decoded; classes are read by name."""

    def __init__(self, data: Any, name: str) -> None:
        super().__init__(data, name, data.column_names, len(data))

    def values(self, column: Any) -> Iterable[Any]:
        """Yield the values as the data set decodes them."""
        for batch in self.data.select_columns([column]).iter(_AT_ONCE):
            yield from batch[column]

    def column(self, column: Any) -> Iterator[Any]:
        """The values as plain Python, with names in the place of numbers of classes."""
        values = super().column(column)
        feature = self.data.features.get(column)
        return values if feature is None else class_names(feature, values)

    def records(self) -> Iterator[dict[Any, Any]]:
        """The rows as the data set decodes them."""
        return iter(self.data)


class ColumnTable(RowTable):
    """A dictionary of lists."""

    def __init__(self, data: Mapping[Any, Any], name: str) -> None:
        self._columns: dict[Any, list[Any]] = {}
        for column, values in data.items():
            if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
                raise ConfigurationError(
                    f"{name}: column {column!r} is {shortened(values)}, not a list; a dictionary holds a list for "
                    "each column, and one row is written [{...}]"
                )
            self._columns[column] = list(_items_of(values))
        lengths = {column: len(values) for column, values in self._columns.items()}
        if len({*lengths.values()}) > 1:
            listed = ", ".join(f"{column!r} has {length:,}" for column, length in lengths.items())
            raise ConfigurationError(f"{name}: columns need the same number of rows, but {listed}")
        super().__init__(data, name, lengths, max(lengths.values(), default=0))

    def values(self, column: Any) -> Iterable[Any]:
        """The items of the list."""
        return self._columns[column]


class RecordTable(RowTable):
    """Dictionaries, of which each is a row; a key that a row lacks is a missing value."""

    def __init__(self, data: Iterable[Mapping[Any, Any]], name: str) -> None:
        rows, names = list(data), dict[Any, None]()
        for number, row in enumerate(rows, 1):
            if not isinstance(row, Mapping):
                raise ConfigurationError(
                    f"{name}: row {number}: got {shortened(row)}, but other rows are dictionaries; make all rows alike"
                )
            names |= dict.fromkeys(row)
        super().__init__(rows, name, names, len(rows))

    def values(self, column: Any) -> Iterable[Any]:
        """The value of each row, None where it has none."""
        return [row.get(column) for row in self.data]

    def records(self) -> Iterator[dict[Any, Any]]:
        """Copies of the rows."""
        return map(dict, self.data)


class Items:
    """Rows that have no columns of their own: pairs, texts, dictionaries; in a list, or from a stream.

    ``length`` is None for a stream, which is read as rows are taken from it.
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self.length = len(data) if isinstance(data, Sized) else None

    def __iter__(self) -> Iterator[Any]:
        return iter(_items_of(self.data))


def rows_of(data: Any, name: str = "data") -> RowTable | Items:
    """Read the rows of any object that holds rows: a table by its columns, everything else item by item.

    Args:
        data: See the table above.
        name: What messages call the data.

    Raises:
        ConfigurationError: The object holds no rows, such as a text or a number.

    Example:
        >>> table = rows_of({"text": ["a river", b"a horse"], "stars": [5, 1]})
        >>> table.names, list(table.column("text")), len(table)
        (['text', 'stars'], ['a river', 'a horse'], 2)
    """
    if is_a(data, "datasets", "Dataset"):
        return HeldDataset(data, name)
    if is_a(data, "polars", "DataFrame") or is_a(data, "polars", "LazyFrame"):
        return PolarsFrame(data, name)
    if is_a(data, "pyarrow", "Table"):
        return ArrowTable(data, name)
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas, and what behaves as pandas
        return PandasFrame(data, name)
    if is_a(data, "datasets", "DatasetDict"):
        raise ConfigurationError(
            f"{name}: got the splits {', '.join(data)}; pass one of them, such as data[{next(iter(data), '')!r}]"
        )
    if isinstance(data, Mapping):
        return ColumnTable(data, name)
    if isinstance(data, str | bytes) or not hasattr(data, "__iter__"):
        raise ConfigurationError(f"{name}: got {shortened(data)}; pass {CONTAINERS}")
    return Items(data)


def table_of(data: Any, name: str, columns: Sequence[str] = ()) -> RowTable:
    """Read the rows of any object by columns; ``columns`` names the items of rows that are tuples.

    Example:
        >>> list(table_of([("a", "b")], "data", ("first", "second")).column("second"))
        ['b']
    """
    rows = rows_of(data, name)
    if isinstance(rows, RowTable):
        return rows
    if isinstance(data, Set):
        raise ConfigurationError(f"{name}: got {shortened(data)}, a set without an order; pass {CONTAINERS}")
    items = list(rows)
    if columns and items and all(isinstance(row, tuple) and len(row) == len(columns) for row in items):
        return RecordTable([dict(zip(columns, row, strict=True)) for row in items], name)
    if items and not any(isinstance(row, Mapping) for row in items):
        pairs = f" or of ({', '.join(columns)}) pairs" if columns else ""
        raise ConfigurationError(f"{name}: got {shortened(items)}; pass {CONTAINERS}{pairs}")
    return RecordTable(items, name)


def result_names(names: Sequence[str], taken: Sequence[Any], what: str) -> list[str]:
    """Name results so that the columns of the data keep their names.

    A result whose name is taken gets a number behind it (:func:`isoglot.formats.given_row.free_names`), and a warning
    says so.

    Args:
        names: Names of the results.
        taken: Columns of the data.
        what: What the warning calls the results.

    Example:
        >>> result_names(["prediction", "probability"], ["text", "label"], "results")
        ['prediction', 'probability']
    """
    used = {column[0] if isinstance(column, tuple) else column for column in taken}
    free = free_names(names, used)
    renamed = [f"{new!r}" for name, new in zip(names, free, strict=True) if new != name]
    if renamed:
        kept = ", ".join(repr(name) for name in names if name in used)
        warnings.warn(
            f"the data have columns called {kept}, which are kept; those of the {what} are called {', '.join(renamed)}",
            stacklevel=levels_outside(),
        )
    return free


def _head(column: Any) -> Any:
    return column.split(".")[0] if isinstance(column, str) else column


def _items_of(values: Iterable[Any]) -> Iterable[Any]:
    """The items of a list, stream or column; a column of Arrow as plain Python values."""
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def _no_rows(example: Any) -> Any:
    """Make a pandas column without rows, of the type of a column with this value."""
    import pandas as pd  # noqa: PLC0415 - whoever has a frame of pandas has it

    return pd.Series([example]).array[:0]


def _lists(values: Sequence[Any]) -> list[Any]:
    """Replace tuples among values by lists: columns of Arrow and polars know no tuples."""
    return [plain(value) if isinstance(value, list | tuple) else value for value in values]
