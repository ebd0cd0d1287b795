"""Studies by name: every public function of a module that takes a lab and nothing else is one."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

from isoglot.checks import did_you_mean
from isoglot.errors import ConfigurationError
from isoglot.studies.lab import Lab
from isoglot.studies.sizes import Sizes, Variants

PAPERS = ("align_mlm", "ppa", "weam", "xlm_align", "real")
DEMO = "demo"
"""A study that is not listed: `isoglot demo` runs it."""


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper as a function."""

    name: str
    title: str
    run: Callable[[Lab], None]
    sizes: Sizes
    about: dict[str, str]  # `ABOUT` of its module: what each scale runs on
    variants: Variants = field(default_factory=dict)  # `VARIANTS` of its module


def builtin_studies() -> dict[str, Study]:
    """The studies that come with isoglot, by name and in the order of their modules."""
    return {s.name: s for paper in PAPERS for s in _studies(import_module(f"isoglot.studies.{paper}"), paper)}


def find_studies(names: Sequence[str]) -> list[Study]:
    """Studies by name; a paper's name stands for all of its studies, ``FILE.py`` for all of a file's."""
    known, found = builtin_studies(), list[Study]()
    for given in names:
        path, ending, name = given.partition(".py")
        key, there = given.rstrip("/"), [*known.values()]
        if given == DEMO:
            there = _studies(import_module(f"isoglot.studies.{DEMO}"), DEMO)
        elif ending and Path(f"{path}.py").is_file():
            key, there = f"{Path(path).name}{name}", _studies(_load(Path(f"{path}.py")), Path(path).name)
        matching = [s for s in there if s.name == key or s.name.startswith(f"{key}/")]
        if not matching:
            raise ConfigurationError(
                f"unknown study {given!r}; {did_you_mean(given, [*known, *PAPERS])} (`isoglot study --list` lists them)"
            )
        found += [study for study in matching if study not in found]
    return found


def _studies(module: ModuleType, prefix: str) -> list[Study]:
    functions = [
        f
        for name, f in vars(module).items()
        if inspect.isfunction(f)
        and f.__module__ == module.__name__
        and name[0] != "_"
        and [*inspect.signature(f).parameters] == ["lab"]
    ]
    return [
        Study(
            prefix if f.__name__ == prefix else f"{prefix}/{f.__name__}",
            (inspect.getdoc(f) or "").partition("\n")[0],
            f,
            getattr(module, "SIZES", {"seeds": [1]}),
            getattr(module, "ABOUT", {}),
            getattr(module, "VARIANTS", {}),
        )
        for f in functions
    ]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path}: cannot be imported; a study is a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.append(str(path.resolve().parent))  # where worker processes import it from
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        error.add_note(f"while importing the study {path}")
        raise
    return module
