"""What a command imports: no torch where nothing is computed with it, no `datasets` where plain files are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "datasets", "numba", "scipy", "altair", "ray")
PAIR = ("--source-lang", "en", "--target-lang", "de")
CALLS = {
    "score": ["score", "links.txt", "--gold", "links.txt"],
    "prepare": ["prepare", "pairs.tsv", *PAIR, "--out", "made", "--processes", "1"],
    "derive": ["derive", "text.txt", "--lang", "en", "--transform", "trans+inv", "--out", "made"],
    "study": ["study", "--list"],
    "recipes": ["recipes", "tlm"],
    "report": ["report", "results.jsonl", "--out", "page.html"],
    "map": [],
}  # fmt: skip
RUN = """
import json, sys
from isoglot import cli
sys.argv = ["isoglot", *sys.argv[1:]]
try:
    cli.main()
except SystemExit as end:
    print(json.dumps([end.code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
RESULT = {"run": "a", "task": "pos", "language": "de", "metric": "accuracy", "value": 0.5, "examples": 3}


@pytest.mark.parametrize("name", CALLS)
def test_a_command_that_needs_no_model_imports_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "links.txt").write_text("0-0 1-1\n")
    (tmp_path / "pairs.tsv").write_text("a house\tein Haus\n")
    (tmp_path / "text.txt").write_text("a house\n")
    (tmp_path / "results.jsonl").write_text(json.dumps(RESULT) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *CALLS[name]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, imported = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    assert not set(HEAVY) & set(imported)
