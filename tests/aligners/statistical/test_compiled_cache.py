"""Compiled loops that another process left on disk serve loops that are compiled later, in any order of methods."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_methods_share_what_is_compiled(tmp_path: Path):
    (tmp_path / "pairs.txt").write_text("das haus ||| the house\ndas buch ||| the book\n")
    for method in ("fast_align", "hmm", "fast_align", "hmm"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "isoglot.cli",
                "align",
                "pairs.txt",
                "--method",
                method,
                "--out",
                "links.txt",
            ],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
