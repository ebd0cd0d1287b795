"""The demo at a tiny size: it runs, its figures are the study's, its report is whole, and it is not run twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import ConfigurationError
from isoglot.papers.demo import INTRODUCTION, run_demo
from isoglot.results.rows import read

NAMES = ["MLM", "XLM", "DICT-MLM", "ALIGN-MLM"]
TINY = {
    "vocabulary": 150,
    "text": 80,
    "pos": 24,
    "nli": 24,
    "dev": 12,
    "hidden": 16,
    "heads": 2,
    "feed_forward": 16,
    "logging_steps": 1,
    "tuning_epochs": 1,
    "tuning_epochs_nli": 1,
}


def command(out: Path, *more: str) -> list[str]:
    settings = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    return ["demo", "--out", str(out), "--steps", "3", "--workers", "2", *settings, *more]


def test_no_word_of_the_introduction_is_torn_apart() -> None:
    assert re.findall(r"\w- \w", INTRODUCTION) == []


@pytest.mark.slow
def test_the_demo_measures_four_objectives_and_ends_with_its_report(tmp_path: Path) -> None:
    first = invoke(*command(tmp_path))
    assert first.exception is None, first.output
    lines = first.stdout.rstrip().splitlines()
    page = tmp_path / "report.html"
    assert lines[-1] == str(page)
    assert [line.split()[0] for line in lines if " (1 seed) " in line] == NAMES * 3
    line = r"pre-training (\S+) on English and its derived copy \(trans\+inv\): (\d) of 4"
    begun = re.findall(line, first.stderr)  # named while it runs, in the order in which workers are free
    assert {name for name, _ in begun} == set(NAMES)
    assert [number for _, number in begun] == ["1", "2", "3", "4"]
    assert "waiting for another process" not in first.stderr

    (folder,) = tmp_path.glob("demo_*")
    rows = {(r.run.partition(" (")[0], r.task, r.metric): r.value for r in read(folder)}
    for run in ("mlm", "xlm", "dict_mlm", "align_mlm"):
        supervised, zero_shot, gap = (
            rows[run, "pos", f"f1_{what}"] for what in ("supervised", "zero_shot", "delta")
        )
        assert gap == pytest.approx(supervised - zero_shot)
        assert f"{zero_shot:.1f}" in first.stdout and f"{supervised:.1f}" in first.stdout

    text = page.read_text(encoding="utf-8")
    for heading in ("Results by task", "Figures", "Training", "Word alignments"):
        assert f">{heading}</h2>" in text
    assert "http://" not in text.replace("http://www.w3.org", "") and "<script src" not in text
    (file,) = tmp_path.glob("data/gold-*/en-xx.jsonl")
    gold = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(gold) == 12 and all(len(g["src"]) == len(g["tgt"]) for g in gold)
    assert all(g["tgt"][g["sure"][0][1]] and g["sure"] for g in gold)

    again = invoke(*command(tmp_path))
    assert again.stdout == first.stdout
    assert "pretrain" not in again.stderr

    for state in tmp_path.glob("pretrain/*/trainer_state.json"):  # too few steps for a curve
        held = json.loads(state.read_text())
        state.write_text(json.dumps({**held, "log_history": held["log_history"][:1]}))
    short = invoke(*command(tmp_path))
    assert short.exception is None, short.output
    assert ">Training</h2>" not in page.read_text(encoding="utf-8")


def test_a_setting_that_the_study_does_not_know_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="stepps"):
        run_demo(tmp_path, changes={"stepps": 3})
