"""Data sets that already have the columns of a task schema: JSON lines, Parquet, folders."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, Features, Value

from isoglot.corpus.labelled.places import SPLIT, SPLIT_COLUMNS, split_name, split_names
from isoglot.corpus.labelled.questions import ARTICLE
from isoglot.corpus.manifest import is_prepared, load_corpus
from isoglot.corpus.read.line_files import each, numbered_objects
from isoglot.errors import InputError, reason
from isoglot.languages import codes
from isoglot.schema import require

_ALSO = {"tags": "upos", "first": "premise", "second": "hypothesis"}


def is_table(path: str) -> bool:
    """Whether a path holds a data set with named columns rather than a raw format."""
    place = Path(path)
    return place.is_dir() or place.suffix in (".parquet", ".jsonl", ".ndjson", ".arrow")


def read_table(
    path: str, schema: Features, *, language: str, split: str, role: str, rows: Dataset | None = None
) -> Dataset:
    """Read a data set whose columns are those of a schema (``upos`` counts as ``tags``).

    ``rows``: What was read already; the path only describes it then.
    """
    if rows is None and Path(path).suffix in (".jsonl", ".ndjson"):
        found = _from_jsonl(path, schema, language)
    else:
        found = open_table(path, split) if rows is None else rows
        for column, other in _ALSO.items():
            if column in schema and column not in found.features and other in found.features:
                found = found.rename_column(other, column)
        if "language" in schema and "language" not in found.features:
            found = found.add_column("language", [language] * len(found))
        require(found, schema, role=f"{role} {path}")
    _check_cells(found, schema, path)
    if "answers" in schema:
        _check_answers(found, path)
    known = set(found.unique("language")) if "language" in schema else {language}
    if known - {language}:
        kept = [i for i, code in enumerate(found["language"]) if code.lower() in codes(language)]
        if not kept:
            raise InputError(
                f"holds no row in {language!r}; the languages there are {', '.join(sorted(known))}", path=path
            )
        own = found.select(kept).remove_columns("language")
        found = own.add_column("language", [language] * len(kept))
    return found


_TURNED = {"source": "target", "target": "source"}
_TURNED |= {f"{one}_language": f"{other}_language" for one, other in _TURNED.items()}


def in_languages(table: Dataset, source: str, target: str, path: str, *, turn: bool = False) -> Dataset:
    """The rows of a table of sentence or word pairs that are in these languages.

    With ``turn``, rows from the target to the source language are turned if there are no others.
    """
    pairs = list(zip(table["source_language"], table["target_language"], strict=True))
    known = set(pairs)

    def of(one: str, other: str) -> set[tuple[str, str]]:
        return {(a, b) for a, b in known if a.lower() in codes(one) and b.lower() in codes(other)}

    wanted = of(source, target)
    if not wanted and turn and of(target, source):
        return in_languages(table.rename_columns(_TURNED), source, target, path)
    if not wanted:
        listed = ", ".join("-".join(pair) for pair in sorted(known))
        raise InputError(
            f"holds no row from {source!r} to {target!r}; the pairs there are {listed}", path=path
        )
    return table if wanted == known else table.select([i for i, pair in enumerate(pairs) if pair in wanted])


def _check_cells(dataset: Dataset, schema: Features, path: str) -> None:
    """No cell is null, and every word has a tag."""
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


def _check_answers(dataset: Dataset, path: str) -> None:
    """Answers stand where their starts say, or nowhere (a negative start)."""
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


def _answers(given: Any) -> dict[str, list[Any]]:
    """Answers as lists of texts and starts; Hugging Face's ``answer_start`` is accepted."""
    named = given if isinstance(given, dict) else {}
    text, start = named.get("text"), named.get("start", named.get("answer_start"))
    if not (isinstance(text, list) and isinstance(start, list)) or not (
        all(isinstance(one, str) for one in text) and all(isinstance(one, int) for one in start)
    ):
        raise InputError('answers are {"text": ["..."], "start": [0]}; correct them')
    return {"text": text, "start": start}


def _from_jsonl(path: str, schema: Features, language: str) -> Dataset:
    def row(own: dict[str, Any]) -> dict[str, Any]:
        given = {"language": language, **own}
        found = {}
        for column in schema:
            name = next((n for n in (column, _ALSO.get(column)) if n in given), None)
            if name is None:
                raise InputError(f"field {column!r} is missing, found {', '.join(sorted(given))}; add it")
            found[column] = given[name]
        if "answers" in found:
            found["answers"] = _answers(found["answers"])
            if given.get(ARTICLE) is not None:
                found[ARTICLE] = str(given[ARTICLE])
        if not given.keys().isdisjoint(SPLIT_COLUMNS):
            found[SPLIT] = str(split_name(given))
        if not all(isinstance(found[name], list) for name in ("words", "tags") if name in found):
            raise InputError("words and tags are lists; correct them")
        words, tags = (len(found.get(name, ())) for name in ("words", "tags"))
        if "tags" in found and words != tags:
            raise InputError(f"{words} words and {tags} tags; one tag for every word is needed")
        return found

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
