"""Labelled sentence pairs: XNLI's, MultiNLI's, SNLI's and PAWS-X's files, with and without headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset, Features, Value

from isoglot.corpus.labelled.files import numbered_lines
from isoglot.corpus.read.line_files import csv_rows
from isoglot.errors import InputError
from isoglot.runs.records import parse_object
from isoglot.schema import PAIR

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
"""PAIR and what a row is called, or its number in the file: translations share it."""

_NAMES = {
    "first": ("premise", "sentence1", "first"),
    "second": ("hypothesis", "hypo", "sentence2", "second"),
    "label": ("gold_label", "label"),
    "language": ("language",),
    "id": ("pairid", "id"),
}
_NO_CONSENSUS = "-"
UNTRANSLATED = "NS"
"""PAWS-X: a sentence that has no translation."""


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    fields: Mapping[str, str]


def read_pairs(
    path: str | Path,
    *,
    language: str,
    labels: Mapping[str, str],
    allowed: Sequence[str] | None = None,
    untranslated: str | None = UNTRANSLATED,
) -> Dataset:
    """Read labelled pairs.

    ``.csv`` is comma-separated and quoted, ``.jsonl`` JSON lines, everything else tab-separated without quotes. A
    first line that names a label column is a header; without one a line is first, second, label. In files of several
    languages (a ``language`` column) only rows of the one asked for are kept. Rows without consensus (label ``-``)
    and PAWS-X's untranslated ones (a sentence ``NS``) are left out.

    Args:
        path: the file, possibly packed.
        language: Language of both sentences.
        labels: every spelling of a label, and its name.
        allowed: names that the model knows; by default all.
        untranslated: the sentence whose rows are left out; ``None``: none is.
    """
    columns: dict[str, list[str]] = {name: [] for name in PAIR_WITH_ID}
    others: set[str] = set()
    seen = 0
    for record in _records(path):
        fields = record.fields
        seen += 1
        if fields.get("language", language) != language:
            others.add(fields["language"])
            continue
        label = fields["label"].strip()
        if label == _NO_CONSENSUS or untranslated in (fields["first"].strip(), fields["second"].strip()):
            continue
        if label not in labels or (allowed is not None and labels[label] not in allowed):
            known = sorted(set(labels)) if allowed is None else sorted(allowed)
            raise InputError(
                f"label {label!r} given, but the labels here are {', '.join(known)}; fix the line, or use the data "
                "that the task is for",
                path=path,
                line=record.line,
            )
        columns["first"].append(fields["first"])
        columns["second"].append(fields["second"])
        columns["label"].append(labels[label])
        columns["language"].append(language)
        columns["id"].append(fields.get("id") or str(seen))
    if not columns["label"]:
        hint = (
            f"the languages there are {', '.join(sorted(others))}"
            if others
            else "check the path and the format"
        )
        raise InputError(f"holds no labelled pair in {language!r}; {hint}", path=path)
    return Dataset.from_dict(columns, features=PAIR_WITH_ID)


def _records(path: str | Path) -> Iterator[_Record]:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if {".jsonl", ".ndjson"} & set(suffixes):
        yield from _json_records(path)
        return
    lines = numbered_lines(path)
    if ".csv" in suffixes:
        rows: Iterator[tuple[int, list[str]]] = csv_rows(str(path), (text for _, text in lines))
    else:
        rows = ((number, text.split("\t")) for number, text in lines)
    plan: dict[str, int] | None = None
    width = 0
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if plan is None:
            plan, header = _plan(row, path, number)
            width = len(row)
            if header:
                continue
        if len(row) != width:
            raise InputError(
                f"{len(row)} columns, but the lines before have {width}; fix the line",
                path=path,
                line=number,
            )
        yield _Record(number, {name: row[at] for name, at in plan.items()})


def _plan(row: list[str], path: str | Path, line: int) -> tuple[dict[str, int], bool]:
    """Where the fields stand, and whether this row is a header."""
    names = [cell.strip().lower().removeprefix("\ufeff") for cell in row]
    if any(name in names for name in _NAMES["label"]):
        found = {
            field: next(names.index(n) for n in usual if n in names)
            for field, usual in _NAMES.items()
            if any(n in names for n in usual)
        }
        repeated = [names[at] for at in found.values() if names.count(names[at]) > 1]
        if repeated:
            raise InputError(
                f"the header has column {repeated[0]!r} twice; rename one of them", path=path, line=line
            )
        missing = [f"{f} ({' or '.join(_NAMES[f])})" for f in ("first", "second", "label") if f not in found]
        if missing:
            raise InputError(
                f"columns {', '.join(names)} given, but {', '.join(missing)} is needed too; rename a column",
                path=path,
                line=line,
            )
        return found, True
    if len(row) != 3:
        raise InputError(
            f"{len(row)} columns and no header, but three are needed: first sentence, second sentence, label; fix "
            "the file or add a header",
            path=path,
            line=line,
        )
    return {"first": 0, "second": 1, "label": 2}, False


def _json_records(path: str | Path) -> Iterator[_Record]:
    for number, text in numbered_lines(path):
        if not text.strip():
            continue
        row = parse_object(text, path=path, line=number)
        lowered = {key.lower(): value for key, value in row.items()}
        fields = {
            field: str(lowered[name])
            for field, usual in _NAMES.items()
            for name in reversed(usual)
            if name in lowered
        }
        missing = [f for f in ("first", "second", "label") if f not in fields]
        if missing:
            raise InputError(
                f"fields {', '.join(lowered)} given, but {', '.join(_NAMES[missing[0]])} is needed; rename it",
                path=path,
                line=number,
            )
        yield _Record(number, fields)
