"""A glossary holds content words and terms, the most frequent first."""

import csv
from pathlib import Path

import pytest

from isoglot import SentencePair
from isoglot.aligners.glossary import COLUMNS
from isoglot.aligners.lexicon import with_lexicon
from isoglot.aligners.lexicon_options import LexiconOptions

PAIRS = [
    ("the Print button , and the file", "die Schaltfläche Drucken , und die Datei",
     "0-0 1-2 2-1 3-3 4-4 5-5 6-6"),
    ("the file is on the hard disk", "die Datei ist auf der Festplatte", "0-0 1-1 2-2 3-3 4-4 5-5 6-5"),
    ("a hard disk with the US layout", "eine Festplatte mit dem US Layout", "0-0 1-1 2-1 3-2 4-3 5-4 6-5"),
    ("the file for us is on it", "Die Datei für uns ist da", "0-0 1-1 2-2 3-3 4-4 6-5"),
]  # fmt: skip


def glossary(path: Path, pairs: list[tuple[str, str, str]], **options: object) -> list[dict[str, str]]:
    """The rows of the glossary of linked pairs."""
    sentence_pairs = []
    for source, target, links in pairs:
        pair = SentencePair.of(source.split(), target.split())
        pair.links = [(int(i), int(j)) for i, j in (link.split("-") for link in links.split())]
        sentence_pairs.append(pair)
    chosen = LexiconOptions(lexicon=path, lexicon_format="csv", **options)
    list(with_lexicon(sentence_pairs, chosen))
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not rows or tuple(rows[0]) == COLUMNS
    return rows


def test_content_words_and_terms_by_count(tmp_path: Path) -> None:
    rows = glossary(tmp_path / "g.csv", PAIRS)
    assert [(row["source"], row["target"], row["count"]) for row in rows] == [
        ("file", "Datei", "3"), ("hard disk", "Festplatte", "2"),
    ]  # fmt: skip
    assert rows[1]["probability"] == "1.0000"


def test_once_is_enough_where_it_is_asked_for(tmp_path: Path) -> None:
    rows = glossary(tmp_path / "g.csv", PAIRS, min_count=1)
    terms = {(row["source"], row["target"]) for row in rows}
    # US is no pronoun, punctuation is no term, and what the links exchange is one phrase and two words
    assert {("US", "US"), ("layout", "Layout"), ("Print button", "Schaltfläche Drucken")} <= terms
    for row in rows:
        assert not {"the", "us", ",", "is", "it"} & set(
            row["source"].split()[:1] + row["source"].split()[-1:]
        )
        assert not {"die", "uns", "ist"} & set(row["target"].split()[:1])
    short = glossary(tmp_path / "g.csv", PAIRS, min_count=1, term_length=1)
    assert short and all(" " not in row["source"] + row["target"] for row in short)


def test_english_is_found_on_either_side(tmp_path: Path) -> None:
    turned = [
        (target, source, " ".join("-".join(link.split("-")[::-1]) for link in links.split()))
        for source, target, links in PAIRS
    ]
    rows = glossary(tmp_path / "g.csv", turned)
    assert [(row["source"], row["target"]) for row in rows] == [
        ("Datei", "file"),
        ("Festplatte", "hard disk"),
    ]


def test_glossary_without_english_warns_of_what_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = glossary(tmp_path / "g.csv", [("die Datei", "le fichier", "0-0 1-1")] * 3)
    assert ("die", "le") in {(row["source"], row["target"]) for row in rows}
    assert "no side is English" in caplog.text
