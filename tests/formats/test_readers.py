"""Every format: what it reads, and that every mistake names its file and line."""

import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import PAIR, rows, write
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats import line_files as streams
from isoglot.formats.readers import read, source_pairs
from isoglot.formats.sources import Source, resolve_format, sources_from


def test_moses(tmp_path):
    en, de = write(tmp_path, "a.en", "one\ntwo\n"), write(tmp_path, "a.de", "eins\nzwei")
    assert rows(en, target_path=de) == [
        {"source": "one", "target": "eins", **PAIR},
        {"source": "two", "target": "zwei", **PAIR},
    ]


@pytest.mark.parametrize("short", ["source", "target"])
def test_moses_of_different_lengths(tmp_path, short, monkeypatch):
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (2, 1 << 20))
    long_, short_ = write(tmp_path, "long", "a\n" * 7), write(tmp_path, "short", "b\n" * 4)
    first, second = (short_, long_) if short == "source" else (long_, short_)
    with refused(InputError, "short:5: ", "long") as caught:
        rows(first, target_path=second)
    assert caught.value.line == 5


def test_moses_with_an_empty_side(tmp_path):
    empty, one = write(tmp_path, "empty", ""), write(tmp_path, "one", "x\n")
    for source, target in ((one, empty), (empty, one), (empty, empty)):
        with refused(InputError, "empty:1: "):
            rows(source, target_path=target)


def test_moses_invalid_utf8_names_the_side(tmp_path):
    (tmp_path / "b").write_bytes(b"ok\n\xe9\n")
    with refused(InputError, "b:2: byte 0xe9"):
        rows(write(tmp_path, "a", "x\ny\n"), target_path=str(tmp_path / "b"))


def test_tsv_columns_by_number_and_name(tmp_path):
    path = write(tmp_path, "a.tsv", "n\tone\teins\nn\ttwo\tzwei\n")
    assert [(r["source"], r["target"]) for r in rows(path, columns={"source": 1, "target": 2})] == [
        ("one", "eins"),
        ("two", "zwei"),
    ]
    named = write(tmp_path, "b.tsv", "id\ten\tde\n1\tone\teins\n")
    assert rows(named, header=True)[0]["target"] == "eins"
    assert rows(named, header=True, columns={"source": "id"})[0]["source"] == "1"


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        ("one\teins\n\ntwo\n", {}, "3: .*column 1 .*target"),
        ("one\teins\n", {"columns": {"target": "de"}}, "1: .*header"),
        (
            "english\tgerman\none\teins\n",
            {"header": True, "columns": {"source": "english", "target": "germn"}},
            "1: .*'germn'.*target",
        ),
    ],
)
def test_tsv_names_the_line_without_a_wanted_column(tmp_path, text, options, named):
    with pytest.raises(InputError, match=rf"a\.tsv:{named}"):
        rows(write(tmp_path, "a.tsv", text), **options)


def test_text_lines_and_documents(tmp_path):
    path = write(tmp_path, "a.txt", "one\ntwo\n\n \nthree\n")
    assert [r["text"] for r in rows(path, "text")] == ["one", "two", "", " ", "three"]
    assert [r["text"] for r in rows(path, "text", documents=True)] == ["one\ntwo", "three"]


def test_lexicon(tmp_path):
    path = write(tmp_path, "a.txt", "the die\nnew york\tNew York\n\n")
    assert [(r["source"], r["target"]) for r in rows(path, "lexicon")] == [
        ("the", "die"),
        ("new york", "New York"),
        ("", ""),
    ]
    with refused(InputError, "b.txt:2: 3 entries"):
        rows(write(tmp_path, "b.txt", "a b\na b c\n"), "lexicon")


def labelled(folder: Path, name: str, tags: list[str]) -> str:
    """Texts with a column of languages."""
    if name.endswith(".jsonl"):
        return write(folder, name, "".join(json.dumps({"text": t, "language": t}) + "\n" for t in tags))
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"text": tags, "language": tags}), folder / name)
        return str(folder / name)
    return write(folder, name, "text,lang\n" + "".join(f"{t},{t}\n" for t in tags))


@pytest.mark.parametrize(("name", "line"), [("a.jsonl", 4), ("a.parquet", 4), ("a.csv", 5)])
def test_a_row_labelled_with_another_language_is_refused(tmp_path, name, line):
    header = name == "a.csv"
    fine = ["en", "eng_Latn", "en-GB", "English"]
    path = labelled(tmp_path, name, fine)
    assert [r["text"] for r in rows(path, "text", header=header)] == fine
    path = labelled(tmp_path, name, ["en", "en", "en", "de"])
    with refused(InputError, f":{line}: lang", "'de'", "'en'"):
        rows(path, "text", header=header)
    assert len(rows(path, "text", header=header, language="und")) == 4
    with pytest.raises(InputError, match=r":[12]: lang.*'en'.*'en-x-inv'"):
        rows(path, "text", header=header, language="en-x-inv")


def test_standard_input(monkeypatch):
    class Stream:
        buffer = io.BufferedReader(io.BytesIO(b"one\teins\n"))

    monkeypatch.setattr(sys, "stdin", Stream)
    assert rows("-", format="tsv")[0]["target"] == "eins"


def test_formats_are_told_by_name_or_refused(tmp_path):
    assert resolve_format(Source(path="x.tsv.gz"), "bitext") == "tsv"
    assert resolve_format(Source(path="x.en.xz", target_path="x.de.xz"), "bitext") == "moses"
    assert resolve_format(Source(path="x.txt.zst"), "lexicon") == "lexicon"
    for wrong, named in (
        ({"path": "x", "format": "jsnl"}, "'jsnl'; did you mean 'jsonl'"),
        ({"path": "x.conllu"}, r"x\.conllu.*treebank.*bitext"),
        ({"path": "x.txt"}, r"x\.txt: .*format"),
    ):
        with pytest.raises(ConfigurationError, match=named):
            resolve_format(Source(**wrong), "bitext")


def test_all_mistakes_in_a_source_are_told_at_once(tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        list(read(Source(path=str(tmp_path / "no.tsv"), source_language="en")))
    missing, unset = map(str, caught.value.problems)
    assert "no.tsv: " in missing and "target_language" not in missing
    assert 'set target_language="' in unset


def test_globs_stand_for_files(tmp_path):
    write(tmp_path, "a-2.tsv", "c\td\n")
    write(tmp_path, "a-1.tsv", "a\tb\n")
    assert [r["source"] for r in rows(tmp_path / "a-*.tsv")] == ["a", "c"]


def test_paths_of_the_command_line():
    (pair,) = sources_from(["a.en.gz", "a.de.gz"], languages=["en", "de"])
    assert (pair.target_path, pair.target_language) == ("a.de.gz", "de")
    assert len(sources_from(["a.tsv", "b.tsv"], languages=["en", "de"])) == 2
    (aligned,) = sources_from(["a.en", "a.de", "a.links"], kind="aligned", languages=["en", "de"])
    assert aligned.links_path == "a.links"
    assert [s.language for s in sources_from(["a.txt", "b.txt"], kind="text", languages=["en"])] == [
        "en",
        "en",
    ]


TWICE = "one column .*two fields"


@pytest.mark.parametrize(
    ("name", "text", "options", "named"),
    [
        ("a.tsv", "a\tb\n", {"columns": {"target": 0}}, TWICE),
        ("a.csv", "x,y\na,b\n", {"header": True, "columns": {"source": "x", "target": 0}}, TWICE),
        ("a.jsonl", '{"x": "a"}\n', {"columns": {"source": "x", "target": "x"}}, TWICE),
        ("a.tsv", "a\tb\n", {"columns": {"source": -1}}, r'-1 .*set columns=\{"source": NUMBER\}'),
        ("a.csv", "source,source,target\na,b,c\n", {"header": True}, "2 columns .*'source'"),
        (
            "a.tsv",
            "en\tde\na\tb\n",
            {"header": True, "columns": {"source": 0, "target": 5}},
            r"a\.tsv:1: got column 5 for the target, but the header has 2",
        ),
    ],
)
def test_columns_that_cannot_be_meant(tmp_path, name, text, options, named):
    path = write(tmp_path, name, text)
    with pytest.raises(InputError, match=named):
        list(read(Source(path=str(path), source_language="en", target_language="de", **options)))


def test_a_column_behind_the_header_is_refused_for_whole_rows_too(tmp_path):
    path = write(tmp_path, "a.tsv", "en\tde\na\tb\n")
    source = Source(path=path, format="tsv", header=True, columns={"source": 0, "target": 5})
    with pytest.raises(InputError, match="got column 5 for the target"):
        list(source_pairs(source))


def test_aligned_three_ways(tmp_path):
    pairs = write(tmp_path, "a.txt", "a b ||| c\nd ||| e f\n")
    links = write(tmp_path, "a.links", "1-0 0-0 1-0\n\n")
    beside = rows(pairs, "aligned", links_path=links)
    assert beside[0] == {
        "source": "a b",
        "target": "c",
        "source_words": ["a", "b"],
        "target_words": ["c"],
        "links": [[0, 0], [1, 0]],
        **PAIR,
    }
    assert beside[1]["links"] == []
    inside = write(tmp_path, "b.txt", "a b ||| c ||| 0-0 1-0\nd ||| e f |||\n")
    assert rows(inside, "aligned", format="bars") == beside
    moses = rows(
        write(tmp_path, "c.en", "a b\nd\n"),
        "aligned",
        target_path=write(tmp_path, "c.de", "c\ne f\n"),
        links_path=links,
    )
    assert moses == beside
    gold = {"src": ["a", "b"], "tgt": ["c"], "sure": [[0, 0], [1, 0]], "possible": []}
    assert rows(write(tmp_path, "d.jsonl", json.dumps(gold)), "aligned") == beside[:1]


def test_words_that_links_count_end_at_spaces_alone(tmp_path):
    bars = write(tmp_path, "a.txt", "10\u00a0000 b ||| \u2009 c ||| 1-1 0-0\n")
    (found,) = rows(bars, "aligned", format="bars")
    assert (found["source_words"], found["target_words"]) == (["10\u00a0000", "b"], ["\u2009", "c"])
    assert found["links"] == [[0, 0], [1, 1]]
    with refused(InputError, "b.txt:1: ", "'0-0\\xa01-1'"):
        rows(write(tmp_path, "b.txt", "a b ||| c d ||| 0-0\u00a01-1\n"), "aligned", format="bars")


def test_gold_links_count_from_one_and_possible_ones_are_left_out(tmp_path):
    pairs, links = write(tmp_path, "a.txt", "a b ||| c d\n"), write(tmp_path, "g", "1-1 2p2 2?1\n")
    assert rows(pairs, "aligned", links_path=links, one_based=True)[0]["links"] == [[0, 0]]


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ("0-0\n0-1\n", "0-1 .* 1 source and 1 target .*one_based"),
        ("0-0\n0:x\n", "'0:x'"),
        ("0-0\n", r"pairs\.txt"),
    ],
    ids=["outside the sentence", "no link", "a line too few"],
)
def test_aligned_names_the_line_of_wrong_links(tmp_path, links, named):
    pairs = write(tmp_path, "pairs.txt", "a ||| b\na ||| b\n")
    with pytest.raises(InputError, match=f"links:2: .*{named}"):
        rows(pairs, "aligned", links_path=write(tmp_path, "links", links))


def test_bars_names_a_line_without_bars_and_shows_one(tmp_path):
    with refused(InputError, "x.txt:1: ", "||| 0-0 1-2`"):
        rows(write(tmp_path, "x.txt", "a b\n"), "aligned", format="bars")


@pytest.mark.parametrize("links", [None, 5, [[0.9, 0]], [[0, 0, 1]]])
def test_links_that_are_no_pairs_of_numbers(tmp_path, links):
    path = write(tmp_path, "a.jsonl", json.dumps({"source": "a", "target": "b", "links": links}))
    with refused(InputError, "a.jsonl:1: ", "link"):
        rows(path, "aligned")


def test_aligned_rows_keep_the_words_that_their_links_count(tmp_path):
    """A text may be cut otherwise at its blanks: French writes 10 000 as one word."""
    row = {"source": "10 000 francs", "target": "10,000 francs", "links": [[0, 0], [1, 1]],
           "source_words": ["10 000", "francs"], "target_words": ["10,000", "francs"]}  # fmt: skip
    (found,) = rows(write(tmp_path, "a.jsonl", json.dumps(row)), "aligned")
    assert (found["source_words"], found["target_words"]) == (row["source_words"], row["target_words"])
    assert found["links"] == row["links"]


@pytest.mark.parametrize("links", ["0-0 1p0", "0:0 1?0"])
def test_links_behind_a_pair_are_no_third_sentence(tmp_path, links):
    (found,) = rows(write(tmp_path, "a.txt", f"a b ||| c ||| {links}\n"), format="bars")
    assert (found["source"], found["target"]) == ("a b", "c")
