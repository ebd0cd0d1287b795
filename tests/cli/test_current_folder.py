"""Modules beside the data are never imported in place of the library's: neither by a command nor by its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isoglot.testing import tiny_bitext

SCRIPT = "import sys\nfrom isoglot.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""What pip installs."""
SPAWNS = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
from isoglot.runs.workers import fork_server, starting
if __name__ == "__main__":
    fork_server()
    for name in ("spawn", "forkserver"):
        with starting():
            pool = ProcessPoolExecutor(1, multiprocessing.get_context(name))
            print(pool.submit(os.getcwd).result())
        pool.shutdown()
"""
THEIRS = (
    "numpy",
    "random",
    "struct",
    "pyarrow",
    "secrets",
    "multiprocessing",
    "pickle",
    "resource",
    "pydantic",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data with modules that tell when they are imported, and end the process."""
    place = tmp_path / "data"
    place.mkdir()
    for name in THEIRS:
        (place / f"{name}.py").write_text(
            f"open('{tmp_path}/told', 'a').write('{name} ')\nraise SystemExit(9)\n"
        )
    rows = [f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(20)]
    (place / "pairs.tsv").write_text("".join(rows))
    return place


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": ""},
    )  # fmt: skip
    told = folder.parent / "told"
    assert not told.exists(), told.read_text()
    assert done.returncode == 0, done.stderr
    return done.stdout


def prepare(out: str) -> list[str]:
    languages = ["--source-lang", "en", "--target-lang", "xx"]
    return ["prepare", "pairs.tsv", *languages, "--processes", "2", "--out", out]


@pytest.mark.slow
def test_a_command_and_its_workers(folder: Path) -> None:
    script = folder.parent / "isoglot"
    script.write_text(SCRIPT)
    run(folder, str(script), *prepare("../script"))
    run(folder, "-m", "isoglot.cli", *prepare("../module"))


def test_workers_of_every_kind(folder: Path) -> None:
    script = folder.parent / "spawns.py"
    script.write_text(SPAWNS)
    assert run(folder, str(script)).split() == [str(folder)] * 2


@pytest.mark.slow
def test_a_script_beside_the_data(folder: Path) -> None:
    """Its own process imports what it likes; what the workers do is in the package alone."""
    (folder / "script.py").write_text(
        "import sys\nhere = sys.path.pop(0)\n"
        "from isoglot.corpus.prepare import prepare\nfrom isoglot.formats.sources import Source\n"
        "sys.path.insert(0, here)\n"
        "found = prepare(Source(path='pairs.tsv', source_language='en', target_language='xx'), '../out', processes=2)\n"
        "print(found.rows, sys.path[0] == here)\n"
    )
    assert run(folder, "script.py").split() == ["20", "True"]


@pytest.mark.slow
def test_workers_of_ray(folder: Path) -> None:
    pytest.importorskip("ray")
    script = folder.parent / "isoglot"
    script.write_text(SCRIPT)
    run(folder, str(script), *prepare("../ray"), "--engine", "ray")
