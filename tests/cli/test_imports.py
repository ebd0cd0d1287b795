"""What a command imports: no torch where nothing is computed with it, no `datasets` where plain files are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from isoglot.aligners.statistical.model import StatisticalAligner

HEAVY = ("torch", "transformers", "datasets", "numba", "scipy", "altair", "ray")
PAIR = ("--source-lang", "en", "--target-lang", "de")
CALLS = {
    "score": ["score", "links.txt", "--gold", "links.txt"],
    "prepare": ["prepare", "pairs.tsv", *PAIR, "--out", "made", "--processes", "1"],
    "derive": ["derive", "text.txt", "--lang", "en", "--transform", "trans+inv", "--out", "made"],
    "study": ["study", "--list"],
    "recipes": ["recipes", "tlm"],
    "report": ["report", "results.jsonl", "--out", "page.html"],
    "filter": ["filter", "pairs.tsv", *PAIR, "--aligner", "none", "--numbers", "changed", "--placeholders",
               "--max-copied", "0.6", "--min-script-share", "0.5", "--out", "kept.tsv"],
    "map": [],
}  # fmt: skip
WITHOUT_ENCODER = {
    "align": ["align", "pairs.tsv", *PAIR, "--method", "fast_align", "--save", "made"],
    "align with a model": ["align", "pairs.tsv", *PAIR, "--model", "model"],
    "filter with a model": ["filter", "pairs.tsv", *PAIR, "--aligner", "model", "--out", "kept.tsv"],
    "merge": ["merge", "model", "other", "--out", "made"],
    "project": ["project", "tagged.tsv", "target.txt", "--kind", "ner", "--links", "links.txt", "--out", "made.tsv",
                "--source-lang", "en", "--target-lang", "de"],
}  # fmt: skip
"""Calls that compute with numba where they need it, and with no network."""
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


def imported(folder: Path, *arguments: str) -> set[str]:
    """The packages that a command has imported when it ends, in a process of its own."""
    (folder / "links.txt").write_text("0-0 1-1\n")
    (folder / "pairs.tsv").write_text("a house\tein Haus\n")
    (folder / "text.txt").write_text("a house\n")
    (folder / "target.txt").write_text("ein Haus\n")
    (folder / "tagged.tsv").write_text("a\tO\nhouse\tB-LOC\n\n")
    (folder / "results.jsonl").write_text(json.dumps(RESULT) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    code, packages = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(packages)


@pytest.mark.parametrize("name", CALLS)
def test_a_command_that_needs_no_model_imports_none(name: str, tmp_path: Path) -> None:
    assert not set(HEAVY) & imported(tmp_path, *CALLS[name])


@pytest.mark.parametrize("name", WITHOUT_ENCODER)
def test_a_command_without_an_encoder_imports_neither_torch_nor_transformers(
    name: str, tmp_path: Path
) -> None:
    for folder in ("model", "other"):
        aligner = StatisticalAligner("fast_align")
        aligner.fit_pairs([(["a", "house"], ["ein", "Haus"])] * 3).save(tmp_path / folder)
    assert not {"torch", "transformers", "datasets"} & imported(tmp_path, *WITHOUT_ENCODER[name])


def test_a_method_that_learns_in_seconds_imports_no_pyarrow(tmp_path: Path) -> None:
    assert "pyarrow" not in imported(
        tmp_path, "align", "pairs.tsv", *PAIR, "--method", "fast_align", "-o", "links"
    )
