"""Put a recipe together: find it by path or name, lay it over what it ``extends``, apply the overrides of ``--set``."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml.nodes import MappingNode

from isoglot.core.checks import did_you_mean, given_texts
from isoglot.core.errors import ConfigurationError, InputError, Origin, Problem
from isoglot.recipe.document import Document, compose, construct, dump_yaml, lay_over, overridden

_BUILT_IN = Path(__file__).parent.parent / "recipes"


def builtin_recipes() -> dict[str, Path]:
    """Return the files of the recipes that come with isoglot, by name: ``tlm``, ``small/tlm_en_de``.

    Recipes in folders come after the others.
    """
    files = {
        path.relative_to(_BUILT_IN).with_suffix("").as_posix(): path for path in _BUILT_IN.rglob("*.yaml")
    }
    return {name: files[name] for name in sorted(files, key=lambda name: (name.count("/"), name))}


def find(path_or_name: str | Path) -> Path:
    """Find a recipe file by its path or by the name of a built-in recipe."""
    path = Path(path_or_name)
    if path.is_file():
        return path
    known = builtin_recipes()
    name = path.as_posix().removesuffix(".yaml")
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"recipe {str(path_or_name)!r}: not a file, and not the name of a built-in recipe; "
        f"{did_you_mean(name, known)} (`isoglot recipes` lists them)"
    )


def read_document(
    recipe: str | Path | Mapping[str, Any], overrides: Sequence[str] = (), *, variables: bool = True
) -> Document:
    """Read a recipe, what it extends, and the overrides (``section.key=value``); mistakes are in its ``problems``.

    ``recipe``: A file, the name of a built-in recipe, or what a file would hold as dictionaries.
    ``variables``: Whether an environment variable that is not set is a mistake.
    """
    document = _of_values(recipe) if isinstance(recipe, Mapping) else _read_file(find(recipe), seen=())
    for override in given_texts(overrides, "overrides"):
        document = overridden(document, override)
    if variables:
        document.require_variables()
    return document


def _of_values(values: Mapping[str, Any]) -> Document:
    """Read a recipe in memory like a file in the current folder: ``${NAME}`` and ``extends`` mean the same."""
    try:
        text = dump_yaml(json.loads(json.dumps(values, default=_as_text)))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"recipe: {error}; a recipe can only hold YAML values") from error
    document = Document()
    node = compose(text, "recipe")
    document.values = {} if node is None else construct(node, (), "recipe", document)
    # The lines of `text` say nothing to the user, who wrote no file.
    document.origins.clear()
    document.problems = [replace(problem, origin=Origin("recipe")) for problem in document.problems]
    return _extended(document, Path("recipe"), seen=())  # the folder of this path is the current one


def _as_text(value: object) -> str:
    if isinstance(value, os.PathLike):
        return str(value)
    raise TypeError(f"got a {type(value).__name__}")


def _read_file(path: Path, *, seen: tuple[Path, ...]) -> Document:
    document = Document()
    try:
        node = compose(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); give the path of a recipe", path=path
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{error.object[error.start]:02x} is not valid UTF-8; save the recipe in UTF-8",
            path=path,
            line=error.object.count(b"\n", 0, error.start) + 1,
        ) from error
    if not isinstance(node, MappingNode):
        raise InputError(
            "a recipe is a YAML mapping (`key: value` lines); see `isoglot recipes`", path=path, line=1
        )
    document.values = construct(node, (), str(path), document)
    return _extended(document, path, seen=seen)


def _extended(document: Document, path: Path, *, seen: tuple[Path, ...]) -> Document:
    """Lay a recipe over the recipe that it extends, if it extends one.

    ``extends`` names a file relative to this one, or else a built-in recipe. ``seen`` are the files that led here: a
    recipe that is among them extends itself.
    """
    # The value is removed here, and its origin only after the checks below: a mistake is shown with the origin's line.
    parent = document.values.pop("extends", None)
    if parent is None:
        return document
    candidates = []
    if isinstance(parent, str):
        candidates = [path.parent / parent, _BUILT_IN / f"{parent.removesuffix('.yaml')}.yaml"]
    base_path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if base_path is None:
        problem = "no recipe file of this name beside this one, and no built-in one"
    elif base_path.resolve() in (*seen, path.resolve()):
        problem = "extends itself"
    else:
        base = _read_file(base_path, seen=(*seen, path.resolve()))
        document.drop(("extends",))
        return lay_over(base, document)
    text = f"{parent!r}: {problem}; name a YAML file relative to this one"
    document.add([Problem(text, ("extends",))])
    return document
