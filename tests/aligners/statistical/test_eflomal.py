from __future__ import annotations

import shutil
import sys

import pytest
from refusals import refused

from isoglot.aligners.statistical.eflomal import EflomalAligner
from isoglot.core.errors import ConfigurationError

PROGRAM = """#!{python}
import sys
values = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
if "--fail" in sys.argv:
    sys.exit("no memory")
pairs = list(zip(open(values["--source"]), open(values["--target"])))
for side, shift in (("--forward-links", 0), ("--reverse-links", 1)):
    with open(values[side], "w") as file:
        for source, target in pairs:
            n = min(len(source.split()), len(target.split())) - shift
            print(*[f"{{k}}-{{k}}" for k in range(n)], file=file)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "eflomal-align"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_links_come_back_in_order(program):
    source, target = [["a", "b b", "c"], [], ["d", "e"]], [["A", "B", "C"], ["X"], ["D", " ", "E"]]
    links = EflomalAligner(program=program, symmetrisation="intersect").table(source, target)
    assert links.lists() == [[[0, 0], [1, 1]], [], [[0, 0]]]
    union = EflomalAligner(program=program, symmetrisation="union").table(source, target)
    assert union.lists() == [[[0, 0], [1, 1], [2, 2]], [], [[0, 0], [1, 1]]]


def test_a_missing_program_says_what_to_type():
    with refused(ConfigurationError, "'no-such-program'", "pip install eflomal", "program=PATH", "hmm"):
        EflomalAligner(program="no-such-program").table([["a"]], [["b"]])


def test_a_failure_is_passed_on(program):
    with refused(ConfigurationError, "eflomal-align", "exit code 1", "'no memory'"):
        EflomalAligner(program=program, arguments="--fail").table([["a"]], [["b"]])


def test_bad_options():
    with refused(ConfigurationError, "'agreement'", "forward, ", "union"):
        EflomalAligner(symmetrisation="agreement")


@pytest.mark.skipif(shutil.which("eflomal-align") is None, reason="eflomal is not installed")
def test_the_real_program():
    source = [["das", "haus"], ["das", "buch"], [], ["ein", "buch"]] * 10
    target = [["the", "house"], ["the", "book"], ["x"], ["a", "book"]] * 10
    links = EflomalAligner(symmetrisation="intersect").table(source, target).to_pharaoh()
    assert links[0] == "0-0 1-1"
    assert links[2] == ""
