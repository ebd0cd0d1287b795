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
    "derive": ["derive", "text.txt", "--lang", "en", "--transform", "trans+inv", "--out", "derived"],
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
    "merge": ["merge", "model", "other", "--out", "merged"],
    "project": ["project", "tagged.tsv", "target.txt", "--kind", "ner", "--links", "links.txt", "--out", "made.tsv",
                "--source-lang", "en", "--target-lang", "de"],
}  # fmt: skip
"""Calls that compute with numba where they need it, and with no network."""
RUN = """
import json, sys
from isoglot import cli
for name, arguments in json.loads(sys.argv[1]).items():
    before = set(sys.modules)
    sys.argv = ["isoglot", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        new = {module.partition(".")[0] for module in sys.modules.keys() - before}
        print("\\n", json.dumps([name, end.code, sorted(new)]), sep="")
"""
"""Commands one after the other; after each what it has imported that none before it had."""
RESULT = {"run": "a", "task": "pos", "language": "de", "metric": "accuracy", "value": 0.5, "examples": 3}


def imported(folder: Path, calls: dict[str, list[str]]) -> dict[str, set[str]]:
    """The packages that each command imports, all in one process of their own."""
    (folder / "links.txt").write_text("0-0 1-1\n")
    (folder / "pairs.tsv").write_text("a house\tein Haus\n")
    (folder / "text.txt").write_text("a house\n")
    (folder / "target.txt").write_text("ein Haus\n")
    (folder / "tagged.tsv").write_text("a\tO\nhouse\tB-LOC\n\n")
    (folder / "results.jsonl").write_text(json.dumps(RESULT) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(calls)], cwd=folder, capture_output=True, text=True, check=True
    )
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith('["'):
            name, code, packages = json.loads(line)
            assert code == 0, (name, done.stderr)
            found[name] = set(packages)
    assert found.keys() == calls.keys(), done.stderr
    return found


@pytest.mark.slow
def test_commands_that_need_no_model_import_none(tmp_path: Path) -> None:
    found = imported(tmp_path, CALLS)
    assert {name: packages & set(HEAVY) for name, packages in found.items() if packages & set(HEAVY)} == {}


def test_commands_without_an_encoder_import_neither_torch_nor_transformers(tmp_path: Path) -> None:
    for folder in ("model", "other"):
        aligner = StatisticalAligner("fast_align")
        aligner.fit_pairs([(["a", "house"], ["ein", "Haus"])] * 3).save(tmp_path / folder)
    for name, packages in imported(tmp_path, WITHOUT_ENCODER).items():
        assert not {"torch", "transformers", "datasets"} & packages, name


@pytest.mark.slow
def test_a_method_that_learns_in_seconds_imports_no_pyarrow(tmp_path: Path) -> None:
    call = ["align", "pairs.tsv", *PAIR, "--method", "fast_align", "-o", "links"]
    assert "pyarrow" not in imported(tmp_path, {"align": call})["align"]
