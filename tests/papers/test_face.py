"""Papers are plain programs: what they need of isoglot is public."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import isoglot
from isoglot import papers, studies

PROGRAMS = sorted(Path(papers.__file__).parent.glob("*.py"))
PUBLIC = {"isoglot", "isoglot.studies", "isoglot.papers"}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_paper_imports_the_public_face_and_nothing_else_of_the_package(path: Path) -> None:
    siblings = {f"isoglot.papers.{program.stem}" for program in PROGRAMS}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module
            modules = [node.module]
        else:
            continue
        inside = {module for module in modules if module.partition(".")[0] == "isoglot"}
        assert inside <= PUBLIC | siblings, f"{path.name}:{node.lineno}"
        if inside & {"isoglot", "isoglot.studies"} and isinstance(node, ast.ImportFrom):
            public = studies.__all__ if node.module == "isoglot.studies" else isoglot.__all__
            assert {alias.name for alias in node.names} <= set(public), f"{path.name}:{node.lineno}"


def test_the_face_of_studies_is_sorted_and_whole() -> None:
    assert studies.__all__ == sorted(studies.__all__)
    assert all(getattr(studies, name).__doc__ for name in studies.__all__)
