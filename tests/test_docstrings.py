"""Docstrings describe arguments that exist: a renamed argument is renamed in its description too.

``make check`` runs it. Ruff's rule (DOC102) reads the ``Args:`` of functions alone; here are those of classes too, and
paragraphs that begin with an argument's name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import isoglot

REPOSITORY = Path(isoglot.__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples")

Function = ast.FunctionDef | ast.AsyncFunctionDef
_NAMES = re.compile(r"(?:^|(?<=\. )|(?<=\n))((?:``\*{0,2}[a-z_]\w*``(?:, | and | or )?)+)(:\s| is | are )")
"""One or several names that begin a line or a sentence: ``first``, ``last``: ..."""
_ENTRY = re.compile(r"^    \*{0,2}([a-z_]\w*)(?: \([^)]*\))?:\s", re.MULTILINE)
"""An entry of ``Args:``, in a docstring without its indentation."""


def described(docstring: str) -> Iterator[tuple[str, bool]]:
    """The names that a docstring describes, each with whether it must be an argument.

    A line or sentence that begins "``first``, ``last``: The ends" describes arguments, and so do entries of ``Args:``.
    A sentence like "``auto`` is the first GPU" may be about a value instead, which the code at least mentions.
    """
    for section in re.findall(r"^Args:\n((?:    .*\n|\n)+)", docstring + "\n", re.MULTILINE):
        for entry in _ENTRY.finditer(section):
            yield entry[1], True
    unindented = "\n".join(line for line in docstring.splitlines() if not line.startswith(" "))
    for sentence in _NAMES.finditer(unindented):
        for name in re.findall(r"\w+", sentence[1].replace(" and ", ",").replace(" or ", ",")):
            yield name, sentence[2].startswith(":")


def arguments(function: Function) -> set[str]:
    """Names of a function's arguments."""
    listed = function.args
    named = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs, listed.vararg, listed.kwarg]
    return {argument.arg for argument in named if argument is not None}


def members(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Arguments of a class: those of ``__init__`` or its fields, and its properties; of its bases too."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, Function):
            found |= arguments(statement) if statement.name in ("__init__", "__new__") else {statement.name}
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", None)
        if name in classes and classes[name] is not node:
            found |= members(classes[name], classes)
    return found


def mentioned(node: ast.AST) -> set[str]:
    """Every word in the code of a function, its strings included, its docstring not."""
    words: set[str] = set()
    for part in node.body[1:]:  # type: ignore[attr-defined]
        words |= set(re.findall(r"\w+", ast.unparse(part)))
    return words


def definitions(block: ast.AST) -> Iterator[Function | ast.ClassDef]:
    """The functions and classes of a module, those inside others too; expressions are not looked into."""
    for statement in (*getattr(block, "body", ()), *getattr(block, "orelse", ())):
        if isinstance(statement, Function | ast.ClassDef):
            yield statement
        if isinstance(statement, ast.stmt):
            yield from definitions(statement)


def stale(sources: dict[str, str]) -> list[str]:
    """``FILE:LINE: NAME has no ARGUMENT`` for each description of an argument that is not there."""
    defined = {path: list(definitions(ast.parse(text))) for path, text in sources.items()}
    classes: dict[str, ast.ClassDef] = {}
    for nodes in defined.values():
        classes |= {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    found = []
    for path, nodes in defined.items():
        for node in nodes:
            known = members(node, classes) if isinstance(node, ast.ClassDef) else arguments(node)
            for name, is_argument in described(ast.get_docstring(node) or ""):
                if name not in known and (is_argument or name not in mentioned(node)):
                    found.append(f"{path}:{node.lineno}: {node.name} has no {name}")
    return found


@pytest.mark.slow
def test_docstrings_describe_arguments_that_exist() -> None:
    sources = {}
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            sources[str(path.relative_to(REPOSITORY))] = path.read_text(encoding="utf-8")
    assert not stale(sources)


@pytest.mark.parametrize(
    ("docstring", "wrong"),
    [
        ("Do.\n\n    Args:\n        kept: One.\n        gone: Two,\n            or: three.\n    ", ["gone"]),
        ("Do.\n\n    ``gone``: One.\n    ``kept``: Two.\n    ", ["gone"]),
        ("Do.\n\n    ``kept``, ``gone`` and ``lost``: One.\n    ", ["gone", "lost"]),
        ("Do what is asked. ``kept``: One. ``gone``: Two.", ["gone"]),
        ("Do.\n\n    ``gone`` is a file.\n    ", ["gone"]),
        ("Do as ``gone`` says: ``auto`` is one of them.", []),  # no sentence begins with it
        (
            "Do.\n\n    ``auto`` is the GPU.\n    - ``gone``: a value.\n\n    Returns:\n        ``gone``: A key.",
            [],
        ),
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        "def f(kept, *more):\n    '''{}'''\n    return 'auto'",
        "class A(B):\n    '''{}'''\n    x = 'auto'\nclass B:\n    kept: int",
        "class A:\n    '''{}'''\n    def __init__(self, kept):\n        self.x = 'auto'",
    ],
)
def test_the_check_sees_each_form(docstring: str, wrong: list[str], code: str) -> None:
    name = code.split()[1][0]
    assert stale({"a.py": code.format(docstring)}) == [f"a.py:1: {name} has no {one}" for one in wrong]
