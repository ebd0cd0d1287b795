"""Small labelled files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from isoglot.testing import tiny_bitext


def tagged_words(path: Path, count: int, *, column: str = "source") -> Path:
    """Words tagged by their length: learnable."""
    lines = []
    for row in tiny_bitext(count)[column]:
        lines += [f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}" for w in row.rstrip(".!?").split()]
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


def json_lines(path: Path, *rows: dict[str, Any]) -> str:
    """Rows as JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def text_file(folder: Path, name: str, text: str) -> Path:
    """A new file of a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def written(folder: Path, **files: str) -> list[str]:
    """New files of these texts, in their order; ``_`` in a name stands for a dot."""
    return [str(text_file(folder, name.replace("_", "."), text)) for name, text in files.items()]
