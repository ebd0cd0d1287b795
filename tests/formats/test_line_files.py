"""Chunks of lines: the same lines whatever the sizes and packing, and an error where a file is damaged."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats import line_files as streams
from isoglot.formats.line_files import LineFile, Meter, decode_lines

PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def lines_of(path, **take):
    found = []
    with LineFile(str(path)) as file:
        while True:
            first = file.lines + 1
            data, count = file.take(**take)
            if not count:
                return found
            lines = decode_lines(data, str(path), first)
            assert len(lines) == count
            found.extend(lines)


@pytest.mark.parametrize("suffix", ["", *PACKERS])
@pytest.mark.parametrize("end", ["", "\n"])
def test_packed_files_give_the_same_lines(tmp_path, suffix, end):
    text = "\n".join(f"line {i} \u2028 \x85 \x0c ü" for i in range(5000)) + end
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS.get(suffix, bytes)(text.encode()))
    assert lines_of(path) == text.split("\n")[:5000]


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.text(alphabet="ab\u2028ü", max_size=6), min_size=1, max_size=30),
    most=st.integers(1, 7),
    size=st.one_of(st.none(), st.integers(1, 40)),
    block=st.integers(1, 16),
)
def test_any_chunk_size_gives_the_same_lines(tmp_path_factory, lines, most, size, block):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_READ_SIZE", block)
        assert lines_of(path, most=most, size=size) == lines


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=20), block=st.integers(1, 16))
def test_blocks_never_cut_a_document(tmp_path_factory, sizes, block):
    path = tmp_path_factory.mktemp("blocks") / "a.txt"
    documents = ["".join(f"d{i} s{j}\n" for j in range(n)) for i, n in enumerate(sizes)]
    path.write_text("\n".join(documents))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_READ_SIZE", block)
        patch.setattr(streams.LineFile.take, "__defaults__", (3, 10))
        with LineFile(str(path)) as file:
            blocks = list(file.chunks_of_blocks())
    assert "".join(data.decode() for _, data in blocks) == path.read_text()
    whole = path.read_text().split("\n")
    for first, data in blocks:
        assert data.decode().split("\n")[0] == whole[first - 1]
        assert data.decode().split("\n")[0].endswith("s0")


@pytest.mark.parametrize("blank", ["", "\r", " ", " \t\r"])
def test_lines_of_blanks_separate_documents(tmp_path, monkeypatch, blank):
    path = tmp_path / "a.txt"
    path.write_bytes(f"one\ntwo\n{blank}\n".encode() * 20)
    monkeypatch.setattr(streams, "_LONGEST", 60)
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (4, 20))
    with LineFile(str(path)) as file:
        assert b"".join(data for _, data in file.chunks_of_blocks()) == path.read_bytes()


def test_carriage_returns_and_byte_order_mark_go():
    assert decode_lines("\ufeffa\r\nb\n\r\n".encode(), "f", 1) == ["a", "b", ""]
    assert decode_lines("\ufeffa\n".encode(), "f", 2) == ["\ufeffa"]


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_cut_off_file_names_the_line(tmp_path, suffix):
    import random

    words = [str(random.Random(i).random()) for i in range(20_000)]
    packed = PACKERS[suffix]("\n".join(words).encode())
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(packed[: len(packed) // 2])
    with refused(InputError, "-t ", path.name) as caught:
        lines_of(path)
    assert caught.value.path == str(path)
    assert caught.value.line is not None and 1 <= caught.value.line <= 20_000


def test_two_zstd_frames_are_one_file(tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(PACKERS[".zst"](b"a\n") + PACKERS[".zst"](b"b\n"))
    assert lines_of(path) == ["a", "b"]


def test_invalid_utf8_names_its_line():
    with refused(InputError, "x.txt:12: byte 0xff"):
        decode_lines(b"a\nb\nc\xff\n", "x.txt", 10)


def test_a_plain_file_may_have_the_suffix_of_a_packed_one(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"plain\n")
    assert lines_of(tmp_path / "a.gz") == ["plain"]


def test_numbers_that_json_does_not_have_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"a": 1}\n \n{"a": NaN}\n')
    rows = streams.numbered_objects(path)
    assert next(rows) == (2, {"a": 1})
    with refused(InputError, "a.jsonl:4: ", "NaN"):
        next(rows)


def test_a_mistake_of_reading_keeps_its_own_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\n\xff\n")
    with refused(InputError, "a.txt:3: byte 0xff"):
        streams.each(str, streams.numbered_lines(path), path)


def test_empty_file(tmp_path):
    (tmp_path / "a.txt").touch()
    with (
        LineFile(str(tmp_path / "a.txt")) as file,
        refused(InputError, "a.txt:1: ", "empty"),
    ):
        list(file.chunks())


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_LONGEST", 100)
    monkeypatch.setattr(streams, "_READ_SIZE", 64)
    (tmp_path / "a.txt").write_bytes(b"ok\n" + b"x" * 1000)
    with refused(InputError, "a.txt:2: ", "MiB"):
        lines_of(tmp_path / "a.txt", most=1)


def test_meter_counts_packed_bytes(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000))
    meter: Meter = []
    with LineFile(str(path), meter) as file:
        assert list(file.chunks())
    assert sum(meter) == path.stat().st_size


def test_a_damaged_file_names_the_program_that_checks_it_whatever_the_file_is_called(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(lzma.compress(b"a line\n" * 99)[:-20])
    with refused(InputError, "a.txt:", f"`xz -t {path}`"):
        lines_of(path)
