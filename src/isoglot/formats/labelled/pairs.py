"""Read labelled sentence pairs: files of XNLI, MultiNLI, SNLI and PAWS-X, with and without headers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Value

from isoglot.core.errors import InputError
from isoglot.core.languages import codes
from isoglot.formats.csv_form import csv_rows
from isoglot.formats.labelled.splits import COLUMN_NAMES, SPLIT
from isoglot.formats.labelled.withheld import HIDDEN_LABELS, without_labels
from isoglot.formats.line_files import numbered_lines, numbered_objects
from isoglot.formats.schema import PAIR
from isoglot.formats.words import is_blank
from isoglot.runs.json_lines import JSON_LINES

NLI_LABELS: dict[str, str] = {
    "entailment": "entailment",
    "neutral": "neutral",
    "contradiction": "contradiction",
    "contradictory": "contradiction",  # in XNLI's machine-translated training data
    "0": "entailment",
    "1": "neutral",
    "2": "contradiction",
}
"""Spellings of natural language inference's labels."""

PARAPHRASE_LABELS: dict[str, str] = {"0": "0", "1": "1"}
"""PAWS-X: 1 is a paraphrase."""

PAIR_WITH_ID = Features({**PAIR, "id": Value("string")})
"""PAIR and the id of each row, by default its number in the file: translations share it."""

FieldNames = Mapping[str, Sequence[str]]
"""Fields of a row, and the columns that may hold each, in lower case; the first one that is there counts."""
_OPTIONAL = ("language", "id", SPLIT)
_FIELD_NAMES: FieldNames = {name: COLUMN_NAMES[name] for name in ("first", "second", "label", *_OPTIONAL)}
_NO_CONSENSUS = "-"
UNTRANSLATED = "NS"
"""PAWS-X: a sentence that has no translation."""


def read_pairs(
    path: str | Path,
    *,
    language: str,
    labels: Mapping[str, str],
    allowed: Sequence[str] | None = None,
    untranslated: str | None = UNTRANSLATED,
) -> Dataset:
    """Read labelled pairs.

    1. ``.csv`` is comma-separated and quoted, ``.jsonl`` is JSON lines, any other file tab-separated without quotes.
    2. A first line that names a label column is a header. Without a header, a line is first, second, label.
    3. Of files of several languages (a ``language`` column), only rows in ``language`` are read.
    4. Rows without consensus (label ``-``) and PAWS-X's untranslated rows (a sentence ``NS``) are left out.
    5. A column ``split`` or ``partition`` is kept.

    ``labels``: The name of a label for each spelling. ``allowed``: Names that the model knows.
    """
    columns: dict[str, list[str | None]] = {name: [] for name in (*PAIR_WITH_ID, SPLIT)}
    languages: set[str] = set()
    unlabelled: int | None = None  # the first line without a label
    for seen, (line, fields) in enumerate(labelled_rows(path, _FIELD_NAMES), start=1):
        if fields.get("language", language).lower() not in codes(language):
            languages.add(fields["language"])
            continue
        label = fields["label"].strip()
        if label == _NO_CONSENSUS or untranslated in (fields["first"].strip(), fields["second"].strip()):
            continue
        if label in HIDDEN_LABELS and label not in labels:
            unlabelled = unlabelled or line
            continue
        if label not in labels or (allowed is not None and labels[label] not in allowed):
            known = ", ".join(sorted(set(labels) if allowed is None else allowed))
            problem = f"unknown label {label!r}, the labels here are {known}; fix the line"
            raise InputError(problem, path=path, line=line)
        fields |= {"label": labels[label], "language": language, "id": fields.get("id") or str(seen)}
        for name, values in columns.items():
            values.append(fields.get(name))
    if unlabelled is not None and not columns["label"]:
        raise InputError(without_labels("pair has a label"), path=path)
    if unlabelled is not None:
        raise InputError("the pair has no label, others have one; fix the line", path=path, line=unlabelled)
    if not columns["label"]:
        there = f"the languages there are {', '.join(sorted(languages))}"
        hint = there if languages else "check the path and the format"
        raise InputError(f"holds no labelled pair in {language!r}; {hint}", path=path)
    features = Features(PAIR_WITH_ID)
    if any(columns[SPLIT]):
        features[SPLIT] = Value("string")
    return Dataset.from_dict({name: columns[name] for name in features}, features=features)


def labelled_rows(path: str | Path, names: FieldNames) -> Iterator[tuple[int, dict[str, str]]]:
    """Read the fields of each row of CSV, JSON lines or tab-separated lines, with its line.

    All fields but ``language``, ``id`` and ``split`` are needed. Lines without a header have the needed fields, in the
    order of ``names``.
    """
    columns: list[str] = []
    column_of: dict[str, str] = {}  # by field, for the fields that the file has
    for number, row in _rows(path, names):
        problem = ""
        if list(row) != columns:  # the first row, or an object of JSON with other names
            columns = list(row)
            column_of = _columns_of_fields(columns, names)
            if missing := [field for field in _needed(names) if field not in column_of]:
                needed = ", ".join(f"{field} ({' or '.join(names[field])})" for field in missing)
                problem = f"column {needed} is missing, found {', '.join(columns)}; rename a column"
        for name in column_of.values():
            if not problem and not isinstance(row[name], str | int):
                problem = f"{name} is {row[name]!r}, but text or a label's number is needed; fix it"
        if problem:
            raise InputError(problem, path=path, line=number)
        yield number, {field: str(row[name]) for field, name in column_of.items()}


def _columns_of_fields(columns: Sequence[str], names: FieldNames) -> dict[str, str]:
    """The column of each field: the first of its usual names that is there; a field without one is left out."""
    column_of = {}
    for field, usual in names.items():
        present = [name for name in usual if name in columns]
        if present:
            column_of[field] = present[0]
    return column_of


def _needed(names: FieldNames) -> list[str]:
    return [field for field in names if field not in _OPTIONAL]


def _rows(path: str | Path, names: FieldNames) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read each row by the names of its columns, in lower case, with its line."""
    suffixes = {suffix.lower() for suffix in Path(path).suffixes}
    lines = numbered_lines(path)
    if suffixes.intersection(JSON_LINES):
        for number, row in numbered_objects(path):
            yield number, {key.lower(): value for key, value in row.items()}
        return
    if ".csv" in suffixes:
        rows: Iterator[tuple[int, list[str]]] = csv_rows(str(path), (text for _, text in lines))
    else:
        rows = ((number, text.split("\t")) for number, text in lines)
    header: list[str] = []
    read = 0
    for number, cells in rows:
        if all(map(is_blank, cells)):
            continue
        if not header:
            # The first line is a header if it names the column of labels; else it is a row, of the needed fields.
            header = [cell.strip().lower().removeprefix("\ufeff") for cell in cells]
            if any(name in header for name in names["label"]):
                for name in chain.from_iterable(names.values()):
                    if header.count(name) > 1:
                        problem = f"the header has column {name!r} twice; rename one of them"
                        raise InputError(problem, path=path, line=number)
                continue
            header = _needed(names)
        if len(cells) != len(header):
            # The first row has two sentences and nothing else: a file without labels.
            if not read and len(cells) == len(header) - 1 == 2 and header == _needed(names):
                raise InputError(without_labels("pair has a label"), path=path)
            needed = f"{len(header)} are needed ({', '.join(header)})"
            problem = f"{len(cells)} columns, but {needed}; fix the line or the header"
            raise InputError(problem, path=path, line=number)
        read += 1
        yield number, dict(zip(header, cells, strict=True))
