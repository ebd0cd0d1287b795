"""Sentence retrieval reads the files of a language and of its pivot."""

from __future__ import annotations

from pathlib import Path

from isoglot.tasks import build_task


def test_a_derived_language_is_one_language(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("a house\na book\n")
    (tmp_path / "en-x-trans.txt").write_text("ա հոփջկ\nա բփփխ\n")
    data = build_task("tatoeba", [str(tmp_path / "{language}.txt")]).load("en-x-trans", "test")
    assert data["source"][:] == ["ա հոփջկ", "ա բփփխ"]
    assert (data["source_language"][0], data["target_language"][0]) == ("en-x-trans", "en")
