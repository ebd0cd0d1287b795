"""Labelled data in memory: data sets and data frames in place of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, LargeList, List, Value

from isoglot.checks import shortened
from isoglot.errors import ConfigurationError
from isoglot.formats.labelled.hub import column_values
from isoglot.formats.labelled.sources import DataSource, Location
from isoglot.formats.labelled.splits import COLUMN_NAMES, SPLIT, split_of
from isoglot.languages import codes

_EXTRA = ("id", "article", SPLIT)
"""Columns that are read where they are there: translations share an id, questions an article."""
_OPTIONAL = ("language", "source_language", "target_language", "possible")


@dataclass(frozen=True)
class MemorySource(DataSource):
    """Data sets in memory, by language and split; empty ones stand for all languages, or all splits."""

    tables: Mapping[tuple[str, str], Dataset] = field(default_factory=dict)

    def find(self, language: str, split: str) -> list[Location]:
        """The data set of a language and split."""
        tags = {"", *codes(language), language}
        for (tag, part), rows in self.tables.items():
            if part in ("", split) and tag in tags:
                name = f"data of {tag or 'any language'}{f', {part}' * bool(part)}"
                return [Location(name, rows=rows)]
        raise ConfigurationError(
            f"no {split} data for {language!r}, got {self.describe()}; pass data={{{language!r}: rows}}"
        )


def dataset_of(data: Any, name: str, columns: Sequence[str]) -> Dataset:
    """A data set, a pandas frame, a dictionary of lists, a list of dictionaries, or of tuples of the columns.

    ``name``: What messages call it.
    """
    rows = data if isinstance(data, list) and data else []
    try:
        if isinstance(data, Dataset):
            return data
        if hasattr(data, "iloc"):  # a pandas frame, without an import of pandas
            return Dataset.from_pandas(data, preserve_index=False)
        if isinstance(data, Mapping):
            return Dataset.from_dict({column: list(values) for column, values in data.items()})
        if rows and all(isinstance(row, Mapping) for row in rows):
            return Dataset.from_list([dict(row) for row in rows])
        if rows and all(isinstance(row, tuple) and len(row) == len(columns) for row in rows):
            return Dataset.from_list([dict(zip(columns, row, strict=True)) for row in rows])
    except (TypeError, ValueError) as error:  # columns of other lengths or types
        raise ConfigurationError(f"{name}: cannot be read as a table ({error})") from error
    raise ConfigurationError(
        f"{name}: got {shortened(data)}; pass a datasets.Dataset, a pandas frame, a dictionary of lists, or a list of "
        f"dictionaries or of ({', '.join(columns)}) pairs"
    )


def data_source(data: Any, task: Any, columns: Mapping[str, str] | None = None) -> DataSource:
    """Where a task finds its data.

    Args:
        data: A path, template or hub name as ``--data`` takes it, or several; or data in memory, see
            :func:`memory_source`.
        task: The task or its class, whose ``schema`` says which columns it reads.
        columns: Column of the schema to its name in data in memory.
    """
    specs = [data] if isinstance(data, str | Path) else data
    if isinstance(data, DataSource):
        return data
    if isinstance(specs, Sequence) and all(isinstance(spec, str | Path) for spec in specs):
        if columns:
            raise ConfigurationError(
                f"columns={', '.join(columns)} is for data in memory, not for the path {', '.join(map(str, specs))}; "
                "read the file with datasets.load_dataset or pandas"
            )
        return DataSource(tuple(map(str, specs)))
    if not hasattr(task, "schema"):
        raise ConfigurationError(
            f"task {getattr(task, 'name', task)} has no `schema`, the columns of data in memory; give a path"
        )
    return memory_source(data, task.schema, columns)


def memory_source(data: Any, schema: Features, columns: Mapping[str, str] | None = None) -> MemorySource:
    """Data in memory as a task reads them.

    Args:
        data: A ``datasets.Dataset`` or pandas frame; or a mapping from languages or splits to such, in any nesting.
        schema: Columns that the task needs; the others are left alone.
        columns: Column of the schema to the name that it has in the data.

    Raises:
        ConfigurationError: A column is missing, or the data are of another kind.
    """
    tables = {key: with_schema(rows, schema, columns) for key, rows in _flat(data, "", "")}
    if not tables:
        raise ConfigurationError("no data; pass data={'de': rows}")
    # what is of one language or split comes before what is of any
    order = sorted(tables, key=lambda key: (not key[0], not key[1]))
    names = [f"{' '.join(filter(None, key)) or 'all'} ({len(tables[key])} rows)" for key in order]
    return MemorySource(tuple(names), {key: tables[key] for key in order})


def _flat(data: Any, language: str, split: str) -> list[tuple[tuple[str, str], Dataset]]:
    """Each data set of nested mappings, with its language and split."""
    if isinstance(data, Mapping):
        tables = []
        for key, inner in data.items():
            part = split_of(key)
            tables += _flat(inner, str(key), split) if part is None else _flat(inner, language, part)
        return tables
    if hasattr(data, "iloc"):  # a pandas frame, without an import of pandas
        data = Dataset.from_pandas(data, preserve_index=False)
    if not isinstance(data, Dataset):
        raise ConfigurationError(
            f"data: got {type(data).__name__}; pass a path, a datasets.Dataset, a pandas frame, or a dict from "
            "languages to these"
        )
    if not len(data):
        raise ConfigurationError(f"data: no rows{f' of {language}' if language else ''}; pass at least one")
    return [((language, split), data)]


def with_schema(rows: Dataset, schema: Features, columns: Mapping[str, str] | None = None) -> Dataset:
    """The columns of a schema, called as it has them and with its types; names take the place of numbers of classes.

    Languages and possible links may be missing, and stay so; questions without an id are numbered. ``columns`` is as
    for :func:`memory_source`.
    """
    columns = columns or {}
    known = {**schema, **dict.fromkeys(_EXTRA, Value("string"))}
    if unknown := sorted({*columns} - {*known}):
        raise ConfigurationError(
            f"columns: unknown column {', '.join(unknown)}; the task's columns are {', '.join(schema)}"
        )
    table: dict[str, Any] = {}
    for name, feature in known.items():
        names = (columns[name],) if name in columns else COLUMN_NAMES.get(name, (name,))
        column = next((n for n in names if n in rows.features), None)
        if column is None and (flat := _flattened(rows, names[0])) is not None:
            rows, column = flat, names[0]
        if column is not None:
            if isinstance(feature, List) and not isinstance(rows.features[column], List | LargeList):
                # the library would make a list of characters
                raise ConfigurationError(
                    f"column {column!r} is {rows.features[column]}, but a list is needed; split it"
                )
            values = column_values(rows, column)
            table[name] = [str(value) for value in values] if feature == Value("string") else values
        elif name == "id" and name in schema and name not in columns:
            table[name] = list(map(str, range(len(rows))))
        elif name in columns or (name in schema and name not in _OPTIONAL):
            raise ConfigurationError(
                f"column {names[0]!r} is missing, found {', '.join(rows.features)}; name it with "
                f"columns={{{name!r}: 'its name in the data'}}"
            )
    try:
        return Dataset.from_dict(table, features=Features({name: known[name] for name in table}))
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(
            f"the columns {', '.join(table)} do not have the types that the task reads ({error}); convert them"
        ) from error


def _flattened(rows: Dataset, name: str) -> Dataset | None:
    """The rows with a column ``translation.en`` of the column ``translation``, if it holds dictionaries with it."""
    first, _, rest = name.partition(".")
    if not rest or first not in rows.features:
        return None
    flat = rows.select_columns([first]).flatten()
    return rows.add_column(name, flat[name][:]) if name in flat.features else None


def with_languages(rows: Dataset, source: str, target: str) -> Dataset:
    """Sentence or word pairs with the languages of both sides, where they do not name them."""
    for name, language in (("source_language", source), ("target_language", target)):
        if name not in rows.features:
            rows = rows.add_column(name, [language] * len(rows))
    return rows
