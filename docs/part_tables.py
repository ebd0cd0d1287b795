"""Losses, objectives and views, a row each: what a docstring says of the equation, its source, and how it is used.

A docstring has two paragraphs for it, ``Equation: ...`` and ``Source: ...``; a class that lacks one takes that of its
bases, as an objective takes its loss's. A class without either has empty cells.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from isoglot import losses
from isoglot.losses import Loss
from isoglot.pretraining.recipe import BUILT
from isoglot.recipe.source import builtin_recipes, read_document
from isoglot.recipe.spec import spec_of

__all__ = ["Part", "listed_losses", "losses_of", "made_of", "part_of"]

_ROLE = re.compile(r":\w+(?::\w+)?:`~?([^`]*)`")
_OF_A_LOSS = re.compile(r": :class:`~isoglot\.losses\.\w+`\.$")
"""Where the summary of an objective ends: its loss has a row of its own."""


class Part:
    """A loss, objective or view as one row of its table.

    ``line`` is a line of Python or of a recipe that uses it, ``recipe`` the name of the recipe that the line is of.
    """

    def __init__(self, name: str, kind: type, line: str = "", recipe: str = "") -> None:
        self.name, self.kind, self.line, self.recipe = name, kind, line, recipe

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        first = inspect.cleandoc(self.kind.__doc__ or "").partition("\n\n")[0]
        return _ROLE.sub(r"\1", _OF_A_LOSS.sub(".", " ".join(first.split()))).replace("``", "`")

    @property
    def equation(self) -> str:
        """The equation in its docstring, or in the docstring of the loss that it inherits."""
        return paragraph_of(self.kind, "Equation")

    @property
    def source(self) -> str:
        """The paper, with section and number of the equation where they are known."""
        return paragraph_of(self.kind, "Source")


def paragraph_of(kind: type, title: str) -> str:
    """The paragraph ``TITLE: ...`` of a class's docstring as one line; where it has none, that of its bases."""
    for base in inspect.getmro(kind):
        for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(base.__doc__ or "")):
            if paragraph.startswith(f"{title}: "):
                text = " ".join(paragraph.removeprefix(f"{title}: ").split())
                return _ROLE.sub(r"\1", text).replace("``", "`")
    return ""


def losses_of(namespace: Mapping[str, Any]) -> list[Part]:
    """The losses among public names, in the order of the alphabet."""
    found = []
    for name, kind in sorted(namespace.items()):
        if inspect.isclass(kind) and issubclass(kind, Loss) and kind is not Loss:
            found.append(Part(name, kind, line_of_example(kind)))
    return found


def listed_losses() -> list[Part]:
    """The losses that ``isoglot.losses`` offers."""
    return losses_of({name: getattr(losses, name) for name in losses.__all__})


def line_of_example(kind: type) -> str:
    """How a docstring's example makes the loss and calls it: ``contrast = InBatchContrast(); loss = contrast(q, k)``.

    Empty where the docstring has no example with both.
    """
    made = called = name = ""
    for statement in example_statements(kind):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        function = statement.value.func
        if not isinstance(function, ast.Name) or not isinstance(statement.targets[0], ast.Name):
            continue
        if function.id == kind.__name__ and not made:
            made, name = ast.unparse(statement), statement.targets[0].id
        elif made and function.id == name and not called:
            called = ast.unparse(statement)
    return f"{made}; {called}" if called else ""


def example_statements(kind: type) -> Iterator[ast.AST]:
    """Every statement of the example in a class's docstring, those inside loops too."""
    lines = re.findall(r"^\s*(?:>>>|\.\.\.) ?(.*)$", kind.__doc__ or "", re.MULTILINE)
    yield from ast.walk(ast.parse("\n".join(lines)))


def made_of(section: str) -> list[Part]:
    """Every view or objective that a recipe can name, with its entry in the simplest recipe that has one."""
    return [part_of(section, name, kind) for name, kind in BUILT[section].registry.items()]


def part_of(section: str, name: str, kind: type) -> Part:
    """A view or objective, with its entry in the recipe that has the fewest entries beside it."""
    using: list[tuple[int, str, str]] = []
    for recipe, values in _recipes().items():
        entries = values.get(section, {})
        lines = [_entry(key, values, kind) for key, values in entries.items() if values["type"] == name]
        if lines:
            using.append((len(entries), recipe, lines[0]))
    if not using:
        return Part(name, kind)
    # Of recipes with as few entries the one with the shortest name: `mlm` goes before `dict_mlm`.
    _, recipe, line = min(using, key=lambda found: (found[0], len(found[1]), found[1]))
    return Part(name, kind, line, recipe)


@cache
def _recipes() -> dict[str, Mapping[str, Any]]:
    """The values of every recipe that comes with isoglot, without variants and recipes for small data (`small/tlm`)."""
    return {
        recipe: read_document(path, variables=False).values
        for recipe, path in builtin_recipes().items()
        if "/" not in recipe
    }


def _entry(key: str, values: Mapping[str, Any], kind: type) -> str:
    """An entry of a recipe in one line, without options that stand at their defaults."""
    fields = spec_of(kind).model_fields
    shown = {}
    for option, value in values.items():
        names_another = option in ("type", "stream") or option.endswith("view")
        is_default = option in fields and value == fields[option].default
        is_usual_weight = option == "weight" and value == 1
        if names_another or not (is_default or is_usual_weight):
            shown[option] = value
    inside = ", ".join(f"{option}: {_written(value)}" for option, value in shown.items())
    return f"{key}: {{{inside}}}"


def _written(value: Any) -> str:
    """A value as YAML has it in one line."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value)
