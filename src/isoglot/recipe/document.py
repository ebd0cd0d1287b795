"""A YAML file as recipes are written: version 1.2, every value's line kept, every mistake collected.

``no`` is a string and ``5e-5`` a number (plain PyYAML reads them the other way round), duplicate keys are
mistakes, ``${NAME}`` stands for an environment variable. Numbers are finite.
"""

import io
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from isoglot.core.checks import shortened
from isoglot.core.errors import (
    NOT_FINITE,
    UNSET_VARIABLE,
    ConfigurationError,
    InputError,
    Location,
    Origin,
    Problem,
)

T = TypeVar("T")

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}``, an environment variable."""
_ONE_WORD = re.compile(r"[-+.]*\w[-+.\w]*")
"""A value of a variable that YAML may give a type: 100, 5e-5, true.

Any other value is text, such as ``[1, 2]``, or ``-``, which YAML by itself would read as a list.
"""
_TYPED_TAGS = ("int", "float", "bool", "null")
"""Tags of the scalars that YAML gives a type; all others are text."""
_ALTERNATIVES: dict[Location, str] = {
    ("steps",): "epochs",
    ("epochs",): "steps",
    ("batch", "examples"): "tokens",
    ("batch", "tokens"): "examples",
    ("streams", "*", "path"): "sources",
    ("streams", "*", "sources"): "path",
}
"""Keys of which a recipe has only one, each with the other: `steps: 100` laid over a recipe removes its `epochs`.

``*`` stands for any name, such as that of a stream.
"""
_DEEPEST = 50
"""Levels of nesting of a recipe, at most."""
_MOST_VALUES = 50_000
"""Values of a recipe, at most, with aliases written out."""


@dataclass
class Document:
    """A YAML file's values, where each was written, and the mistakes found so far."""

    values: dict[str, Any] = field(default_factory=dict)  # environment variables expanded, overrides applied
    # The place of each value. A study also takes the recipe files that a run depends on from here.
    origins: dict[Location, Origin] = field(default_factory=dict)
    raw: dict[Location, str] = field(default_factory=dict)  # texts with variables as written: ${NAME}/file
    problems: list[Problem] = field(default_factory=list)

    def origin(self, location: Location) -> Origin:
        """Return the place where a value is written, or else that of the closest section around it."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]]
        return Origin("recipe")

    def add(self, problems: Iterable[Problem]) -> None:
        """Record mistakes with the places of their values, each mistake once.

        A number that is not finite is one mistake: that it also fits no option is not said again.
        """
        settled = {p.location for p in self.problems if p.kind == NOT_FINITE}
        for problem in problems:
            if problem.location in settled:
                continue
            located = replace(problem, origin=problem.origin or self.origin(problem.location))
            if located not in self.problems:
                self.problems.append(located)

    def error(self, what: str) -> ConfigurationError:
        """Return the error that lists the mistakes by line; those without a line, such as of overrides, come last."""
        mistakes = sorted(self.problems, key=lambda p: (p.origin and p.origin.line) or sys.maxsize)
        count = f"{len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''}"
        return ConfigurationError(mistakes, heading=f"{what}: {count}; nothing was read or trained")

    def unset(self) -> dict[Location, list[str]]:
        """Return the environment variables that are not set, by the places of the values that need them."""
        missing = {location: unset_in(text) for location, text in self.raw.items()}
        return {location: names for location, names in missing.items() if names}

    def require_variables(self) -> None:
        """Record the variables that are not set as mistakes.

        Call it last: an override or an extending recipe may have replaced the value that needed a variable.
        """
        for location, names in self.unset().items():
            for name in names:
                text = f"environment variable {name} is not set, but {self.raw[location]!r} needs it"
                self.add([Problem(f"{text}; `export {name}=...`", location, UNSET_VARIABLE)])

    def drop(self, location: Location) -> None:
        """Forget the origins and raw strings at and below ``location``."""
        for table in (self.origins, self.raw):
            for key in [k for k in table if k[: len(location)] == location]:
                del table[key]


def parse_value(text: str) -> Any:
    """Read one value as YAML 1.2 types it: ``5e-5`` a float, ``no`` a string, ``[1, 2]`` a list."""
    document = Document()
    node = compose(text, "value")
    return None if node is None else construct(node, (), "value", document)


def dump_yaml(values: Any) -> str:
    """Write values as YAML 1.2 in their order; :func:`parse_value` reads them back equal."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 110
    yaml.allow_unicode = True
    yaml.representer.sort_base_mapping_type_on_output = False
    buffer = io.StringIO()
    yaml.dump(values, buffer)
    return buffer.getvalue()


@lru_cache(maxsize=256)
def compose(text: str, name: str) -> Node | None:
    """Read a YAML text as ruamel's nodes.

    Nodes are remembered, because a study reads the same recipes many times. So nobody may change them.

    Raises:
        InputError: The text is not YAML, with the line.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = _DEEPEST
    try:
        return yaml.compose(text)  # type: ignore[no-any-return]
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        parts = (getattr(error, "context", None), getattr(error, "problem", None))
        reason = " ".join(part for part in parts if part) or str(error)
        line, lines = None, text.splitlines()
        if mark is not None:
            line = max(1, min(mark.line + 1, len(lines)))  # the end of the text counts as one more line
            if "${" in lines[line - 1]:
                reason += ' (inside { } or [ ] a variable needs quotes: "${NAME}/file")'
        raise InputError(f"not valid YAML: {reason}; fix the line", path=name, line=line) from error


def construct(node: Node, location: Location, file: str, document: Document) -> Any:
    """Return the values of a node; add their origins and mistakes to the document.

    1. An alias (``*name``) is written out. One inside its own value would never end, and a few may write out millions
       of values: both are refused.
    2. Of a key that is repeated, the first value counts.
    3. Numbers, booleans and null are what YAML says, unless they are quoted.
    4. In all other scalars, which are text, environment variables are replaced.
    5. A scalar that is one variable, without quotes, has the type of the variable's value, if this is one word: with
       ``STEPS=100``, ``steps: ${STEPS}`` is the number 100; with ``STEPS=[1, 2]`` it is a text.
    """
    line = node.start_mark.line + 1
    # In a mapping the line of the key is recorded already, and stays.
    document.origins.setdefault(location, Origin(file, line))
    # 1. compose() refuses text that is nested so deep, so only aliases lead to a longer location.
    if len(location) > _DEEPEST:
        raise InputError(
            "an alias (*) is inside the value that it refers to; write the values out", path=file, line=line
        )
    if len(document.origins) > _MOST_VALUES:
        raise InputError(
            f"more than {_MOST_VALUES:,} values, aliases (*) counted in full", path=file, line=line
        )
    if isinstance(node, MappingNode):
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, ScalarNode) else "?"
            here, origin = (*location, key), Origin(file, key_node.start_mark.line + 1)
            if key in values:  # 2
                text = f"repeated, first in line {document.origins[here].line}; delete one of the two"
                document.add([Problem(text, here, origin=origin)])
                continue
            document.origins[here] = origin
            values[key] = construct(value_node, here, file, document)
        return values
    if isinstance(node, SequenceNode):
        return [construct(child, (*location, i), file, document) for i, child in enumerate(node.value)]
    if not isinstance(node, ScalarNode):
        raise TypeError(f"unexpected YAML node {node!r}")
    kind = str(node.tag).rpartition(":")[2]
    if kind in _TYPED_TAGS and node.style is None:  # 3: a quoted scalar has a style
        try:
            value = YAML(typ="safe", pure=True).constructor.construct_object(node)
        except ValueError:  # thousands of digits
            value = math.inf
        _require_finite(value, str(node.value), location, document)
        return value
    text = str(node.value)  # 4
    if not VARIABLE.search(text):
        return text
    document.raw[location] = text
    expanded = expand(text)
    if node.style is None and VARIABLE.fullmatch(text) and _ONE_WORD.fullmatch(expanded):  # 5
        typed = parse_value(expanded)
        _require_finite(typed, expanded, location, document)
        return typed
    return expanded


def _require_finite(value: Any, written: str, location: Location, document: Document) -> None:
    """Record a number that is not finite as a mistake; ``written`` is its text."""
    if isinstance(value, float) and not math.isfinite(value):
        text = f"got {shortened(written)}; a finite number is needed"
        document.add([Problem(text, location, NOT_FINITE)])


def expand(text: str) -> str:
    """Replace the environment variables in a text; ``${NAME}`` stays where the variable is not set."""
    return VARIABLE.sub(lambda match: os.environ.get(match["name"], match[0]), text)


def variables_in(text: str) -> list[str]:
    """Return the names of the environment variables in a text, each once."""
    names = (match["name"] for match in VARIABLE.finditer(text))
    return list(dict.fromkeys(names))


def unset_in(text: str) -> list[str]:
    """Return the environment variables that a text names and that are not set, each once."""
    return [name for name in variables_in(text) if name not in os.environ]


def lay_over(base: Document, over: Document, *, replaced: Location = ()) -> Document:
    """Lay one document over another.

    1. Mappings merge: ``train: {fp16: true}`` over ``train: {warmup: 10}`` has both keys. The value of an
       override, which stands at the location ``replaced``, is not merged: it replaces a mapping as a whole.
    2. Everything else replaces what is below, lists too.
    3. Null deletes an entry that is below; where there is none, null stays.
    4. A key deletes its alternative (``steps`` deletes ``epochs``), unless both are in the upper document.

    Lay several documents from the lowest up. With ``{a: 1}`` at the bottom, ``{a: 2}`` over it and ``{a: null}`` at the
    top, the result is empty. If the top were laid over the middle first, the two would make an empty document, and
    over the bottom this would leave ``{a: 1}``.
    """
    result = Document(dict(base.values), dict(base.origins), dict(base.raw), [*base.problems, *over.problems])

    def merge(below: dict[str, Any], above: dict[str, Any], location: Location) -> dict[str, Any]:
        merged = dict(below)
        for key, value in above.items():
            here = (*location, key)
            if isinstance(value, dict) and isinstance(merged.get(key), dict) and here != replaced:  # 1
                # An override has an origin for its own value alone, not for the sections around it.
                if here in over.origins:
                    result.origins[here] = over.origins[here]
                merged[key] = merge(merged[key], value, here)
                continue
            result.drop(here)
            alternative = _alternative(here)  # 4
            if value is not None and alternative is not None and alternative not in above:
                merged.pop(alternative, None)
                result.drop((*location, alternative))
            if value is None and key in merged:  # 3
                del merged[key]
                continue
            merged[key] = value  # 2
            result.origins.update(_below(here, over.origins))
            result.raw.update(_below(here, over.raw))
        return merged

    result.values = merge(base.values, over.values, ())
    return result


def _alternative(location: Location) -> str | None:
    """Look up the key beside which the key at a location cannot stand: ``epochs`` for ``("steps",)``.

    Keys between the first and the last are names that the user chose: ``("streams", "bitext", "path")`` is looked up as
    ``("streams", "*", "path")``.
    """
    if len(location) == 1:
        return _ALTERNATIVES.get(location)
    section, *names, key = location
    wildcards = ["*" for _ in names]
    return _ALTERNATIVES.get((section, *wildcards, key))


def _below(location: Location, table: Mapping[Location, T]) -> dict[Location, T]:
    """The part of a table that is at or below a location."""
    return {key: value for key, value in table.items() if key[: len(location)] == location}


def overridden(document: Document, override: str) -> Document:
    """Return the document with one value replaced: ``section.key=value``.

    A mistake in the override is recorded in the document.

    Raises:
        ConfigurationError: The value is not YAML.
    """
    key, equals, text = override.partition("=")
    location: Location = tuple(part.strip() for part in key.split("."))
    origin = Origin(f"[[overrides={override!r}]]")
    if not equals or not all(location):
        example = "no `key=value`; type for example [[train.learning_rate=5e-5]]"
        document.problems.append(Problem(example, origin=origin))
        return document
    over = Document(origins={location: origin})
    try:
        node = compose(text, str(origin))
    except InputError as error:
        raise ConfigurationError(
            f"{origin}: the value is not YAML; quote it, for example {key}='\"a: b\"'"
        ) from error
    new_value = None if node is None else construct(node, location, str(origin), over)
    # construct() has written down lines of the override's text; the origin of an override is the override.
    over.origins = dict.fromkeys(over.origins, origin)
    over.problems = [replace(problem, origin=origin) for problem in over.problems]

    obstacle = _no_section(document.values, location)
    if obstacle:
        document.problems.append(Problem(obstacle, origin=origin))
        return document
    # From the inside out: `train.lr=1` becomes {"train": {"lr": 1}}.
    nested: Any = new_value
    for part in reversed(location):
        nested = {part: nested}
    over.values = nested
    return lay_over(document, over, replaced=location)


def _no_section(values: Mapping[str, Any], location: Location) -> str:
    """Report a value on the way to a location that is no section: ``steps is a int, no section`` for ``steps.a``.

    Every value on the way must be a mapping, or be missing or empty (``parts:`` without a value).
    """
    section: Any = values
    for depth, part in enumerate(location[:-1], start=1):
        section = section.get(part)
        if section is None:
            break
        if not isinstance(section, dict):
            name = ".".join(map(str, location[:depth]))
            return f"{name} is a {type(section).__name__}, no section"
    return ""
