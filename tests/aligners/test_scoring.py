from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import reference
from refusals import refused

import isoglot as iso
from isoglot.aligners.scoring import score
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.results.link_counts import AlignmentScore

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def test_hand_made_corpus():
    gold = [
        SentencePair.of_gold([[0, 0], [1, 1]], [[1, 2]]),
        SentencePair.of_gold([[0, 0]]),
        SentencePair.of_gold([]),
    ]
    found = [Alignment.from_pharaoh(line) for line in ("0-0 1-2 3-3", "", "0-0")]
    total = score(found, gold)
    assert total == AlignmentScore(links=4, sure=3, sure_hits=1, possible_hits=2)
    assert (total.precision, total.recall) == (50, pytest.approx(100 / 3))
    assert total.aer == pytest.approx(100 - 300 / 7)
    assert total.f1 == pytest.approx(40)


def test_the_values_of_xlm_aligns_evaluation():
    gold = [
        SentencePair.of_gold([[1, 1], [2, 2]], [[1, 1], [2, 2], [3, 2]]),
        SentencePair.of_gold([[1, 2]], [[1, 2], [2, 1]]),
    ]
    total = score([Alignment.from_pharaoh(line) for line in ("1-1 3-2 4-4", "1-2 2-1")], gold)
    found = [total.precision, total.recall, total.f1, total.aer]
    assert found == pytest.approx([80.0, 66.66666666666666, 72.72727272727272, 25.0])


def test_empty_hypothesis_and_empty_gold():
    nothing = score([Alignment(frozenset())], [SentencePair.of_gold([[0, 0]])])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.aer) == (0.0, 0.0, 0.0, 100.0)
    assert AlignmentScore().aer == 0.0
    for found, gold in (([], []), (["0-0"], [[]])):
        with refused(ConfigurationError, "gold: ", "sure link"):
            score(found, gold)


@settings(deadline=None)
@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=5))
def test_sure_is_possible_and_transposing_both_changes_nothing(rows):
    assume(any(sure for _, sure, _ in rows))
    found = [Alignment(a) for a, _, _ in rows]
    gold = [SentencePair(sure=s, possible=p) for _, s, p in rows]
    total = score(found, gold)
    assert all(g.sure <= g.possible for g in gold)
    assert 0 <= total.aer <= 100
    assert score([a.transpose() for a in found], [g.transpose() for g in gold]) == total
    assert score([Alignment(g.sure) for g in gold], gold).aer == 0.0


def test_lengths_must_agree():
    with refused(ConfigurationError, "0 alignments", "1 gold"):
        score([], [SentencePair.of_gold([])])


def test_alignment_error_rate() -> None:
    values = reference("golden")["aer"]
    gold = [SentencePair.of_gold(sure, possible) for sure, possible in values["gold"]]
    total = score([Alignment(frozenset(map(tuple, links))) for links in values["hypothesis"]], gold)
    found = [total.precision, total.recall, total.f1, total.aer]
    assert found == pytest.approx(values["precision_recall_f1_aer"])


WORDS = list("abcde"), list("vwxyz")
FORMS: dict[str, Callable[[list[set[tuple[int, int]]]], Any]] = {
    "alignments": lambda rows: [Alignment(frozenset(row)) for row in rows],
    "sets": lambda rows: [set(row) for row in rows],
    "lists": lambda rows: (list(map(list, row)) for row in rows),
    "lines": lambda rows: [Alignment(frozenset(row)).to_pharaoh() for row in rows],
    "pairs": lambda rows: [SentencePair.of(*WORDS, links=sorted(row)) for row in rows],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["sets", "lines", "file"])
def test_links_in_any_form_score_alike(form, other, tmp_path):
    found = [{(0, 0), (1, 2), (3, 3)}, set(), {(0, 1)}]
    gold = [{(0, 0), (1, 1)}, {(2, 2)}, {(0, 1)}]
    expected = score(FORMS["alignments"](found), [SentencePair.of_gold(row) for row in gold])
    lines = "".join(f"{line}\n" for line in FORMS["lines"](gold))
    (tmp_path / "gold.txt").write_text(lines)
    right = tmp_path / "gold.txt" if other == "file" else FORMS[other](gold)
    assert iso.score(FORMS[form](found), right) == expected
    (tmp_path / "links.txt").write_text("".join(f"{line}\n" for line in FORMS["lines"](found)))
    assert iso.score(str(tmp_path / "links.txt"), right) == expected


def test_possible_links_of_lines_and_files_without_links_at_the_end(tmp_path):
    assert score(["0-0 1-1"], ["0-0 1p1"]) == AlignmentScore(links=2, sure=1, sure_hits=1, possible_hits=2)
    (tmp_path / "gold.wa").write_text("1 1 1 S\n")
    assert score([{(0, 0)}, {(5, 5)}], tmp_path / "gold.wa").links == 2


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (
            [SentencePair.of(["the", "river"], ["ta", "potamo"], links=[(0, 0)])],
            "sentence 1 .*'river'.*'sea'",
        ),
        ([{(1, 2)}], "sentence 1 .*1-2.* 2 and 2 words"),
    ],
    ids=["words", "links"],
)
def test_score_refuses_links_of_other_words(tmp_path, found, named):
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"src": ["the", "sea"], "tgt": ["ta", "potamo"], "sure": [[0, 0]]}\n')
    with pytest.raises(InputError, match=f"links: {named}"):
        score(found, gold)


@pytest.mark.parametrize(
    ("found", "gold", "named"),
    [
        (["0-0"], ["0-0", "0-0"], "links: 1 sentences, gold has 2"),
        (["0-0", "0_0"], ["0-0", "0-0"], "links:2: .*'0_0'"),
        ([{(0, 0)}], [5], "gold:1: got .*5"),
    ],
)
def test_score_names_the_side_and_line_that_it_cannot_read(found, gold, named):
    with pytest.raises(InputError, match=named):
        score(found, gold)


def test_score_notes_links_that_count_from_one(caplog):
    score([f"{i + 1}-{i + 1}" for i in range(3)], [f"{i}-{i}" for i in range(3)])
    assert "base=1" in caplog.text


@pytest.mark.parametrize("links", [None, "0-0", [(0,)], [(0.5, 1)], [("0", "1")], [(0, 1, 2)]])
def test_gold_links_are_pairs_of_numbers(links):
    with pytest.raises(ConfigurationError, match=re.escape(f"[(0, 0), (1, 2)], got {links!r}")):
        SentencePair.of_gold(links)
    assert json.dumps(sorted(SentencePair.of_gold(np.array([[0, 1]])).sure)) == "[[0, 1]]"
