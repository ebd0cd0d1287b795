"""isoglot: cross-lingual alignment of multilingual encoders.

``import isoglot as iso`` is cheap: every public name is imported when it is first read. The stub beside this file,
``__init__.pyi``, is the list of them.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_IMPORTS = re.findall(
    r"^from (\S+) import (\w+) as \2$", Path(__file__).with_suffix(".pyi").read_text("utf-8"), re.MULTILINE
)
_HOMES = {
    name: home for home, name in sorted(_IMPORTS, key=lambda pair: pair[1].casefold()) if home != "isoglot"
}
"""Public name to the module that has it, sorted without regard to case."""

_PACKAGES = tuple(name for home, name in _IMPORTS if home == "isoglot")
"""Packages that are public as a whole."""

__all__ = [  # noqa: PLE0604 - the names of the stub are strings
    *_HOMES,
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first read."""
    if name in _PACKAGES:
        return import_module(f"isoglot.{name}")
    if name not in _HOMES:
        from isoglot.core.checks import did_you_mean  # noqa: PLC0415 - only for the message

        raise AttributeError(f"module 'isoglot' has no attribute {name!r}; {did_you_mean(name, _HOMES)}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names and the module's special ones."""
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES, *_PACKAGES})
