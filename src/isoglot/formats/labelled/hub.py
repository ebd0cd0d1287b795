"""Read data sets of the Hugging Face hub: find the configuration of a language, and the columns of a schema.

Only data files are read, never a loading script (``datasets`` no longer runs them): the data sets named by the tasks
are in Parquet. Each can be replaced by another of the same columns: ``--data hub:NAME`` or ``hub:NAME:CONFIG``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import datasets
from datasets import Dataset, Features, Value

from isoglot.core.errors import ConfigurationError, InputError, reason
from isoglot.core.languages import same_language
from isoglot.formats.labelled.sources import Location, filled
from isoglot.formats.labelled.splits import split_names
from isoglot.formats.plain_values import class_names


@dataclass(frozen=True)
class HubSpec:
    """The name, configuration and columns of a task's data set on the hub.

    The configuration is a template with ``{language}``, ``{language3}`` (all ISO 639-3 codes of the language are
    tried), ``{code}`` (these with the script, ``deu_Latn``) and ``{name}`` (its English name); ``{context}`` and
    ``{question}`` for crossed languages. For a bitext (:func:`read_hub_sides`) ``columns`` has the key ``text`` alone:
    the column of one side, which may be a template too, ``sentence_{code}``.
    """

    name: str
    config: str | None
    columns: Mapping[str, str]  # column of the schema to column of the data set
    # Our split to theirs, if theirs has no usual name.
    splits: Mapping[str, str] = field(default_factory=dict)


def read_hub(location: Location, spec: HubSpec, schema: Features, *, language: str, split: str) -> Dataset:
    """Load a data set of the hub and give it the schema's columns; class numbers become their names."""
    name, rows = _load(location, spec, language, split)
    if "language" in schema and "language" in rows.features:
        tags = column_values(rows, "language")
        rows = rows.select([i for i, tag in enumerate(tags) if same_language(str(tag), language)])
        if not len(rows):
            raise InputError(
                f"holds no row in {language!r}; the languages there are {', '.join(sorted({*map(str, tags)}))}",
                path=name,
            )
    columns: dict[str, Any] = {}
    for column in schema:
        if column == "language":
            columns[column] = [language] * len(rows)
            continue
        # The data set's own name of the column, or ours.
        usual = spec.columns.get(column, column)
        source = usual if usual in rows.features else column
        if source not in rows.features:
            raise ConfigurationError(
                f"{name}: {usual!r} is needed for {column!r}; it has {', '.join(rows.features)}; give another data set"
            )
        values = column_values(rows, source)
        columns[column] = [str(v) for v in values] if schema[column] == Value("string") else values
    return Dataset.from_dict(columns, features=schema)


def read_hub_sides(
    location: Location, spec: HubSpec, *, languages: tuple[str, str], split: str
) -> tuple[list[str], list[str]]:
    """Load the texts of two languages, line by line."""
    sides = []
    for language in languages:
        name, rows = _load(location, spec, language, split, sides=True)
        candidates = [*filled(spec.columns["text"], language, split), "text", "sentence"]
        column = next((c for c in candidates if c in rows.features), None)
        if column is None:
            raise InputError(
                f"hub data set {name} has no column {' or '.join(candidates)} for {language!r}; there are "
                f"{', '.join(list(rows.features)[:8])}: give another data set, or download it and give its files"
            )
        sides.append([str(text) for text in column_values(rows, column)])
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"hub data set {name}: {len(sides[0])} and {len(sides[1])} lines; line i must translate line i"
        )
    return sides[0], sides[1]


def _load(
    location: Location, spec: HubSpec, language: str, split: str, *, sides: bool = False
) -> tuple[str, Dataset]:
    """Load the first configuration and split that the hub has; return the name of the data set and its rows.

    Name and configuration are those of ``hub:NAME:CONFIG``, by default those of the spec.

    ``sides``: A data set that the user names has the spec's configurations too.
    """
    _, _, behind_hub = location.path.partition(":")  # `NAME:CONFIG` of `hub:NAME:CONFIG`
    named, _, named_config = behind_hub.partition(":")
    name = named or spec.name
    first_reason = ""
    template = named_config or (spec.config if sides or not named else None)
    configs: list[str | None] = [*filled(template, language, split)] if template else [None]
    for config in configs:
        for split_there in dict.fromkeys([spec.splits.get(split, split), *split_names(split)]):
            try:
                return name, datasets.load_dataset(name, config, split=split_there)
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                first_reason = first_reason or reason(error)
    tried = " or ".join(config or "default" for config in configs)
    raise InputError(
        f"the data set {name!r} ({tried}) is not available from the hub ({first_reason}); check the name and the "
        "connection, log in (`hf auth login`), or download it and give [[data=FOLDER]]"
    )


def column_values(rows: Dataset, column: str) -> list[Any]:
    """Read a column; numbers of classes become names, and ``answer_start`` of answers becomes ``start``."""
    values: list[Any] = list(rows[column])
    if None in values:
        raise InputError(
            f"row {values.index(None) + 1} of the data set has no {column!r}; fill it in, or leave the row out"
        )
    if values and isinstance(values[0], dict) and "answer_start" in values[0]:
        return [{"text": list(v["text"]), "start": list(v["answer_start"])} for v in values]
    return list(class_names(rows.features[column], values))
