"""One row of a corpus and what a deriver makes of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from datasets import Dataset

from isoglot.derivation.options import DeriverOptions
from isoglot.derivation.rows import Deriver
from isoglot.derivation.spec import build
from isoglot.formats.schema import SCHEMAS, require


def derived_row(kind: str, row: dict[str, Any], spec: str = "inv", **options: Any) -> Any:
    transform = build(spec, options.pop("transform", None))
    deriver = Deriver(transform, spec.replace("+", "-"), options=DeriverOptions(**options))
    ((derived, pairs),) = deriver.rows(kind, [row])
    require(Dataset.from_list([derived]), SCHEMAS[kind], role="derived")
    for pair in pairs:
        for i, j in pair.links:
            assert 0 <= i < len(pair.source_words) and 0 <= j < len(pair.target_words)
    return SimpleNamespace(row=derived, pairs=pairs)
