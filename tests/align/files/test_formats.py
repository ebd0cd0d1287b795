"""Link files of every format, read and written, and the hints at wrong bases and sides."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align.alignment import Alignment
from isoglot.align.files.formats import FORMATS, read_links
from isoglot.align.score_file import diagnose
from isoglot.align.scoring import GoldAlignment, score
from isoglot.errors import ConfigurationError, InputError

links = st.frozensets(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=8)
sentences = st.lists(st.builds(GoldAlignment, links, links), min_size=1, max_size=6)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines_of(gold, name, start, reverse):
    """Gold links as the tools of each format write them."""
    for number, sentence in enumerate(gold):
        own = sentence.transpose() if reverse else sentence
        sure = [(i + start, j + start) for i, j in sorted(own.sure)]
        possible = [(i + start, j + start) for i, j in sorted(own.possible - own.sure)]
        if name == "jsonl":
            yield json.dumps({"id": number, "sure": sure, "possible": possible})
        elif name in ("pharaoh", "talp"):
            yield " ".join([*(f"{i}-{j}" for i, j in sure), *(f"{i}p{j}" for i, j in possible)])
        else:
            yield from (f"{number + 1} {i} {j} S" for i, j in sure)
            yield from (f"{number + 1} {i} {j} P" for i, j in possible)


@given(
    gold=sentences,
    name=st.sampled_from(sorted(FORMATS)),
    base=st.sampled_from([None, 0, 1]),
    reverse=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_back(tmp_path_factory, gold, name, base, reverse):
    path = tmp_path_factory.mktemp("links") / "file.txt"
    lines = list(lines_of(gold, name, FORMATS[name] if base is None else base, reverse))
    if not any(line.strip() for line in lines):
        return
    write(path, lines)
    found = read_links(path, name=name, base=base, reverse=reverse, sentences=len(gold))
    assert found.gold == gold


@pytest.mark.parametrize(
    ("file", "lines", "expected"),
    [
        ("a.txt", ["0-0 1?2", "", "3p1"], "pharaoh"),
        ("a.wa", ["0001 1 1 S", "0001 2 3 P 0.8", "0003 4 2"], "naacl"),
        ("a.txt", ["1 1 1", "1 2 3 P", "3 4 2 S"], "naacl"),
        ("a.txt", ['{"sure": [[0, 0]], "possible": [[1, 2]]}', '{"links": []}', '{"sure": [], "possible": [[3, 1]]}'],
         "jsonl"),
    ],
)  # fmt: skip
def test_formats_are_told_apart(tmp_path, file, lines, expected):
    found = read_links(write(tmp_path / file, lines))
    assert len(found.gold) == 3
    assert found.gold[0] == GoldAlignment.of([(0, 0)], [(1, 2)])
    assert not found.gold[1].possible
    assert found.gold == read_links(write(tmp_path / file, lines), name=expected).gold


def test_sentences_without_links_keep_their_place_in_rows(tmp_path):
    zero = read_links(write(tmp_path / "zero.alignv2", ["0 1 1", "2 2 2"]), sentences=4)
    assert (zero.ids, [len(g.sure) for g in zero.gold]) == (["0", "1", "2", "3"], [1, 0, 1, 0])
    # A file of the same sentences tells where the numbers begin.
    later = read_links(write(tmp_path / "later.alignv2", ["0001 1 1"]), sentences=4, like=zero)
    assert (later.ids, [len(g.sure) for g in later.gold]) == (zero.ids, [0, 1, 0, 0])
    with pytest.raises(InputError, match=r"other\.wa:1: 'c 1 1' given"):
        read_links(write(tmp_path / "other.wa", ["c 1 1"]), like=zero)
    assert read_links(write(tmp_path / "a.txt", ["0-0"])).up_to(3) == read_links(tmp_path / "a.txt")
    assert [len(g.sure) for g in zero.up_to(6).gold] == [1, 0, 1, 0, 0, 0]


def test_packed_files_and_words(tmp_path):
    path = tmp_path / "gold.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "x", "src": ["a"], "tgt": ["b"], "sure": [[0, 0]]}\n'))
    found = read_links(path, reverse=True)
    assert found.ids == ["x"]
    assert found.words == [(["b"], ["a"])]


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("pharaoh", ["0-0", "1-"], r"file\.txt:2: link '1-' given"),
        ("talp", ["1-1", "0-3"], r"file\.txt:2: link 0-3 given, but words are counted from 1.*--base 0"),
        ("naacl", ["1 2 S"], r"file\.txt:1: '1 2 S' given"),
        ("alignv2", ["1 2 3 X"], r"file\.txt:1: "),
        ("jsonl", ['{"sure": [[0]]}'], r"file\.txt:1: not of the form"),
        ("jsonl", ['{"sure": [[0.5, 1]]}'], r"file\.txt:1: not of the form"),
        ("jsonl", ['{"src": [1], "tgt": ["a"], "sure": []}'], r"file\.txt:1: a word is not a string"),
        ("jsonl", ['{"gold": []}'], r"file\.txt:1: columns \['gold'\] given"),
        ("jsonl", ["[1]"], r"file\.txt:1: is a JSON list"),
    ],
)
def test_bad_lines_are_named(tmp_path, name, lines, message):
    with pytest.raises(InputError, match=message):
        read_links(write(tmp_path / "file.txt", lines), name=name)


def test_unknown_format(tmp_path):
    with pytest.raises(ConfigurationError, match="there are pharaoh"):
        read_links(write(tmp_path / "file.txt", ["0-0"]), name="moses")


@pytest.mark.parametrize(
    ("shift", "reverse", "hint"),
    [
        (1, False, "--base 1"),
        (-1, False, "--gold-base 1"),
        (0, True, "--reverse"),
        (1, True, "--base 1.*--reverse"),
    ],
)
def test_wrong_bases_and_sides_are_diagnosed(shift, reverse, hint):
    gold = [GoldAlignment.of([(i, (3 * i) % 7 + 1) for i in range(1, 7)]) for _ in range(5)]
    right = [Alignment(g.sure) for g in gold]
    assert diagnose(right, gold) is None
    wrong = [Alignment(frozenset((i + shift, j + shift) for i, j in a.links)) for a in right]
    if reverse:
        wrong = [a.transpose() for a in wrong]
    assert re.search(hint, diagnose(wrong, gold))


@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
@pytest.mark.parametrize(("pair", "aer"), [("enfr", 4.07), ("roen", 20.75)])
def test_awesome_aligns_shipped_output_scores_what_it_scores(pair, aer):
    folder = Path(os.environ["ISOGLOT_DATA"]) / "wordalign" / "awesome"
    gold = read_links(folder / f"{pair}.gold", name="talp").gold
    found = [Alignment(g.sure) for g in read_links(folder / f"{pair}.awesome-align.out").gold]
    assert round(100 * score(found, gold).aer, 2) == aer
    assert diagnose(found, gold) is None
    as_zero_based = read_links(folder / f"{pair}.gold", name="talp", base=0).gold
    assert "--gold-base 1" in diagnose(found, as_zero_based)


def test_links_outside_the_sentence_are_an_error(tmp_path):
    path = tmp_path / "gold.jsonl"
    good = '{"src": ["a", "b"], "tgt": ["c"], "sure": [[1, 0]], "possible": []}\n'
    for links in ('"sure": [[2, 0]]', '"sure": [], "possible": [[0, 1]]'):
        path.write_text(good + '{"src": ["a", "b"], "tgt": ["c"], ' + links + "}\n")
        with pytest.raises(InputError, match=r"gold\.jsonl:2: link .* 2 and 1 words"):
            read_links(path)
    path.write_text('{"src": ["a", "b"], "tgt": ["c"], "sure": [[2, 1]]}\n')
    assert read_links(path, base=1).gold[0].sure == {(1, 0)}


@pytest.mark.parametrize(("shift", "hint"), [(1, "one too high"), (-1, "one too low")])
def test_sentences_of_another_number_are_diagnosed(shift, hint):
    gold = [GoldAlignment.of([(i, (i * n) % 7) for i in range(7)]) for n in range(1, 6)]
    moved = [gold[(number - shift) % len(gold)].sure for number in range(len(gold))]
    assert hint in diagnose([Alignment(links) for links in moved], gold)
