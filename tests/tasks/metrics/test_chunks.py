from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import reference
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.tasks.metrics.chunks import chunks, entity_score, pos_chunk_score, tag_accuracy

UPOS = ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
        "SCONJ", "SYM", "VERB", "X"]  # fmt: skip
ENTITY = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]


def _conll_entities(tags: list[str]) -> set[tuple[str, int, int]]:
    """Entities the slow way: for each token, whether it belongs to the chunk of the token before."""
    spans: list[list[int]] = []
    for i, tag in enumerate(tags):
        if tag == "O":
            continue
        joins = i > 0 and tag[0] == "I" and tags[i - 1] != "O" and tags[i - 1][2:] == tag[2:]
        if joins:
            spans[-1][1] = i
        else:
            spans.append([i, i])
    return {(tags[a][2:], a, b) for a, b in spans}


@given(st.lists(st.sampled_from(ENTITY), max_size=12))
def test_entities_equal_the_definition(tags: list[str]) -> None:
    assert set(chunks(tags, lambda t: t.partition("-")[2])) == _conll_entities(tags)


@given(st.lists(st.sampled_from(UPOS), max_size=12))
def test_pos_chunks_are_runs_but_for_s(tags: list[str]) -> None:
    found = chunks(tags, lambda t: t)
    runs: list[tuple[str, int, int]] = []
    for i, tag in enumerate(tags):
        if runs and runs[-1][0] == tag and tag[0] != "S":
            runs[-1] = (tag, runs[-1][1], i)
        else:
            runs.append((tag, i, i))
    assert found == runs


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        ([["DET", "NOUN", "NOUN", "VERB", "PUNCT"]], [["DET", "NOUN", "VERB", "VERB", "PUNCT"]], 50.0),
        ([["CCONJ", "NOUN"], ["SCONJ", "VERB"]], [["SCONJ", "NOUN"], ["SCONJ", "VERB"]], 75.0),
    ],
)
def test_pos_golden_values_of_seqeval_0_0_12(
    gold: list[list[str]], predicted: list[list[str]], f1: float
) -> None:
    assert pos_chunk_score(gold, predicted)["f1"].value == pytest.approx(f1)


def test_chunks_do_not_cross_sentences() -> None:
    assert pos_chunk_score([["NOUN"], ["NOUN"]], [["NOUN"], ["VERB"]])["recall"].value == 50.0


def test_entity_counts() -> None:
    score = entity_score([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    assert {own.value for own in score.values()} == {50.0}
    assert entity_score([["O"]], [["O"]])["f1"].value == 0.0
    assert entity_score([["I-A-B"]], [["I-B"]])["f1"].value == 0, (
        "the type is all that follows the first hyphen"
    )


def test_accuracy_and_unequal_lengths() -> None:
    assert tag_accuracy([["A", "B"], ["C"]], [["A", "C"], ["C"]]).value == pytest.approx(200 / 3)
    assert tag_accuracy([], []).value == 0.0
    with refused(ConfigurationError, "sentence 2 ", "1 predicted tags", "2 tokens"):
        tag_accuracy([["A"], ["A", "B"]], [["A"], ["A"]])
    with refused(ConfigurationError, "1 predicted ", "2 gold "):
        entity_score([["O"], ["O"]], [["O"]])


def test_chunk_f1_of_parts_of_speech() -> None:
    for case in reference("golden")["pos_f1"]["cases_seqeval_0_0_12"]:
        assert pos_chunk_score(case["gold"], case["pred"])["f1"].value == pytest.approx(100 * case["f1"])
