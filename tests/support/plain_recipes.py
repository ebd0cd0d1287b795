"""Recipes whose files need not be there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isoglot.core.errors import MISSING_FILE, ConfigurationError
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.recipe import Recipe, typed_recipe
from isoglot.recipe.source import read_document

__all__ = ["load"]


def load(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe, or all its mistakes but missing files."""
    try:
        return load_recipe(path_or_name, overrides)
    except ConfigurationError as error:
        others = [problem for problem in error.problems if problem.kind != MISSING_FILE]
        if others or not error.problems[0].kind:
            raise ConfigurationError(others or error.problems) from error
    document = read_document(path_or_name, overrides)
    recipe, _ = typed_recipe(document)
    assert recipe is not None
    recipe.remember(document.raw)
    return recipe
