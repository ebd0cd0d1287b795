"""Pairs in files: every XML parser reads the TMX that is written."""

from __future__ import annotations

import logging
from pathlib import Path
from xml.etree import ElementTree

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


def test_attributes_that_tmx_has_for_units_alone_are_properties_of_a_translation(tmp_path: Path) -> None:
    attributes = {"segtype": "block", "srclang": "en", "creationid": "ann"}
    path = tmp_path / "a.tmx"
    with pair_writer([str(path)], ("en", "de")) as write:
        more = {"attributes": attributes, "source_attributes": attributes}
        write(SentencePair(("one", "eins"), languages=("en", "de"), more=more), {})
    unit = ElementTree.parse(path).find("body/tu")
    assert unit is not None and unit.attrib == attributes
    source = unit.find("tuv")
    assert source is not None and source.attrib == {
        "{http://www.w3.org/XML/1998/namespace}lang": "en",
        "creationid": "ann",
    }
    kept = unit.find("prop[@type='source_attributes']")
    assert kept is not None and kept.text == '{"segtype": "block", "srclang": "en"}'
