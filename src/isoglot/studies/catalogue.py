"""Find studies by name: a study is a public function of a module whose only argument is called ``lab``."""

import importlib.util
import inspect
import re
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

PAPER_MODULES = ("align_mlm", "ppa", "weam", "xlm_align", "real")
DEMO = "demo"
"""A study that is not listed: `isoglot demo` runs it."""


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper, as a function that adds cells and figures to a lab."""

    name: str  # ``weam/table1``; only ``demo`` if module and function are both called ``demo``
    title: str  # first line of the function's docstring
    run: Callable[[Lab], None]
    sizes: Sizes  # `SIZES` of the module
    about: dict[str, str]  # `ABOUT` of the module: by scale, the data that the study runs on
    variants: Variants = field(default_factory=dict)  # `VARIANTS` of the module
    home: Path | None = None  # folder of the module's file


def builtin_studies() -> dict[str, Study]:
    """Return the studies that come with isoglot, by name and in the order of their modules."""
    return {study.name: study for paper in PAPER_MODULES for study in _shipped(paper)}


def find_studies(names: Sequence[str | Study]) -> list[Study]:
    """Find studies by name.

    1. ``weam/table1`` is one study, ``weam`` all studies of the paper.
    2. ``mine.py`` is all studies of that file, ``mine.py/table`` one of them.
    3. The name ``demo`` is the study of `isoglot demo`, which is not listed.
    4. A :class:`Study` is itself.

    Raises:
        ConfigurationError: No study has such a name, or the file cannot be imported.
    """
    builtin = builtin_studies()
    found: dict[str, Study] = {}
    for name in names:
        if isinstance(name, Study):
            found[name.name] = name
            continue
        # "mine.py/table" is the file "mine.py" and the function "/table". The last ".py" that ends a name counts, so
        # that a folder may be called ".pyenv" or "old.py".
        in_file = re.fullmatch(r"(.*\.py)(/.*)?", name)
        if name == DEMO:
            wanted, candidates = DEMO, _shipped(DEMO)
        elif in_file and Path(in_file[1]).is_file():
            file, function = Path(in_file[1]), in_file[2] or ""
            wanted, candidates = f"{file.stem}{function}", _studies(_load(file), file.stem)
        else:
            wanted, candidates = name.rstrip("/"), list(builtin.values())
        matching: dict[str, Study] = {}
        for study in candidates:
            if study.name == wanted or study.name.startswith(f"{wanted}/"):
                matching[study.name] = study
        if not matching:
            hint = did_you_mean(name, [*builtin, *PAPER_MODULES])
            raise ConfigurationError(f"unknown study {name!r}; {hint} (`isoglot study --list` lists them)")
        found |= matching
    return list(found.values())


def _shipped(paper: str) -> list[Study]:
    """Return the studies of a module of `isoglot.papers`."""
    return _studies(import_module(f"isoglot.papers.{paper}"), paper)


def _studies(module: ModuleType, prefix: str) -> list[Study]:
    """Return the studies of a module: the public functions defined in it whose only argument is called ``lab``."""
    studies = []
    for name, function in vars(module).items():
        is_own = inspect.isfunction(function) and function.__module__ == module.__name__
        if not is_own or name.startswith("_"):
            continue
        if list(inspect.signature(function).parameters) != ["lab"]:
            continue
        study = Study(
            name=prefix if name == prefix else f"{prefix}/{name}",
            title=(inspect.getdoc(function) or "").partition("\n")[0],
            run=function,
            sizes=getattr(module, "SIZES", {"seeds": [1]}),
            about=getattr(module, "ABOUT", {}),
            variants=getattr(module, "VARIANTS", {}),
            home=Path(module.__file__).resolve().parent if module.__file__ else None,
        )
        studies.append(study)
    return studies


def _load(path: Path) -> ModuleType:
    """Import a file of studies as a module with the file's name, which worker processes can import too."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path}: cannot be imported; a study is a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    # Objects are sent to worker processes with the name of their module, which the workers import from this folder.
    sys.path.append(str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        error.add_note(f"while importing the study {path}")
        raise
    return module
