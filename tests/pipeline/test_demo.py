"""The demo at a tiny size: it runs, measures and is not run twice."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from isoglot.cli import app


def test_demo_trains_measures_and_is_not_repeated(tmp_path):
    command = ["demo", "--out", str(tmp_path), "--pairs", "300", "--steps", "3", "--quiet"]
    first = CliRunner().invoke(app, command)
    assert first.exception is None, first.output
    rows = json.loads((tmp_path / "results.json").read_text())
    assert [row["name"] for row in rows] == ["untrained", "MLM", "TLM"]
    assert all(0 <= row["aer"] <= 100 for row in rows)
    assert str(tmp_path) in first.stdout
    gold = [json.loads(line) for line in (tmp_path / "data" / "gold.jsonl").read_text().splitlines()]
    assert all(len(row["sure"]) == len(row["src"]) == len(row["tgt"]) for row in gold)
    written = (tmp_path / "tlm" / "manifest.json").stat().st_mtime_ns
    again = CliRunner().invoke(app, command)
    assert again.stdout == first.stdout
    assert (tmp_path / "tlm" / "manifest.json").stat().st_mtime_ns == written
