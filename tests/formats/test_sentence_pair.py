"""Sentence pairs: the characters of their words."""

from __future__ import annotations

from isoglot.formats.sentence_pair import SentencePair


def test_spans_that_are_known_are_the_spans_of_the_words() -> None:
    # Pieces of a tokenizer do not spell their text, so looking for them would find nothing.
    pair = SentencePair(("lowest", "le"), (["low@@", "est"], ["le"]))
    assert pair.source_spans == []
    pair.spans = [(0, 3), (3, 6)], [(0, 2)]
    assert (pair.source_spans, pair.target_spans) == pair.spans
    assert pair.transpose().source_spans == [(0, 2)]
