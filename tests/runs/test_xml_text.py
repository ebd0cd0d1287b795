"""Characters that XML forbids: an XML parser reads what is left."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax.saxutils import escape

from isoglot.runs.xml_text import XmlText


def test_a_parser_reads_every_character_that_is_left_and_no_other_is_missing() -> None:
    legal = XmlText()
    allowed = [0x9, 0xA, 0xD, *range(0x20, 0xD800), *range(0xE000, 0xFFFE), 0x10000, 0x1FFFE, 0x10FFFF]
    text = "".join(map(chr, (*range(0x11000), 0x1FFFE, 0x10FFFF)))
    left = legal(text)
    assert [*map(ord, left)] == sorted({*allowed, *range(0x10000, 0x11000)})
    assert legal.dropped == len(text) - len(left) == 29 + 2048 + 2
    assert ElementTree.fromstring(f"<a>{escape(left)}</a>").text == left.replace("\r", "\n")
