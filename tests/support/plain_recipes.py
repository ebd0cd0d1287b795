"""Recipes checked by what the file alone shows, without the constructors, files and settings that they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isoglot.recipe.load import problems
from isoglot.recipe.sections import Recipe
from isoglot.recipe.source import read_document

__all__ = ["load"]


def load(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe, or all its mistakes."""
    document = read_document(path_or_name, overrides)
    recipe = problems(document)
    if recipe is None or document.problems:
        raise document.error(f"recipe {path_or_name}")
    return recipe
