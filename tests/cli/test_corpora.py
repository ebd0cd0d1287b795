from __future__ import annotations

import inspect
from pathlib import Path

from cli_outcome import Isoglot
from commands import bitext_file

from isoglot.cli import corpora
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.sources import Source


def test_prepare_offers_every_option_of_the_library() -> None:
    offered = set(inspect.signature(corpora.prepare).parameters)
    positional = {"path", "target_path", "links_path"}
    assert set(Source.model_fields) - positional <= offered
    assert set(PrepareOptions.model_fields) <= offered


def test_prepare_writes_a_corpus_and_counts_what_it_dropped(isoglot: Isoglot, tmp_path: Path) -> None:
    path = bitext_file(tmp_path)
    path.write_text(path.read_text() + "only one side\t\n" + path.read_text().splitlines()[0] + "\n")
    arguments = [
        "prepare",
        path,
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
        "--duplicates",
        "pair",
        "--out",
    ]
    result = isoglot(*arguments, tmp_path / "corpus")
    assert result.returncode == 0, result.stderr
    table = [line.split() for line in result.stdout.splitlines()]
    assert table[0] == ["read", "empty", "duplicates", "kept"]
    assert table[1][:3] == ["en-xx", "32", "1"]
    assert (tmp_path / "corpus" / "manifest.json").is_file()
    assert "nothing to do" in isoglot(*arguments, tmp_path / "corpus").stdout


def test_prepare_mixes_languages_by_their_exponent(isoglot: Isoglot, tmp_path: Path) -> None:
    for name, size in (("de", 40), ("fr", 10)):
        rows = (f"one {name} {i}\tzwei {name} {i}\n" for i in range(size))
        (tmp_path / f"{name}.tsv").write_text("".join(rows))
    files = [tmp_path / "de.tsv", tmp_path / "fr.tsv"]
    shared = ["prepare", *files, "--source-lang", "en", "--out", tmp_path / "mix"]
    done = isoglot(*shared, "--target-lang", "de,fr", "--sampling-exponent", 0)
    assert done.returncode == 0
    table = [line.split() for line in done.stdout.splitlines()]
    assert ["en-de", "40", "25"] in table and ["en-fr", "10", "25"] in table
    wrong = isoglot(*shared, "--target-lang", "de,fr,es")
    assert wrong.returncode == 2 and "en-fr.tsv --source-lang en --target-lang de,fr" in wrong.stderr


def test_prepare_reads_named_columns_flags_and_scripts(isoglot: Isoglot, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\thello there\thallo\t\n2\tgood bye\ttschüss\ttatoeba\n3\tдобрый\tguten Tag\t\n")
    arguments = ["prepare", path, "--source-lang", "en", "--target-lang", "de", "--out", tmp_path / "corpus"]
    for column in ("source=1", "target=2", "flags=3"):
        arguments += ["--column", column]
    arguments += ["--held-out-flag", "tatoeba", "--min-script-share", "0.5", "--script", "en=Latin"]
    result = isoglot(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[:8] == ["read", "held_out", "script", "kept", "en-de", "3", "1", "1"]


def test_prepare_refuses_the_language_of_a_side_that_the_data_do_not_have(
    isoglot: Isoglot, tmp_path: Path
) -> None:
    pairs, text, out = bitext_file(tmp_path), tmp_path / "text.txt", tmp_path / "corpus"
    text.write_text("the house\n")
    two_sides = isoglot(
        "prepare", pairs, "--source-lang", "en", "--target-lang", "xx", "--lang", "en", "--out", out
    )
    assert two_sides.returncode == 2
    assert (
        "--lang is for text and treebank data, got bitext; use --source-lang and --target-lang"
        in two_sides.stderr
    )
    one_side = isoglot("prepare", text, "--kind", "text", "--lang", "en", "--source-lang", "en", "--out", out)
    assert one_side.returncode == 2
    assert "--source-lang is for data of two sides, got text; use --lang" in one_side.stderr
    assert not out.exists()
