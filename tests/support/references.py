"""Values that other programs computed, from ``tests/reference``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parents[1] / "reference"


@cache
def reference(name: str) -> Any:
    """A file of values, which no test changes."""
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


@cache
def fast_align_reference() -> dict[str, list[str]]:
    """The columns of ``fast_align.tsv``: sentences, and links in Pharaoh format."""
    names, *rows = (REFERENCE / "fast_align.tsv").read_text(encoding="utf-8").splitlines()
    columns = zip(*(row.split("\t") for row in rows), strict=True)
    return dict(zip(names.split("\t"), map(list, columns), strict=True))
