"""Pairs in files: every XML parser reads the TMX that is written."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.readers import read
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source

HOSTILE = ["\ufffe", "\uffff", "\x00", "\x0b", "\x1f", "\ud800", "]]>", "<&\"'>", "\U0010ffff"]


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
def test_characters_that_xml_forbids_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    path = str(tmp_path / name)
    with caplog.at_level(logging.WARNING), pair_writer([path], ("en", "de")) as write:
        for text in HOSTILE:
            write(SentencePair((f"a {text}", f"{text} b"), languages=("en", "de")), {})
    pairs = [
        (row["source"], row["target"])
        for row in read(Source(path=path, source_language="en", target_language="de"))
    ]
    assert pairs == [("a ", " b")] * 6 + [(f"a {text}", f"{text} b") for text in HOSTILE[6:]]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: characters that XML does not allow, left out: 12"
    ]
