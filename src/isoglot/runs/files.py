"""Files written in one go: a reader never sees half of one."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> Path:
    """Write a file in one go, its folder too; a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
    return path
