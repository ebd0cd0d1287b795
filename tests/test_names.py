"""Names are nouns of the field, which a search finds."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "isoglot"
VAGUE = {
    *("found", "own", "one", "ones", "other", "others", "given", "givens", "place", "places", "kept", "told"),
    *("shown", "wanted", "made", "held", "asked", "taken", "same", "thing", "things"),
}
"""Say what it is: links, sentence, row, folder, path, batch, option, tokenizer."""
MOST = 0.01
"""Share of a room's names that may be vague."""


def bindings(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of all that code binds: variables, attributes, arguments, functions, classes, aliases."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield node.lineno, name


def is_vague(name: str) -> bool:
    return name.strip("_") in VAGUE


ROOMS = sorted({path.parent.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS)
def test_names_say_what_they_stand_for(room: str) -> None:
    names = [
        (f"{path.name}:{line}", name)
        for path in sorted((SRC / room).glob("*.py"))
        for line, name in bindings(path.read_text(encoding="utf-8"))
    ]
    vague = [f"{where}: {name}" for where, name in names if is_vague(name)]
    assert len(vague) <= max(1, int(MOST * len(names))), vague


def test_bindings_of_each_kind_are_seen() -> None:
    source = """
import numpy as found
class Other: ...
def given(own, *, kept=1, **told):
    self.place = own
    for one in told:
        pass
    with open(own) as taken, (held := taken):
        asked: int = 1
    try:
        wanted = [same for same in told]
    except OSError as thing:
        del thing
"""
    names = Counter(name for _, name in bindings(source))
    assert set(names) == {
        *("found", "Other", "given", "own", "kept", "told", "place", "one", "taken", "held", "asked"),
        *("wanted", "same", "thing"),
    }
    assert all(map(is_vague, names.keys() - {"Other"}))
