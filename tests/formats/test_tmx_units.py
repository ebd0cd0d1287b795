"""Units of translation memories with several languages and variants: nothing is deleted without a word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import run

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
HEADER = '<header srclang="en-US" custom="1"><note>of the header</note><prop type="p">1</prop></header>'
UNIT = """<tu tuid="{0}"><prop type="alignment">mine</prop>
<tuv xml:lang="en-US"><seg>The house is small.</seg></tuv>
<tuv xml:lang="de-DE"><seg>Das Haus ist klein.</seg></tuv>
<tuv xml:lang="de-AT"><seg>Das.</seg></tuv>
<tuv xml:lang="fr"><seg>La maison est petite.</seg></tuv></tu>"""
FRENCH = (
    '<tu tuid="f"><tuv xml:lang="fr"><seg>seul</seg></tuv><tuv xml:lang="en-US"><seg>alone</seg></tuv></tu>'
)
HOW = ("--source-lang", "en", "--target-lang", "de", "--quiet")
FILTER = ("filter", *HOW, "--aligner", "none")


def memory(folder: Path, *units: str, header: str = HEADER, name: str = "memory.tmx") -> Path:
    path = folder / name
    path.write_text(f'<tmx version="1.4">{header}<body>\n{"".join(units)}\n</body></tmx>', encoding="utf-8")
    return path


def languages_of(path: Path) -> list[list[str]]:
    """Languages of each unit."""
    return [[tuv.attrib[LANGUAGE] for tuv in unit.iter("tuv")] for unit in ElementTree.parse(path).iter("tu")]


def properties(element: ElementTree.Element) -> dict[str, str | None]:
    return {prop.attrib["type"]: prop.text for prop in element.findall("prop")}


def test_a_filter_writes_each_unit_without_the_variants_that_it_drops(tmp_path: Path) -> None:
    path = memory(tmp_path, UNIT.format(1), FRENCH, UNIT.format(2))
    kept, dropped = tmp_path / "kept.tmx", tmp_path / "dropped.tmx"
    run(*FILTER, path, "--max-length-ratio", 2, "--out", kept, "--dropped", dropped)
    assert languages_of(kept) == [["en-US", "de-DE", "fr"]] * 2
    assert languages_of(dropped) == [["en-US", "de-AT", "fr"], ["fr", "en-US"], ["en-US", "de-AT", "fr"]]
    first, alone, _ = ElementTree.parse(dropped).iter("tu")
    assert properties(first) == {"alignment": "mine"}  # the file's own, whatever ours are called
    assert properties(first.findall("tuv")[1])["x-isoglot-reasons"] == "ratio"
    assert properties(alone)["x-isoglot-reasons"] == "missing_language"


def test_units_without_the_pair_are_dropped_with_their_reason(tmp_path: Path) -> None:
    path = memory(tmp_path, UNIT.format(1), FRENCH)
    dropped, report = tmp_path / "dropped.jsonl", tmp_path / "report.json"
    run(*FILTER, path, "--out", tmp_path / "kept.tmx", "--dropped", dropped, "--report", report)
    (row,) = map(json.loads, dropped.read_text().splitlines())
    assert (row["id"], row["source"], row["target"]) == ("f", "alone", "")
    assert (row["reasons"], row["line"]) == ("missing_language", 6)
    counts = json.loads(report.read_text())
    assert (counts["read"], counts["kept"], counts["dropped"]) == (3, 2, {"missing_language": 1})


def test_tmx_languages_that_stand_for_others_and_units_left_out_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = memory(tmp_path, UNIT.format(1), FRENCH)
    out = tmp_path / "kept.tsv"
    with caplog.at_level("WARNING", logger="isoglot"):
        run("align", path, *HOW, "-m", "fast_align", "--words", "unicode", "--out", tmp_path / "links")
        run(*FILTER, path, "--out", out)
    said = [record.getMessage() for record in caplog.records]
    assert (
        f"{path}: de stands for de-DE, de-AT, each of which is read; name one of them to read it alone"
        in said
    )
    assert f"{path}: units without en or de are left out: 1 (line 6)" in said
    assert f"{out}: has no room for the units' other languages (fr 1); write a .tmx file to keep them" in said
    caplog.clear()
    austria = ("--source-lang", "en", "--target-lang", "de-AT")
    assert run("align", path, *austria, "-m", "fast_align", "--words", "unicode").count("\n") == 1
    assert "stands for" not in caplog.text


def test_other_headers_of_several_memories_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = memory(tmp_path, UNIT.format(1))
    second = memory(tmp_path, UNIT.format(1), header='<header srclang="en-GB"/>', name="second.tmx")
    third = memory(tmp_path, UNIT.format(1), header='<header srclang="en-IE"/>', name="third.tmx")
    out = tmp_path / "kept.tmx"
    with caplog.at_level("WARNING", logger="isoglot"):
        run(*FILTER, first, second, third, "--out", out)
    for other in (second, third):
        assert f"{out}: has the header of {first}; that of {other} differs and is left out" in caplog.messages
    header = ElementTree.parse(out).find("header")
    assert header is not None and header.attrib == {"srclang": "en-US", "custom": "1"}
    assert len(languages_of(out)) == 3  # the first units of different files are not one unit


@pytest.mark.parametrize(
    ("languages", "pair", "wanted"),
    [
        (("pt-PT", "pt-BR", "en"), ("en", "pt"), [("2", "0"), ("2", "1")]),
        (("pt-PT", "pt-BR"), ("pt", "pt-BR"), [("0", "1")]),
        (("pt-PT", "pt-BR"), ("pt-BR", "pt"), [("1", "0")]),
        (("en", "en", "de"), ("en", "de"), [("0", "2"), ("1", "2")]),
        (("de", "de", "en"), ("de", "de"), [("0", "1")]),
    ],
)
def test_every_variant_is_a_pair(
    languages: Sequence[str], pair: tuple[str, str], wanted: list[Any], tmp_path: Path
) -> None:
    variants = (f'<tuv xml:lang="{tag}"><seg>{n}</seg></tuv>' for n, tag in enumerate(languages))
    path, out = memory(tmp_path, f"<tu>{''.join(variants)}</tu>"), tmp_path / "out.jsonl"
    source, target = pair
    run(
        "align",
        path,
        "--source-lang",
        source,
        "--target-lang",
        target,
        "-m",
        "fast_align",
        "-f",
        "jsonl",
        "-o",
        out,
    )
    rows = map(json.loads, out.read_text().splitlines())
    assert [(row["src_text"], row["tgt_text"]) for row in rows] == wanted


def test_values_of_an_earlier_run_give_way_and_pairs_of_two_sources_are_told_apart(tmp_path: Path) -> None:
    sides = ("en-US", "a"), ("en-GB", "b"), ("de", "c")
    unit = "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in sides)
    path, once, twice = memory(tmp_path, f"<tu>{unit}</tu>"), tmp_path / "once.tmx", tmp_path / "twice.tmx"
    run("align", path, *HOW, "-m", "fast_align", "-f", "tmx", "-o", once)
    run("align", once, *HOW, "-m", "fast_align", "-f", "tmx", "-o", twice)
    assert once.read_text() == twice.read_text()
    german = list(ElementTree.parse(once).iter("tuv"))[2]
    assert {name: properties(german)[name] for name in ("x-isoglot-links-1", "x-isoglot-links-2")} == {
        "x-isoglot-links-1": "0-0", "x-isoglot-links-2": "0-0"
    }  # fmt: skip
