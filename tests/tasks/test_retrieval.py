from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.tasks import build_task, retrieval


def test_a_derived_language_is_one_language(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("a house\na book\n")
    (tmp_path / "en-x-trans.txt").write_text("ա հոփջկ\nա բփփխ\n")
    data = build_task("tatoeba", [str(tmp_path / "{language}.txt")]).load("en-x-trans", "test")
    assert data["source"][:] == ["ա հոփջկ", "ա բփփխ"]
    assert (data["source_language"][0], data["target_language"][0]) == ("en-x-trans", "en")


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


def test_a_language_is_not_its_own_pivot(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.eng").write_text("a\n")
    with refused(ConfigurationError, "'en'", "`languages`", "pivot=LANG"):
        evaluate_checkpoint(encoder, build_task("tatoeba", [str(tmp_path)]), languages=["en"])


def _pair(source: str, target: str, languages: str) -> dict:
    own, other = languages.split()
    return {"source": source, "target": target, "source_language": own, "target_language": other}


def test_tables_of_pairs_give_the_languages_that_are_asked_for(tmp_path: Path) -> None:
    rows = [
        _pair("house", "Haus", "en de"),
        _pair("house", "maison", "en fr"),
        _pair("book", "Buch", "en deu"),
    ]
    table = json_lines(tmp_path / "pairs.jsonl", *rows)
    german = build_task("tatoeba", [table]).load("de", "test")
    assert german["source"][:] == ["Haus", "Buch"], "the language first, whichever way the rows are"
    assert german["target"][:] == ["house", "book"]
    with refused(InputError, "pairs.jsonl: ", "'it'", "'en'", "en-de, en-deu, en-fr"):
        build_task("tatoeba", [table]).load("it", "test")
    lexicon = build_task("lexicon_induction", [table], words="0:0")
    assert lexicon.load("en-fr", "test")["target"][:] == ["maison"]
    with refused(InputError, "pairs.jsonl: ", "'fr'", "'en'", "en-de, en-deu, en-fr"):
        lexicon.load("fr-en", "test")
