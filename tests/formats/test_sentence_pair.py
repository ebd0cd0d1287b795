"""Sentence pairs: the characters of their words."""

from __future__ import annotations

import pytest

from isoglot.formats.given_row import GivenRow
from isoglot.formats.sentence_pair import SentencePair


def test_spans_that_are_known_are_the_spans_of_the_words() -> None:
    # Pieces of a tokenizer do not spell their text, so looking for them would find nothing.
    pair = SentencePair(("lowest", "le"), (["low@@", "est"], ["le"]))
    assert pair.source_spans == []
    pair.spans = [(0, 3), (3, 6)], [(0, 2)]
    assert (pair.source_spans, pair.target_spans) == pair.spans
    assert pair.transpose().source_spans == [(0, 2)]


@pytest.mark.parametrize(
    ("source", "target", "added"),
    [
        ("a b", "c d", True),
        (["a", "b"], "c d", True),
        ("a b", ["c", "d"], True),
        (["a", "b"], ["c", "d"], False),
        # A side without words adds none.
        (["a", "b"], "", False),
    ],
)
def test_a_row_that_lacks_the_words_of_a_side_gets_the_words_of_both(
    source: str | list[str], target: str | list[str], added: bool
) -> None:
    row = {"en": source, "de": target}
    pair = SentencePair.of(source, target, given=GivenRow(("en", "de"), row)).cut("whitespace")
    columns = {"source_words": ["a", "b"], "target_words": ["c", "d"]} if added else {}
    assert pair.row() == row | columns


def test_a_side_that_is_not_cut_adds_no_words() -> None:
    row = {"en": ["a", "b"], "de": "c d"}
    pair = SentencePair(("a b", "c d"), (["a", "b"], ()), given=GivenRow(("en", "de"), row))
    assert pair.row() == row
