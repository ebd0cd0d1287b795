"""Random pairs through every reader and writer: what is kept is what was given, and what is lost is named."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import logging
import lzma
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.formats.sources import Source
from isoglot.mining.filter_pairs import filter_files, filter_pairs
from isoglot.mining.options import FilterRequest

PIECES = [
    "word",
    "Haus",
    " ",
    "  ",
    "\u00a0",
    "\u0092",
    "\ufeff",
    "\u2028",
    '"',
    "'",
    ",",
    ";",
    "|",
    "é",
    "e\u0301",
    "日本",
]
ENDS = ["\n", "\r\n", "\t"]
NAMES = [
    "source",
    "target",
    "alignment",
    "reasons",
    "line",
    "note",
    "score",
    "id",
    "columns",
    "links",
    "path",
    "text",
]


def text(draw: random.Random, pieces: list[str]) -> str:
    return "x" + "".join(draw.choice(pieces) for _ in range(draw.randrange(8))) + draw.choice(["", " ", "y"])


def filtered(path: Path, out: str, **reading: Any) -> Path:
    """The kept pairs of a file, all of which are kept, with one more value beside each."""
    target = path.with_name(out)
    source = Source(path=str(path), source_language="src", target_language="tgt", **reading)
    filter_files(open_corpus([source], "bitext"), [str(target)], FilterRequest(aligner=None))
    return target


def unpacked(path: Path) -> str:
    data = path.read_bytes()
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress}
    if path.suffix == ".zst":
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return unpack.get(path.suffix, bytes)(data).decode()


def rows_of(draw: random.Random, ends: list[str]) -> tuple[list[dict[str, str]], dict[str, int | str]]:
    sides = {"source": draw.choice(["en", "source", "a.b"]), "target": draw.choice(["de", "target", "z"])}
    others = draw.sample([name for name in NAMES if name not in sides.values()], draw.randrange(5))
    names = [*sides.values(), *others]
    draw.shuffle(names)
    rows = [{name: text(draw, PIECES + ends) for name in names} for _ in range(draw.randrange(1, 6))]
    return rows, dict(sides)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst", ".bz2"])
def test_json_lines_come_back(seed: int, packed: str, tmp_path: Path) -> None:
    draw = random.Random(f"{seed}{packed}")
    rows, columns = rows_of(draw, ENDS)
    more = [{**row, "n": draw.choice([1, 0.5, None, True, [1, {"a": "b"}], 10**30])} for row in rows]
    path = tmp_path / "given.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=draw.random() < 0.5) + "\n" for row in more))
    written = unpacked(filtered(path, f"kept.jsonl{packed}", columns=columns))
    kept = [json.loads(line) for line in written.split("\n")[:-1]]
    assert kept == more
    assert [list(row) for row in kept] == [list(row) for row in more]


@pytest.mark.parametrize("seed", range(20))
def test_csv_comes_back_in_its_dialect(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rows, columns = rows_of(draw, ENDS)
    quoting, delimiter = draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), draw.choice(",;\t|")
    written = io.StringIO()
    line_end = draw.choice(["\n", "\r\n"])
    writer = csv.writer(written, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
    repeated = draw.random() < 0.5
    header = [*rows[0], "again", "again"] if repeated else [*rows[0]]
    writer.writerow(header)
    for row in rows:
        writer.writerow([*row.values(), *(["1", "2"] if repeated else [])])
    given = draw.choice(["", "\ufeff"]) + draw.choice(["", f"sep={delimiter}{line_end}"]) + written.getvalue()
    path = tmp_path / "given.csv"
    path.write_bytes(given.encode())
    kept = filtered(path, "kept.csv", columns=columns, header=True, delimiter=delimiter)
    assert kept.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("header", [True, False])
def test_tsv_comes_back(seed: int, header: bool, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rows, columns = rows_of(draw, [])
    names = list(rows[0])
    lines = ["\t".join(row.values()) for row in rows]
    if header:
        lines.insert(0, "\t".join(names))
    else:
        columns = {role: names.index(str(name)) for role, name in columns.items()}
    path = tmp_path / "given.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert filtered(
        path, "kept.tsv", columns=columns, header=header
    ).read_text() == path.read_text().removeprefix("\ufeff")


def test_repeated_names_and_what_a_table_cannot_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "given.tsv"
    path.write_text("note\tde\ten\tnote\nn1\tEins\tOne\tn2\n")
    columns = {"source": "en", "target": "de"}
    kept = filtered(path, "kept.jsonl", columns=columns, header=True)
    assert json.loads(kept.read_text()) == {"note": "n1", "de": "Eins", "en": "One", "note_2": "n2"}
    given = tmp_path / "given.jsonl"
    given.write_text(json.dumps({"source": "a\nb\tc", "target": "d", "note": "e"}) + "\n")
    with caplog.at_level(logging.WARNING):
        assert filtered(given, "flat.tsv").read_text() == "a b c\td\n"
    assert "has no room for note" in caplog.text
    assert "tabs and line breaks inside text, written as spaces, in cells: 1" in caplog.text


@pytest.mark.parametrize(("source", "target"), [(2, "src"), ("src", 2), (0, 2)])
def test_columns_of_one_name_are_read_by_number(tmp_path: Path, source: int | str, target: int | str) -> None:
    path = tmp_path / "given.tsv"
    path.write_text("note\tsrc\tnote\nOne.\tEins.\tUn.\n")
    columns = {"source": source, "target": target}
    assert filtered(path, "kept.tsv", columns=columns, header=True).read_text() == path.read_text()


def test_our_values_take_free_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, dropped = tmp_path / "given.jsonl", tmp_path / "dropped.jsonl"
    row = {"en": "One.", "de": "", "source": "OPUS", "target": "v8", "reasons": "mine", "line": 7}
    path.write_text(json.dumps(row) + "\n")
    columns: dict[str, int | str] = {"source": "en", "target": "de"}
    source = Source(path=str(path), source_language="src", target_language="tgt", columns=columns)
    corpus = open_corpus([source], "bitext")
    with caplog.at_level(logging.WARNING):
        filter_files(
            corpus,
            [str(tmp_path / "k.tsv")],
            FilterRequest(aligner=None),
            dropped=dropped,
        )
    assert json.loads(dropped.read_text()) == {**row, "reasons_2": "empty", "line_2": 1}
    assert "'reasons', which it keeps; ours is called 'reasons_2'" in caplog.text


def test_duplicates_by_normal_form_name_the_first(tmp_path: Path) -> None:
    rows = [
        ("Le café est fermé.", "x"),
        ("Le cafe\u0301 est ferme\u0301.", "x"),
        ("Le  café est fermé.", "y"),
        ("", "x"),
        ("other", "x"),
    ]
    found = list(filter_pairs(rows, aligner=None, duplicates="pair", progress=False))
    assert [(pair.source, pair.target) for pair in found] == rows
    assert [pair.reason for pair in found] == ["", "duplicate", "", "empty", ""]
    assert found[1].duplicate_of == (None, 1)
    by_side = {side: [pair.reason for pair in filter_pairs(rows, aligner=None, duplicates=side, progress=False)]
               for side in ("source", "target")}  # fmt: skip
    assert by_side["source"] == ["", "duplicate", "duplicate", "empty", ""]
    assert by_side["target"] == ["", "duplicate", "", "empty", "duplicate"]
    path, dropped = tmp_path / "given.tsv", tmp_path / "dropped.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    source = Source(path=str(path), source_language="src", target_language="tgt")
    corpus = open_corpus([source], "bitext")
    options = FilterRequest(aligner=None, duplicates="pair")
    filter_files(corpus, [str(tmp_path / "k.tsv")], options, dropped=dropped)
    lines = [line.split("\t")[2:] for line in dropped.read_text().split("\n")[:-1]]
    assert lines == [["duplicate", "2", "1"], ["empty", "4", ""]]


def test_many_duplicates_are_those_of_a_dictionary() -> None:
    draw = random.Random(1)
    rows = [(str(draw.randrange(6000)), "x") for _ in range(12_000)]
    found = list(filter_pairs(rows, aligner=None, duplicates="pair", pool=64, progress=False))
    first: dict[tuple[str, str], int] = {}
    expected = []
    for number, row in enumerate(rows, 1):
        expected.append((None, first[row]) if row in first else None)
        first.setdefault(row, number)
    assert [pair.duplicate_of for pair in found] == expected


@pytest.mark.parametrize(
    ("given", "delimiter"),
    [
        ("en;de\nHello, world;Hallo\nBye;Tschüss, Welt\n", ";"),
        ("Hello, world;Hallo, Welt\n", ";"),
        ("Hello; bye,Hallo; Welt\n", ","),
        ("sep=;\nen;de\n", ";"),
        ("a\tb\n", "\t"),
        ("a,b\n", ","),
    ],
)
def test_the_delimiter_of_csv_is_found_and_said(
    given: str, delimiter: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "given.csv"
    path.write_text(given)
    with caplog.at_level(logging.WARNING):
        assert filtered(path, "kept.csv").read_text() == given
    assert ("between columns" in caplog.text) == (delimiter != ",")


def test_the_delimiter_is_found_behind_a_document(tmp_path: Path) -> None:
    csv.field_size_limit(128 << 10)  # Python's own limit
    path = tmp_path / "given.csv"
    path.write_text(f"{'a' * 200_000};b\nc;d\n")
    assert filtered(path, "kept.csv").read_text() == path.read_text()


def test_values_that_json_cannot_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"source": "a", "target": "b", "n": 1e400}\n')
    with refused(InputError, "given.jsonl:1: ", "'1e400'", "1.8e308"):
        filtered(path, "kept.jsonl")
    pq.write_table(pa.table({"source": ["a"], "target": ["b"], "blob": [b"\xff"]}), tmp_path / "bad.parquet")
    with refused(ConfigurationError, "bytes b'\\xff'", "base64"):
        filtered(tmp_path / "bad.parquet", "kept.jsonl")
    pq.write_table(
        pa.table({"source": ["a"], "target": ["b"], "blob": [b"\xc3\xa9"]}), tmp_path / "good.parquet"
    )
    assert json.loads(filtered(tmp_path / "good.parquet", "kept.jsonl").read_text())["blob"] == "é"


@pytest.mark.parametrize("name", ["a.xlsx", "a.po", "a.xlf", "a.sdlxliff", "a.tbx", "a.json"])
def test_files_of_other_programs_are_named_with_what_exports_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("x\n")
    with pytest.raises(ConfigurationError, match=r"TMX|CSV|jsonl"):
        filtered(path, "kept.tsv")


def test_windows_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "given.tsv"
    path.write_bytes(b"I don\x92t know \x96 really?\tx\n")
    with refused(InputError, "iconv -f cp1252 -t utf-8"):
        filtered(path, "kept.tsv")


@pytest.mark.parametrize("ending", [".tsv", ".csv"])
@pytest.mark.parametrize("rule", ["--max-length-ratio=1.01", "--max-length-ratio=9"])
def test_a_header_is_written_whether_pairs_are_kept_or_not(ending: str, rule: str, tmp_path: Path) -> None:
    mark = "," if ending == ".csv" else "\t"
    path, out, dropped = (tmp_path / f"{name}{ending}" for name in ("given", "kept", "dropped"))
    path.write_text(f"en{mark}note{mark}de\na{mark}n{mark}ein Haus\n")
    columns = ["--header", "--column", "source=en", "--column", "target=de", "--aligner", "none"]
    run("filter", path, *columns, rule, "--out", out, "--dropped", dropped)
    kept = rule.endswith("9")
    assert len(out.read_text().splitlines()) == 1 + kept
    assert out.read_text().startswith(f"en{mark}note{mark}de\n")
    assert len(dropped.read_text().splitlines()) == 2 - kept
    assert dropped.read_text().startswith(f"en{mark}note{mark}de{mark}reasons{mark}line\n")


def test_a_carriage_return_in_a_cell_and_a_mark_at_the_start_of_a_text_survive(tmp_path: Path) -> None:
    path, table = tmp_path / "a.csv", tmp_path / "a.tsv"
    path.write_bytes(b'"a\rb",c\nd,e\n')
    run("filter", path, "--aligner", "none", "--out", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()
    (tmp_path / "a.jsonl").write_text(json.dumps({"source": "\ufeffa", "target": "b"}) + "\n")
    run("filter", tmp_path / "a.jsonl", "--aligner", "none", "--out", table)
    run("filter", table, "--aligner", "none", "--out", tmp_path / "b.jsonl")
    (row,) = map(json.loads, (tmp_path / "b.jsonl").read_text().splitlines())
    assert row["source"] == "\ufeffa"


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        (
            "a.tsv",
            "en\tde\n\ufeffHello\tHallo\n",
            ["--header", "--column", "source=en", "--column", "target=de"],
        ),
        ("a.csv", "sep=;\n\ufeffHello;Hallo\n", []),
        ("a.csv", "\ufeff\ufeffHello,Hallo\n", []),
        ("a.tsv", "\ufeff\ufeffHello\tHallo\n", []),
    ],
    ids=["header", "preamble", "mark and mark", "mark without a form"],
)
def test_a_mark_at_the_start_of_the_first_row_is_doubled_only_at_the_start_of_the_file(
    tmp_path: Path, name: str, text: str, options: list[str]
) -> None:
    path, out = tmp_path / name, tmp_path / f"out_{name}"
    path.write_text(text)
    run("filter", path, *options, "--aligner", "none", "--out", out)
    assert out.read_text() == text
