"""`isoglot.prepare`: files and data in memory become the same corpus; bad rows are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict
from refusals import refused

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError

ROWS = [("a house", "ein Haus"), ("a house", "ein Haus"), ("", "leer"), ("a\u2028dog", "ein Hünd")]
COLUMNS = {"en": [row[0] for row in ROWS], "de": [row[1] for row in ROWS]}
PAIR = ("en", "de")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Indexed by something else than row numbers, with a column that JSON cannot hold."""
    return pd.DataFrame({**columns, "other": [object()] * 4}, index=[7, 7, 1, 0])


@pytest.mark.parametrize(
    "held",
    [
        ROWS,
        iter(ROWS),
        [list(row) for row in ROWS],
        [dict(zip(PAIR, row, strict=True)) for row in ROWS],
        COLUMNS,
        _frame(COLUMNS),
        Dataset.from_dict({**COLUMNS, "other": [1, 2, 3, 4]}),
        Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    ],
    ids=["pairs", "generator", "lists", "dictionaries", "columns", "frame", "dataset", "stream"],
)
def test_data_in_memory_are_filtered_as_files_are(held, tmp_path):
    file = tmp_path / "en-de.tsv"
    file.write_text("".join(f"{one}\t{other}\n" for one, other in ROWS), encoding="utf-8")
    of_file = iso.prepare(file, tmp_path / "file", languages=PAIR, duplicates="pair")
    summary = iso.prepare(held, tmp_path / "held", languages=PAIR, duplicates="pair")
    assert summary.languages == of_file.languages
    assert +summary.removed == {"empty": 1, "duplicates": 1}
    assert list(iso.load_corpus(summary.path)) == list(iso.load_corpus(of_file.path))


def test_columns_are_named_by_an_argument(tmp_path):
    data = Dataset.from_dict({"english": ["a"], "german": ["b"], "source": ["wrong"]})
    columns = {"source": "english", "target": "german"}
    summary = iso.prepare(data, tmp_path / "out", languages=PAIR, columns=columns)
    assert iso.load_corpus(summary.path)[0]["source"] == "a"


def test_sentences_of_one_language_are_a_column(tmp_path):
    summary = iso.prepare(
        {"text": ["Eins.", None, "Zwei."]}, tmp_path / "out", languages="de", kind="text", limit=1
    )
    assert (summary.read, summary.rows, +summary.removed) == (3, 1, {"empty": 1, "limit": 1})
    assert list(iso.load_corpus(summary.path)) == [{"text": "Eins.", "language": "de"}]


def test_words_and_links(tmp_path):
    rows = [(["a", "house"], "ein Haus", [(0, 0), (1, 1)])]
    summary = iso.prepare(rows, tmp_path / "out", languages=PAIR, kind="aligned")
    assert iso.load_corpus(summary.path)[0]["links"] == [[0, 0], [1, 1]]


def test_paths(tmp_path):
    paths = [tmp_path / "a.en", tmp_path / "a.de"]
    for path in paths:
        path.write_text(f"{path.suffix}\n", encoding="utf-8")
    for number, inputs in enumerate((paths, tuple(map(str, paths)))):
        summary = iso.prepare(inputs, tmp_path / str(number), languages=PAIR)
        assert iso.load_corpus(summary.path)["target"][0] == ".de"


def test_the_same_rows_are_not_prepared_again(tmp_path):
    out = tmp_path / "out"
    assert not iso.prepare(ROWS, out, languages=PAIR).skipped
    assert iso.prepare(iter(ROWS), out, languages=PAIR).skipped
    with refused(ConfigurationError, "/out: ", "different: inputs.inputs.blake2b", "overwrite=True"):
        iso.prepare(ROWS[:1], out, languages=PAIR)
    assert iso.prepare(ROWS[:1], out, languages=PAIR, overwrite=True).read == 1


def test_settings_change_the_options(tmp_path):
    options = iso.PrepareOptions(limit=1, duplicates="pair")
    assert iso.prepare(ROWS, tmp_path / "one", languages=PAIR, options=options).rows == 1
    summary = iso.prepare(ROWS, tmp_path / "two", languages=PAIR, options=options, limit=2)
    assert (summary.rows, summary.options.duplicates) == (2, "pair")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([("a", "b"), ("c",)], r"row 2: got \('c',\); a row is \(source, target\), or a dictionary"),
        ([("a", "b"), "c d"], "row 2: got 'c d'; a row is"),
        ([("a", "b"), ("c", 5)], "row 2: the target is 5, not text"),
        ([("a", "b"), ("c", float("inf"))], "row 2: Out of range float .*; a field is text"),
        (pd.DataFrame({"en": [b"a", b"\xff"], "de": ["x", "y"]}), "row 2: column 'en' has bytes that are not UTF-8"),
        ({"source": "ab", "target": "cd"}, "column 'source' is 'ab', not a list.* one row is written"),
        ([("a", "b"), ("c", {1})], "row 2: .*not JSON serializable; a field is text"),
        ([("a", "b"), ("c", "\ud800")], "row 2: is not valid JSON"),
        ([{"source": "a", "target": "b"}, {"source": "a"}], "row 2: no column 'target' in this row"),
        (pd.DataFrame({"en": ["a", "b", 5], "de": ["x", "y", "z"]}), "row 3: the source is 5, not text"),
        ({"source": ["a"], "target": ["b"], "target_lang": ["fr"]}, "row 1: target_lang is 'fr', expected 'de'"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_and_nothing_is_written(inputs, message, tmp_path):
    with pytest.raises((InputError, ConfigurationError), match=message) as caught:
        iso.prepare(inputs, tmp_path / "out", languages=PAIR)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_file_whose_name_has_spaces_and_brackets_is_read(tmp_path):
    path = tmp_path / "my [1] file.tsv"
    path.write_text("a house\tein Haus\n")
    assert iso.prepare(path, tmp_path / "out", languages=PAIR).rows == 1


@pytest.mark.parametrize(
    ("inputs", "settings", "message"),
    [
        (["A sentence."], {"languages": "en", "kind": "text"}, r"no such file; pass sentences as a column"),
        (ROWS, {"languages": "en"}, "got 1 languages for a bitext corpus; .*kind='text'"),
        (ROWS, {"languages": ("en", "de", "fr")}, "got 3 languages"),
        (ROWS, {"languages": ("en", "German")}, "^inputs: target_language is 'German'"),
        (ROWS, {"languages": PAIR, "duplicate": "pair"}, "did you mean 'duplicates'"),
        (ROWS, {"languages": PAIR, "format": "csv"}, "format is for files"),
        (ROWS, {"languages": PAIR, "header": True}, "^inputs: header is for tsv"),
        ({"en": ["a", "b"], "de": ["c"]}, {"languages": PAIR}, "the same number of rows, but 'en' has 2, 'de' has 1"),
        ({"en": ["a"], "fr": ["c"]}, {"languages": PAIR}, "no column 'target' .* columns are 'en', 'fr'"),
        (DatasetDict(train=Dataset.from_dict(COLUMNS)), {"languages": PAIR}, "got the splits train; pass one of them"),
        (5, {"languages": PAIR}, "inputs: got 5; pass a datasets"),
        ([], {"languages": PAIR}, "no row in list"),
        (iso.Source(path="a.tsv"), {"languages": PAIR}, "a Source has its own languages"),
    ],
)  # fmt: skip
def test_unreadable_input_is_refused(inputs, settings, message, tmp_path):
    with pytest.raises((ConfigurationError, InputError), match=message):
        iso.prepare(inputs, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()
