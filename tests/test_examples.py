"""Every script of `examples/` runs as its first lines say, and prints what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "align_words.py": "house = Haus",
    "continue_an_encoder.py": "model.safetensors",
    "derive_a_language.py": "inv        loudly barks dog The .",
    "look_at_training.py": "[MASK]",
    "prepare_corpus.py": "a dog | ein Hund",
    "score_links.py": "precision 80.0, recall 75.0, AER 22.2",
}
SLOW = ("continue_an_encoder.py", "look_at_training.py")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SAYS]
)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and SAYS[name] in done.stdout, done.stdout + done.stderr
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
    assert f"python examples/{name}" in (EXAMPLES / name).read_text(encoding="utf-8")


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in sorted(EXAMPLES.glob("*.ipynb"))])
def test_a_notebook_runs_and_keeps_its_outputs(path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[-1].outputs, "run it and save it with its outputs"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
