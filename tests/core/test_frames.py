"""Results as dictionaries, frames and tables of a notebook."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import isoglot as iso
from isoglot.core.frames import ResultList
from isoglot.mining.filter_pairs import JudgedPair
from isoglot.results.link_counts import AlignmentScore
from isoglot.results.rows import Result
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture
def encoder() -> dict:
    return {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}


def test_rows_of_an_evaluation_are_a_frame(encoder: dict) -> None:
    rows = iso.evaluate(task="tatoeba", languages="en-xx", data=tiny_bitext(8), layer=2, **encoder)
    frame = rows.to_frame()
    assert list(frame["metric"]) == [row.metric for row in rows] and frame["value"].between(0, 100).all()
    assert rows.to_dict() == [row.model_dump() for row in rows] and isinstance(rows, list)
    assert "accuracy" in rows._repr_html_() and "<table" in rows[0]._repr_html_()
    assert Result.model_validate(rows[0].to_dict()) == rows[0]


def test_links_are_frames_and_pairs_behave_as_pairs() -> None:
    pairs = iso.align_many([("the house", "das Haus"), ("a house", "ein Haus")] * 2, method="hmm")
    frame = pairs[1].to_frame()
    assert list(frame["source_word"]) == ["a", "house"] and list(frame["target_word"]) == ["ein", "Haus"]
    assert {"source", "target", "links"} <= set(pairs.to_frame()) and len(pairs.to_frame()) == 4
    assert "Haus" in pairs[0]._repr_html_()
    empty = iso.SentencePair.of("a", "b")
    assert bool(empty) and len(empty) == 0 and empty.to_frame().empty and empty.to_dict()["links"] == []
    assert len(pd.DataFrame(pairs)) == 4 and len(pd.DataFrame([pair.to_dict() for pair in pairs])) == 4
    assert pd.DataFrame(pairs[0]).to_numpy().tolist() == [list(link) for link in pairs[0].links]


def test_scores_show_their_figures_in_percent(encoder: dict) -> None:
    score = AlignmentScore(4, 4, 3, 4)
    assert (
        repr(score) == "AlignmentScore(precision=100.00, recall=75.00, f1=85.71, aer=12.50, links=4, sure=4)"
    )
    assert ResultList([score, score]).to_frame()["aer"].tolist() == [12.5, 12.5]
    gold = [iso.SentencePair.of(["the", "river"], ["ta", "potamo"], sure=[(0, 0), (1, 1)])]
    tuned = iso.tune(gold=gold, layers=[1, 2], **encoder)
    assert tuned.to_frame()["aer"].is_monotonic_increasing and len(tuned.to_frame()) == len(tuned.table)
    assert repr(tuned).startswith(f"TuningResult(aer={tuned.best.aer:.2f}, ")
    assert f"tried={len(tuned.table)}" in repr(tuned)


def test_judged_pairs_name_their_reasons_and_scores() -> None:
    pair = JudgedPair(iso.SentencePair.of("a", "b"), ("copied",), {"cosine": 0.5})
    assert pair.to_dict() == {"source": "a", "target": "b", "reason": "copied", "cosine": 0.5}


def test_summaries_are_frames(tmp_path: Path, encoder: dict) -> None:
    pairs = [("a house", "ein Haus"), ("a house", "ein Haus"), ("", "leer")]
    summary = iso.prepare(pairs, tmp_path / "en-de", languages="en,de", duplicates="pair")
    (row,) = summary.to_frame().to_dict("records")
    assert (row["languages"], row["read"], row["empty"], row["duplicates"], row["kept"]) == (
        "en-de",
        3,
        1,
        1,
        1,
    )
    assert summary.to_dict()["rows"] == 1 and "en-de" in summary._repr_html_()
    encoder["model"].save_pretrained(tmp_path / "encoder")
    encoder["tokenizer"].save_pretrained(tmp_path / "encoder")
    small = iso.trim(tmp_path / "encoder", tmp_path / "small", texts=["the river"])
    assert small.to_frame()["tenfold"][0] == small.tenfold
