"""YAML as recipes are written: version 1.2, every value's line kept, every mistake collected.

``no`` is a string and ``5e-5`` a number (plain PyYAML reads them the other way round), duplicate keys are
mistakes, ``${NAME}`` stands for an environment variable, ``extends:`` lays a recipe over another one.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from isoglot.checks import did_you_mean
from isoglot.errors import ConfigurationError, InputError

__all__ = ["Document", "Location", "did_you_mean", "dump_yaml", "parse_value", "read_document"]

Location = tuple[str | int, ...]
"""Keys and list indices that lead to a value."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TYPED_TAGS = ("int", "float", "bool", "null")


@dataclass
class Document:
    """A YAML file's values, where each was written, and the mistakes found so far.

    Args:
        values: the tree, environment variables expanded and overrides applied.
        places: ``file:line`` (or the override) of each value.
        raw: strings as they were written, where a variable was expanded in them.
        problems: one message a mistake, each opening with its place.
    """

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[Location, str] = field(default_factory=dict)
    raw: dict[Location, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def where(self, location: Location) -> str:
        """The place of a value, or of the closest section around it."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.places:
                return self.places[location[:end]]
        return "recipe"

    def problem(self, location: Location, message: str) -> None:
        """Record a mistake in the value at ``location``."""
        name = ".".join(str(part) for part in location)
        text = f"{self.where(location)}: {name}: {message}" if name else f"{self.where(location)}: {message}"
        if text not in self.problems:
            self.problems.append(text)

    def unset(self) -> dict[Location, list[str]]:
        """Where environment variables are needed that are not set, and which."""
        needed = {k: list(dict.fromkeys(_VARIABLE.findall(text))) for k, text in self.raw.items()}
        missing = {k: [name for name in names if name not in os.environ] for k, names in needed.items()}
        return {k: names for k, names in missing.items() if names}

    def drop(self, location: Location) -> None:
        """Forget the places and raw strings at and below ``location``."""
        for table in (self.places, self.raw):
            for key in [k for k in table if k[: len(location)] == location]:
                del table[key]


def read_document(
    path: Path, overrides: Sequence[str] = (), *, builtin: Path | None = None, variables: bool = True
) -> Document:
    """Read a recipe file, what it extends, and the overrides.

    Args:
        path: YAML file.
        overrides: ``section.key=value`` each, the value typed as YAML types it.
        builtin: folder in which ``extends`` also finds recipes by name.
        variables: whether an environment variable that is not set is a mistake.

    Returns:
        The document; its ``problems`` hold the mistakes so far.

    Raises:
        InputError: the file cannot be read or is no YAML.
    """
    document = _read_file(path, builtin=builtin, seen=())
    for override in overrides:
        _apply_override(document, override)
    if variables:
        _check_variables(document)
    return document


def parse_value(text: str) -> Any:
    """One value as YAML 1.2 types it: ``5e-5`` a float, ``no`` a string, ``[1, 2]`` a list.

    Raises:
        InputError: the text is no YAML.
    """
    document = Document()
    node = _compose(io.StringIO(text), "value")
    return None if node is None else _construct(node, (), "value", document)


def dump_yaml(values: Any) -> str:
    """Values as YAML 1.2 in the order given; :func:`parse_value` reads them back equal."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 110
    yaml.allow_unicode = True
    yaml.representer.sort_base_mapping_type_on_output = False
    buffer = io.StringIO()
    yaml.dump(values, buffer)
    return buffer.getvalue()


def _read_file(path: Path, *, builtin: Path | None, seen: tuple[Path, ...]) -> Document:
    document = Document()
    try:
        with path.open(encoding="utf-8") as stream:
            node = _compose(stream, str(path))
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); give the path of a recipe", path=path
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{error.object[error.start]:02x} is not valid UTF-8; a recipe is a YAML file in UTF-8: "
            "save it as such",
            path=path,
            line=error.object.count(b"\n", 0, error.start) + 1,
        ) from error
    if not isinstance(node, MappingNode):
        raise InputError(
            "a recipe is a YAML mapping (`key: value` lines); see `isoglot recipes`", path=path, line=1
        )
    document.values = _construct(node, (), str(path), document)
    parent = document.values.pop("extends", None)
    if parent is None:
        return document
    base_path = _find_parent(parent, path, builtin)
    if base_path is None or base_path.resolve() in (*seen, path.resolve()):
        reason = (
            "extends itself" if base_path is not None else "no such recipe file beside this one or built in"
        )
        document.problem(("extends",), f"{parent!r}: {reason}; name a YAML file relative to this one")
        return document
    base = _read_file(base_path, builtin=builtin, seen=(*seen, path.resolve()))
    document.drop(("extends",))
    return _lay_over(base, document)


def _find_parent(name: object, path: Path, builtin: Path | None) -> Path | None:
    if not isinstance(name, str):
        return None
    candidates = [path.parent / name]
    if builtin is not None:
        candidates.append(builtin / f"{name.removesuffix('.yaml')}.yaml")
    return next((c for c in candidates if c.is_file()), None)


def _compose(stream: Any, name: str) -> Node | None:
    yaml = YAML(typ="safe", pure=True)
    text = stream.read()
    try:
        return yaml.compose(text)  # type: ignore[no-any-return]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(p for p in (error.context, error.problem) if p)
        line = None if mark is None else mark.line + 1
        lines = text.splitlines()
        if line is not None:
            line = max(1, min(line, len(lines)))  # the end of the text counts as one more line
        if line is not None and "${" in lines[line - 1]:
            reason += ' (inside { } or [ ] a variable needs quotes: "${NAME}/file")'
        raise InputError(f"not valid YAML: {reason}; mend the line", path=name, line=line) from error
    except YAMLError as error:
        raise InputError(f"not valid YAML: {error}; mend the file", path=name) from error


def _construct(node: Node, location: Location, file: str, document: Document) -> Any:
    document.places.setdefault(location, f"{file}:{node.start_mark.line + 1}")
    if isinstance(node, MappingNode):
        return _construct_mapping(node, location, file, document)
    if isinstance(node, SequenceNode):
        return [_construct(child, (*location, i), file, document) for i, child in enumerate(node.value)]
    if not isinstance(node, ScalarNode):
        raise TypeError(f"unexpected YAML node {node!r}")
    kind = str(node.tag).rpartition(":")[2]
    if kind in _TYPED_TAGS and node.style is None:
        return YAML(typ="safe", pure=True).constructor.construct_object(node)
    return _expand(str(node.value), location, document, plain=node.style is None)


def _construct_mapping(
    node: MappingNode, location: Location, file: str, document: Document
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value) if isinstance(key_node, ScalarNode) else repr(key_node.value)
        here = (*location, key)
        line = f"{file}:{key_node.start_mark.line + 1}"
        if key in values:
            first = document.places[here].rpartition(":")[2]
            name = ".".join(map(str, here))
            document.problems.append(
                f"{line}: {name}: given twice, first in line {first}; delete one of the two"
            )
            continue
        document.places[here] = line
        values[key] = _construct(value_node, here, file, document)
    return values


def _expand(text: str, location: Location, document: Document, *, plain: bool) -> Any:
    """Replace ``${NAME}``; a plain scalar that is nothing but one variable is typed by its value."""
    names = _VARIABLE.findall(text)
    if not names:
        return text
    document.raw[location] = text
    expanded = _VARIABLE.sub(lambda match: os.environ.get(match[1], match[0]), text)
    if plain and _VARIABLE.fullmatch(text) and re.fullmatch(r"[-+.\w]+", expanded):
        return parse_value(expanded)
    return expanded


def _check_variables(document: Document) -> None:
    """Unset variables, once all that an override or an extending recipe replaces is gone."""
    for location, names in document.unset().items():
        for name in names:
            document.problem(
                location,
                f"environment variable {name} is not set, but {document.raw[location]!r} needs it; "
                f"type `export {name}=...` or replace the value with --set",
            )


def _lay_over(base: Document, over: Document) -> Document:
    """Lay one document over another: mappings merge, everything else replaces, null deletes an entry."""
    result = Document(dict(base.values), dict(base.places), dict(base.raw), [*base.problems, *over.problems])
    result.values = _merge(result, over, base.values, over.values, ())
    return result


def _merge(
    result: Document, over: Document, below: dict[str, Any], above: dict[str, Any], location: Location
) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        here = (*location, key)
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            result.places[here] = over.where(here)
            merged[key] = _merge(result, over, merged[key], value, here)
            continue
        result.drop(here)
        if value is None and key in merged:
            del merged[key]
            continue
        merged[key] = value
        for table, source in ((result.places, over.places), (result.raw, over.raw)):
            table.update({k: v for k, v in source.items() if k[: len(here)] == here})
    return merged


def _apply_override(document: Document, override: str) -> None:
    key, equals, text = override.partition("=")
    parts: list[str] = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        document.problems.append(
            f"--set {override}: no `key=value`; type for example `--set train.learning_rate=5e-5`"
        )
        return
    place = f"--set {override}"
    location: Location = tuple(parts)
    inner = Document(places={location: place})
    try:
        node = _compose(io.StringIO(text), place)
    except InputError as error:
        raise ConfigurationError(
            f"{place}: the value is no YAML; quote it, for example --set '{key}=\"a: b\"'"
        ) from error
    value = None if node is None else _construct(node, location, place, inner)
    inner.places = dict.fromkeys(inner.places, place)
    target: Any = document.values
    for depth, part in enumerate(parts[:-1]):
        if isinstance(target.get(part), list) or not isinstance(target.setdefault(part, {}), dict):
            document.problems.append(
                f"{place}: {'.'.join(parts[: depth + 1])} is a {type(target[part]).__name__}, no section; "
                "set it as a whole"
            )
            return
        target = target[part]
    document.drop(location)
    if value is None and parts[-1] in target:
        del target[parts[-1]]  # as in a recipe that extends another
        return
    target[parts[-1]] = value
    document.places.update(inner.places)
    document.raw.update(inner.raw)
    document.problems.extend(inner.problems)
