"""Folders that appear when they are complete, and are left alone when they hold what is wanted already."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.runs.folder import MANIFEST, read_json, versions

__all__ = ["held_already", "whole_folder", "write_manifest"]


def held_already(
    target: Path, wanted: Mapping[str, Any], *, what: str, mark: str, overwrite: bool, name: str = MANIFEST
) -> dict[str, Any] | None:
    """The manifest of a folder that was made from the same; ``None`` if it is to be made.

    Args:
        target: the folder.
        wanted: what it is to be made from, as the manifest has it.
        what: what such a folder is called.
        mark: a key that every manifest of such a folder has.
        overwrite: a folder of this kind that was made from something else may be replaced.
        name: of the manifest.

    Raises:
        ConfigurationError: the folder holds something else.
    """
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return None
    manifest = read_json(target / name) if target.is_dir() else None
    ours = manifest is not None and mark in manifest
    if manifest is not None and ours and all(manifest.get(k) == v for k, v in wanted.items()):
        return manifest
    if overwrite and ours:
        return None
    holds, hint = (f"another {what}", ", or add --overwrite") if ours else ("something else", "")
    raise ConfigurationError(f"{target}: holds {holds}; choose another --out{hint}")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder beside ``target`` that takes its place at the end, and is gone after an error."""
    partial = target.parent / f".{target.name}.partial-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if target.exists():
            shutil.rmtree(target)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_manifest(folder: Path, values: Mapping[str, Any], *, name: str = MANIFEST) -> dict[str, Any]:
    """Write what a folder was made from, with the versions of what made it."""
    manifest = {**values, "versions": versions()}
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (folder / name).write_text(f"{text}\n", encoding="utf-8")
    return manifest
