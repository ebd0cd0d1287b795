"""The README's first commands, in a fresh clone of what is committed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def made() -> list[str]:
    """The targets of make that the README names, in their order."""
    return re.findall(r"^make (\w+)", README, re.MULTILINE)


def test_the_first_commands_are_the_demo_and_the_tests() -> None:
    assert made()[:2] == ["demo", "test"]
    assert README.index("make demo") < README.index("pip install")


def test_links_and_pictures_are_files_of_the_repository() -> None:
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", README) if not link.startswith("http")]
    assert len(links) > 10 and all((ROOT / link).exists() for link in links)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_a_fresh_clone_makes_the_demo(tmp_path: Path) -> None:
    """With the packages of this environment: its set-up would install torch again."""
    clone = tmp_path / "isoglot"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    venv = Path(sys.prefix)
    command = ["make", f"VENV={venv}", "-o", str(venv / ".isoglot-setup")]
    environment = {**os.environ, "PYTHONPATH": str(clone / "src")}
    for target in made():
        subprocess.run([*command, "--dry-run", target], cwd=clone, env=environment, check=True)
    subprocess.run([*command, "demo"], cwd=clone, env=environment, check=True)
    assert (clone / "runs" / "demo" / "report.html").is_file()
