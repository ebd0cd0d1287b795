from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import ConfigurationError
from isoglot.results.rows import Cell, Result, append, write_cells


@pytest.fixture
def run(tmp_path: Path) -> Path:
    values = {"en": 82.0, "es": 77.0, "de": 75.0, "zh": 74.0}
    rows = [
        Result(run="weam", task="xnli", language=k, metric="accuracy", value=v, examples=5010)
        for k, v in values.items()
    ]
    append(tmp_path / "run" / "results.jsonl", rows)
    return tmp_path / "run"


def test_report_writes_the_page_and_the_tables(run: Path, tmp_path: Path) -> None:
    out, tables = tmp_path / "r.html", tmp_path / "tables"
    result = invoke("report", run, "--out", out, "--tables", tables)
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tables / "xnli-test-accuracy.tex").is_file()


def test_options_may_stand_first(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert invoke("report", "--out", out, run).exit_code == 0
    assert out.is_file()


def test_runs_may_be_called_otherwise(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert invoke("report", run, "--rename", "weam=mine", "--out", out).exit_code == 0
    page = out.read_text(encoding="utf-8")
    assert ">mine<" in page and ">weam<" not in page


def test_compare_prints_ours_the_papers_and_the_difference(tmp_path: Path) -> None:
    values = {"en": 82.0, "es": 77.0, "de": 75.0, "zh": 74.0}
    place = {"table": "weam:Table2", "row": ("weam",)}
    cells = [Cell(**place, column=(language,), value=value) for language, value in values.items()]
    write_cells(tmp_path / "cells.jsonl", cells)
    arguments = ["report", "compare", str(tmp_path)]
    lines = invoke(*arguments).output.splitlines()
    assert lines[5].split()[-6:] == ["82.6", "76.4", "74.5", "74.4", "77.0", "75.1"]
    assert lines[6].split()[-6:] == ["−0.6", "+0.6", "+0.5", "−0.4", "±0.0", "+0.2"]
    assert invoke(*arguments, "--format", "latex").output.startswith(r"\begin{table}")


def test_compare_shows_ones_own_runs_and_their_differences_from_the_first(tmp_path: Path) -> None:
    for run, more in (("base", 0), ("mine", 2)):
        rows = [
            Result(run=run, task="pos", language=k, metric="f1", value=v + s + more, seed=s, examples=100)
            for k, v in {"en": 80.0, "de": 70.0}.items()
            for s in (1, 2)
        ]
        append(tmp_path / run / "results.jsonl", rows)
    result = invoke("report", "compare", *(tmp_path / run for run in ("base", "mine")))
    lines = result.output.splitlines()
    assert lines[0] == "pos: F1" and lines[1].endswith("Differences are from base.")
    assert [line.split()[0] for line in lines[3:7]] == ["run", "base", "mine", "difference"]
    assert lines[6].split()[1:] == ["+2.0", "+2.0", "+2.0"]
    bars = {"kind": "bars", "title": "t", "y_label": "y", "bars": [{"group": "g", "series": "s", "value": 1}]}
    (tmp_path / "drawn" / "figures").mkdir(parents=True)
    (tmp_path / "drawn" / "figures" / "bars.json").write_text(json.dumps(bars), encoding="utf-8")
    nothing = invoke("report", "compare", tmp_path / "drawn")
    assert isinstance(nothing.exception, ConfigurationError) and "no results" in str(nothing.exception)


def test_compare_shows_the_tables_of_a_study(tmp_path: Path) -> None:
    place = {"table": "align_mlm:Table3", "row": ("mlm", "trans"), "column": ("xnli", "zs")}
    write_cells(tmp_path / "cells.jsonl", [Cell(**place, value=70.0, seed=1)])
    shown = invoke("report", "compare", tmp_path).output
    assert "ALIGN-MLM, Table 3" in shown and "MLM / trans" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "RUN", "--format", "pdf"], "csv, latex, text"),
        (["RUN", "--combine", "x"], "NAME=LANGUAGE:RUN"),
        (["RUN", "--rename", "weam"], "RUN=NAME"),
        (["RUN", "--rename", "wem=weam"], "there are weam"),
    ],
)
def test_mistakes_are_told(run: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [str(run) if a == "RUN" else a for a in arguments]
    out = [] if "compare" in given else ["--out", str(tmp_path / "r.html")]
    result = invoke("report", *given, *out)
    assert isinstance(result.exception, ConfigurationError)
    assert message in str(result.exception)
    assert not (tmp_path / "r.html").exists()


def test_the_papers_tables_are_listed_and_shown() -> None:
    assert "weam:Table1" in invoke("report", "papers").output
    shown = invoke("report", "papers", "weam:Table1").output
    assert "47.0 (printed 48.2)" in shown
    assert len(invoke("report", "papers", "--corrections").output.splitlines()) == 15


def test_help_names_the_commands() -> None:
    text = invoke("report", "--help").output
    assert "compare" in text and "papers" in text
