from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.derivation.base import Underivable
from isoglot.derivation.parses import Parses


def test_parses_are_found_whatever_the_blanks() -> None:
    trees = [
        {"words": ["It", "rains", "."], "upos": ["PRON", "VERB", "PUNCT"], "heads": [2, 0, 2],
         "deprels": ["nsubj", "root", "punct"]},
        {"words": ["Go", "!"], "upos": ["VERB", "PUNCT"], "heads": [0, 1], "deprels": ["root", "punct"]},
    ]  # fmt: skip
    parses, first = Parses(trees), Parses(trees, first_only=True)
    both = parses("It rains. Go!")
    assert both.words == ("It", "rains", ".", "Go", "!")
    assert both.heads == (2, 0, 2, 0, 4)
    assert first("It rains. Go!").words == ("It", "rains", ".")
    with pytest.raises(Underivable, match="no parse"):
        parses("It rains. No!")
    assert parses(" ").words == ()


LETTERS = st.text("ab", min_size=1, max_size=4)


def cut_greedily(sentences: list[str], text: str) -> list[str] | None:
    """The longest sentence that a text begins with, and so on."""
    cut: list[str] = []
    while text:
        found = max((s for s in sentences if text.startswith(s)), key=len, default=None)
        if found is None:
            return None
        cut.append(found)
        text = text[len(found) :]
    return cut


@settings(deadline=None)
@given(st.lists(LETTERS, max_size=8), st.text("abc", max_size=10))
def test_parses_cut_a_text_into_the_longest_parsed_sentences(sentences: list[str], text: str) -> None:
    trees = [
        {"words": [s], "upos": [str(i)], "heads": [0], "deprels": ["root"]} for i, s in enumerate(sentences)
    ]
    with Parses(trees) as parses:
        expected = cut_greedily(sentences, text)
        if expected is None:
            with pytest.raises(Underivable):
                parses(text)
        else:
            found = parses(text)
            assert list(found.words) == expected
            assert [sentences.index(s) for s in expected] == [int(tag) for tag in found.upos or ()]


def test_parses_are_not_held_in_memory(tmp_path: Path) -> None:
    tree = {"upos": ["X"] * 20, "heads": [0, *[1] * 19], "deprels": ["dep"] * 20}
    tracemalloc.start()
    with Parses(({"words": [f"{i} "] * 20, **tree} for i in range(3000)), tmp_path / "trees") as parses:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert parses("2999 " * 20).words == ("2999 ",) * 20
    assert peak < 1_000_000
    assert not list(tmp_path.iterdir())
