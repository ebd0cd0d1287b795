from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.align.files.formats import read_links
from isoglot.derive.derive_corpus import DeriveRequest, derive_corpus
from isoglot.errors import ConfigurationError
from isoglot.runs.reporter import Silent
from isoglot.studies.data import build_maker

MAKE = "isoglot.studies.gold:GoldData"


@pytest.fixture
def aligned(tmp_path: Path) -> str:
    """Two sentences and their inverted copies."""
    (tmp_path / "text.txt").write_text("A cat sat .\nIt saw two dogs .\n", encoding="utf-8")
    request = DeriveRequest(transform="inv", kind="text", languages=("en",), derived_language="de")
    derive_corpus([str(tmp_path / "text.txt")], tmp_path / "derived", request)
    return str(tmp_path / "derived" / "aligned")


def test_links_of_construction_are_gold_links(tmp_path: Path, aligned: str) -> None:
    out = tmp_path / "gold"
    out.mkdir()
    facts = build_maker({"make": MAKE, "corpora": {"en-de": aligned}}, place="data.gold").write(out, Silent())
    assert facts == {"pairs": 2}
    found = read_links(out / "en-de.jsonl")
    assert found.words is not None
    assert found.words[0] == (["A", "cat", "sat", "."], ["sat", "cat", "A", "."])
    assert found.gold[0].sure == found.gold[0].possible == {(0, 2), (1, 1), (2, 0), (3, 3)}


def test_gold_is_limited(tmp_path: Path, aligned: str) -> None:
    maker = build_maker({"make": MAKE, "corpora": {"en-de": aligned}, "limit": 1}, place="data.gold")
    assert maker.write(tmp_path, Silent()) == {"pairs": 1}
    with pytest.raises(ConfigurationError, match=r"data\.gold\.limit"):
        build_maker({"make": MAKE, "corpora": {"en-de": aligned}, "limit": 0}, place="data.gold")
