"""Code of one's own that results depend on: the module of a class or function, and what it imports of its folder.

What a notebook or script defines (``__main__``) goes by itself: its functions and values, and those that they name.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import digest_of

_MAIN = "__main__"
_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))
_VALUES = (str, bytes, int, float, complex, tuple, list, dict, type(None))
_IMPORTED: dict[Path, tuple[Any, str]] = {}
"""What a file held when its module, known by its specification, was first asked for."""


def code_hashes(*objects: Any) -> dict[str, str]:
    """Hashes of the code that classes, functions or objects are made of, by file; none for what isoglot ships.

    Raises:
        ConfigurationError: A file was changed after it was imported, so that another code would run.
    """
    files, texts = dict[Path, str](), dict[str, bytes]()
    for item in objects:
        _collect(item, files, texts)
    hashes = {name: digest_of([file], size=8) for file, name in files.items()}
    for file, name in files.items():
        _require_as_imported(file, name, hashes[name])
    return hashes | {name: blake2b(text, digest_size=8).hexdigest() for name, text in texts.items()}


def code_files(*objects: Any) -> list[Path]:
    """The files of :func:`code_hashes`."""
    files = dict[Path, str]()
    for item in objects:
        _collect(item, files, {})
    return sorted(files)


def _collect(item: Any, files: dict[Path, str], texts: dict[str, bytes]) -> None:
    """Add the files of a class with its bases, of a function or of a module, and texts of what has no file."""
    if isinstance(item, ModuleType):
        _add_module(item.__name__, files)
        return
    item = getattr(item, "__func__", item)
    if not inspect.isfunction(item) and not isinstance(item, type):
        item = type(item)
    for definition in inspect.getmro(item) if isinstance(item, type) else [item]:
        if definition.__module__ == _MAIN:
            _add_text(definition, files, texts)
        else:
            _add_module(definition.__module__, files)


def _add_module(name: str, files: dict[Path, str]) -> None:
    """The file of a module, and those of its folder that it imports; of what is installed, nothing."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None or name.partition(".")[0] == "isoglot":
        return
    file = Path(path).resolve()
    if any(file.is_relative_to(folder) for folder in _INSTALLED):
        return
    parts = name.split(".")
    root = file.parents[len(parts) - (file.name != "__init__.py")]
    waiting = [file, *(root.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts)))]
    while waiting:
        file = waiting.pop()
        if file not in files and file.is_file():
            files[file] = file.relative_to(root).as_posix()
            waiting += _imported(file, root)


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Where the modules that a file imports would stand in its folder."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        folder, names = root, list[str]()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if node.level else root
            base = [node.module] if node.module else []
            names = [*base, *(".".join([*base, alias.name]) for alias in node.names)]
        for parts in (name.split(".") for name in names):
            for end in range(1, len(parts) + 1):
                yield folder.joinpath(*parts[: end - 1], f"{parts[end - 1]}.py")
                yield folder.joinpath(*parts[:end], "__init__.py")


def _require_as_imported(file: Path, name: str, content: str) -> None:
    """Refuse a file that was changed since its module was imported."""
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(file)), None)
    loaded = getattr(module, "__spec__", None)
    if loaded is None:
        return
    before, first = _IMPORTED.setdefault(file, (loaded, content))
    if before is loaded and first != content:
        raise ConfigurationError(
            f"{file}: was changed after it was imported, so that the code before would run; restart Python, or "
            f"importlib.reload({Path(name).stem})"
        )
    _IMPORTED[file] = loaded, content


def _add_text(definition: Any, files: dict[Path, str], texts: dict[str, bytes]) -> None:
    """The text of a class or function of ``__main__``, and of what it names there or in modules of one's own."""
    name = f"{_MAIN}:{definition.__qualname__}"
    if name in texts:
        return
    texts[name] = b""
    parts = list(vars(definition).items()) if isinstance(definition, type) else [("", definition)]
    named, around = set[str](), vars(sys.modules[_MAIN])
    for key, part in parts:
        function = inspect.unwrap(getattr(part, "fget", None) or getattr(part, "__func__", part))
        if inspect.isfunction(function):
            texts[name] += _source(function)
            named |= _names(function.__code__)
        elif isinstance(part, _VALUES) and not key.startswith("__"):
            texts[name] += f"{key}={part!r}\n".encode()
    for key in sorted(named & around.keys()):
        used = around[key]
        if isinstance(used, type | ModuleType) or inspect.isfunction(used):
            _collect(used, files, texts)
        elif isinstance(used, _VALUES):
            texts[name] += f"{key}={used!r}\n".encode()


def _source(function: Any) -> bytes:
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):  # typed into an interpreter, or made by a decorator
        return repr(_compiled(function.__code__)).encode()


def _compiled(code: CodeType) -> list[Any]:
    constants = [sorted(map(repr, c)) if isinstance(c, frozenset) else c for c in code.co_consts]
    inner = [_compiled(c) if isinstance(c, CodeType) else c for c in constants]
    return [code.co_code, inner, code.co_names]


def _names(code: CodeType) -> set[str]:
    """All names that code reads, functions inside it included."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
