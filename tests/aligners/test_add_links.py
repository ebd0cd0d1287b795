"""Links of one's own aligner: a cached result is taken for the same code alone."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from datasets import load_dataset
from own_modules import OwnModules

ALIGNER = """
from isoglot.aligners.words import add_links


class Mine:
    def align(self, bitext, *, batch_size=1000):
        return add_links(bitext, self._links, batch_size=batch_size, key="mine")

    def _links(self, sources, targets):
        return {"links": [[[0, LAST]] for _ in sources]}
"""


def test_an_edited_aligner_links_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = OwnModules(tmp_path / "code", monkeypatch)
    (tmp_path / "pairs.csv").write_text(
        "source,target,source_language,target_language\na house,ein Haus,en,de\n"
    )
    for last in (0, 1):
        modules.write("my_aligner.py", ALIGNER.replace("LAST", str(last)))
        bitext = load_dataset(
            "csv", data_files=str(tmp_path / "pairs.csv"), cache_dir=str(tmp_path), split="train"
        )
        found = importlib.import_module("my_aligner").Mine().align(bitext)
        assert found["links"][:] == [[[0, last]]]
