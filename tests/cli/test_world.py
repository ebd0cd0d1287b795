"""`isoglot world` from the command line."""

from __future__ import annotations

from pathlib import Path

from commands import invoke

SMALL = ("--text=12", "--pos=5", "--ner=5", "--qa=4", "--dev=2", "--nli=0", "--paws=0", "--test=0")


def test_files_and_a_second_call(tmp_path: Path) -> None:
    out = tmp_path / "world"
    done = invoke("world", "--out", out, "--seed", "2", *SMALL)
    assert done.exit_code == 0, done.output
    assert "text/en.train.txt: 12 rows" in done.stderr
    assert len((out / "text" / "en.train.txt").read_text().splitlines()) == 12
    assert not (out / "nli").exists()
    again = invoke("world", "--out", out, "--seed", "2", *SMALL)
    assert "nothing to do" in again.stderr


def test_help_names_the_formats() -> None:
    text = invoke("world", "--help").stdout
    assert all(name in text for name in ("WikiANN", "XNLI", "PAWS-X", "SQuAD", "--size"))
