"""The command line. Nothing is imported before :func:`isoglot.cli.ending.main` runs, which says how commands end."""

from importlib import import_module
from typing import Any

_HOMES = {"main": "isoglot.cli.ending", "app": "isoglot.cli.program"}


def __getattr__(name: str) -> Any:
    """Import the entry point or the commands when they are first read."""
    if name not in _HOMES:
        raise AttributeError(f"module 'isoglot.cli' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
