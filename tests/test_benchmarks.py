"""The benchmarks go with today's options: `make bench` runs, and the methods of those that take hours can be made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import aer_statistical
from isoglot.aligners.statistical.model import StatisticalAligner

ROOT = Path(__file__).parent.parent
QUICK = re.findall(r"bin/python (benchmarks/.*)", (ROOT / "Makefile").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.timeout(1800)  # minutes, and machines are busy
@pytest.mark.parametrize("line", QUICK)
def test_a_benchmark_runs(line: str) -> None:
    done = subprocess.run(
        [sys.executable, *line.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("name", aer_statistical.METHODS)
def test_a_method_of_the_error_rates_can_be_made(name: str) -> None:
    method, options = aer_statistical.METHODS[name]
    StatisticalAligner(method, **options)
