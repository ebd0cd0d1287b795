"""Sentence retrieval reads the files of a language and of its pivot."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset

from isoglot.errors import ConfigurationError, InputError
from isoglot.tasks import build_task, retrieval


def test_a_derived_language_is_one_language(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("a house\na book\n")
    (tmp_path / "en-x-trans.txt").write_text("ա հոփջկ\nա բփփխ\n")
    data = build_task("tatoeba", [str(tmp_path / "{language}.txt")]).load("en-x-trans", "test")
    assert data["source"][:] == ["ա հոփջկ", "ա բփփխ"]
    assert (data["source_language"][0], data["target_language"][0]) == ("en-x-trans", "en")


def test_entries_of_several_words_stand_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "fr-xx.txt"
    path.write_text("10 000\tꣀ ꣁ\nde դե\n")
    data = build_task("lexicon_induction", [str(path)], words="0:0").load("fr-xx", "test")
    assert (data["source"][:], data["target"][:]) == (["10 000", "de"], ["ꣀ ꣁ", "դե"])
    path.write_text("de\t\n")
    with pytest.raises(InputError, match=r"fr-xx\.txt:1: .*a source and a target word"):
        build_task("lexicon_induction", [str(path)]).load("fr-xx", "test")


def test_shares_are_right_to_the_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = torch.tensor([1] * 813 + [2] * 187)
    monkeypatch.setattr(
        retrieval, "TextEncoder", lambda *args, **options: lambda *args, **options: torch.eye(2)
    )
    monkeypatch.setattr(retrieval, "gold_ranks", lambda *args, **options: (ranks, ranks - 1))
    task, sentences = build_task("tatoeba", []), Dataset.from_dict({"source": ["a"], "target": ["b"]})
    scores, nearest = task.measure("any", sentences, language="de")
    assert scores["accuracy"] == pytest.approx(81.3, abs=1e-12) and len(nearest) == 1000
    assert scores["reverse_csls_mrr"] == pytest.approx(81.3 + 18.7 / 2, abs=1e-12)


def test_a_dictionary_of_the_other_direction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "en-de.txt").write_text("house\tHaus\n")
    task = build_task("lexicon_induction", [str(tmp_path / "en-de.txt")], words="0:0")
    assert task.load("en-de", "test")["target"][:] == ["Haus"]
    with pytest.raises(InputError, match=r"is named as en-de, and de-en is asked for"):
        task.load("de-en", "test")
    with pytest.raises(ConfigurationError, match="a pair such as en-de"):
        task.load("en", "test")


def test_words_are_counted_in_the_whole_dictionary(tmp_path: Path) -> None:
    whole = "".join(f"a{n}\tb{n}\n" for n in range(6))
    (tmp_path / "en-xx.txt").write_text(whole)
    (tmp_path / "en-xx.5000-6500.txt").write_text("a5\tb5\n")
    load = lambda **how: build_task("lexicon_induction", [str(tmp_path)], **how).load("en-xx", "test")  # noqa: E731
    assert load()["source"][:] == ["a5"]
    chosen = load(words="0:2")
    assert [s for s, asked in zip(chosen["source"], chosen["asked"], strict=True) if asked] == ["a0", "a1"]
