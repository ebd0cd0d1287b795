from __future__ import annotations

import pytest
from small_bitext import SOURCE, TARGET, words

from isoglot.aligners.statistical.hmm import PrefixClasses, prefix
from isoglot.aligners.statistical.model import StatisticalAligner


def test_links_of_a_small_text():
    result = (
        StatisticalAligner("hmm")
        .fit_words(words(SOURCE * 2), words(TARGET * 2))
        .tables(words(SOURCE * 2), words(TARGET * 2))
    )
    diagonal = [" ".join(f"{k}-{k}" for k in range(len(line.split()))) for line in SOURCE]
    assert result.links.to_pharaoh() == diagonal * 2


def test_prefixes_lend_translations_to_unseen_forms():
    source = ["kleiner hund", "kleine katze", "alter hund", "alte katze", "hund", "katze"] * 4
    target = ["small dog", "small cat", "old dog", "old cat", "dog", "cat"] * 4
    aligner = StatisticalAligner("hmm").fit_words(words(source), words(target))
    found = aligner.tables([["hund", "kleinster"]], [["small", "dog"]])
    assert found.links.to_pharaoh() == ["0-1 1-0"]


@pytest.mark.parametrize(
    ("word", "expected"), [("Économique", "econ"), ("ab", "ab"), ("Ärger", "arge"), ("\u0301", "\u0301")]
)
def test_prefix(word, expected):
    assert prefix(word, 4) == expected


def test_prefix_classes():
    classes = PrefixClasses(["helper", "helping", "dog"], 4)
    assert (list(classes.numbers), classes.of_word.tolist()) == (["help", "dog"], [0, 0, 1])
    assert classes.locate(["HELPED", "cat"]).tolist() == [0, -1]
