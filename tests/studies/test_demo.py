"""The demo at a tiny size: it runs, its figures are the study's, its report is whole, and it is not run twice."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isoglot.cli import app
from isoglot.errors import ConfigurationError
from isoglot.results import read
from isoglot.studies.demo import Demo, DemoRow, run_demo

NAMES = ["MLM", "XLM", "DICT-MLM", "ALIGN-MLM"]
TINY = [
    "values.vocabulary=150",
    "data.english.text=80",
    "data.english.pos=24",
    "data.english.nli=24",
    "data.english.dev=12",
    "systems.mlm.set.model.hidden_size=16",
    "systems.mlm.set.model.num_attention_heads=2",
    "systems.mlm.set.model.intermediate_size=16",
    "systems.mlm.set.train.logging_steps=1",
    "tasks.pos.train.epochs=1",
    "tasks.xnli.train.epochs=1",
]


def command(out: Path, *more: str) -> list[str]:
    settings = [word for setting in TINY for word in ("--set", setting)]
    return ["demo", "--out", str(out), "--steps", "3", "--workers", "2", *settings, *more]


@pytest.mark.slow
def test_the_demo_measures_four_objectives_and_ends_with_its_report(tmp_path: Path) -> None:
    first = CliRunner().invoke(app, command(tmp_path))
    assert first.exception is None, first.output
    lines = first.stdout.rstrip().splitlines()
    page = tmp_path / "report.html"
    assert lines[-1] == str(page)
    found = {line.split()[0]: line for line in lines if len(re.findall(r" -?\d+\.\d", line)) == 7}
    assert list(found) == NAMES
    for name in NAMES:  # told while it runs, on standard error
        for what in (
            "trained from scratch",
            "POS supervised",
            "POS zero-shot",
            "NLI zero-shot",
            "alignment score",
        ):
            assert re.search(rf"\d:\d\d  {name}: {what}", first.stderr), (name, what)

    rows = {(r.run, r.task, r.metric): r.value for r in read(tmp_path / "demo")}
    for run, name in zip(("mlm", "xlm", "dict_mlm", "align_mlm"), NAMES, strict=True):
        table = [float(text) for text in re.findall(r"-?\d+\.\d", found[name])]
        measured = [rows[run, "pos", f"f1_{what}"] for what in ("supervised", "zero_shot", "delta")]
        assert table[1:4] == pytest.approx(measured, abs=0.06)
        assert table[3] == pytest.approx(table[1] - table[2], abs=0.11)

    text = page.read_text(encoding="utf-8")
    for heading in ("Results by task", "Figures", "Training", "Word alignments"):
        assert f">{heading}</h2>" in text
    assert "http://" not in text.replace("http://www.w3.org", "") and "<script src" not in text
    gold = [
        json.loads(line) for line in (tmp_path / "gold.en-xx.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(gold) == 12 and all(len(g["src"]) == len(g["tgt"]) for g in gold)
    assert all(g["tgt"][g["sure"][0][1]] and g["sure"] for g in gold)

    again = CliRunner().invoke(app, command(tmp_path))
    assert again.stdout == first.stdout
    assert "trained from scratch" not in again.stderr


def test_a_setting_that_the_study_does_not_know_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="stepps"):
        run_demo(tmp_path, settings=["stepps=3"])


def test_the_demo_says_what_inference_is_worth() -> None:
    def demo(*supervised: float) -> Demo:
        rows = [
            DemoRow(name, 1.0, {"pos": 90.0, "xnli": value}, {"pos": 20.0, "xnli": 33.0})
            for name, value in zip(NAMES, supervised, strict=True)
        ]
        return Demo(rows, ("a", "b"), Path("page.html"))

    assert demo(45.0, 44.0, 43.0, 43.0).caution == ""
    assert demo(45.0, 33.0, 43.0, 43.0).caution.startswith("NLI: XLM is not clearly above 38.5 %")
    assert demo(30.0, 33.0, 43.0, 43.0).caution.startswith("NLI: MLM, XLM are not clearly above 38.5 %")
    assert "ALIGN-MLM pairs 1 % of the word pieces" in demo(45.0, 44.0, 43.0, 43.0).headline


_STARTS_A_SLEEPER = """
import subprocess, sys, time
from contextlib import ExitStack
from isoglot.studies.demo import _end, _ended_in_order
with _ended_in_order(), ExitStack() as stack:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    stack.callback(_end, child)
    print(child.pid, flush=True)
    time.sleep(300)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="looks for the process in /proc")
def test_sigterm_ends_the_processes_that_were_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_A_SLEEPER], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _lives(child)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(60) == 128 + signal.SIGTERM
    ends = time.monotonic() + 10
    while _lives(child) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
