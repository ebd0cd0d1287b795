"""Documents of known groups, blank lines on both sides or one, and files."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.mining.align_sentences import align_sentence_files, align_sentences
from isoglot.mining.options import SentenceAlignRequest

Groups = list[tuple[tuple[int, ...], tuple[int, ...]]]


def encoder(texts: Sequence[str]) -> torch.Tensor:
    """The sum of a random vector for each word, which is much the same in capitals."""

    def vector(word: str) -> torch.Tensor:
        return torch.randn(64, generator=torch.Generator().manual_seed(zlib.crc32(word.encode())))

    return torch.stack([sum(vector(w.lower()) + 0.3 * vector(w) for w in text.split()) for text in texts])


def groups(source: str, target: str, **options: object) -> Groups:
    found = align_sentences(source.split("\n"), target.split("\n"), encoder, **options)
    return [(group.source_lines, group.target_lines) for group in found]


@pytest.mark.parametrize("joined", ["encode", "sum"])
def test_known_groups_are_found(joined: str) -> None:
    source = "one dog\ntwo fish\nthree birds sing\nfour long red things\nfive cats sleep\nsix mice"
    target = "ONE DOG\nTWO FISH THREE BIRDS SING\nFIVE CATS\nSLEEP\nSEVEN HORSES\nSIX MICE"
    expected = [((1,), (1,)), ((2, 3), (2,)), ((4,), ()), ((5,), (3, 4)), ((), (5,)), ((6,), (6,))]
    assert groups(source, target, joined=joined) == expected
    # larger groups only where they are allowed
    assert all(len(a) + len(b) <= 2 for a, b in groups(source, target, joined=joined, max_size=2))
    # the same documents in one file, after a blank line on both sides
    twice = [(tuple(n + 7 for n in a), tuple(n + 7 for n in b)) for a, b in expected]
    assert groups(f"{source}\n\n{source}", f"{target}\n\n{target}", joined=joined) == expected + twice


def test_blank_lines_on_one_side_count_as_nothing() -> None:
    assert groups("one\n\n\ntwo", "ONE\nTWO") == [((1,), (1,)), ((4,), (2,))]
    assert groups("one\n\ntwo\n\nthree", "ONE\nTWO\n\nTHREE", one_document=True) == [
        ((1,), (1,)), ((3,), (2,)), ((5,), (4,))
    ]  # fmt: skip
    assert groups("\n", "one\n") == [((), (1,))] and groups("", "") == []


def test_parts_do_not_reach_into_each_other() -> None:
    assert groups("one\n\ntwo three", "ONE TWO\n\nTHREE") == [((1,), (1,)), ((3,), (3,))]
    with pytest.raises(
        ConfigurationError, match=r"source into 2 parts and the target into 3; .*one_document=True"
    ):
        groups("one\n\ntwo", "ONE\n\nTWO\n\nTHREE")


def test_texts_and_scores_come_with_the_groups() -> None:
    found = align_sentences(["one  dog", "two"], ["ONE", "DOG", "TWO", "XYZ"], encoder)
    assert [(g.source, g.target) for g in found] == [("one  dog", "ONE DOG"), ("two", "TWO"), ("", "XYZ")]
    assert 0.5 < found[0].score <= 1 and found[2].score == 0.0
    with pytest.raises(ConfigurationError, match="did you mean 'max_size'"):
        align_sentences(["one"], ["ONE"], encoder, max_sizes=3)


def test_files(tmp_path: Path) -> None:
    one, other, out = (str(tmp_path / name) for name in ("one.txt", "other.txt", "out.tsv"))
    Path(one).write_text("one dog\ntwo\n")
    Path(other).write_text("ONE\nDOG\nTWO\nXYZ\n")
    counts = align_sentence_files((one, other), out, SentenceAlignRequest(model=encoder))
    assert counts == {"1-2": 1, "1-1": 1, "0-1": 1}
    rows = [line.split("\t") for line in Path(out).read_text().splitlines()]
    assert [(row[:2], row[3:]) for row in rows] == [
        (["one dog", "ONE DOG"], ["1", "1,2"]), (["two", "TWO"], ["2", "3"]), (["", "XYZ"], ["", "4"])
    ]  # fmt: skip
    Path(one).write_bytes(b"one\n\xff\n")
    with pytest.raises(InputError, match=r"one.txt:2: byte 0xff"):
        align_sentence_files((one, other), out, SentenceAlignRequest(model=encoder))
    with pytest.raises(ConfigurationError, match="is also an input"):
        align_sentence_files((one, other), other, SentenceAlignRequest(model=encoder))
    assert len(Path(out).read_text().splitlines()) == 3


def test_the_bar_ends_at_its_total_where_lines_are_blank(tmp_path: Path) -> None:
    """Line numbers count blank lines, and the total does not."""
    one, other = (str(tmp_path / name) for name in ("one.txt", "other.txt"))
    Path(one).write_text("one dog\n\n\n\ntwo\n")
    Path(other).write_text("ONE\nDOG\n\nTWO\n")
    seen: list[tuple[int, int]] = []

    class Bar:
        def note(self, text: str) -> None: ...

        def progress(self, label: str, done: int, total: int) -> None:
            seen.append((done, total))

    out, options = str(tmp_path / "out.tsv"), SentenceAlignRequest(model=encoder)
    align_sentence_files((one, other), out, options, progress=Bar())
    assert seen[-1] == (2, 2) and all(done <= total for done, total in seen)
