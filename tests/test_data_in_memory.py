"""Frames and other containers of every kind, drawn at random, through the verbs: results belong to the rows given."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from datasets import Dataset, IterableDataset

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.rows import table_of
from isoglot.testing import tiny_model, tiny_tokenizer

HOLDERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(_plain(frame)),
    "lazy polars": lambda frame: pl.LazyFrame(_plain(frame)),
    "arrow": lambda frame: pa.table(_plain(frame)),
    "dataset": lambda frame: Dataset.from_dict(_plain(frame)),
    "stream": lambda frame: _stream(frame).skip(0),
    "columns": lambda frame: dict(_plain(frame)),
    "records": lambda frame: list(_records(frame)),
    "generator": lambda frame: iter(_records(frame)),
}
LABELS: dict[str, list[Any]] = {
    "int": [0, 1],
    "float": [0.5, 1.5],
    "bool": [True, False],
    "str": ["water", "animal"],
    "categorical": ["water", "animal"],
    "negative": [-1, 1],
}
TEXTS = ["the old river", "a quiet horse", "the deep lake", "a small dog"]
OURS = ("prediction", "probability", "language", "split", "id", "links", "score", "reason", "source_words")
"""Names of columns that users have too."""


def _plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: [_value(value) for value in frame[name].tolist()] for name in frame}


def _value(value: Any) -> Any:
    return None if value is pd.NA or value != value else value


def _stream(frame: pd.DataFrame) -> IterableDataset:
    if len(frame):
        return Dataset.from_dict(_plain(frame)).to_iterable_dataset()
    return IterableDataset.from_generator(lambda: iter(()))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    columns = _plain(frame)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def random_frame(seed: int, columns: dict[str, list[Any]], count: int) -> pd.DataFrame:
    """Columns of values, some of one's own with names of ours and gaps, in any order, with any index."""
    draw = random.Random(seed)
    table = {name: [draw.choice(values) for _ in range(count)] for name, values in columns.items()}
    for name in draw.sample(OURS, 4):
        table[name] = [draw.choice(["mine", "x", None]) for _ in range(count)]
    table["n"] = list(range(count))
    names = draw.sample(list(table), len(table))
    frame = pd.DataFrame({name: table[name] for name in names})
    numbers = list(range(count))
    frame.index = draw.choice(
        [
            pd.Index(draw.sample(numbers, count)),
            pd.Index([draw.randrange(3) for _ in numbers]),
            pd.MultiIndex.from_arrays([numbers, [f"k{n % 2}" for n in numbers]], names=["a", "b"]),
        ]
    )
    return frame


def require_same(back: Any, given: Any, frame: pd.DataFrame, holder: str) -> list[str]:
    """What was given stands in what came back, unchanged; the names of the other columns."""
    own = list(frame.columns)
    if holder == "pandas":
        pd.testing.assert_frame_equal(back[own], given)
    elif holder == "polars":
        polars.testing.assert_frame_equal(back.select(own), given)
    elif holder == "lazy polars":
        assert isinstance(back, pl.LazyFrame)
        polars.testing.assert_frame_equal(back.select(own), given)
    elif holder == "arrow":
        assert back.select(own).equals(given)
    else:
        assert isinstance(back, pd.DataFrame)
        assert _plain(back[own].astype(object).where(back[own].notna(), None)) == _plain(
            frame.astype(object).where(frame.notna(), None)
        )
    return [name for name in table_of(back, "back").names if name not in own]


@pytest.fixture(scope="module")
def encoder() -> dict[str, Any]:
    return {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert"), "progress": False}


@pytest.fixture(scope="module")
def models(encoder: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model for labels of each type, each trained one step on rows in another container."""
    folder = tmp_path_factory.mktemp("models")
    trained: dict[str, Path] = {}
    holders = [
        "pandas",
        "polars",
        "lazy polars",
        "arrow",
        "dataset",
        "stream",
        "columns",
        "records",
        "generator",
    ]
    for number, holder in enumerate(holders):
        kind = list(LABELS)[number % len(LABELS)]
        frame = pd.DataFrame({"text": TEXTS * 2, "label": LABELS[kind] * 4, "note": [None, "x"] * 4})
        if kind == "categorical" and holder == "pandas":
            frame["label"] = frame["label"].astype("category")
        trained[kind] = iso.finetune(
            task="text_classification", data=HOLDERS[holder](frame), out=folder / holder, epochs=1, select="last",
            **encoder,
        )  # fmt: skip
    categories = pd.DataFrame({"text": TEXTS, "label": pd.Categorical(["water", "animal"] * 2)})
    trained["categorical"] = iso.finetune(
        task="text_classification",
        data=categories,
        out=folder / "categories",
        epochs=1,
        select="last",
        **encoder,
    )
    return trained


@pytest.fixture
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the data have columns called")
        yield


@pytest.mark.fast_variants(3)
@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("holder", HOLDERS)
def test_predictions_stand_beside_the_rows_they_are_of(holder: str, models: dict[str, Path]) -> None:
    for seed, count in enumerate((0, 1, 7, 12)):
        kind = list(LABELS)[(seed + len(holder)) % len(LABELS)]
        frame = random_frame(seed + len(holder), {"text": TEXTS, "label": LABELS[kind]}, count)
        if holder == "pandas" and kind == "categorical":
            frame["label"] = frame["label"].astype("category")
        expected = [
            row["prediction"]
            for row in iso.predict(models[kind], "text_classification", list(frame["text"]), progress=False)
        ]
        assert all(type(label) is type(LABELS[kind][0]) for label in expected)
        given = HOLDERS[holder](frame)
        said = iso.predict(models[kind], "text_classification", given, progress=False)
        assert [row["n"] for row in said] == list(frame["n"])
        if not count and holder in ("stream", "records", "generator"):
            assert said == [] and list(said.to_frame().columns) == ["prediction", "probability"]
            continue
        prediction, probability = require_same(said.to_frame(), given, frame, holder)
        assert (prediction == "prediction") is ("prediction" not in frame)
        back = table_of(said.to_frame(), "back")
        assert list(back.column(prediction)) == expected == [row[prediction] for row in said]
        assert all(0.5 <= value <= 1 for value in back.column(probability))


def test_labels_of_a_model_can_be_compared_with_those_of_the_frame(models: dict[str, Path]) -> None:
    for kind, labels in LABELS.items():
        frame = pd.DataFrame({"text": TEXTS, "label": labels * 2}).sample(frac=1, random_state=1)
        found = iso.predict(models[kind], "text_classification", frame, progress=False).to_frame()
        right = (found["label"] == found["prediction"]).mean()
        (accuracy, _) = iso.evaluate(
            models[kind], "text_classification", languages="en", data=frame, progress=False
        )
        assert accuracy.value == pytest.approx(100 * right) and accuracy.value > 0
        assert found["prediction"].dtype == pd.Series(labels).dtype


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("holder", HOLDERS)
def test_links_and_verdicts_are_of_the_rows_given(holder: str, encoder: dict[str, Any]) -> None:
    sides = {"source": ["the river.", "a horse", "", None], "target": ["ta potamo.", "un", "a horse", None]}
    for seed, count in enumerate((0, 1, 9)):
        frame = random_frame(10 * seed + len(holder), sides, count)
        pairs = [(row["source"], row["target"]) for row in _records(frame)]
        expected = list(iso.align_many(pairs, layer=2, **encoder))
        given = HOLDERS[holder](frame)
        found = iso.align_many(given, layer=2, **encoder)
        links = [pair.links for pair in found]
        assert links == [pair.links for pair in expected]
        if holder not in ("dataset", "stream", "records", "generator"):
            named = dict(
                zip(
                    ("source_words", "target_words", "links"),
                    require_same(found.to_frame(), given, frame, holder),
                    strict=False,
                )
            )
            back = table_of(found.to_frame(), "back")
            assert list(back.column(named["links"])) == [[list(link) for link in row] for row in links]
        judged = list(iso.filter_pairs(HOLDERS[holder](frame), aligner=None, progress=False))
        plain = list(iso.filter_pairs(pairs, aligner=None, progress=False))
        assert [pair.reasons for pair in judged] == [pair.reasons for pair in plain]
        if holder not in ("dataset", "stream"):
            assert [pair.pair.more["n"] for pair in judged] == list(frame["n"])
            assert all(set(pair.to_dict()) >= {*frame.columns, "reason"} - {"id"} for pair in judged)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_missing_text_is_named_and_a_missing_note_is_not(
    holder: str, models: dict[str, Path], encoder: dict[str, Any], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"text": ["a river", None, "a dog"], "label": ["x", "y", "x"], "note": [None] * 3})
    with pytest.raises(
        InputError, match="row 2 of the data set has no 'text'; fill it in, or leave the row out"
    ):
        iso.predict(models["int"], "text_classification", HOLDERS[holder](frame), progress=False)
    with pytest.raises(InputError, match="row 2 of the data set has no 'text'"):
        iso.finetune(
            task="text_classification",
            data=HOLDERS[holder](frame),
            out=tmp_path / "x",
            select="last",
            **encoder,
        )
    pairs = pd.DataFrame({"en": ["a river", "a dog"], "de": ["ein Fluss", None], "note": [None] * 2})
    summary = iso.prepare(HOLDERS[holder](pairs), tmp_path / "pairs", languages=("en", "de"), progress=False)
    assert (summary.read, summary.rows, summary.removed["empty"]) == (2, 1, 1)


def test_columns_of_a_frame_may_be_numbers_or_tuples(encoder: dict[str, Any], tmp_path: Path) -> None:
    numbered = pd.DataFrame([[text, n % 2] for n, text in enumerate(TEXTS)])
    tuples = numbered.set_axis(pd.MultiIndex.from_tuples([("in", "text"), ("out", "label")]), axis="columns")
    for frame, names in ((numbered, [0, 1]), (tuples, list(tuples.columns))):
        columns = dict(zip(("text", "label"), names, strict=True))
        model = iso.finetune(
            task="text_classification", data=frame, columns=columns, out=tmp_path / type(names[0]).__name__,
            epochs=1, select="last", **encoder,
        )  # fmt: skip
        found = iso.predict(model, "text_classification", frame, columns=columns, progress=False).to_frame()
        assert found["prediction"].dtype == np.int64 and list(found.columns)[:2] == names
        pairs = frame.assign()
        summary = iso.prepare(
            pairs.astype(str), tmp_path / f"p{len(str(names))}", languages=("en", "de"), progress=False,
            columns=dict(zip(("source", "target"), names, strict=True)),
        )  # fmt: skip
        assert summary.rows == len(TEXTS)
        linked = iso.align_many(
            pairs.astype(str), source=names[0], target=names[1], method="hmm", progress=False
        )
        assert list(linked.to_frame().columns)[:2] == names
    with pytest.raises(
        ConfigurationError, match=r"column 'text' is missing, found 0, 1; name it with columns="
    ):
        iso.finetune(task="text_classification", data=numbered, out=tmp_path / "none", **encoder)


def test_bytes_are_text_and_labels_of_one_text_are_refused(encoder: dict[str, Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": [text.encode() for text in TEXTS], "label": [b"x", b"y"] * 2})
    how = {"task": "text_classification", "select": "last", "epochs": 1, **encoder}
    model = iso.finetune(data=frame, out=tmp_path / "bytes", **how)
    (row,) = iso.predict(model, "text_classification", [b"a river"], progress=False)
    assert row["text"] == b"a river" and row["prediction"] in ("x", "y")
    with pytest.raises(ConfigurationError, match="row 2: column 'text' has bytes that are not UTF-8"):
        iso.predict(model, "text_classification", [b"a river", b"\xff"], progress=False)
    mixed = {"text": TEXTS, "label": [1, "1", 2, 3]}
    with pytest.raises(
        ConfigurationError, match="labels 1 and '1' are both in the data; make all labels of one type"
    ):
        iso.finetune(data=mixed, out=tmp_path / "mixed", **how)


@pytest.mark.slow
def test_predict_of_other_tasks_takes_every_row_whatever_its_split_and_language(
    encoder: dict[str, Any], tmp_path: Path
) -> None:
    tagged = {"words": [["the", "river"], ["a", "dog"]] * 4, "tags": [["DET", "NOUN"]] * 8}
    asked = {"question": ["what runs?"] * 4, "context": ["the old river runs"] * 4}
    answered = {**asked, "answers": [{"text": ["river"], "start": [8]}] * 4}
    pairs = {"sentence1": ["a", "b"] * 4, "sentence2": ["c", "d"] * 4, "label": [0, 1] * 4}
    own = {"split": ["train", "new"], "language": ["German", None], "id": ["same", "same"]}
    for task, data, given in (
        ("pos", tagged, {"words": tagged["words"][:2]}),
        ("squad", answered, {name: values[:2] for name, values in asked.items()}),
        ("pawsx", pairs, {"sentence1": ["NS", "a"], "sentence2": ["x", "b"]}),
    ):
        model = iso.finetune(task=task, data=data, out=tmp_path / task, epochs=1, select="last", **encoder)
        frame = pd.DataFrame({**given, **own}, index=[3, 1])
        found = iso.predict(model, task, frame, progress=False).to_frame()
        pd.testing.assert_frame_equal(found[list(frame.columns)], frame)
        alone = iso.predict(model, task, given, progress=False)
        assert list(found["prediction"]) == [row["prediction"] for row in alone]
    assert found["prediction"].isin([0, 1]).all(), "numbers, as the labels that it learned from"
    with pytest.raises(InputError, match="row 1 of the data set has no 'words'"):
        iso.predict(tmp_path / "pos", "pos", {"words": [None]}, progress=False)


@pytest.mark.parametrize(
    "column", [pd.Series, pl.Series, lambda values: pa.chunked_array([values]), np.array]
)
def test_columns_of_any_library_are_lists_of_texts(
    column: Callable[[list[str]], Any], encoder: dict[str, Any]
) -> None:
    lines = ["0-0 1-1", "0-0"]
    assert iso.score(column(lines), column(lines)) == iso.score(lines, lines)
    own = {name: encoder[name] for name in ("model", "tokenizer")}
    texts = iso.TextEncoder(own["model"], tokenizer=own["tokenizer"])
    assert np.array_equal(texts.encode(column(TEXTS)), texts.encode(TEXTS))
    pairs = iso.align_many(source=column(TEXTS), target=column(TEXTS), method="hmm", progress=False)
    assert [pair.source for pair in pairs] == TEXTS


def test_data_in_memory_shows_nothing_unasked(
    encoder: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    columns = {"text": TEXTS * 2, "label": ["x", "y"] * 4}
    data = {**columns, "language": ["en", "en", "de", "de"] * 2, "split": ["train"] * 4 + ["dev"] * 4}
    model = iso.finetune(task="text_classification", data=data, out=tmp_path / "run", epochs=1, **encoder)
    assert capfd.readouterr() == ("", "")
    history = model.history
    assert (
        history.index[0] == 1
        and np.isfinite(history["loss"]).any()
        and history["eval_selection"].notna().sum() == 1
    )
    with pytest.raises(
        ConfigurationError, match="got DataFrame, but project reads files; write it to one first"
    ):
        iso.project(pd.DataFrame(columns), None, tmp_path / "out")


def test_results_that_were_sorted_or_cut_are_frames_of_what_is_left(models: dict[str, Path]) -> None:
    frame = pd.DataFrame({"text": TEXTS}, index=[4, 3, 2, 1])
    said = iso.predict(models["int"], "text_classification", frame, progress=False)
    said.sort(key=lambda row: row["text"])
    assert list(said.to_frame()["text"]) == sorted(TEXTS) and list(said.to_frame().index) == [0, 1, 2, 3]
    del said[1:]
    assert len(said.to_frame()) == 1
    again = iso.predict(models["int"], "text_classification", frame, progress=False)
    assert pickle.loads(pickle.dumps(again)).to_frame()["prediction"].tolist() == [
        row["prediction"] for row in again
    ]
