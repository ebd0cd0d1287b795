"""Translation memories in TMX: in and out, with tags in the translations and all else as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import run
from labelled_files import text_file

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
UNITS = (
    """<tu tuid="7" creationdate="20260102T000000Z" changeid="anna"><note>menu</note><note>two</note>
<prop type="domain">menu</prop><prop type="domain">ui</prop><prop type="state">new &amp; old</prop>
<tuv xml:lang="en-US" creationid="x"><prop type="a">1</prop>
<seg>Click <bpt i="1">&lt;b&gt;</bpt>Save<ept i="1">&lt;/b&gt;</ept> now.</seg></tuv>
<tuv xml:lang="de-AT"><note>checked</note><seg>Jetzt Speichern klicken.</seg></tuv></tu>""",
    """<tu tuid="8"><tuv xml:lang="en-US"><seg>x &lt; 5 &amp; y <ph x="1"/></seg></tuv>
<tuv xml:lang="de-AT"><seg>x &lt; 5 &amp; y</seg></tuv></tu>""",
    """<tu tuid="9"><tuv xml:lang="en-US"><seg><hi>OK</hi></seg></tuv>
<tuv xml:lang="de-CH"><seg>Gut <hi>so</hi></seg></tuv></tu>""",
    """<tu><tuv xml:lang="en-GB"><seg>No tag</seg></tuv><tuv xml:lang="de-AT"><seg>Kein</seg></tuv></tu>""",
)
LINKS = "0-2 1-1 2-0 3-3\n0-0 1-1 2-2 3-3 4-4\n0-0\n1-0\n"


def memory(folder: Path) -> Path:
    body = "".join(f"{unit}\n" for unit in UNITS)
    header = '<header srclang="en-US" datatype="html"/>'
    return text_file(folder, "memory.tmx", f'<tmx version="1.4">{header}<body>\n{body}</body></tmx>\n')


def units(path: Path) -> list[tuple[Any, ...]]:
    """What each unit and its translations say of themselves, and the segments as XML."""

    def about(element: ElementTree.Element) -> tuple[Any, ...]:
        notes = [(e.tag, e.attrib, e.text) for e in element if e.tag in ("note", "prop")]
        return dict(element.attrib), notes

    return [
        (about(unit), *((about(tuv), segment_of(tuv)) for tuv in unit.iter("tuv")))
        for unit in ElementTree.parse(path).iter("tu")
    ]


def segment_of(tuv: ElementTree.Element) -> str:
    (segment,) = tuv.iter("seg")
    segment.tail = None
    return ElementTree.canonicalize(ElementTree.tostring(segment, "unicode"))


def test_memory_is_unchanged_but_for_tags_in_its_translations(tmp_path: Path) -> None:
    path, links = memory(tmp_path), text_file(tmp_path, "links", LINKS)
    out, again = tmp_path / "out.tmx", tmp_path / "again.tmx"
    counts = iso.project(path, None, out, links_file=links)
    assert (counts.examples, counts.written) == (4, 4)
    wanted = units(path)
    german = [segment for *_, (_, segment) in units(out)]
    assert german == [
        '<seg>Jetzt <bpt i="1">&lt;b&gt;</bpt>Speichern<ept i="1">&lt;/b&gt;</ept> klicken.</seg>',
        '<seg>x &lt; 5 &amp; y <ph x="1"></ph></seg>',
        "<seg>Gut <hi>so</hi></seg>",
        "<seg>Kein</seg>",
    ]
    assert [(*unit, (tuv, "")) for *unit, (tuv, _) in units(out)] == [
        (*unit, (tuv, "")) for *unit, (tuv, _) in wanted
    ]
    header = ElementTree.parse(out).find("header")
    assert header is not None and header.get("srclang") == "en-US"
    iso.project(out, None, again, links_file=links)
    assert again.read_text(encoding="utf-8") == out.read_text(encoding="utf-8")


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_memory_is_filtered_and_projected_by_commands(tmp_path: Path, encoding: str) -> None:
    path = memory(tmp_path)
    path.write_text(path.read_text(), encoding=encoding)
    clean, tagged, problems = (tmp_path / name for name in ("clean.tmx", "tagged.tmx", "problems.tsv"))

    run("filter", path, "--min-alignment", 0, "--out", clean, "--quiet")
    run("project", clean, "--method", "hmm", "--out", tagged, "--problems", problems, "--quiet")
    assert [unit[:2] for unit in units(tagged)] == [unit[:2] for unit in units(clean)]
    scores = {f"x-isoglot-{name}" for name in ("alignment", "source_coverage", "target_coverage")}
    for (about, source, *_), (before, before_source, *_) in zip(
        units(tagged), units(memory(tmp_path)), strict=True
    ):
        notes = [note for note in about[1] if note[1].get("type") not in scores]
        assert ((about[0], notes), source) == (before, before_source)
    assert problems.read_text().startswith("line\tproblem\ttag\n")


def test_memory_errors_name_the_line(tmp_path: Path) -> None:
    path = memory(tmp_path)
    path.write_text(
        path.read_text().replace('<ph x="1"/>', '<ph x="1"/><hi>').replace("</body>", "</hi></body>")
    )
    with pytest.raises(InputError, match=r"memory\.tmx:\d+: .*XML"):
        iso.project(path, None, tmp_path / "out.tmx", method="hmm")
    problems = tmp_path / "problems.tsv"
    links = text_file(tmp_path, "links", "\n" * 4)
    iso.project(memory(tmp_path), None, tmp_path / "out.tmx", links_file=links, problems=problems)
    assert problems.read_text().splitlines() == ["line\tproblem\ttag", '2\tlost\t<bpt i="1">&lt;b&gt;</bpt>']


SIDES = '<tu><tuv xml:lang="en"><seg>{0}</seg></tuv><tuv xml:lang="de"><seg>{1}</seg></tuv></tu>'


def projected(folder: Path, *sides: tuple[str, str]) -> tuple[list[str], list[list[str]]]:
    """German segments and problems of a memory whose words are linked one to one."""
    body = "\n".join(SIDES.format(*pair) for pair in sides)
    path = text_file(folder, "a.tmx", f'<tmx><header srclang="en"/><body>{body}</body></tmx>')
    out, problems = folder / "out.tmx", folder / "problems.tsv"
    iso.project(
        path, None, out, links_file=text_file(folder, "links", "0-0 1-1\n" * len(sides)), problems=problems
    )
    german = [segment for *_, (_, segment) in units(out)]
    return german, [line.split("\t")[1:] for line in problems.read_text().splitlines()[1:]]


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("<hi>Save</hi> <ph/> <hi>Close</hi>", "<hi>Sichern</hi> zu", [["lost", "<ph/>"], ["lost", "<hi>"]]),
        ('<ph x="1"/> a <ph x="2"/> b', '<ph x="2"/> a b', [["lost", '<ph x="1"/>']]),
        ('<ph x="1"/> a <ph x="2"/> b', '<ph x="2"/> a b <ph x="2"/>',
         [["lost", '<ph x="1"/>'], ["added", '<ph x="2"/>']]),
        ('<bpt i="1"/>a<ept i="1"/> b', 'b <bpt i="7">{</bpt>a<ept i="7">}</ept>', []),
        ('<bpt i="1"/>a<ept i="1"/> b', 'b <bpt i="1"/>a', [["lost", '<ept i="1"/>']]),
        ("a <ph>{0}</ph> b", "<hi>a</hi> <ph>[0]</ph> b", [["added", "<hi>"]]),
    ],
)  # fmt: skip
def test_memory_problems_list_tags_that_a_translation_lost_in_part(
    source: str, target: str, wanted: list[list[str]], tmp_path: Path
) -> None:
    segments, problems = projected(tmp_path, (source, target))
    assert problems == wanted
    assert segments == [ElementTree.canonicalize(f"<seg>{target}</seg>")]


def test_memory_footnote_in_a_code_is_a_problem_and_not_copied(tmp_path: Path) -> None:
    code = "<ph>{fn}<sub>See the <ph>x</ph> manual.</sub>{/fn}</ph>"
    segments, problems = projected(tmp_path, (f"Save{code} it", "Speichern es"))
    assert segments == ["<seg>Speichern<ph>{fn}<sub></sub>{/fn}</ph> es</seg>"]
    assert problems == [["untranslated", code]]


def test_problems_go_to_standard_output_unless_translations_do(tmp_path: Path) -> None:
    path, links = memory(tmp_path), text_file(tmp_path, "links", "\n" * 4)
    how = ("--links", links, "--quiet", "--problems", "-")
    written = run("project", path, *how, "--out", tmp_path / "out.tmx")
    assert written.splitlines()[0] == "line\tproblem\ttag" and "\tlost\t" in written
    assert "one would overwrite the other" in run("project", path, *how, fails=ConfigurationError)


def test_languages_that_a_message_advises_are_taken(tmp_path: Path) -> None:
    sides = "".join(f'<tuv xml:lang="{tag}"><seg>a</seg></tuv>' for tag in ("en", "de", "fr"))
    path = text_file(tmp_path, "a.tmx", f"<tmx><header/><body><tu>{sides}</tu></body></tmx>")
    out = tmp_path / "out.tmx"
    with pytest.raises(InputError, match=r'a\.tmx:1: .*languages=\("en", "de"\)'):
        iso.project(path, None, out, method="hmm")
    assert iso.project(path, None, out, method="hmm", languages=("en", "de")).written == 1
    assert out.read_text().count("<tuv") == 3
    with pytest.raises(ConfigurationError, match=r"languages: .*`target_language`"):
        iso.project(path, None, out, method="hmm", languages=("en", "de"), target_language="de")
    with pytest.raises(ConfigurationError, match=r"languages: .*'en'"):
        iso.project(path, None, out, method="hmm", languages="en")
