"""Tables of lines: rows of other than the usual number of cells, headers, and line ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reading import rows, write
from refusals import refused

from isoglot.aligners.align_file import align_file
from isoglot.aligners.options import FastAlign
from isoglot.core.errors import InputError
from isoglot.corpus.open_corpus import corpus_sources
from isoglot.formats import line_files as streams

TAGS = ("en", "de")


@pytest.mark.parametrize("most", [1, 100])
@pytest.mark.parametrize(
    ("name", "text", "fields", "message"),
    [
        (
            "a.csv",
            "Hello, world,Hallo Welt\n",
            {},
            "1: 3 columns, but 2 are read (source, target); put a field",
        ),
        (
            "a.csv",
            "a,b\n\nHello, world,Hallo Welt\n",
            {},
            "3: 3 columns, but the first line has 2; put a field",
        ),
        (
            "a.csv",
            "a,b,n\nc,d,e,n\n",
            {"columns": {"source": 0, "target": 1}},
            "2: 4 columns, but the first line",
        ),
        (
            "a.csv",
            "source,target\na,b\nc,d,e\n",
            {"header": True},
            "3: 3 columns, but the header has 2; put a",
        ),
        (
            "a.tsv",
            "source\ttarget\na\tb\n\nc\td\te\n",
            {"header": True},
            "4: 3 columns, but the header has 2; take",
        ),
        ("a.tsv", "\na\tb\tn\nc\td\n", {}, "3: 2 columns, but the first line has 3; take the tab"),
        ("a.tsv", "a\tb\nc\td\n1\t2\t3\n", {}, "3: 3 columns, but the first line has 2"),
    ],
)
def test_rows_have_the_cells_of_the_first_line_or_header(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    name: str,
    text: str,
    fields: dict,
    message: str,
) -> None:
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (most, 1 << 20))
    with pytest.raises(InputError, match=re.escape(f"{name}:{message}")):
        rows(write(tmp_path, name, text), **fields)


def test_tables_may_have_more_columns_than_are_read(tmp_path: Path) -> None:
    tsv = write(tmp_path, "a.tsv", "a\tb\tnews\n\nc\td\t\n")
    assert [(r["source"], r["target"]) for r in rows(tsv)] == [("a", "b"), ("", ""), ("c", "d")]
    csv = write(tmp_path, "a.csv", 'a,b,news\n"c, d",e,\n')
    found = rows(csv, columns={"source": 0, "target": 1})
    assert [(r["source"], r["target"]) for r in found] == [("a", "b"), ("c, d", "e")]


def test_line_with_another_number_of_columns_gets_no_links(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = write(tmp_path, "a.tsv", "a b\tc d\na\tb\tc d\na b\tc d\n"), tmp_path / "links"
    with caplog.at_level("WARNING", logger="isoglot"):
        assert align_file(corpus_sources([path], languages=TAGS), out, FastAlign()) == 3
    first, second, third = out.read_text().split("\n")[:-1]
    assert first == third != second == ""
    assert caplog.records[0].getMessage() == (
        f"pair 2: {path}:2: 3 columns, but the first line has 2; take the tab out of its text, or fix the line; "
        "it gets no links"
    )


@pytest.mark.parametrize(("name", "text"), [("a.tsv", "source\ttarget\na\tb\n"), ("a.csv", "en,de\na,b\n")])
def test_the_first_line_is_a_row_until_it_is_declared_a_header(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    assert len(rows(path)) == 2
    assert [(row["source"], row["target"]) for row in rows(path, header=True)] == [("a", "b")]


def test_more_columns_than_are_read_name_the_flag_for_a_header(tmp_path: Path) -> None:
    with refused(
        InputError, "a.csv:1: 3 columns, ", 'columns={"source": 0} columns={"target": 1}', "header=True"
    ):
        rows(write(tmp_path, "a.csv", "id,en,de\n1,a,b\n"))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.tsv", "a\tb\rc\td\r", "bitext"),
        ("a.csv", "a,b\rc,d", "bitext"),
        ("a.txt", "a\rb\r", "text"),
        ("a.jsonl", '{"text": "a"}\r{"text": "b"}\r', "text"),
        ("a.txt", "a b\rc d\r", "lexicon"),
    ],
)
def test_lines_that_end_in_carriage_returns_alone_are_refused(
    tmp_path: Path, name: str, text: str, kind: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(InputError, match=re.escape(f"{name}:1: lines end in carriage returns")):
        rows(path, kind)


def test_lines_to_align_that_end_in_carriage_returns_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a ||| b\rc ||| d\r")
    with refused(InputError, "a.txt:1: ", "carriage returns", "tr '\\r' '\\n'"):
        align_file(corpus_sources([str(path)], languages=TAGS), tmp_path / "links", FastAlign())


def test_a_carriage_return_inside_a_line_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\rb\r\nc\r")
    assert [row["text"] for row in rows(path, "text")] == ["a\rb", "c"]
