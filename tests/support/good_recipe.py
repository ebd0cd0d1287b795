"""A recipe without mistakes, and the mistakes of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_recipes import load

from isoglot.core.errors import ConfigurationError

GOOD = """\
# what it is for
name: mine
model: {path: bert-base-multilingual-cased}
streams:
  bitext: {kind: bitext, path: en-de.tsv, source_language: en, target_language: no}
views:
  pair:
    type: masked_pair
    stream: bitext
    probability: 0.15
objectives:
  masked_lm: {type: masked_lm, view: pair}
batch: {examples: 32}
steps: 100
train:
  learning_rate: 5e-5
"""


def recipe_file(tmp_path: Path, text: str, name: str = "x.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def complaints(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(path, overrides)
    return [str(problem) for problem in caught.value.problems]
