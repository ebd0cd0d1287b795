"""Rules that drop pairs: what they leave alone, and the same options from Python and from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import ConfigurationError
from isoglot.mining.filter_pairs import filter_pairs
from isoglot.mining.pair_rules import copied_share

SHORT = (
    "Open file",
    "Save as",
    "Neue Datei",
    "Log out",
    "Main menu",
    "Guten Tag",
    "My account",
    "Alle Ordner",
)


def reasons(pairs: list[tuple[str, str]], **options: object) -> list[str]:
    """The reasons of each pair, joined by commas."""
    return [",".join(pair.reasons) for pair in filter_pairs(pairs, aligner=None, **options)]


@pytest.mark.parametrize(
    ("source", "target", "share"),
    [
        ("OK", "OK", 0.0),
        ("USB", "USB", 0.0),
        ("MP3", "MP3", 0.0),
        ("Windows 11", "Windows 11", 0.0),
        ("Save as PDF", "Als PDF speichern", 0.0),
        ("1990", "1990", 0.0),
        ("Cancel", "Cancel", 1.0),
        ("Open the file", "Open the file", 1.0),
        ("the same words", "The same words!", 1.0),
        ("Tokyo is big.", "Tokyo ist groß.", 1 / 3),
    ],
)
def test_words_that_stay_are_no_copies(source: str, target: str, share: float) -> None:
    assert copied_share(source, target) == pytest.approx(share)


def test_sides_without_letters_are_dropped_if_asked() -> None:
    pairs = [("+380 44 123-45-67", "+380 44 123-45-67"), ("| | | 77", "77"), ("A 7", "Б 7"), ("at", "в")]
    assert reasons(pairs) == ["", "", "", ""]
    assert reasons(pairs, min_letters=1) == ["letters", "letters", "", ""]
    assert reasons(pairs, min_letters=2) == ["letters", "letters", "letters", "letters"]


@pytest.mark.slow
def test_the_language_of_two_words_is_not_judged() -> None:
    pytest.importorskip("lingua")
    rows = [("保存", text) for text in SHORT]
    rows += [("今日", "Сьогодні парламент відхилив спробу скасувати статтю.")]
    found = reasons(rows, languages=("zh", "ru"), min_language=0.8)
    assert found == [*[""] * len(SHORT), "language"]


def test_mojibake_on_either_side_drops_a_pair() -> None:
    pairs = [("for", "fÃ¼r"), ("donâ€™t", "nicht"), ("for “you”", "für „dich“")]
    assert reasons(pairs, mojibake=True) == ["mojibake", "mojibake", ""]
    assert reasons(pairs) == ["", "", ""]


def test_own_placeholders_are_compared_beside_the_known_ones() -> None:
    pairs = [("Hi @@name", "Hallo @@nom"), ("Hi @@name {0}", "Hallo @@name"), ("#a# {0}", "#b# {0}")]
    assert reasons(pairs, placeholders=True) == ["", "placeholders", ""]
    assert reasons(pairs, placeholders=True, placeholder=[r"@@\w+", "#[a-z]#"]) == ["placeholders"] * 3
    assert reasons(pairs, placeholder=r"@@\w+") == ["placeholders", "placeholders", ""]
    for wrong, message in (("(", "is not a regular expression"), ("a*", "matches an empty text")):
        with pytest.raises(ConfigurationError, match=message):
            filter_pairs(pairs, aligner=None, placeholder=[wrong])


def test_the_shell_drops_the_same_pairs(tmp_path: Path) -> None:
    pairs = [
        ("for you", "fÃ¼r dich"), ("77", "77"), ("Hi @@name", "Hallo @@nom"), ("Hi #a#", "Hallo #b#"), ("OK", "OK"),
        ("Click <0>here</0>", "Hier klicken"), ("It is 20 kg", "Es sind 200 kg"), ("Cancel", "Cancel"), ("fine", "gut"),
    ]  # fmt: skip
    given, kept, dropped = (tmp_path / name for name in ("given.tsv", "kept.tsv", "dropped.tsv"))
    given.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    options = [
        "--mojibake",
        "--min-letters",
        "1",
        "--placeholders",
        "--placeholder",
        r"@@\w+",
        "--placeholder",
        "#.#",
    ]
    options += ["--max-copied", "0.6", "--numbers", "changed", "--aligner", "none", "--quiet"]
    command = ["filter", str(given), *options, "--out", str(kept), "--dropped", str(dropped)]
    done = invoke(*command)
    assert done.exit_code == 0, done.output
    found = reasons(
        pairs, mojibake=True, min_letters=1, placeholders=True, placeholder=(r"@@\w+", "#.#"), max_copied=0.6,
        numbers="changed",
    )  # fmt: skip
    expected = [
        "mojibake",
        "letters",
        "placeholders",
        "placeholders",
        "",
        "placeholders",
        "numbers",
        "copied",
        "",
    ]
    assert found == expected
    written = [line.split("\t")[2] for line in dropped.read_text().splitlines()]
    assert written == [reason for reason in expected if reason]


def test_the_shell_refuses_what_is_no_expression(tmp_path: Path) -> None:
    given = tmp_path / "given.tsv"
    given.write_text("a\tb\n")
    command = [
        "filter",
        str(given),
        "--placeholder",
        "(",
        "--aligner",
        "none",
        "--out",
        str(tmp_path / "kept.tsv"),
    ]
    done = invoke(*command)
    assert done.exit_code != 0
    assert "is not a regular expression" in f"{done.output}{done.exception}"
    assert not (tmp_path / "kept.tsv").exists()
