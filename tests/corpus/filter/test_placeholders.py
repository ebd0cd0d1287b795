"""Placeholders: each known family is compared by name, and ordinary text is none."""

from __future__ import annotations

import random

import pytest
import regex

from isoglot.corpus.filter.placeholders import placeholders, without_placeholders

ONE_FILE = "{count, plural, one {# file} other {# files}}"
RUSSIAN_FILES = "{count, plural, one {# файл} few {# файла} many {# файлов} other {# файла}}"
FAMILIES = (
    "{0}", "{name}", "{0:N2}", "{{name}}", "${name}", "%s", "%1$d", "%(name)s", "%name%", "<ph 1>", "<0>", "</0>",
    ":name", "$NAME$", "[[name]]", "\\n", "\\t", "https://example.org/a?b=c", "www.example.org", "me@example.org",
    "__name__", "{% if x %}", "<%= name %>", "$name",
)  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "equal"),
    [
        ("Delete {0}?", "{0} löschen?", True),
        ("Delete {0}?", "{1} löschen?", False),
        ("%s of %s", "%s von", False),
        ("%s of %s", "%2$s von %1$s", True),
        ("%s of %d", "%1$s von %2$s", False),
        ("{} of {}", "{1} von {0}", True),
        ("{} of {}", "{1} von {2}", False),
        ("%1$s by %2$d", "%2$d von %1$s", True),
        ("Hello {{name}}, ${user} %(count)d", "Hallo {{name}}, ${user}, %(count)d", True),
        ("Hello {{name}}", "Hallo {{Name}}", False),
        ('<ph id="1" />Save<br>', '<br/>Sichern<ph id="1"></ph>', False),
        ('<ph id="1" type="x"/>Save<br>', '<br/>Sichern<ph id="1"/>', True),
        ("<b>bold</b>", "<b>fett", False),
        ("Click <0>here</0>", "Hier <0>klicken</0>", True),
        ("Click <0>here</0>", "Hier <1>klicken</1>", False),
        (ONE_FILE, RUSSIAN_FILES, True),
        (ONE_FILE, RUSSIAN_FILES.replace("count", "number"), False),
        (ONE_FILE, "{count} файлов", False),
        (
            "{sex, select, male {his {x}} other {their {x}}}",
            "{sex, select, male {sein {x}} other {ihr {x}}}",
            True,
        ),
        (
            "{sex, select, male {his {x}} other {their {x}}}",
            "{sex, select, mann {sein {x}} other {ihr {x}}}",
            False,
        ),
        (
            "{sex, select, male {his {x}} other {their {x}}}",
            "{sex, select, male {sein {y}} other {ihr {y}}}",
            False,
        ),
        ("on {day, date, short}", "am {day, date, long}", True),
        ("by :name at 10:30", "um 10:30 von :name", True),
        ("by :name", "von :nom", False),
        ("$NAME$ won $5", "$NAME$ gewann 5 $", True),
        ("$NAME$", "$NOME$", False),
        ("see [[name]]", "siehe [[Name]]", False),
        ("one\\ntwo", "eins zwei", False),
        ("see https://example.org/en.", "siehe https://example.org/en", True),
        ("see https://example.org/en", "siehe https://example.org/de", False),
        ("write to me@example.org", "an me@example.com", False),
        ("&File", "&Datei", True),
        ("&File", "Datei", False),
        ("AT&T, R&D &amp; you", "AT&T, F&E &amp; du", True),
    ],
)
def test_placeholders_are_compared_by_name(source: str, target: str, equal: bool) -> None:
    assert (placeholders(source) == placeholders(target)) is equal


@pytest.mark.parametrize(
    "text",
    [
        "50% discount, 5%discount, 20 % de", "<Torrential Rains in Saga>", "＜佐賀豪雨＞", "a < b and c > d",
        "Note: this, at 10:30, is 3:2.", "Das kostet 5$ oder 5 €.", "Tom & Jerry", "AT&T", "a [note] here", "note:see",
        "C:\\Users", "{ }",
    ],
)  # fmt: skip
def test_ordinary_text_has_none(text: str) -> None:
    assert not placeholders(text)


def test_any_one_lost_from_a_random_text_is_seen() -> None:
    generator = random.Random(3)
    words = ["Save", "the", "file", "Straße", "файл", "10:30", "5%"]
    for _ in range(500):
        chosen = generator.sample([name for name in FAMILIES if name != "<ph 1>"], 3)
        parts = [*chosen, *generator.choices(words, k=4)]
        generator.shuffle(parts)
        text = " ".join(parts)
        generator.shuffle(parts)
        reordered = " ".join(parts)
        assert placeholders(text).total() == 3, text
        if not {"%s", "%1$d"} <= set(chosen):
            assert placeholders(text) == placeholders(reordered)
        lost = generator.choice(chosen)
        assert placeholders(text) != placeholders(text.replace(lost, "", 1))


def test_further_expressions_and_tags_beside_the_text() -> None:
    own = [regex.compile(r"@@\w+")]
    assert placeholders("Hi @@name {0}", (), own) == {"@@name": 1, "{0}": 1}
    assert placeholders("Hi @@name") == {}
    assert placeholders("Hi", ['<ph type="x" id="1"/>']) == {"<ph 1>": 1}


def test_empty_element_beside_the_text_is_a_pair_of_tags() -> None:
    assert placeholders("", ["<hi/>"]) == placeholders("", ["<hi>", "</hi>"])
    assert placeholders("", ['<ph x="1"/>']) != placeholders("", ['<ph x="2"/>'])


def test_digits_inside_are_taken_away() -> None:
    assert (
        without_placeholders("12 of {0} at https://a.org/5 <0>x</0>")
        == "12 of \ufffc at \ufffc \ufffcx\ufffc"
    )
    assert "2" not in without_placeholders("{count2, plural, =2 {two} other {# files}}")
