"""Verbs around models and results, as both doors call them, and what they leave in a form that compares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import isoglot as iso
from isoglot.reports.export import FORMS
from isoglot.reports.options import CompareOptions
from isoglot.reports.render import comparison_tables
from isoglot.reports.table import Table
from isoglot.runs.files import read_json

_TIMES = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?|\d\d? \w+ \d{4}")
_CHANGING = re.compile(r"seconds|_runtime$|_per_second$|^(created|finished|started|versions|path)$")
"""Names of times and places."""


def page(path: Path) -> str:
    """A report without the time at which it was made."""
    return _TIMES.sub("TIME", path.read_text(encoding="utf-8")).replace(str(path.parent), "FOLDER")


def rows(path: Path) -> list[dict[str, Any]]:
    """Rows of results, wherever below a folder they are."""
    files = [path] if path.is_file() else sorted(path.rglob("results.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def findings(path: Path) -> Any:
    """The figures of an analysis, by the name of the file, and its rows of results."""
    figures = {file.name: file.read_text(encoding="utf-8") for file in sorted(path.glob("figures/*"))}
    return figures, rows(path)


def written(path: Path, *names: str) -> dict[str, Any]:
    """Files of a folder by name, without what differs between two runs of the same."""
    return {name: unchanging(read_json(path / name)) for name in names}


def unchanging(value: Any) -> Any:
    """A record without times and places."""
    if isinstance(value, dict):
        return {name: unchanging(inner) for name, inner in value.items() if not _CHANGING.search(name)}
    return [unchanging(inner) for inner in value] if isinstance(value, list) else value


def history(path: Path) -> list[Any]:
    """The losses of a run."""
    lines = (path / "history.jsonl").read_text(encoding="utf-8").splitlines()
    return [unchanging(json.loads(line)) for line in lines]


def rates(path: Path) -> dict[str, Any]:
    """What `isoglot score --json` prints of the corpus."""
    known = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in known.items() if name not in ("sentences", "hint")}


def scored(out: Path, *, gold: str = "gold.jsonl", **options: Any) -> None:
    """`iso.score`, written as its command prints."""
    out.write_text(json.dumps(iso.score("links.txt", gold, **options).to_dict()), encoding="utf-8")


def kept_choice(_: Path) -> str:
    """The choice that was kept beside the encoder, which is taken away again."""
    file = Path("tuned/aligner.json")
    text = file.read_text(encoding="utf-8")
    file.unlink()
    return text


def tuned(_: Path, *, gold: str = "", layers: str = "1,2") -> None:
    """`iso.tune`, whose choice is kept as its command keeps it."""
    several = ["gold.jsonl", *filter(None, [gold])]
    iso.tune("tuned", several, layers=layers, progress=False).keep()


def trimmed(out: Path, *, text: str = "", **options: Any) -> None:
    """`iso.trim` on the text that its command gets."""
    several = ["en.txt", *filter(None, [text])]
    iso.trim("model", out, text=several, progress=False, **options)


def compared(out: Path, **options: Any) -> None:
    """The tables of `isoglot report compare`, which Python has as objects."""
    write_tables(out, comparison_tables(["results.jsonl"], CompareOptions(**options)), "text")


def write_tables(out: Path, tables: Iterable[Table], form: str) -> None:
    """Write tables as commands print them."""
    out.write_text("\n".join(FORMS[form](table) for table in tables) + "\n", encoding="utf-8")


def studied(out: Path, **options: Any) -> None:
    """`iso.study`, written as its command prints tables for other programs."""
    given = {"tables_only": True, "progress": False, **options}
    (study,) = iso.study("weam/table2", out=out.parent / "runs", **given)
    write_tables(out, study.tables, "csv")
