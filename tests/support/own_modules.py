"""Modules that a test writes, imports and edits."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

__all__ = ["OwnModules"]


class OwnModules:
    """Writes modules into a folder; one that is written again is imported again, as a new process would."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        patch.syspath_prepend(folder)
        patch.setattr(sys, "dont_write_bytecode", True)  # compiled files know a change by its second
        self.names = set[str]()

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.names.add(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        self.forget()
        return file

    def forget(self) -> None:
        for name in self.names:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
