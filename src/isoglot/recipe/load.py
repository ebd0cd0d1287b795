"""A recipe: one run as YAML, read strictly, with every mistake listed before any work starts.

This module checks what can be known from the file alone. Whether a view takes an option, or ``train`` a
setting, is known to the callables themselves: :func:`isoglot.pretraining.check.load_recipe` checks those too and
lists all together.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from isoglot.checks import did_you_mean
from isoglot.errors import ConfigurationError
from isoglot.recipe.document import Document
from isoglot.recipe.problems import problems
from isoglot.recipe.sections import Recipe
from isoglot.recipe.source import read_document

__all__ = ["Recipe", "builtin_folder", "builtin_recipes", "find", "load", "mistakes", "read"]


def builtin_folder() -> Path:
    """The folder of the recipes that come with isoglot."""
    return Path(__file__).parent.parent / "recipes"


def builtin_recipes() -> dict[str, Path]:
    """Name (``tlm``, ``small/tlm_en_de``) to file of the recipes that come with isoglot."""
    folder = builtin_folder()
    names = {p.relative_to(folder).with_suffix("").as_posix(): p for p in folder.rglob("*.yaml")}
    return dict(sorted(names.items(), key=lambda item: (item[0].count("/"), item[0])))


def find(path_or_name: str | Path) -> Path:
    """A recipe file, given its path or the name of a built-in recipe.

    Raises:
        ConfigurationError: there is neither; the message lists the closest name.
    """
    path = Path(path_or_name)
    if path.is_file():
        return path
    known = builtin_recipes()
    name = path.as_posix().removesuffix(".yaml")
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"recipe {str(path_or_name)!r}: no such file and no built-in recipe of that name; "
        f"{did_you_mean(name, known)} (`isoglot recipes` lists them)"
    )


def read(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Document:
    """Read a recipe's document, mistakes and all; :func:`problems` finds the rest of them."""
    return read_document(find(path_or_name), overrides, builtin=builtin_folder())


def load(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and check all that the file alone can tell.

    Args:
        path_or_name: a YAML file, or the name of a built-in recipe (``tlm``).
        overrides: ``section.key=value`` each (``train.learning_rate=5e-5``).

    Returns:
        The recipe.

    Raises:
        ConfigurationError: its mistakes, all listed, each with its line.
        InputError: the file is no YAML.

    Example:
        >>> load("mlm", ["steps=10", "epochs=null", "streams.text.path=corpus.txt"]).steps
        10
    """
    document = read(path_or_name, overrides)
    recipe = problems(document)
    if recipe is None or document.problems:
        raise mistakes(document, path_or_name)
    return recipe


def mistakes(document: Document, path_or_name: str | Path) -> ConfigurationError:
    """The error that lists a document's mistakes."""
    found = sorted(document.problems, key=_line)
    count = len(found)
    noun = "mistake" if count == 1 else "mistakes"
    return ConfigurationError(
        found, heading=f"recipe {path_or_name}: {count} {noun}; nothing was read or trained"
    )


def _line(problem: str) -> int:
    """The line that a message begins with; overrides and what has no line stand last."""
    match = re.match(r"[^\n]*?:(\d+): ", problem)
    return int(match[1]) if match else sys.maxsize
