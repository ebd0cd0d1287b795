"""Studies by name: every public function of a module that takes a lab and nothing else is one."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError
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
    home: Path | None = None  # where its file lies


def builtin_studies() -> dict[str, Study]:
    """The studies that come with isoglot, by name and in the order of their modules."""
    return {study.name: study for paper in PAPERS for study in _shipped(paper)}


def find_studies(names: Sequence[str | Study]) -> list[Study]:
    """Studies by name; a paper's name stands for all of its studies, ``FILE.py`` for all of a file's."""
    builtin, studies = builtin_studies(), dict[str, Study]()
    for name in names:
        if isinstance(name, Study):
            studies[name.name] = name
            continue
        path, ending, inner = name.partition(".py")
        key, candidates = name.rstrip("/"), [*builtin.values()]
        if name == DEMO:
            candidates = _shipped(DEMO)
        elif ending and Path(f"{path}.py").is_file():
            key, candidates = (
                f"{Path(path).name}{inner}",
                _studies(_load(Path(f"{path}.py")), Path(path).name),
            )
        matching = {s.name: s for s in candidates if s.name == key or s.name.startswith(f"{key}/")}
        if not matching:
            hint = did_you_mean(name, [*builtin, *PAPERS])
            raise ConfigurationError(f"unknown study {name!r}; {hint} (`isoglot study --list` lists them)")
        studies |= matching
    return list(studies.values())


def _shipped(paper: str) -> list[Study]:
    return _studies(import_module(f"isoglot.papers.{paper}"), paper)


def _studies(module: ModuleType, prefix: str) -> list[Study]:
    return [
        Study(
            prefix if name == prefix else f"{prefix}/{name}",
            (inspect.getdoc(function) or "").partition("\n")[0],
            function,
            getattr(module, "SIZES", {"seeds": [1]}),
            getattr(module, "ABOUT", {}),
            getattr(module, "VARIANTS", {}),
            Path(module.__file__).resolve().parent if module.__file__ else None,
        )
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and name[0] != "_"
        and [*inspect.signature(function).parameters] == ["lab"]
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
