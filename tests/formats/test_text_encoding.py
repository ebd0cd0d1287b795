"""Encodings: by mark, declaration or NUL bytes, for every reader and packed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from reading import rows
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats import line_files
from isoglot.formats.line_files import numbered_lines
from isoglot.formats.text_encoding import encoding_of

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}
MEMORY = """<?xml version="1.0" encoding="{}"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>January</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>
</body></tmx>
"""
TEXTS = {
    "Latin": "Der Jänner ist kalt.\nJa.\n",
    "Cyrillic": "Привет, мир\nда\n",
    "Devanagari": "मेरा घर\nठीक है\n",
    "Han": "我的一天。\n\u3000他说一二三，是\n",
    "emoji": "😀\n😀 a\n",
    "short": "a\n",
}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_byte_order_mark_says_how_to_read(tmp_path: Path, text: str, encoding: str, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix](text.encode(encoding)))
    assert [line for _, line in numbered_lines(path)] == text.splitlines()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_characters_may_be_cut_by_the_end_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS["emoji"].encode(encoding))
    for size in range(1, 6):
        monkeypatch.setattr(line_files, "_READ_SIZE", size)
        assert [line for _, line in numbered_lines(path)] == TEXTS["emoji"].splitlines()


@pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be", "utf-32le", "utf-32be"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_advice_on_encoding_without_a_mark_makes_a_file_that_is_read(
    tmp_path: Path, text: str, encoding: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    with refused(InputError, "a.txt:1: ", f"{encoding[:6].upper()} ") as caught:
        list(numbered_lines(path))
    command = caught.value.message.rpartition(": ")[2].split()
    if shutil.which(command[0]) is None:
        pytest.skip("iconv is not installed")
    path.write_bytes(subprocess.run([*command, str(path)], capture_output=True, check=True).stdout)
    assert [line for _, line in numbered_lines(path)] == text.splitlines()


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("declared", "encoding", "word"),
    [
        ("UTF-8", "utf-8", "Jänner"),
        ("UTF-16", "utf-16", "Jänner"),
        ("UTF-16", "utf-16le", "Jänner"),
        ("UTF-16", "utf-8", "Jänner"),  # what iconv makes of it
        ("UTF-8", "utf-32", "Jänner"),
        ("ISO-8859-1", "latin1", "Jänner"),
        ("windows-1252", "cp1252", "„Jänner“"),
        ("Shift_JIS", "shift_jis", "一月"),
        ("klingon", "utf-8-sig", "Jänner"),  # the mark counts more
    ],
)
def test_encoding_that_xml_declares_counts_where_it_can_be_true(
    tmp_path: Path, declared: str, encoding: str, word: str, suffix: str
) -> None:
    path = tmp_path / f"a.tmx{suffix}"
    path.write_bytes(PACKERS[suffix](MEMORY.format(declared, word).encode(encoding)))
    assert [(row["source"], row["target"]) for row in rows(path)] == [("January", word)]


def test_a_byte_order_mark_overrules_a_declaration_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for declared, encoding, warned in (
        ("UTF-8", "utf-16", True), ("UTF-16", "utf-16", False), ("utf-8", "utf-8-sig", False),
        ("UTF-16LE", "utf-16", False), ("windows-1252", "utf-8-sig", True),
    ):  # fmt: skip
        caplog.clear()
        path = tmp_path / f"{declared}.{encoding}.tmx"
        path.write_bytes(MEMORY.format(declared, "Jänner").encode(encoding))
        assert [row["target"] for row in rows(path)] == ["Jänner"]
        told = [
            f"{path}: declares {declared}, but its byte order mark is that of {encoding[:6].rstrip('-s')}"
        ]
        assert [m.getMessage().split(", as which")[0] for m in caplog.records] == told * warned


@pytest.mark.parametrize("name", ["klingon", "hex"])
def test_an_unknown_declaration_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(MEMORY.format(name, "Jänner"), encoding="utf-8")
    with refused(InputError, "a.tmx:1: ", f"encoding '{name}'"):
        rows(path)


def test_bytes_outside_the_encoding_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_bytes(MEMORY.format("US-ASCII", "Jänner").encode())
    with refused(InputError, "a.tmx:3: ", "US-ASCII ", "UTF-8"):
        rows(tmp_path / "a.tmx")
    (tmp_path / "b.txt").write_bytes("a\nb\nc".encode("utf-16") + b"\x00\xd8")
    with refused(InputError, "b.txt:3: ", "UTF-16"):
        list(numbered_lines(tmp_path / "b.txt"))


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_a_stray_nul_is_a_character_of_its_text(place: int) -> None:
    data = "The house is old, ä wide field of it. ".encode() * 20
    assert encoding_of(data[:place] + b"\0" + data[place:]) == "utf-8"
