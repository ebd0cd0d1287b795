"""Every format: what it reads, and that every mistake names its file and line."""

import io
import json
import re
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import PAIR, rows, write

from isoglot.corpus.read import line_files as streams
from isoglot.corpus.read.readers import READERS, read
from isoglot.corpus.read.sources import Source, resolve_format, sources_from
from isoglot.errors import ConfigurationError, InputError


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
    with pytest.raises(InputError, match=r"short:5: no line here.*long goes on") as caught:
        rows(first, target_path=second)
    assert caught.value.line == 5


def test_moses_with_an_empty_side(tmp_path):
    with pytest.raises(InputError, match=r"b:1: "):
        rows(write(tmp_path, "a", "x\n"), target_path=write(tmp_path, "b", ""))
    with pytest.raises(InputError, match=r"c:1: the file is empty"):
        rows(write(tmp_path, "c", ""), target_path=write(tmp_path, "b", ""))


def test_moses_invalid_utf8_names_the_side(tmp_path):
    (tmp_path / "b").write_bytes(b"ok\n\xe9\n")
    with pytest.raises(InputError, match=r"b:2: byte 0xe9"):
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


def test_tsv_missing_column(tmp_path):
    path = write(tmp_path, "a.tsv", "one\teins\n\ntwo\n")
    with pytest.raises(InputError, match=r"a\.tsv:3: 1 columns, but column 1 .* for the target"):
        rows(path)
    with pytest.raises(InputError, match=r"a\.tsv:1: .* no header"):
        rows(path, columns={"target": "de"})
    named = write(tmp_path, "b.tsv", "english\tgerman\none\teins\n")
    with pytest.raises(InputError, match=r"b\.tsv:1: no column 'germn' for the target"):
        rows(named, header=True, columns={"source": "english", "target": "germn"})


def test_csv_with_line_ends_in_quotes(tmp_path):
    path = write(tmp_path, "a.csv", 'source,target\n"a\nb","c, ""d"""\ne,f\n')
    assert [(r["source"], r["target"]) for r in rows(path, header=True)] == [("a\nb", 'c, "d"'), ("e", "f")]
    with pytest.raises(InputError, match=r"b\.csv:4: 1 columns"):
        rows(write(tmp_path, "b.csv", 'source,target\n"a\nb",c\nd\n'), header=True)
    with pytest.raises(InputError, match=r"c\.csv:2: broken CSV"):
        rows(write(tmp_path, "c.csv", 'a,b\n"c,d\n'))


def test_jsonl(tmp_path):
    records = [{"source": "one", "target": "eins"}, {"source": "two", "target": None}]
    path = write(tmp_path, "a.jsonl", "\n\n".join(map(json.dumps, records)))
    assert [(r["source"], r["target"]) for r in rows(path)] == [("one", "eins"), ("two", "")]
    nested = write(tmp_path, "b.jsonl", json.dumps({"translation": {"en": "one", "de": "eins"}}))
    assert rows(nested)[0]["target"] == "eins"
    assert rows(nested, kind="text", columns={"text": "translation.de"}) == [
        {"text": "eins", "language": "en"}
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target"', "3: is not valid JSON"),
        ("[1, 2]", "3: is a JSON list"),
        ('{"source": "a"}', "3: no column 'target'"),
        ('{"source": 5, "target": "b"}', "3: the source is 5"),
        (
            '{"source": "a", "target": "b", "source": "c"}',
            "3: .*the name 'source' stands twice in one object",
        ),
        ('{"source": "a", "target": "b", "x": [{"y": 1, "y": 1}]}', "3: .*the name 'y' stands twice"),
    ],
)
def test_jsonl_mistakes(tmp_path, line, message):
    path = write(tmp_path, "a.jsonl", f'{{"source": "a", "target": "b"}}\n\n{line}\n')
    with pytest.raises(InputError, match=f"a.jsonl:{message}"):
        rows(path)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_columns_of_jsonl_do_not_depend_on_the_chunks(tmp_path, monkeypatch, most):
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (most, 1 << 20))
    lines = ["", *(json.dumps({name: "a", "content": "b"}) for name in ("content", "text"))]
    assert [r["text"] for r in rows(write(tmp_path, "a.jsonl", "\n".join(lines)), "text")] == ["b", "b"]
    path = write(tmp_path, "b.jsonl", "".join(json.dumps({name: "a"}) + "\n" for name in ("text", "content")))
    with pytest.raises(InputError, match=r"b\.jsonl:2: no column 'text'"):
        rows(path, "text")


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"translation": [{"en": "one", "de": "eins"}] * 3, "other": [1, 2, 3]}), path)
    assert [r["target"] for r in rows(path)] == ["eins"] * 3
    with pytest.raises(InputError, match=r"a\.parquet:1: no column 'translation.fr' in this row"):
        rows(path, columns={"target": "translation.fr"})
    (tmp_path / "b.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match=r"b\.parquet: cannot be read as Parquet"):
        rows(tmp_path / "b.parquet")


def test_huggingface_folders(tmp_path):
    data = datasets.Dataset.from_dict({"en": ["one", "two"], "de": ["eins", "zwei"]})
    data.save_to_disk(str(tmp_path / "plain"))
    assert [r["target"] for r in rows(tmp_path / "plain")] == ["eins", "zwei"]
    datasets.DatasetDict({"train": data, "test": data.select([1])}).save_to_disk(str(tmp_path / "splits"))
    assert [r["target"] for r in rows(tmp_path / "splits", split="test")] == ["zwei"]
    (tmp_path / "files").mkdir()
    data.to_parquet(str(tmp_path / "files" / "train.parquet"))
    assert [r["target"] for r in rows(tmp_path / "files")] == ["eins", "zwei"]
    with pytest.raises(InputError, match="split 'dev'"):
        rows(tmp_path / "splits", split="dev")


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN-us"><seg>one <bpt i="1">&lt;b&gt;</bpt>&amp; <hi>two</hi><ept i="1"/></seg></tuv>
<tuv xml:lang="de"><seg>eins &amp; zwei</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv><tuv xml:lang="fr"><seg>seul</seg></tuv></tu>
<tu><tuv lang="de_AT"><seg>Jänner</seg></tuv><tuv xml:lang="en-GB"><seg>January</seg></tuv></tu>
</body></tmx>
"""


def test_a_saved_data_set_is_one_split(tmp_path):
    datasets.Dataset.from_dict({"source": ["a"], "target": ["b"]}).save_to_disk(tmp_path / "saved")
    assert len(rows(tmp_path / "saved")) == 1
    with pytest.raises(InputError, match="leave split out"):
        rows(tmp_path / "saved", split="dev")


def test_tmx(tmp_path):
    path = write(tmp_path, "a.tmx", TMX)
    assert [(r["source"], r["target"]) for r in rows(path)] == [
        ("one & two", "eins & zwei"),
        ("January", "Jänner"),
    ]
    only = rows(path, source_language="en-GB")
    assert [r["source"] for r in only] == ["January"]


def test_tmx_mistakes(tmp_path):
    with pytest.raises(InputError, match=r"a\.tmx:9: no unit in it; the languages are de, de-at, en, en-gb"):
        rows(write(tmp_path, "a.tmx", TMX), target_language="it")
    with pytest.raises(InputError, match=r"b\.tmx:7: not well-formed"):
        rows(write(tmp_path, "b.tmx", TMX.replace("</seg></tuv></tu>\n</body>", "</tuv></tu>\n</body>")))
    with pytest.raises(InputError, match=r"c\.tmx:4: not well-formed"):
        rows(write(tmp_path, "c.tmx", "\n".join(TMX.split("\n")[:3]) + "\n"))
    with pytest.raises(InputError, match=r"d\.tmx:1: no unit in en and de; the languages are none"):
        rows(write(tmp_path, "d.tmx", "<html/>"))


def test_units_that_lack_a_language_behind_the_last_pair_are_counted(tmp_path):
    head, tail = TMX.split("<body>", maxsplit=1)[0] + "<body>", "</body></tmx>"
    units = [f'<tu><tuv xml:lang="{tag}"><seg>alone</seg></tuv></tu>' for tag in ("en", "de")]
    source = Source(path=write(tmp_path, "a.tmx", head + "".join(units) + tail), format="tmx", **PAIR)
    assert [chunk.incomplete for chunk in READERS["tmx"].chunks(source, "bitext", None)] == [2]
    assert rows(source.path) == []


def test_tmx_refuses_entities(tmp_path):
    secret = write(tmp_path, "secret", "do not read")
    text = TMX.replace('SYSTEM "tmx14.dtd">', f'[<!ENTITY x SYSTEM "file://{secret}">]>').replace(
        "alone", "&x;"
    )
    with pytest.raises(InputError, match=r"a\.tmx:2: declares the entity 'x'"):
        rows(write(tmp_path, "a.tmx", text))


def test_tmx_entities_of_another_file_do_not_vanish(tmp_path):
    inside = TMX.replace("January", "January&nbsp;1")
    with pytest.raises(InputError, match=r"a\.tmx:7: &nbsp; is not one of XML's own entities"):
        rows(write(tmp_path, "a.tmx", inside))
    code = TMX.replace('<bpt i="1">', '<bpt i="1">&nbsp;')
    assert [r["source"] for r in rows(write(tmp_path, "b.tmx", code))] == ["one & two", "January"]


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
    with pytest.raises(InputError, match=r"b\.txt:2: 3 entries"):
        rows(write(tmp_path, "b.txt", "a b\na b c\n"), "lexicon")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_header_alone(tmp_path, name):
    text = {"a.csv": "source,target\n", "a.tsv": "source\ttarget"}[name]
    with pytest.raises(InputError, match="empty below its header"):
        rows(write(tmp_path, name, text), header=True)


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
    with pytest.raises(InputError, match=rf":{line}: lang\w* is 'de', and 'en' is given"):
        rows(path, "text", header=header)
    assert len(rows(path, "text", header=header, language="und")) == 4
    with pytest.raises(InputError, match="is 'en', and 'en-x-inv' is given"):
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
    with pytest.raises(ConfigurationError, match=r"format 'jsnl'; did you mean 'jsonl'"):
        resolve_format(Source(path="x", format="jsnl"), "bitext")
    with pytest.raises(ConfigurationError, match="holds treebank, not a bitext"):
        resolve_format(Source(path="x.conllu"), "bitext")
    with pytest.raises(ConfigurationError, match="does not tell the format"):
        resolve_format(Source(path="x.txt"), "bitext")


def test_all_mistakes_in_a_source_are_told_at_once(tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        list(read(Source(path=str(tmp_path / "no.tsv"), source_language="en")))
    assert len(caught.value.problems) == 2
    assert "no such file" in str(caught.value)
    assert "target_language" in str(caught.value)


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


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.tsv", "a\tb\n", {"columns": {"target": 0}}, "one column is read as two fields"),
        (
            "a.csv",
            "x,y\na,b\n",
            {"header": True, "columns": {"source": "x", "target": 0}},
            "one column is read as two fields",
        ),
        (
            "a.jsonl",
            '{"x": "a"}\n',
            {"columns": {"source": "x", "target": "x"}},
            "one column is read as two fields",
        ),
        (
            "a.tsv",
            "a\tb\n",
            {"columns": {"source": -1}},
            "column -1 given for the source; columns count from 0",
        ),
        ("a.csv", "source,source,target\na,b,c\n", {"header": True}, "2 columns are called 'source'"),
    ],
)
def test_columns_that_cannot_be_meant(tmp_path, name, text, options, message):
    path = write(tmp_path, name, text)
    with pytest.raises(InputError, match=re.escape(message)):
        list(read(Source(path=str(path), source_language="en", target_language="de", **options)))


@pytest.mark.parametrize("value", ["[" * 200_000, "1" * 5000, '"\\ud800"'])
def test_json_that_python_cannot_hold(tmp_path, value):
    path = write(
        tmp_path, "a.jsonl", f'{{"source": "a", "target": "b"}}\n{{"source": {value}, "target": "b"}}\n'
    )
    with pytest.raises(InputError, match=r"a.jsonl:2: is not valid JSON"):
        list(read(Source(path=str(path), source_language="en", target_language="de")))


@pytest.mark.parametrize("encoding", ["gb2312", "klingon"])
def test_an_encoding_that_the_parser_has_not_is_told(tmp_path, encoding):
    path = write(tmp_path, "a.tmx", TMX.replace("UTF-8", encoding))
    with pytest.raises(InputError, match=r"a\.tmx:1: .*iconv"):
        rows(path)
