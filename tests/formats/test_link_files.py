"""Link files of every format, read and written, and the hints at wrong bases and sides."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from isoglot.aligners.scoring import Readings
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.link_files import LINK_FORMATS, LinkReader, read_links
from isoglot.formats.sentence_pair import SentencePair

links = st.frozensets(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=8)
sentences = st.lists(st.builds(SentencePair.of_gold, links, links), min_size=1, max_size=6)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def gold_links(pairs):
    return [(pair.sure, pair.possible) for pair in pairs]


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
    name=st.sampled_from(sorted(LINK_FORMATS)),
    base=st.sampled_from([None, 0, 1]),
    reverse=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_written_links_are_read_back(tmp_path_factory, gold, name, base, reverse):
    path = tmp_path_factory.mktemp("links") / "file.txt"
    lines = list(lines_of(gold, name, LINK_FORMATS[name] if base is None else base, reverse))
    if not any(line.strip() for line in lines):
        return
    write(path, lines)
    found = read_links(path, name=name, base=base, reverse=reverse)
    if name in ("alignv2", "naacl"):  # sentences behind the last link are not in the file
        found += [SentencePair.of_gold([])] * (len(gold) - len(found))
    assert gold_links(found) == gold_links(gold)


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
    assert len(found) == 3
    assert gold_links(found[:1]) == gold_links([SentencePair.of_gold([(0, 0)], [(1, 2)])])
    assert not found[1].possible
    assert found == read_links(write(tmp_path / file, lines), name=expected)


def test_sentences_without_links_keep_their_place_in_rows(tmp_path):
    zero = LinkReader(write(tmp_path / "zero.alignv2", ["2 2 2", "0 1 1", "2 1 1 P"]))
    assert [(s.id, len(s.links)) for s in zero.sentences()] == [("0", 1), ("1", 0), ("2", 2)]
    # A file of the same sentences tells where the numbers begin.
    later = LinkReader(write(tmp_path / "later.alignv2", ["0001 1 1"]))
    assert [s.id for s in later.sentences()] == ["1"]
    assert [s.id for s in later.sentences(first=zero.first_number)] == ["0", "1"]
    with refused(InputError, "other.wa:1: ", "'c 1 1'"):
        LinkReader(write(tmp_path / "other.wa", ["c 1 1"]))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("pharaoh", ["0-1 1-0"]),
        ("naacl", ["1 1 2", "1 2 1"]),
        ("jsonl", ['{"links": [[0, 1], [1, 0]]}']),
    ],
)
def test_links_are_sorted_where_the_sides_are_exchanged(tmp_path, name, lines):
    (found,) = LinkReader(write(tmp_path / "links.txt", lines), name=name, reverse=True).sentences()
    assert found.links == [(0, 1), (1, 0)]


def test_packed_files_and_words(tmp_path):
    path = tmp_path / "gold.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "x", "src": ["a"], "tgt": ["b"], "sure": [[0, 0]]}\n'))
    (found,) = read_links(path, reverse=True)
    assert found.id == "x"
    assert found.words == (["b"], ["a"])


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("pharaoh", ["0-0", "1-"], r"file\.txt:2: invalid link '1-'"),
        (
            "talp",
            ["1-1", "0-3"],
            r"file\.txt:2: link 0-3 is too low, words count from 1; does the file count from 0",
        ),
        ("naacl", ["1 2 S"], r"file\.txt:1: invalid line '1 2 S'"),
        ("alignv2", ["1 2 3 X"], r"file\.txt:1: "),
        ("jsonl", ['{"sure": [[0]]}'], r"file\.txt:1: not of the form"),
        ("jsonl", ['{"sure": [[0.5, 1]]}'], r"file\.txt:1: not of the form"),
        ("jsonl", ['{"sure": [[true, 1]]}'], r"file\.txt:1: not of the form .* true is not a number"),
        (
            "jsonl",
            ['{"sure": [[-1, 1]]}'],
            r"file\.txt:1: link -1-1 is too low, words count from 0; correct it",
        ),
        ("jsonl", ['{"src": [1], "tgt": ["a"], "sure": []}'], r"file\.txt:1: a word is not a string"),
        (
            "jsonl",
            ['{"gold": []}'],
            r"file\.txt:1: column 'sure' or 'links' is needed, found only \['gold'\]",
        ),
        ("jsonl", ["[1]"], r"file\.txt:1: is a JSON list"),
    ],
)
def test_bad_lines_are_named(tmp_path, name, lines, message):
    with pytest.raises(InputError, match=message):
        read_links(write(tmp_path / "file.txt", lines), name=name)


def test_unknown_format(tmp_path):
    with refused(ConfigurationError, "'moses'", "pharaoh, talp, alignv2, naacl, jsonl"):
        read_links(write(tmp_path / "file.txt", ["0-0"]), name="moses")


@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
@pytest.mark.parametrize(("pair", "aer"), [("enfr", 4.07), ("roen", 20.75)])
def test_awesome_aligns_shipped_output_scores_what_it_scores(pair, aer):
    folder = Path(os.environ["ISOGLOT_DATA"]) / "wordalign" / "awesome"
    found = read_links(folder / f"{pair}.awesome-align.out")
    right, zero_based = Readings(), Readings()
    for base, readings in ((None, right), (0, zero_based)):
        for own, gold in zip(found, read_links(folder / f"{pair}.gold", name="talp", base=base), strict=True):
            readings.add(own.sure, gold)
    assert round(right.total.aer, 2) == aer
    assert right.hint() is None
    assert "gold_base=1" in zero_based.hint()


def test_links_outside_the_sentence_are_an_error(tmp_path):
    path = tmp_path / "gold.jsonl"
    good = '{"src": ["a", "b"], "tgt": ["c"], "sure": [[1, 0]], "possible": []}\n'
    for links in ('"sure": [[2, 0]]', '"sure": [], "possible": [[0, 1]]'):
        path.write_text(good + '{"src": ["a", "b"], "tgt": ["c"], ' + links + "}\n")
        with refused(InputError, "gold.jsonl:2: link ", "2 and 1 words"):
            read_links(path)
    path.write_text('{"src": ["a", "b"], "tgt": ["c"], "sure": [[2, 1]]}\n')
    assert read_links(path, base=1)[0].sure == {(1, 0)}
