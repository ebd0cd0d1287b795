"""Hashes of the user's own code that results depend on, so that a run is not taken for finished when its code changed.

Hashed are the module of a class or function, and the modules it imports from the same folder. Of a notebook or script
(``__main__``) only the class or function itself is hashed, with everything in ``__main__`` that it names: another cell
of the notebook may change. Start with :func:`code_hashes`.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from functools import cached_property
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
"""For each file, the specification of its module and the hash of its content when the hash was first asked for."""


def code_hashes(*objects: Any) -> dict[str, str]:
    """Hash the user's code that classes, functions or objects are made of, by file; isoglot's own code does not count.

    A class of the module ``heads.py``, which imports ``layers.py`` beside it, gives
    ``{"heads.py": "5b1f…", "layers.py": "90ac…"}``. A function of a notebook gives ``{"__main__:score": "c03d…"}``.

    Raises:
        ConfigurationError: A file was changed after it was imported, so that other code would run than was hashed.
    """
    files, texts = dict[Path, str](), dict[str, bytes]()
    for item in objects:
        _collect(item, files, texts)
    contents_of_name: dict[str, set[str]] = {}
    for file, name in files.items():
        content = digest_of([file], size=8)
        _require_as_imported(file, name, content)
        contents_of_name.setdefault(name, set()).add(content)
    hashes = {}
    for name, contents in contents_of_name.items():
        # Two folders may have different files of the same name: then a change of either one changes the hash.
        hashes[name] = (
            next(iter(contents)) if len(contents) == 1 else _hashed("".join(sorted(contents)).encode())
        )
    return hashes | {name: _hashed(text) for name, text in texts.items()}


def _hashed(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest()


def code_files(*objects: Any) -> list[Path]:
    """Return the files that :func:`code_hashes` hashes."""
    files = dict[Path, str]()
    for item in objects:
        _collect(item, files, {})
    return sorted(files)


def _collect(item: Any, files: dict[Path, str], texts: dict[str, bytes]) -> None:
    """Add the code of one class, function, module or object.

    ``files``: Path to name; receives the files of modules.
    ``texts``: Name to text; receives definitions of ``__main__``, which a notebook keeps in no file.
    """
    if isinstance(item, ModuleType):
        _add_module(item.__name__, files)
        return
    item = getattr(item, "__func__", item)  # of a method its function
    if not inspect.isfunction(item) and not isinstance(item, type):
        item = type(item)
    for definition in inspect.getmro(item) if isinstance(item, type) else [item]:
        if definition.__module__ == _MAIN:
            _add_text(definition, files, texts)
        else:
            _add_module(definition.__module__, files)


def _add_module(name: str, files: dict[Path, str]) -> None:
    """Add the file of a module, and the files it imports that lie in the same folder or below.

    Nothing is added for isoglot, the standard library and installed packages: their versions are recorded instead.
    """
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None or name.partition(".")[0] == "isoglot":
        return
    file = Path(path).resolve()
    if any(file.is_relative_to(folder) for folder in _INSTALLED):
        return
    # The folder from which `a.b` is imported: two folders above a/b.py, three above a/b/__init__.py.
    parts = name.split(".")
    depth = len(parts) + (file.name == "__init__.py")
    root = file.parents[depth - 1]
    # Importing a.b runs a/__init__.py first.
    waiting = [file, *(root.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts)))]
    while waiting:
        file = waiting.pop()
        if file not in files and file.is_file():
            files[file] = file.relative_to(root).as_posix()
            waiting += _imported(file, root)


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files where the modules that a file imports would be below ``root``, whether they exist or not.

    ``from a import b`` may mean the module ``a.b`` or a name in ``a``, so it yields a.py, a/__init__.py, a/b.py and
    a/b/__init__.py.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        folder, names = root, list[str]()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # from . import b: one folder above the file for each dot
                if node.level > len(file.relative_to(root).parts):
                    continue  # above the root, where Python refuses the import
                folder = file.parents[node.level - 1]
            base = [node.module] if node.module else []
            names = [*base, *(".".join([*base, alias.name]) for alias in node.names)]
        for name in names:
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                yield folder.joinpath(*parts[: end - 1], f"{parts[end - 1]}.py")
                yield folder.joinpath(*parts[:end], "__init__.py")


def _require_as_imported(file: Path, name: str, content: str) -> None:
    """Refuse a file that was changed since this process first hashed it, although its module was not imported again.

    ``content`` is the hash of the file now.

    A module that is imported again, by ``importlib.reload``, has a new specification, and its file may be another.
    """
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(file)), None)
    specification = getattr(module, "__spec__", None)
    if specification is None:
        return
    known_specification, first_content = _IMPORTED.setdefault(file, (specification, content))
    if known_specification is specification and first_content != content:
        raise ConfigurationError(
            f"{file}: was changed after it was imported, so that the code before would run; restart Python, or "
            f"importlib.reload({Path(name).stem})"
        )
    _IMPORTED[file] = specification, content


def _add_text(definition: Any, files: dict[Path, str], texts: dict[str, bytes]) -> None:
    """Add the text of a class or function of ``__main__``, and of everything it names.

    1. A function, method, property or cached property adds its source; a plain value of a class adds ``name=value``.
    2. A class, function or module that the code names in ``__main__`` is added too, with everything it names.
    3. A plain value that the code names in ``__main__``, such as a constant, adds ``name=value``.
    """
    name = f"{_MAIN}:{definition.__qualname__}"
    if name in texts:
        return
    texts[name] = b""  # before the rest: functions may name each other
    # Of a class its members by name; a function is treated as a single member without a name.
    members = vars(definition) if isinstance(definition, type) else {"": definition}
    named = set[str]()
    for key, member in members.items():  # 1
        if isinstance(member, cached_property):
            function = member.func
        else:
            # A property has its function as `fget`, a class method or static method as `__func__`.
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        function = inspect.unwrap(function)
        if inspect.isfunction(function):
            texts[name] += _source(function)
            named |= _names(function.__code__)
        elif isinstance(member, _VALUES) and not key.startswith("__"):
            texts[name] += f"{key}={member!r}\n".encode()
    main_names = vars(sys.modules[_MAIN])
    for key in sorted(named & main_names.keys()):
        used = main_names[key]
        if isinstance(used, type | ModuleType) or inspect.isfunction(used):  # 2
            _collect(used, files, texts)
        elif isinstance(used, _VALUES):  # 3
            texts[name] += f"{key}={used!r}\n".encode()


def _source(function: Any) -> bytes:
    """Return the source of a function, or its compiled code where there is no source."""
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):  # typed into an interpreter, or made by a decorator
        return repr(_compiled(function.__code__)).encode()


def _compiled(code: CodeType) -> list[Any]:
    """Return what identifies compiled code, the same in every process: sets of constants are sorted."""
    constants = [sorted(map(repr, c)) if isinstance(c, frozenset) else c for c in code.co_consts]
    inner = [_compiled(c) if isinstance(c, CodeType) else c for c in constants]
    return [code.co_code, inner, code.co_names]


def _names(code: CodeType) -> set[str]:
    """Return all names that code reads, also in functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
