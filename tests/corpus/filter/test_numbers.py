"""Numbers: those that translations write differently are the same, and altered ones are not."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import regex

from isoglot.corpus.filter.numbers import changed_numbers, numbers

LANGUAGES = ("de", "fr", "es", "ru", "ar", "hi", "zh", "ja")
SENTENCES = (
    ("They paid {} euros.", "Sie zahlten {} Euro."),
    ("The {} military units left.", "Les {} unités militaires sont parties."),
    ("ability: {} kg", "Fähigkeit: {} kg"),
    ("It is {} km long, with bikes.", "Оно {} км в длину, с мостом."),
    ("{} percent of them", "其中的{}％"),
    ("Room {} opens in the morning.", "部屋{}は朝に開きます。"),
    ("about {} million people", "etwa {} Millionen Menschen"),
)


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
        ("at 08:30", "um 8 Uhr 30"),
        ("at 08:00", "um 8 Uhr 00"),
        ("十,百,千", "tens, hundreds, thousands"),
        ("2.4 million on July 1", "7月1日240万"),
        ("at 2:30", "2時半"),
        ("80, 000 crowns", "80000 Kronen"),
        ("in the 1940s and 1950s", "dans les années 40 et 50"),
        ("in the 1960s", "en los 60 y, después"),
        ("pushed to Q1/15", "T1 2015"),
        ("6.074 minutes", "6 mil 74 actas"),
        ("230 billion yen", "2300亿日元"),
        ("from 60 to 85 billion kWh", "600至850亿千瓦时"),
        ("120 million people in 1997", "1億2000万，1997年"),
        ("120 million and 30,000 people", "1億2000万 3万"),
        ("20 hundred thousand men", "2000000 Mann"),
        ("in 2008", "平成20年"),
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
        ("20 kg", "200 kg", ["20"], ["200"]),
        ("45 euros", "1045 Euro", ["45"], ["1045"]),
        ("1.5 percent", "13,5 Prozent", ["1.5"], ["13.5"]),
        ("ability: 20 kg", "Fähigkeit: 200 kg", ["20"], ["200"]),
        ("20 military men", "20000000 Soldaten", ["20"], ["20000000"]),
        ("5 dogs", "2005 Hunde", ["5"], ["2005"]),
        ("230 billion yen", "230亿日元", ["230"], ["23000000000"]),
        ("12 occupants", "zwölf Besetzer", ["12"], []),
        ("8 cats and 0 dogs", "8 Katzen", ["0"], []),
        (f"{'9' * 5000} times", f"{'8' * 5000} Mal", ["9" * 5000], ["8" * 5000]),
    ],
)
def test_different_numbers_differ(source: str, target: str, left: list[str], right: list[str]) -> None:
    assert changed_numbers(source, target) == (left, right)


def test_digits_of_placeholders_are_no_numbers() -> None:
    assert numbers('{0} %1$s <ph id="7"/> 50% of {{count2}}') == ["50"]


def changes(value: int) -> Iterator[int]:
    """Other numbers that typing errors and wrong matches make of a number."""
    yield value * 10
    yield value * 10 + 7
    yield value + 12
    yield value + 2000
    yield value + 1
    if value % 10 == 0:
        yield value // 10


def test_every_change_of_a_random_number_is_found() -> None:
    generator = random.Random(17)
    for _ in range(300):
        source, target = generator.choice(SENTENCES)
        value = generator.choice([generator.randint(1, 99), generator.randint(100, 9999)])
        assert changed_numbers(source.format(value), target.format(value)) == ([], [])
        for other in changes(value):
            left, right = changed_numbers(source.format(value), target.format(other))
            assert left and right, (source.format(value), target.format(other))


@pytest.mark.slow
@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
def test_changes_of_real_pairs_are_found_and_clean_pairs_stay() -> None:
    found = made = clean = dropped = 0
    for language in LANGUAGES:
        path = Path(os.environ["ISOGLOT_DATA"]) / "parallel" / f"en-{language}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [
                tuple(line.rstrip("\n").split("\t")[:2]) for _, line in zip(range(20000), lines, strict=False)
            ]
        random.Random(language).shuffle(rows)
        for source, target in rows[:3000]:
            # One whole number, written alike on both sides.
            written = regex.findall(r"(?<![\w.,:/-])[0-9]+(?![\w.,:/-])", target)
            clean += bool(regex.search(r"\p{Nd}", source) and regex.search(r"\p{Nd}", target))
            dropped += all(changed_numbers(source, target))
            if len(written) != 1 or numbers(source) != written or numbers(target) != written:
                continue
            for other in changes(int(written[0])):
                made += 1
                found += all(changed_numbers(source, target.replace(written[0], str(other))))
    assert made > 2000
    assert found >= 0.99 * made
    assert dropped <= 0.02 * clean
