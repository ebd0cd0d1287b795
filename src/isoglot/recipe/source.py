"""A recipe as it is put together: found by path or name, laid over what it ``extends``, changed by ``--set``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml.nodes import MappingNode

from isoglot.checks import did_you_mean
from isoglot.errors import UNSET_VARIABLE, ConfigurationError, InputError, Location, Origin, Problem
from isoglot.recipe.document import Document, compose, construct

T = TypeVar("T")

_BUILT_IN = Path(__file__).parent.parent / "recipes"
_ALTERNATIVES: dict[Location, str] = {
    ("steps",): "epochs",
    ("epochs",): "steps",
    ("batch", "examples"): "tokens",
    ("batch", "tokens"): "examples",
    ("streams", "*", "path"): "sources",
    ("streams", "*", "sources"): "path",
}
"""Keys of which a recipe has one, by section: a later one replaces the other that the recipe had."""


def builtin_recipes() -> dict[str, Path]:
    """Name (``tlm``, ``small/tlm_en_de``) to file of the recipes that come with isoglot."""
    names = {p.relative_to(_BUILT_IN).with_suffix("").as_posix(): p for p in _BUILT_IN.rglob("*.yaml")}
    return dict(sorted(names.items(), key=lambda item: (item[0].count("/"), item[0])))


def find(path_or_name: str | Path) -> Path:
    """A recipe file, given its path or the name of a built-in recipe."""
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


def read_document(
    path_or_name: str | Path, overrides: Sequence[str] = (), *, variables: bool = True
) -> Document:
    """Read a recipe, what it extends, and the overrides (``section.key=value``); mistakes are in its ``problems``.

    ``variables``: Whether an environment variable that is not set is a mistake.
    """
    document = _read_file(find(path_or_name), seen=())
    for override in overrides:
        document = _overridden(document, override)
    if variables:
        _check_variables(document)
    return document


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
    parent = document.values.pop("extends", None)
    if parent is None:
        return document
    base_path = _find_parent(parent, path)
    if base_path is None or base_path.resolve() in (*seen, path.resolve()):
        reason = (
            "extends itself" if base_path is not None else "no such recipe file beside this one or built in"
        )
        document.problem(("extends",), f"{parent!r}: {reason}; name a YAML file relative to this one")
        return document
    base = _read_file(base_path, seen=(*seen, path.resolve()))
    document.drop(("extends",))
    return _lay_over(base, document)


def _find_parent(name: object, path: Path) -> Path | None:
    if not isinstance(name, str):
        return None
    candidates = (path.parent / name, _BUILT_IN / f"{name.removesuffix('.yaml')}.yaml")
    return next((c for c in candidates if c.is_file()), None)


def _check_variables(document: Document) -> None:
    """Unset variables, once all that an override or an extending recipe replaces is gone."""
    for location, names in document.unset().items():
        for name in names:
            document.problem(
                location,
                f"environment variable {name} is not set, but {document.raw[location]!r} needs it; `export {name}=...`",
                kind=UNSET_VARIABLE,
            )


def _lay_over(base: Document, over: Document, *, replaced: Location = ()) -> Document:
    """Lay one document over another: mappings merge, everything else replaces, null deletes an entry.

    ``replaced``: where a mapping replaces too.
    """
    result = Document(dict(base.values), dict(base.origins), dict(base.raw), [*base.problems, *over.problems])

    def merge(below: dict[str, Any], above: dict[str, Any], location: Location) -> dict[str, Any]:
        merged = dict(below)
        for key, value in above.items():
            here = (*location, key)
            if isinstance(value, dict) and isinstance(merged.get(key), dict) and here != replaced:
                result.origins |= {here: over.origins[here]} if here in over.origins else {}
                merged[key] = merge(merged[key], value, here)
                continue
            result.drop(here)
            other = _ALTERNATIVES.get((*location[:1], *("*" for _ in location[1:]), key))
            if value is not None and other is not None and other not in above:
                merged.pop(other, None)
                result.drop((*location, other))
            if value is None and key in merged:
                del merged[key]
                continue
            merged[key] = value
            result.origins.update(_below(here, over.origins))
            result.raw.update(_below(here, over.raw))
        return merged

    result.values = merge(base.values, over.values, ())
    return result


def _below(location: Location, table: Mapping[Location, T]) -> dict[Location, T]:
    """The part of a table that is at or below a location."""
    return {key: value for key, value in table.items() if key[: len(location)] == location}


def _overridden(document: Document, override: str) -> Document:
    key, equals, text = override.partition("=")
    location: Location = tuple(part.strip() for part in key.split("."))
    origin = Origin(f"--set {override}")
    if not equals or not all(location):
        example = "no `key=value`; type for example `--set train.learning_rate=5e-5`"
        document.problems.append(Problem(example, origin=origin))
        return document
    over = Document(origins={location: origin})
    try:
        node = compose(text, str(origin))
    except InputError as error:
        raise ConfigurationError(
            f"{origin}: the value is not YAML; quote it, for example --set '{key}=\"a: b\"'"
        ) from error
    value: Any = None if node is None else construct(node, location, str(origin), over)
    over.origins = dict.fromkeys(over.origins, origin)
    over.problems = [replace(problem, origin=origin) for problem in over.problems]
    section: Any = document.values
    for depth, part in enumerate(location[:-1], start=1):
        section = section.get(part, {})
        if not isinstance(section, dict):
            name = ".".join(map(str, location[:depth]))
            text = f"{name} is a {type(section).__name__}, no section"
            document.problems.append(Problem(text, origin=origin))
            return document
    for part in reversed(location):
        value = {part: value}
    over.values = value
    return _lay_over(document, over, replaced=location)
