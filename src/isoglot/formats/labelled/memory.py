"""Read labelled data in memory, in place of files: the rows of a task, from any object that holds rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, List, Value

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import codes
from isoglot.formats.labelled.sources import DataSource, Location
from isoglot.formats.labelled.splits import COLUMN_NAMES, SPLIT, split_of
from isoglot.formats.rows import PandasFrame, RowTable, rows_of, table_of

_EXTRA = ("id", "article", SPLIT)
"""Columns that are read if they are there: translations share an id, questions an article."""
_OPTIONAL = ("language", "source_language", "target_language", "possible")
_LABEL = "label"
_TABLES_HAVE = ("collect", "columns", "column_names")
"""Attributes of tables and not of lists; a lazy frame of polars, which has the first, warns of the second."""


@dataclass(frozen=True)
class MemorySource(DataSource):
    """Data sets in memory, by language and split; an empty language or split stands for all.

    ``label_values``: Labels that are numbers, or true and false, by their texts: the head of a model has texts.
    """

    tables: Mapping[tuple[str, str], Dataset] = field(default_factory=dict)
    label_values: Mapping[str, Any] = field(default_factory=dict)

    def find(self, language: str, split: str) -> list[Location]:
        """The data set of a language and split."""
        tags = {"", *codes(language), language}
        for (tag, split_of_rows), rows in self.tables.items():
            if split_of_rows in ("", split) and tag in tags:
                name = f"data of {tag or 'any language'}"
                if split_of_rows:
                    name += f", {split_of_rows}"
                return [Location(name, rows=rows)]
        raise ConfigurationError(
            f"no {split} data for {language!r}, got {self.describe()}; pass data={{{language!r}: rows}}"
        )


def dataset_of(data: Any, name: str, columns: Sequence[str]) -> Dataset:
    """Make a data set of all columns of any object that :func:`isoglot.formats.rows.table_of` reads.

    ``name``: Name of the object in messages.
    """
    if isinstance(data, Dataset):
        return data
    rows = table_of(data, name, columns)
    try:
        if isinstance(rows, PandasFrame) and len({*map(str, rows.names)}) == len(rows.names):
            named = data.set_axis(list(map(str, rows.names)), axis="columns")
            return Dataset.from_pandas(named, preserve_index=False)  # without a Python object for each value
        return Dataset.from_dict({str(column): list(rows.column(column)) for column in rows.names})
    except (TypeError, ValueError) as error:  # values of several types in a column
        raise ConfigurationError(f"{name}: cannot be read as a table ({error})") from error


def data_source(data: Any, task: Any, columns: Mapping[str, Any] | None = None) -> DataSource:
    """Make the source in which a task finds its data, from any form in which a user gives them.

    Args:
        data: A path, template or hub name as ``--data`` takes it, several, or one for each split (``{"dev": PATH}``);
            or data in memory, see :func:`memory_source`.
        task: The task or its class, whose ``schema`` says which columns it reads.
        columns: Column of the schema to its name in data in memory.
    """
    specs = [data] if isinstance(data, str | Path) else data
    if isinstance(data, Mapping) and data and all(map(_is_path_of_split, data.items())):
        specs = [f"{split_of(key)}={path}" for key, path in data.items()]  # as --data train=PATH
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


def _is_path_of_split(item: tuple[Any, Any]) -> bool:
    name, path = item
    return split_of(name) is not None and isinstance(path, str | Path)


def memory_source(data: Any, schema: Features, columns: Mapping[str, Any] | None = None) -> MemorySource:
    """Make a source of data in memory.

    Args:
        data: Rows as :func:`isoglot.formats.rows.rows_of` reads them; or a mapping from languages or splits to such, in
            any nesting.
        schema: Columns that the task needs; the others are left alone.
        columns: Column of the schema to the name that it has in the data.

    Raises:
        ConfigurationError: A column is missing, a value is missing, or the data are of another kind.
    """
    tables: dict[tuple[str, str], Dataset] = {}
    labels: dict[str, Any] = {}
    heads = {str(name).split(".")[0] for name in (columns or {}).values()}
    for key, rows in _flat(data, "", "", heads):
        values = schema_values(rows, schema, columns)
        _add_labels(labels, values.get(_LABEL, ()) if _is_text(schema.get(_LABEL)) else ())
        tables[key] = as_dataset(values, schema)
    if not tables:
        raise ConfigurationError("no data; pass data={'de': rows}")
    # `find` takes the first data that fit: data of one language come before those of all, and so do those of one split.
    order = sorted(tables, key=lambda key: (not key[0], not key[1]))
    names = [f"{' '.join(filter(None, key)) or 'all'} ({len(tables[key])} rows)" for key in order]
    values = {text: value for text, value in labels.items() if not isinstance(value, str)}
    return MemorySource(tuple(names), {key: tables[key] for key in order}, values)


def _flat(data: Any, language: str, split: str, heads: set[str]) -> list[tuple[tuple[str, str], RowTable]]:
    """List the tables of nested mappings, each with its language and split.

    ``{"de": {"dev": rows}}`` is ``[(("de", "dev"), rows)]``; so is ``{"dev": {"de": rows}}``. A key that is the name of
    a split is one, any other key is a language.

    ``heads``: Columns that the user names; a mapping that has one is a table.
    """
    if isinstance(data, Mapping) and not _is_table(data, heads):
        tables = []
        for key, inner in data.items():
            split_of_key = split_of(key)
            if split_of_key is None:
                tables += _flat(inner, str(key), split, heads)
            else:
                tables += _flat(inner, language, split_of_key, heads)
        return tables
    rows = table_of(data, "data")
    if not len(rows):
        raise ConfigurationError(f"data: no rows{f' of {language}' if language else ''}; pass at least one")
    return [((language, split), rows)]


def _is_table(data: Mapping[Any, Any], heads: set[str]) -> bool:
    """Whether a mapping holds columns, ``{"text": [...]}``, rather than the data of languages, ``{"de": rows}``.

    Rows of a language are a table or a list of dictionaries; a column is a list of anything else, or one that is named.
    """
    if not heads.isdisjoint(map(str, data)):
        return True
    for values in data.values():
        if isinstance(values, str | bytes):
            return True  # one row, which is refused
        if isinstance(values, Mapping) or any(hasattr(values, name) for name in _TABLES_HAVE):
            continue
        if hasattr(values, "__len__") and hasattr(values, "__iter__"):
            first: Any = next(iter(values), {})
            if not isinstance(first, Mapping):
                return True
    return False


def with_schema(rows: Dataset, schema: Features, columns: Mapping[str, Any] | None = None) -> Dataset:
    """Select the columns of a schema, under its names and with its types; numbers of classes become names.

    Languages and possible links may be missing, and stay so; questions without an id are numbered. ``columns`` is as
    for :func:`memory_source`.
    """
    table = rows_of(rows)
    if not isinstance(table, RowTable):
        raise TypeError(f"expected a data set, got {type(rows).__name__}")
    return as_dataset(schema_values(table, schema, columns), schema)


def require_known(columns: Mapping[str, Any], schema: Features) -> None:
    """Refuse names for columns that the schema does not have."""
    if unknown := sorted({*columns} - {*schema, *_EXTRA}):
        raise ConfigurationError(
            f"columns: unknown column {', '.join(unknown)}; the task's columns are {', '.join(schema)}"
        )


def schema_values(
    rows: RowTable,
    schema: Features,
    columns: Mapping[str, Any] | None = None,
    *,
    also: Sequence[str] = _EXTRA,
) -> dict[str, list[Any]]:
    """Read the values of each column of a schema that rows have, as plain Python.

    ``also``: Further columns, which are read if they are there.

    Raises:
        ConfigurationError: A column that is needed or named is missing.
        InputError: A value is missing.
    """
    columns = columns or {}
    require_known(columns, schema)
    known = {**schema, **dict.fromkeys(also, Value("string"))}
    values: dict[str, list[Any]] = {}
    for name, feature in known.items():
        names = (columns[name],) if name in columns else COLUMN_NAMES.get(name, (name,))
        column = next((candidate for candidate in names if rows.has(candidate)), None)
        if column is not None:
            values[name] = _checked_values(rows, column, feature)
        elif name == "id" and name in schema and name not in columns:
            values[name] = list(map(str, range(len(rows))))  # questions without an id are numbered
        elif name in columns or (name in schema and name not in _OPTIONAL):
            raise ConfigurationError(
                f"column {names[0]!r} is missing, found {', '.join(map(str, rows.names))}; name it with "
                f"columns={{{name!r}: 'its name in the data'}}"
            )
    return values


def _is_text(feature: Any) -> bool:
    return bool(feature == Value("string"))


def _checked_values(rows: RowTable, column: Any, feature: Any) -> list[Any]:
    """Read the values of a column; refuse missing values, a text in place of a list, and a list in place of a text."""
    values = list(rows.column(column))
    for number, value in enumerate(values, 1):
        if value is None:
            raise InputError(
                f"row {number} of the data set has no {column!r}; fill it in, or leave the row out"
            )
        # The `datasets` library would turn a text into a list of characters.
        if isinstance(feature, List) and not isinstance(value, list):
            raise ConfigurationError(
                f"column {column!r} is {type(value).__name__}, but a list is needed; split it"
            )
        if _is_text(feature) and isinstance(value, list | dict):
            raise ConfigurationError(
                f"row {number}: {column!r} is {shortened(value)}, but a text is needed; join it, or name another column"
            )
    # SQuAD on the hub has `answer_start`, which the schema calls `start`.
    if values and isinstance(values[0], dict) and "answer_start" in values[0]:
        return [{"text": list(value["text"]), "start": list(value["answer_start"])} for value in values]
    return values


def as_dataset(values: Mapping[str, list[Any]], schema: Features) -> Dataset:
    """Make a data set of values, with the schema's types; numbers in columns of text become text."""
    known = {**dict.fromkeys(_EXTRA, Value("string")), **schema}
    table = {
        name: list(map(str, column)) if _is_text(known[name]) else column for name, column in values.items()
    }
    try:
        return Dataset.from_dict(table, features=Features({name: known[name] for name in table}))
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(
            f"the columns {', '.join(table)} do not have the types that the task reads ({error}); convert them"
        ) from error


def _add_labels(labels: dict[str, Any], values: Sequence[Any]) -> None:
    """Note the labels of data by the text that stands for each.

    Raises:
        ConfigurationError: Two labels have the same text, such as 1 and "1", so a prediction could be either.
    """
    for value in values:
        text = str(value)
        first = labels.setdefault(text, value)
        if type(first) is not type(value):
            raise ConfigurationError(
                f"labels {first!r} and {value!r} are both in the data; make all labels of one type"
            )


def with_languages(rows: Dataset, source: str, target: str) -> Dataset:
    """Add columns with the languages of both sides to pairs that lack them."""
    for name, language in (("source_language", source), ("target_language", target)):
        if name not in rows.features:
            rows = rows.add_column(name, [language] * len(rows))
    return rows
