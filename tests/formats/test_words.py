import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.formats import words as module
from isoglot.formats.words import (
    is_blank,
    locate_words,
    other_space,
    sentence_words,
    split_words,
    word_of_piece,
    word_spans,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, well-known.", ["Don't", "stop", ",", "well-known", "."]),
        ("d’aujourd’hui 1,000.5 10:30", ["d’aujourd’hui", "1,000.5", "10:30"]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("हिन्दी में बोलती हैं।", ["हिन्दी", "में", "बोलती", "हैं", "।"]),
        ("日本語、カー", ["日", "本", "語", "、", "カ", "ー"]),
        ("A日B 12年", ["A", "日", "B", "12", "年"]),
        ("กำ", ["กำ"]),
        ("န်မ ខ្មែ", ["န်", "မ", "ខ្មែ"]),
        ("👩\u200d👩\u200d👧 👍🏽 🇩🇪🇫🇷", ["👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "🇫🇷"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("a\u200bb \ufeffc x\u00ady", ["a", "b", "c", "x\u00ady"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("\x00\u200b \t", []),
        ("", []),
    ],
)
def test_unicode_words(text, expected):
    assert split_words(text) == expected


BLANK = [
    "", " \t", "\u00a0\u3000", "\u200b", "\u200b\u200d", "\ufeff", "\u00ad", "\x00\x1f\x85", "\u202a\u202c",
    "\u3164", "\u115f\u1160", "\ufe0f", "\u2800", "\ufffe", "\U000e0061", "\n\u2028",
]  # fmt: skip


@pytest.mark.parametrize("text", BLANK)
@pytest.mark.parametrize("mode", ["unicode", "whitespace"])
def test_invisible_text_is_blank_and_has_no_words(text, mode):
    assert is_blank(text) and sentence_words(text, mode=mode) == [] and locate_words(text, []) == []
    for sign in (".", "a", "ß", "\u06dd", "\u0301", "語", "\ue000", "\u2801", "👍"):
        for visible in (sign + text, text + sign):
            assert not is_blank(visible) and sentence_words(visible, mode="whitespace")


OTHER_SPACES = "\u00a0\u2009\u202f\u3000\u200b\x0b\x0c\x1c\x85\u2028\r"


@given(st.text(alphabet=st.sampled_from("ab,  \t\t\n" + OTHER_SPACES), max_size=30))
def test_words_end_at_spaces_and_tabs_alone_as_those_of_fast_align(text):
    """fast_align's loop, by bytes (``Dict::ConvertWhitespaceDelimitedLine``); a line end does not reach it."""
    words, word = [], b""
    for byte in text.encode():
        if bytes([byte]) in (b" ", b"\t", b"\n"):
            words, word = [*words, *([word] if word else [])], b""
        else:
            word += bytes([byte])
    words += [word] if word else []
    assert split_words(text, mode="whitespace") == [word.decode() for word in words]
    assert [text[a:b] for a, b in word_spans(text, mode="whitespace")] == [word.decode() for word in words]


@pytest.mark.parametrize("space", OTHER_SPACES)
def test_words_are_found_between_other_spaces(space):
    assert other_space("a b\tc\n", f"d {space}") == space
    assert other_space("a b\tc\n", "d", "é\u00ad") is None


@given(st.text(max_size=40))
def test_words_cover_every_visible_character_once_and_read_back(text):
    spans = word_spans(text)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(spans[i][1] <= spans[i + 1][0] for i in range(len(spans) - 1))
    assert locate_words(text, [text[a:b] for a, b in spans]) == spans


@given(st.text(alphabet=st.sampled_from("".join(module._LATIN) + "ab1'-.,: \u00ad·" * 8), max_size=15))
def test_plain_and_full_patterns_agree_on_latin_text(text):
    full = [match.span() for match in module._UNICODE.finditer(text)]
    assert word_spans(text) == full


def test_locate_words():
    assert locate_words("a  bc,", ["a", "", "bc", ","]) == [(0, 1), (1, 1), (3, 5), (5, 6)]
    assert locate_words("a b", ["a"]) is None, "text is left over"
    assert locate_words("a x b", ["a", "b"]) is None, "a word is skipped"
    assert locate_words("a b", ["b", "a"]) is None
    assert locate_words("a\u200b b", ["a", "b"]) == [(0, 1), (3, 4)]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=12),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=10),
)
def test_word_of_piece_is_the_first_that_overlaps(pieces, gaps):
    words, position = [], 0
    for gap, size in gaps:
        words.append((position + gap, position + gap + size))
        position += gap + size
    starts = np.array([s for s, _ in pieces], dtype=np.int64)
    ends = starts + np.array([n for _, n in pieces], dtype=np.int64)
    edges = np.array(words, dtype=np.int64).reshape(-1, 2)
    expected = [
        next((w for w, (a, b) in enumerate(words) if max(a, s) < min(b, e)), -1)
        for s, e in zip(starts, ends, strict=True)
    ]
    assert word_of_piece(starts, ends, edges[:, 0], edges[:, 1]).tolist() == expected
