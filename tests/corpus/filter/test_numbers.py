"""Numbers and placeholders: what translations write differently is the same, and what was altered is not."""

from __future__ import annotations

import pytest

from isoglot.corpus.filter.numbers import changed_numbers, numbers
from isoglot.corpus.filter.placeholders import placeholders


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("1,000.50 dollars", "1.000,5 Dollar"),
        ("12 300 people", "12\u202f300 personnes"),
        ("15 minutes in 1945", "١٥ دقيقة في १९४५"),
        ("1,00,000 masks", "100,000 masks"),
        ("28.08.2009", "28/8/09"),
        ("the '90s", "die 1990er"),
        ("1:59 p.m.", "13.59 Uhr"),
        ("from 11:00 to 5 p.m.", "11 bis 17 Uhr"),
        ("8:30 PM", "20h30"),
        ("2.4 million on July 1", "7月1日240万"),
        ("at 2:30", "2時半"),
        ("80, 000 crowns", "80000 Kronen"),
        (f"{'9' * 5000} times", f"{'9' * 5000} Mal"),
    ],
)
def test_numbers_written_in_two_ways_are_equal(source: str, target: str) -> None:
    assert changed_numbers(source, target) == ([], [])


@pytest.mark.parametrize(
    ("source", "target", "left", "right"),
    [
        ("1,250 people", "1.350 Menschen", ["1250"], ["1350"]),
        ("100 people", "1000 Menschen", ["100"], ["1000"]),
        ("in 1966", "1996年", ["1966"], ["1996"]),
        ("5 of 5", "5 von 6", ["5"], ["6"]),
        ("0.5 %", "5 %", ["0.5"], ["5"]),
        ("at 3", "um 15 Uhr", ["3"], ["15"]),
        ("12 occupants", "zwölf Besetzer", ["12"], []),
        (f"{'9' * 5000} times", f"{'8' * 5000} Mal", ["9" * 5000], ["8" * 5000]),
    ],
)
def test_other_numbers_differ(source: str, target: str, left: list[str], right: list[str]) -> None:
    assert changed_numbers(source, target) == (left, right)


def test_digits_of_placeholders_are_no_numbers() -> None:
    assert numbers('{0} %1$s <ph id="7"/> 50% of {{count2}}') == ["50"]


@pytest.mark.parametrize(
    ("source", "target", "equal"),
    [
        ("Delete {0}?", "{0} löschen?", True),
        ("Delete {0}?", "{1} löschen?", False),
        ("%s of %s", "%s von", False),
        ("%1$s by %2$d", "%2$d von %1$s", True),
        ("Hello {{name}}, ${user} %(count)d", "Hallo {{name}}, ${user}, %(count)d", True),
        ("Hello {{name}}", "Hallo {{Name}}", False),
        ('<ph id="1" />Save<br>', '<br/>Sichern<ph id="1"></ph>', False),
        ('<ph id="1" type="x"/>Save<br>', '<br/>Sichern<ph id="1"/>', True),
        ("<b>bold</b>", "<b>fett", False),
        ("50% discount, 5%discount", "50 % Rabatt", True),
        ("<Torrential Rains in Saga>", "＜佐賀豪雨＞", True),
    ],
)
def test_placeholders_are_compared_by_name(source: str, target: str, equal: bool) -> None:
    assert (placeholders(source) == placeholders(target)) is equal
