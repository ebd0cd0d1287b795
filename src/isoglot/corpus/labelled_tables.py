"""Read data sets that already have the columns of a task's schema: JSON lines, Parquet, folders."""

from collections.abc import Container
from functools import partial
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
from isoglot.runs.json_lines import JSON_LINES

_SWAPPED = {
    "source": "target",
    "target": "source",
    "source_language": "target_language",
    "target_language": "source_language",
}


def is_table(path: str) -> bool:
    """Whether a path is a data set with named columns, and no file of a raw format."""
    return Path(path).is_dir() or Path(path).suffix in (".parquet", ".arrow", *JSON_LINES)


def read_table(
    path: str, schema: Features, *, language: str, split: str, role: str, rows: Dataset | None = None
) -> Dataset:
    """Read the rows in a language from a data set whose columns are those of a schema.

    Columns may have other usual names (``upos`` for ``tags``). Without a column of languages, all rows are in the
    language.

    Args:
        path: The data set.
        schema: Columns that the result has.
        language: Code of the language; rows in other languages are left out.
        split: Split to read from a folder that has several.
        role: Name of the data in messages.
        rows: The rows, if they were read already; ``path`` is only named in messages then.

    Example:
        >>> rows = read_table("pos/de.parquet", TAGGED, language="de", split="test", role="data")  # doctest: +SKIP
    """
    if rows is None and Path(path).suffix in JSON_LINES:
        table = _from_jsonl(path, schema, language)
    else:
        table = open_table(path, split) if rows is None else rows
        for column in schema.keys() - table.features.keys():
            usual_name = _usual_name(column, table.features)
            if usual_name is not None:
                table = table.rename_column(usual_name, column)
        if "language" in schema and "language" not in table.features:
            table = table.add_column("language", [language] * len(table))
        require(table, schema, role=f"{role} {path}")
    _check_cells(table, schema, path)
    return _select_language(table, language, path) if "language" in schema else table


def _usual_name(column: str, given: Container[str]) -> str | None:
    """Find the name that given columns have for a column of a schema: ``upos`` for ``tags``, or the same name.

    Of several usual names, the first in the list of :data:`COLUMN_NAMES` counts.
    """
    usual_names = COLUMN_NAMES.get(column, (column,))
    return next((name for name in usual_names if name in given), None)


def _select_language(table: Dataset, language: str, path: str) -> Dataset:
    """Select the rows in a language, and write its code as it was given: ``de`` for ``deu`` and ``DE``."""
    known = set(table.unique("language"))
    if known <= {language}:
        return table
    chosen = [row for row, code in enumerate(table["language"]) if code.lower() in codes(language)]
    if not chosen:
        raise InputError(
            f"holds no row in {language!r}; the languages there are {', '.join(sorted(known))}", path=path
        )
    table = table.select(chosen).remove_columns("language")
    return table.add_column("language", [language] * len(chosen))


def in_languages(table: Dataset, source: str, target: str, path: str, *, turn: bool = False) -> Dataset:
    """Select the rows of a table of sentence or word pairs that are in these languages.

    Args:
        table: The rows.
        source: Code of the source language.
        target: Code of the target language.
        path: Name of the table in messages.
        turn: If there is no such row, use the rows whose source is in ``target`` and whose target is in ``source``,
            with their sides swapped: an English-German table is then read as German-English.
    """
    pairs = list(zip(table["source_language"], table["target_language"], strict=True))
    known = set(pairs)
    matching = _matching_pairs(known, source, target)
    if not matching and turn and _matching_pairs(known, target, source):
        return in_languages(table.rename_columns(_SWAPPED), source, target, path)
    if not matching:
        listed = ", ".join("-".join(pair) for pair in sorted(known))
        raise InputError(
            f"holds no row from {source!r} to {target!r}; the pairs there are {listed}", path=path
        )
    if matching == known:
        return table
    return table.select([row for row, pair in enumerate(pairs) if pair in matching])


def _matching_pairs(known: set[tuple[str, str]], source: str, target: str) -> set[tuple[str, str]]:
    """The pairs of codes that mean these two languages: ``("eng", "de")`` for ``en`` and ``de``."""
    sources, targets = codes(source), codes(target)
    return {pair for pair in known if pair[0].lower() in sources and pair[1].lower() in targets}


def _check_cells(dataset: Dataset, schema: Features, path: str) -> None:
    """Refuse cells that a schema's types allow and no task can use.

    1. No cell is null, and no item of a list.
    2. Every word has a tag.
    3. An answer is where its start says it is, in the context; a negative start says nothing.
    """
    table = dataset.with_format("arrow")[:]
    _check_nulls(table, schema, path)
    if {"words", "tags"} <= set(schema):
        _check_tags(table, path)
    if "answers" in schema:
        for cells in zip(dataset["id"], dataset["context"], dataset["answers"], strict=True):
            _check_answers(*cells, path)


def _check_nulls(table: pa.Table, schema: Features, path: str) -> None:
    for name in schema:
        cells = table[name]
        has_null = cells.null_count > 0
        if pa.types.is_list(cells.type):
            has_null = has_null or pc.list_flatten(cells).null_count > 0
        if has_null:
            raise InputError(f"column {name!r} has a null; fill it in, or remove the row", path=path)


def _check_tags(table: pa.Table, path: str) -> None:
    word_counts = pc.list_value_length(table["words"])
    tag_counts = pc.list_value_length(table["tags"])
    # The first row where they differ; −1 if there is none.
    row = pc.index(pc.not_equal(word_counts, tag_counts), True).as_py()
    if row >= 0:
        raise InputError(
            f"row {row + 1} has {word_counts[row]} words and {tag_counts[row]} tags; one tag for every word is needed",
            path=path,
        )


def _check_answers(question: str, context: str, answers: dict[str, list[Any]] | None, path: str) -> None:
    texts = answers["text"] if answers else None
    starts = answers["start"] if answers else None
    if texts is None or starts is None or None in texts or None in starts:
        raise InputError(f"the answers of question {question!r} have a null; fill it in", path=path)
    if len(texts) != len(starts):
        raise InputError(
            f"question {question!r} has {len(texts)} answers and {len(starts)} starts; correct it", path=path
        )
    for text, start in zip(texts, starts, strict=True):
        if start >= 0 and context[start : start + len(text)] != text:
            raise InputError(
                f"answer {text[:60]!r} of question {question!r} is not at character {start}; correct it, or give -1",
                path=path,
            )


def open_table(path: str, split: str) -> Dataset:
    """Open a data set, with whatever columns it has; of a folder with several splits, open one split."""
    folder = Path(path)
    try:
        if folder.suffix == ".parquet":
            return Dataset.from_parquet(path)
        if folder.suffix == ".arrow":
            return Dataset.from_file(path)
        if (folder / "dataset_dict.json").exists():
            splits = datasets.load_from_disk(path)
            for name in (split, *split_names(split)):  # dev, validation, ...
                if name in splits:
                    return splits[name]
            raise InputError(f"has no {split} split; there are {', '.join(splits)}", path=path)
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
    """Read JSON lines; each row is checked while the number of its line is known.

    Two columns beside the schema's may be kept:

    1. The article of a question, if all rows name one. A share of the questions (``#0:80%``) then counts articles, and
       contexts otherwise.
    2. The split of a row, if any row names one; the split of the other rows is null.
    """
    rows = each(partial(_row, schema=schema, language=language), numbered_objects(path), path)
    features = Features(schema)
    if all(ARTICLE in row for row in rows):
        features[ARTICLE] = Value("string")  # 1
    if any(SPLIT in row for row in rows):
        features[SPLIT] = Value("string")  # 2
    columns = {name: [row.get(name) for row in rows] for name in features}
    try:
        return Dataset.from_dict(columns, features=features)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the columns do not have the schema's types ({error}); fix them", path=path
        ) from error


def _row(values: dict[str, Any], *, schema: Features, language: str) -> dict[str, Any]:
    """Take the columns of a schema out of an object of JSON lines, in which they may have other usual names.

    ``language``: The language of a row that names none.
    """
    cells: dict[str, Any] = {}
    for column in schema:
        usual_name = _usual_name(column, values)
        if usual_name is not None:
            cells[column] = values[usual_name]
        elif column == "language":
            cells[column] = language
        else:
            raise InputError(f"field {column!r} is missing, found {', '.join(sorted(values))}; add it")
    if "answers" in cells:
        cells["answers"] = _answers(cells["answers"])
        if values.get(ARTICLE) is not None:
            cells[ARTICLE] = str(values[ARTICLE])
    if not values.keys().isdisjoint(SPLIT_COLUMNS):
        cells[SPLIT] = str(split_name(values))
    for name in ("words", "tags"):
        if name in cells and not isinstance(cells[name], list):
            raise InputError("words and tags are lists; correct them")
    if "tags" in cells:
        words, tags = len(cells.get("words", ())), len(cells["tags"])
        if words != tags:
            raise InputError(f"{words} words and {tags} tags; one tag for every word is needed")
    return cells


def _answers(value: Any) -> dict[str, list[Any]]:
    """Check answers, and name their fields ``text`` and ``start``; Hugging Face has ``answer_start``."""
    fields = value if isinstance(value, dict) else {}
    texts: Any = fields.get("text")
    starts: Any = fields.get("start", fields.get("answer_start"))
    if _is_list_of(texts, str) and _is_list_of(starts, int):
        return {"text": texts, "start": starts}
    raise InputError('answers are {"text": ["..."], "start": [0]}; correct them')


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)
