"""One meaning of an empty line in every verb: nothing that a reader could see."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_outcome import Isoglot

ONE, OTHER = ["The old house.", "A green tree."], ["Das alte Haus.", "Ein grüner Baum."]
BLANK = ["", "\u3000", "\u200b", "\u200d\u200b", "\u00ad", "\ufeff\ufeff", "\u3164", "\x01"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files in which lines are blank on one side or on both."""
    sides = [*ONE, *BLANK, *BLANK, *["Alone."] * len(BLANK)], [*OTHER, *BLANK[::-1], *["Allein."] * 8, *BLANK]
    for name, lines in zip(("en.txt", "de.txt"), sides, strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(tmp_path / "en.txt"), str(tmp_path / "de.txt")]


def test_rows_are_empty_for_prepare_and_filter(isoglot: Isoglot, tmp_path: Path, files: list[str]) -> None:
    languages = ["--source-lang", "en", "--target-lang", "de"]
    done = isoglot("prepare", *files, *languages, "--out", tmp_path / "out")
    assert done.returncode == 0 and "empty" in done.stdout + done.stderr
    assert "24" in done.stdout + done.stderr
    done = isoglot("filter", *files, "--aligner", "none", "--out", tmp_path / "kept.tsv")
    assert "2 of 26 pairs kept; dropped: empty 24" in done.stderr


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("words", ["unicode", "whitespace"])
@pytest.mark.parametrize("method", ["softmax", "hmm"])
def test_align_links_nothing_of_them(
    isoglot: Isoglot, tmp_path: Path, files: list[str], words: str, method: str
) -> None:
    out = tmp_path / "links.txt"
    done = isoglot("align", *files, "--words", words, "--method", method, "--out", out)
    assert done.returncode == 0, done.stderr
    lines = out.read_text().split("\n")
    assert len(lines) == 27 and all(lines[:2]) and not any(lines[2:])


@pytest.mark.slow
def test_mine_and_align_sentences_pass_them_over(isoglot: Isoglot, tmp_path: Path, files: list[str]) -> None:
    done = isoglot("mine", *files, "--out", tmp_path / "mined.tsv")
    assert "of 3 and 3 different sentences" in done.stderr
    done = isoglot("align-sentences", *files, "--one-document", "--out", tmp_path / "groups.jsonl")
    assert done.returncode == 0, done.stderr
    groups = (tmp_path / "groups.jsonl").read_text(encoding="utf-8")
    assert "The old house." in groups and not any(f'"{blank}"' in groups for blank in BLANK[1:])
