from xml.sax.saxutils import escape

import pytest
from reading import PAIR, rows, write
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats.readers import Reader
from isoglot.formats.sources import Source

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN-us"><seg>one <bpt i="1">&lt;b&gt;</bpt>&amp; <hi>two</hi><ept i="1"/></seg></tuv>
<tuv xml:lang="de"><seg>eins &amp; zwei</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv><tuv xml:lang="fr"><seg>seul</seg></tuv></tu>
<tu><tuv lang="de_AT"><seg>Jänner</seg></tuv><tuv xml:lang="en-GB"><seg>January</seg></tuv></tu>
</body></tmx>
"""


def test_tmx(tmp_path):
    path = write(tmp_path, "a.tmx", TMX)
    assert [(r["source"], r["target"]) for r in rows(path)] == [
        ("one & two", "eins & zwei"),
        ("January", "Jänner"),
    ]
    only = rows(path, source_language="en-GB")
    assert [r["source"] for r in only] == ["January"]


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        (TMX, {"target_language": "it"}, "9: .*in it; .*de, de-at, en, en-gb"),
        (TMX.replace("</seg></tuv></tu>\n</body>", "</tuv></tu>\n</body>"), {}, "7: .*well-formed"),
        ("\n".join(TMX.split("\n")[:3]) + "\n", {}, "4: .*well-formed"),
        ("<html/>", {}, "1: .*in en and de; .*none"),
    ],
    ids=["another language", "a tag too few", "half a file", "no TMX"],
)
def test_tmx_names_the_line_of_a_mistake(tmp_path, text, options, named):
    with pytest.raises(InputError, match=rf"a\.tmx:{named}"):
        rows(write(tmp_path, "a.tmx", text), **options)


@pytest.mark.parametrize("languages", [("en", "de"), ("en-US", "de"), ("en", "de-AT")])
def test_a_language_without_sentences_is_not_called_missing(tmp_path, languages):
    tags = dict(zip(("source_language", "target_language"), languages, strict=True))
    text = TMX.replace("<seg>", "<sag>").replace("</seg>", "</sag>")
    with refused(InputError, "a.tmx:9: ", f"<tuv> in {languages[0].lower()} ", "<seg>"):
        rows(write(tmp_path, "a.tmx", text), **tags)


def test_units_that_lack_a_language_behind_the_last_pair_are_counted(tmp_path):
    head, tail = TMX.split("<body>", maxsplit=1)[0] + "<body>", "</body></tmx>"
    units = [f'<tu><tuv xml:lang="{tag}"><seg>alone</seg></tuv></tu>' for tag in ("en", "de")]
    source = Source(path=write(tmp_path, "a.tmx", head + "".join(units) + tail), format="tmx", **PAIR)
    assert [chunk.lacking for chunk in Reader(source).chunks()] == [2]
    assert rows(source.path) == []


def test_tmx_refuses_entities(tmp_path):
    secret = write(tmp_path, "secret", "do not read")
    text = TMX.replace('SYSTEM "tmx14.dtd">', f'[<!ENTITY x SYSTEM "file://{secret}">]>').replace(
        "alone", "&x;"
    )
    with refused(InputError, "a.tmx:2: ", "entity 'x'"):
        rows(write(tmp_path, "a.tmx", text))


def test_tmx_entities_of_another_file_do_not_vanish(tmp_path):
    inside = TMX.replace("January", "January&nbsp;1")
    with refused(InputError, "a.tmx:7: &nbsp; "):
        rows(write(tmp_path, "a.tmx", inside))
    code = TMX.replace('<bpt i="1">', '<bpt i="1">&nbsp;')
    assert [r["source"] for r in rows(write(tmp_path, "b.tmx", code))] == ["one & two", "January"]


def test_ids_and_tags_are_kept(tmp_path):
    segments = {
        "en": '<bpt i="1">&lt;b&gt;</bpt>A &amp; <hi type="x">B</hi> <ph>&nbsp;<sub>in</sub></ph>C<ept i="1"/>',
        "de": "D",
    }
    unit = "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in segments.items())
    head = TMX.split("<tu>", maxsplit=1)[0]
    text = f'{head}<tu tuid="7-x">{unit}</tu><tu>{unit}</tu></body></tmx>'
    source = Source(path=write(tmp_path, "a.tmx", text), format="tmx", **PAIR)
    [chunk] = Reader(source).chunks()
    values = Reader(source).fields(chunk).values
    assert [row.get("id") for row in values["more"]] == ["7-x", None]
    assert [row["target_tags"] for row in values["more"]] == [(), ()]
    assert values["source"] == ["A & B C"] * 2
    rebuilt, end = "", 0  # the segment again, of the text and the tags before its characters
    for place, tag, *_ in values["more"][0]["source_tags"]:
        rebuilt, end = rebuilt + escape("A & B C"[end:place]) + tag, place
    assert rebuilt == segments["en"]
