"""Random translation memories through every verb that takes them, compared to the input by an XML parser."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pytest
from commands import run

from isoglot.testing import tiny_model, tiny_tokenizer

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
OWN = "x-isoglot-"
TAGS = ["en", "en-US", "en-GB", "de", "de-DE", "de-AT", "DE_ch", "fr", "pt-BR"]
WORDS = ["house", "Haus", "Save", "5 &lt; 7", "R&amp;D", "“so”", "日本", "\U0001f600", "café", "cafe\u0301"]
SPACES = [
    " ",
    "  ",
    "\n",
    "\t",
    "&#13;",
    "&#13;\n",
    "&#9;",
    "\u00a0",
    "\u2028",
    "\u0085",
    "\u200b",
    "&#x85;",
    " \n ",
]
CODES = ['<ph x="1"/>', "<ph>&lt;br/&gt;&#13;</ph>", '<it pos="begin" x="2">{i}</it>', "<ut>\\f0</ut>"]
PAIRED = [("<hi>", "</hi>"), ('<bpt i="1">&lt;b title="a&#10;b"></bpt>', '<ept i="1">&lt;/b></ept>')]
NOTES = ["<note>a note\nin&#13;two lines</note>", '<note xml:lang="en" o-encoding="x">  b </note>', "<note/>"]
PROPERTIES = [
    '<prop type="domain">law &amp; order</prop>',
    '<prop type="score">0.5</prop>',
    "<prop type='domain'/>",
]
ATTRIBUTES = [
    ' changeid="a&#10;b&#9;c"',
    ' creationdate="20260102T000000Z"',
    ' usagecount="3"',
    ' xml:space="preserve"',
]
"""An unknown attribute and every way in which a parser reads white space as something else."""


def some(rng: random.Random, items: list[str], share: float = 0.3) -> str:
    return "".join(item for item in items if rng.random() < share)


def segment(rng: random.Random) -> str:
    """Words, spaces and in-line tags that are closed."""
    parts = [rng.choice(SPACES) if rng.random() < 0.2 else ""]
    closing = ""
    opening, ending = rng.choice(PAIRED)
    for number in range(rng.randint(1, 6)):
        if number == 1 and rng.random() < 0.4:
            parts.append(opening)
            closing = ending
        parts += [rng.choice(WORDS), rng.choice(SPACES)]
        if rng.random() < 0.15:
            parts.append(rng.choice(CODES))
    return "".join([*parts, closing, rng.choice(["", *SPACES])])


def memory(rng: random.Random, path: Path, units: int) -> Path:
    """A file with one to five translations in a unit, some of them in one language."""
    lines = []
    for number in range(units):
        languages = rng.choices(TAGS, k=rng.randint(1, 5))
        if number == 0:
            languages = ["en-US", "de-DE", "de-AT", "fr", "de-DE"]
        translations = []
        for language in languages:
            name = rng.choice(["xml:lang", "lang"])
            space = rng.choice(["", "", ' xml:space="preserve"'])
            about = some(rng, NOTES) + some(rng, PROPERTIES)
            translations.append(
                f"<tuv {name}={quoteattr(language)}{some(rng, ATTRIBUTES)}>{about}"
                f"<seg{space}>{segment(rng)}</seg></tuv>"
            )
        name = f' tuid="u &amp; {number}"' if rng.random() < 0.7 else ""
        about = some(rng, NOTES) + some(rng, PROPERTIES)
        joined = "\n".join(translations)
        lines.append(f"<tu{name}{some(rng, ATTRIBUTES)}>{about}\n{joined}</tu>")
    header = '<header srclang="en-US" o-tmf="x" custom="a&#10;b"><note>n&#13;</note><prop type="p">1</prop></header>'
    body = "\n<!-- a comment -->\n".join(lines)
    text = f'<?xml version="1.0"?>\n<tmx version="1.4" xmlns:x="urn:x">{header}<body>{body}</body></tmx>'
    path.write_bytes(text.encode())
    return path


def content(element: ElementTree.Element) -> Any:
    """An element as plain data, all white space of a segment included, without the properties that isoglot adds."""
    inside = [
        (content(child), child.tail if element.tag not in ("tu", "tuv", "header") else "")
        for child in element
        if not (child.tag == "prop" and child.attrib["type"].startswith(OWN))
    ]
    text = element.text or "" if element.tag not in ("tu", "tuv", "header") else ""
    return element.tag, dict(element.attrib), text, inside


def units_of(path: Path) -> list[Any]:
    return [content(unit) for unit in ElementTree.parse(path).iter("tu")]


def header_of(path: Path) -> Any:
    root = ElementTree.parse(path).getroot()
    header = root.find("header")
    assert header is not None
    return dict(root.attrib), content(header)


def translations(unit: Any) -> Iterator[tuple[str, Any]]:
    """Language and content of each translation."""
    for (tag, attributes, *rest), _ in unit[3]:
        if tag == "tuv":
            yield (attributes.get(LANGUAGE) or attributes["lang"]).lower()[:2], (attributes, *rest)


def has_pair(unit: Any) -> bool:
    return {"en", "de"} <= {language for language, _ in translations(unit)}


def text_of(translation: Any) -> str:
    """Text of a segment without white space and codes."""

    def words(element: Any) -> str:
        tag, _, text, inside = element
        return "" if tag in ("bpt", "ept", "ph", "it", "ut") else text + "".join(map(words_of, inside))

    def words_of(item: Any) -> str:
        return words(item[0]) + (item[1] or "")

    ((segment, _),) = [item for item in translation[2] if item[0][0] == "seg"]
    return "".join(words(segment).split())


HOW = ("--source-lang", "en", "--target-lang", "de", "--quiet")


@pytest.mark.parametrize("seed", range(12))
def test_filter_and_align_write_what_they_read(seed: int, tmp_path: Path) -> None:
    path = memory(random.Random(seed), tmp_path / "memory.tmx", 25)
    kept, dropped, linked = (tmp_path / f"{name}.tmx" for name in ("kept", "dropped", "linked"))
    run("filter", path, *HOW, "--aligner", "none", "--out", kept, "--dropped", dropped)
    run("align", path, *HOW, "-m", "fast_align", "-f", "tmx", "--out", linked)
    given = units_of(path)
    assert units_of(kept) == units_of(linked) == [unit for unit in given if has_pair(unit)]
    assert units_of(dropped) == [unit for unit in given if not has_pair(unit)]
    for out in (kept, dropped, linked):
        assert header_of(out) == header_of(path)


@pytest.mark.parametrize("seed", range(6))
def test_project_changes_target_segments_alone(seed: int, tmp_path: Path) -> None:
    path = memory(random.Random(seed), tmp_path / "memory.tmx", 25)
    out = tmp_path / "tagged.tmx"
    run("project", path, *HOW, "-m", "fast_align", "--out", out)
    given = [unit for unit in units_of(path) if has_pair(unit)]
    written = units_of(out)
    assert header_of(out) == header_of(path)
    assert len(written) == len(given)
    for before, after in zip(given, written, strict=True):
        assert before[:3] == after[:3]
        sides = list(zip(translations(before), translations(after), strict=True))
        for (language, translation), (_, now) in sides:
            if language == "de":
                assert text_of(translation) == text_of(now)
            else:
                assert translation == now


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    tiny_model("xlm-roberta").save_pretrained(folder)
    tiny_tokenizer("xlm-roberta").save_pretrained(folder)
    return folder


@pytest.mark.parametrize("verb", ["mine", "align-sentences"])
@pytest.mark.parametrize("seed", range(2))
def test_sentences_of_memories_are_what_they_were(
    seed: int, verb: str, encoder: Path, tmp_path: Path
) -> None:
    path = memory(random.Random(seed), tmp_path / "memory.tmx", 15)
    out = tmp_path / "out.tmx"
    run(verb, path, path, *HOW, "--model", encoder, "--out", out)
    given = [item for unit in units_of(path) for item in translations(unit)]
    found = [item for unit in units_of(out) for item in translations(unit)]
    segments = {
        language: [segment_of(item) for name, item in given if name == language] for language in ("en", "de")
    }
    single = [(language, segment_of(item)) for language, item in found]
    whole = [segment in segments[language] for language, segment in single]
    assert whole and (all(whole) if verb == "mine" else any(whole))
    if verb == "align-sentences":
        for language, every in segments.items():
            assert "".join(text_of(item) for name, item in found if name == language) == "".join(
                text_of(item) for name, item in given if name == language
            )
            assert every


def segment_of(translation: Any) -> Any:
    """The segment with its attributes and tags."""
    ((segment, _),) = [item for item in translation[2] if item[0][0] == "seg"]
    return segment
