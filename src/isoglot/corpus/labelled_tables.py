"""Data sets that already have the columns of a task schema: JSON lines, Parquet, folders."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, Features, Value

from isoglot.core.errors import InputError, reason
from isoglot.core.languages import codes
from isoglot.corpus.manifest import is_prepared, load_corpus
from isoglot.formats.labelled.questions import ARTICLE
from isoglot.formats.labelled.splits import COLUMN_NAMES, SPLIT, SPLIT_COLUMNS, split_name, split_names
from isoglot.formats.line_files import each, numbered_objects
from isoglot.formats.schema import require

_SIDES = {"source": "target", "target": "source"}
_TURNED = _SIDES | {f"{side}_language": f"{turned}_language" for side, turned in _SIDES.items()}


def is_table(path: str) -> bool:
    """Whether a path holds a data set with named columns rather than a raw format."""
    return Path(path).is_dir() or Path(path).suffix in (".parquet", ".jsonl", ".ndjson", ".arrow")


def read_table(
    path: str, schema: Features, *, language: str, split: str, role: str, rows: Dataset | None = None
) -> Dataset:
    """Read a data set whose columns are those of a schema (``upos`` counts as ``tags``).

    ``rows``: What was read already; the path only describes it then.
    """
    if rows is None and Path(path).suffix in (".jsonl", ".ndjson"):
        table = _from_jsonl(path, schema, language)
    else:
        table = open_table(path, split) if rows is None else rows
        for column in schema.keys() - table.features.keys():
            if name := next((n for n in COLUMN_NAMES.get(column, ()) if n in table.features), None):
                table = table.rename_column(name, column)
        if "language" in schema and "language" not in table.features:
            table = table.add_column("language", [language] * len(table))
        require(table, schema, role=f"{role} {path}")
    _check_cells(table, schema, path)
    known = set(table.unique("language")) if "language" in schema else {language}
    if known - {language}:
        chosen = [i for i, code in enumerate(table["language"]) if code.lower() in codes(language)]
        if not chosen:
            raise InputError(
                f"holds no row in {language!r}; the languages there are {', '.join(sorted(known))}", path=path
            )
        table = table.select(chosen).remove_columns("language")
        table = table.add_column("language", [language] * len(chosen))
    return table


def in_languages(table: Dataset, source: str, target: str, path: str, *, turn: bool = False) -> Dataset:
    """The rows of a table of sentence or word pairs that are in these languages.

    With ``turn``, rows from the target to the source language are turned if there are no others.
    """
    pairs = list(zip(table["source_language"], table["target_language"], strict=True))
    known = set(pairs)

    def between(first: str, second: str) -> set[tuple[str, str]]:
        return {(a, b) for a, b in known if a.lower() in codes(first) and b.lower() in codes(second)}

    matching = between(source, target)
    if not matching and turn and between(target, source):
        return in_languages(table.rename_columns(_TURNED), source, target, path)
    if not matching:
        listed = ", ".join("-".join(pair) for pair in sorted(known))
        raise InputError(
            f"holds no row from {source!r} to {target!r}; the pairs there are {listed}", path=path
        )
    if matching == known:
        return table
    return table.select([i for i, pair in enumerate(pairs) if pair in matching])


def _check_cells(dataset: Dataset, schema: Features, path: str) -> None:
    """No cell is null, every word has a tag, and answers stand where their starts say or nowhere (a negative start)."""
    table = dataset.with_format("arrow")[:]
    for name in schema:
        cells = table[name]
        if cells.null_count or (pa.types.is_list(cells.type) and pc.list_flatten(cells).null_count):
            raise InputError(f"column {name!r} has a null; fill it in, or remove the row", path=path)
    if {"words", "tags"} <= set(schema):
        differ = pc.not_equal(*(pc.list_value_length(table[name]) for name in ("words", "tags")))
        if (row := pc.index(differ, True).as_py()) >= 0:
            words, tags = (len(table[name][row]) for name in ("words", "tags"))
            raise InputError(
                f"row {row + 1} has {words} words and {tags} tags; one tag for every word is needed",
                path=path,
            )
    if "answers" not in schema:
        return
    for name, context, answers in zip(dataset["id"], dataset["context"], dataset["answers"], strict=True):
        parts = [answers and answers[name] for name in ("text", "start")]
        if None in parts or any(None in part for part in parts):
            raise InputError(f"the answers of question {name!r} have a null; fill it in", path=path)
        if len(answers["text"]) != len(answers["start"]):
            raise InputError(
                f"question {name!r} has {len(answers['text'])} answers and {len(answers['start'])} starts; correct it",
                path=path,
            )
        for text, start in zip(answers["text"], answers["start"], strict=True):
            if start >= 0 and context[start : start + len(text)] != text:
                raise InputError(
                    f"answer {text[:60]!r} of question {name!r} is not at character {start}; correct it, or give -1",
                    path=path,
                )


def open_table(path: str, split: str) -> Dataset:
    """A data set as it is on disk, whatever its columns."""
    folder = Path(path)
    try:
        if folder.suffix == ".parquet":
            return Dataset.from_parquet(path)
        if folder.suffix == ".arrow":
            return Dataset.from_file(path)
        if (folder / "dataset_dict.json").exists():
            parts = datasets.load_from_disk(path)
            name = next((n for n in (split, *split_names(split)) if n in parts), None)
            if name is None:
                raise InputError(f"has no {split} split; there are {', '.join(parts)}", path=path)
            return parts[name]
        if (folder / "state.json").exists():
            return datasets.load_from_disk(path)
        if is_prepared(folder):
            return load_corpus(folder)
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read as a data set ({reason(error)}); write it again", path=path
        ) from error
    raise InputError(
        "is not a data set; a folder of `isoglot prepare` or save_to_disk, .parquet or .jsonl is needed",
        path=path,
    )


def _from_jsonl(path: str, schema: Features, language: str) -> Dataset:
    """The rows of JSON lines, each checked where its line is known."""

    def row(values: dict[str, Any]) -> dict[str, Any]:
        values = {"language": language, **values}
        cells: dict[str, Any] = {}
        for column in schema:
            name = next((n for n in COLUMN_NAMES.get(column, (column,)) if n in values), None)
            if name is None:
                raise InputError(f"field {column!r} is missing, found {', '.join(sorted(values))}; add it")
            cells[column] = values[name]
        if "answers" in cells:
            cells["answers"] = _answers(cells["answers"])
            if values.get(ARTICLE) is not None:
                cells[ARTICLE] = str(values[ARTICLE])
        if not values.keys().isdisjoint(SPLIT_COLUMNS):
            cells[SPLIT] = str(split_name(values))
        if not all(isinstance(cells[name], list) for name in ("words", "tags") if name in cells):
            raise InputError("words and tags are lists; correct them")
        words, tags = (len(cells.get(name, ())) for name in ("words", "tags"))
        if "tags" in cells and words != tags:
            raise InputError(f"{words} words and {tags} tags; one tag for every word is needed")
        return cells

    rows = each(row, numbered_objects(path), path)
    features = Features(schema)
    if all(ARTICLE in row for row in rows):
        features[ARTICLE] = Value("string")
    if any(SPLIT in row for row in rows):
        features[SPLIT] = Value("string")
    try:
        return Dataset.from_dict(
            {column: [row.get(column) for row in rows] for column in features}, features=features
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the columns do not have the schema's types ({error}); fix them", path=path
        ) from error


def _answers(value: Any) -> dict[str, list[Any]]:
    """Answers as lists of texts and starts; Hugging Face's ``answer_start`` is accepted."""
    fields = value if isinstance(value, dict) else {}
    texts, starts = fields.get("text"), fields.get("start", fields.get("answer_start"))
    if (
        not (isinstance(texts, list) and isinstance(starts, list))
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(start, int) for start in starts)
    ):
        raise InputError('answers are {"text": ["..."], "start": [0]}; correct them')
    return {"text": texts, "start": starts}
