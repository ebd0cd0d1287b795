"""Prepared folders and raw files through one door: the same rows, as often as asked for, and one set of messages."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.open_corpus import corpus_sources, open_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.runs.record import MANIFEST

TAGS = ("en", "xx")
COUNT = 40


def raw(folder: Path) -> list[str]:
    """A bitext in files of eight lines."""
    for first in range(0, COUNT, 8):
        lines = "".join(f"a {i}\tb {i}\n" for i in range(first, first + 8))
        (folder / f"{first:02d}.tsv").write_text(lines, encoding="utf-8")
    return sorted(map(str, folder.glob("*.tsv")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same, prepared in several shards."""
    options = PrepareOptions(shard_rows=8)
    prepare(corpus_sources(raw(tmp_path), languages=TAGS), tmp_path / "made", options=options)
    assert len(list((tmp_path / "made").glob("*.parquet"))) > 3
    return tmp_path / "made"


def test_prepared_and_raw_inputs_have_the_same_rows_in_each_loop(folder: Path) -> None:
    expected = list(load_corpus(folder))
    corpus = open_corpus([folder, folder.parent / "*.tsv"], "bitext", languages=TAGS)
    assert [one.manifest is not None for one in corpus.inputs] == [True, *[False] * 5]
    assert list(corpus) == expected * 2 == list(corpus)


def test_a_range_of_a_folder_is_its_rows(folder: Path) -> None:
    (given,) = open_corpus([folder], "bitext").inputs
    every = list(given)
    for start in range(0, COUNT, 3):
        for stop in (start, start + 1, start + 9, COUNT, COUNT + 5, None):
            assert list(given.rows(start, stop)) == every[start:stop]


@pytest.mark.parametrize("again", [False, True])
def test_standard_input_is_kept_where_it_is_read_again(monkeypatch: pytest.MonkeyPatch, again: bool) -> None:
    text = "".join(f"a {i}\tb {i}\n" for i in range(COUNT))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
    corpus = open_corpus(["-"], "bitext", languages=TAGS, again=again, format="tsv")
    first = [row["source"] for row in corpus]
    assert first == [f"a {i}" for i in range(COUNT)]
    if again:
        assert [row["source"] for row in corpus] == first == [row["source"] for row in corpus]
    else:
        with refused(InputError, "-:1: ", "empty"):
            list(corpus)


def test_standard_input_that_was_read_as_rows_is_not_read_as_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\tb\n"))))
    corpus = open_corpus(["-"], "bitext", languages=TAGS, again=True, format="tsv")
    assert [row["source"] for row in corpus] == ["a"]
    with pytest.raises(TypeError, match="was read as rows, and cannot be read again as pairs"):
        list(corpus.pairs())
    assert [row["source"] for row in corpus] == ["a"]


def test_corpus_folder_must_hold_the_wanted_kind_of_rows(folder: Path) -> None:
    with refused(InputError, "/made: ", "bitext", "lexicon", 'kind="lexicon"'):
        open_corpus([folder], "lexicon")
    with refused(ConfigurationError, "/made: ", "en-de", "en-xx"):
        open_corpus([folder], "bitext", languages=("en", "de"))
    with refused(ConfigurationError, "/made: ", "language fr, ", "en-xx"):
        open_corpus([folder], "bitext", languages=("fr", "tgt"))
    open_corpus([folder], "bitext", languages=("eng", "xx"))
    open_corpus([folder], "bitext", languages=("src", "tgt"))
    (folder / MANIFEST).write_text(json.dumps({"layout": 99}))
    with refused(InputError, "/made: ", "manifest", "`isoglot prepare ... --out "):
        open_corpus([folder], "bitext")


def test_a_folder_is_read_whose_writer_was_killed_between_its_two_renames(folder: Path) -> None:
    rows = list(open_corpus([folder], "bitext"))
    folder.rename(folder.with_name(f".{folder.name}.replaced.partial"))
    assert list(open_corpus([folder], "bitext")) == rows and folder.is_dir()


def test_a_changed_folder_is_refused_before_a_row_is_read(folder: Path) -> None:
    shard = next(folder.glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")
    with refused(InputError, "/made: data-00001.parquet ", "`isoglot prepare --overwrite`"):
        open_corpus([folder], "bitext")


def test_mistakes_in_all_raw_inputs_are_reported_together(folder: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        open_corpus(["one.tsv", folder, "two.tsv"], "bitext", languages=TAGS)
    assert "one.tsv: no such file" in str(error.value) and "two.tsv: no such file" in str(error.value)


def test_one_file_of_an_unknown_format_has_bars(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("a b ||| c d\n")
    assert [row["target"] for row in open_corpus([path], "bitext", languages=TAGS)] == ["c d"]
