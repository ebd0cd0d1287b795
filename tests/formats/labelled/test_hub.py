from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset, Features, List, Value
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.labelled.hub import HubSpec, read_hub
from isoglot.formats.labelled.sources import Location
from isoglot.formats.schema import BITEXT, PAIR, SPAN, TAGGED
from isoglot.tasks import build_task

_TEXT = Value("string")
_TAGS = ["ADJ", "NOUN", "VERB"]
_ANSWERS = {"answer_start": List(Value("int32")), "text": List(_TEXT)}
_QUESTION = {"id": _TEXT, "context": _TEXT, "question": _TEXT, "answers": _ANSWERS}


def _rows(features: dict[str, Any], *rows: tuple[Any, ...]) -> Dataset:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(features)}
    return Dataset.from_dict(columns, features=Features(features))


def _labels(*names: str) -> ClassLabel:
    return ClassLabel(names=list(names))


_QUESTIONS = [("arabic--1-0", "abc", "q?", {"answer_start": [1], "text": ["b"]}),
              ("finnish--2-0", "abc", "q?", {"answer_start": [2], "text": ["c"]})]  # fmt: skip
# name, configuration and split, with the columns that the data set's card gives
_HUB: dict[tuple[str, str | None, str], Dataset] = {
    ("google/xtreme", "udpos.German", "validation"): _rows(
        {"tokens": List(_TEXT), "pos_tags": List(_labels(*_TAGS))}, (["Hu", "xi"], [1, 2])
    ),
    ("google/xtreme", "PAN-X.de", "test"): _rows(
        {"tokens": List(_TEXT), "ner_tags": List(_labels("O", "B-PER", "I-PER")), "langs": List(_TEXT)},
        (["Hu", "xi"], [1, 0], ["de", "de"]),
    ),
    ("facebook/xnli", "de", "test"): _rows(
        {"premise": _TEXT, "hypothesis": _TEXT, "label": _labels("entailment", "neutral", "contradiction")},
        ("a", "b", 2),
    ),
    ("google-research-datasets/paws-x", "de", "validation"): _rows(
        {"id": Value("int32"), "sentence1": _TEXT, "sentence2": _TEXT, "label": _labels("0", "1")},
        (1, "a", "b", 1), (2, "c", "d", -1), (3, "NS", "e", 0), (4, "f", "g", 0),
    ),
    ("rajpurkar/squad", None, "train"): _rows({"title": _TEXT, **_QUESTION}, ("t", *_QUESTIONS[0])),
    ("google/xquad", "xquad.de", "validation"): _rows(_QUESTION, _QUESTIONS[0]),
    ("google/xtreme", "MLQA.de.es", "test"): _rows({"title": _TEXT, **_QUESTION}, ("t", *_QUESTIONS[0])),
    ("google/xtreme", "tydiqa", "validation"): _rows({"title": _TEXT, **_QUESTION}, *(("t", *q) for q in _QUESTIONS)),
    ("google/xtreme", "tatoeba.cmn", "validation"): _rows(
        {"source_sentence": _TEXT, "target_sentence": _TEXT, "source_lang": _TEXT, "target_lang": _TEXT},
        ("x", "y", "cmn", "eng"),
    ),
    ("openlanguagedata/flores_plus", "ekk_Latn", "devtest"): _rows({"id": Value("int64"), "text": _TEXT}, (0, "tere")),
    ("openlanguagedata/flores_plus", "eng_Latn", "devtest"): _rows({"id": Value("int64"), "text": _TEXT}, (0, "hi")),
    ("facebook/flores", "deu_Latn", "devtest"): _rows({"id": Value("int32"), "sentence": _TEXT}, (1, "hallo")),
    ("facebook/flores", "eng_Latn", "devtest"): _rows({"id": Value("int32"), "sentence": _TEXT}, (1, "hi")),
    ("mteb/NTREX", None, "test"): _rows({"eng_Latn": _TEXT, "fas_Arab": _TEXT}, ("hi", "salam")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, config: str | None = None, *, split: str) -> Dataset:
        if (name, config, split) not in _HUB:
            raise ValueError(f"BuilderConfig {config!r} not found in {name}")
        return _HUB[name, config, split]

    monkeypatch.setattr(datasets, "load_dataset", load)


@pytest.mark.parametrize(
    ("task", "language", "split", "first"),
    [
        ("pos", "de", "dev", {"words": ["Hu", "xi"], "tags": ["NOUN", "VERB"], "language": "de"}),
        ("ner", "de", "test", {"words": ["Hu", "xi"], "tags": ["B-PER", "O"], "language": "de"}),
        ("xnli", "de", "test", {"first": "a", "second": "b", "label": "contradiction", "language": "de"}),
        ("pawsx", "de", "dev", {"first": "a", "second": "b", "label": "1", "language": "de"}),
        ("squad", "en", "train", {"id": "arabic--1-0", "answers": {"text": ["b"], "start": [1]}}),
        ("xquad", "de", "test", {"context": "abc", "language": "de"}),
        ("mlqa", "de-es", "test", {"context": "abc", "question": "q?"}),
        ("tydiqa", "fi", "test", {"id": "finnish--2-0"}),
        ("tatoeba", "zh", "test", {"source": "x", "target": "y", "source_language": "cmn"}),
        ("flores", "et", "test", {"source": "tere", "target": "hi", "source_language": "et"}),
        ("ntrex", "fa", "test", {"source": "salam", "target": "hi", "target_language": "en"}),
    ],
)
def test_each_task_reads_its_data_set(task: str, language: str, split: str, first: dict[str, Any]) -> None:
    found = build_task(task, ["hub"]).load(language, split)
    row: dict[str, Any] = dict(found[0])
    assert {name: row[name] for name in first} == first
    schema = {"pos": TAGGED, "ner": TAGGED, "xnli": PAIR, "pawsx": PAIR, "tatoeba": BITEXT, "flores": BITEXT,
              "ntrex": BITEXT}.get(task, SPAN)  # fmt: skip
    assert set(schema) <= set(found.column_names)
    assert len(found) == (2 if task == "pawsx" else 1), (
        "rows without a label, untranslated or in other languages"
    )


def test_hub_data_set_with_names_of_its_own() -> None:
    found = build_task("flores", ["hub:facebook/flores"]).load("de", "test")
    assert (found[0]["source"], found[0]["target"]) == ("hallo", "hi")


@pytest.mark.parametrize(
    ("task", "place", "error", "named"),
    [
        ("flores", "hub:none/such", InputError, "deu_Latn.*hf auth login"),
        ("ntrex", "hub", InputError, "column deu_Latn"),
        ("pos", "hub:facebook/xnli:{language}", ConfigurationError, "'tokens' .*'words'"),
    ],
    ids=["not there", "no column of the language", "no column of the task"],
)
def test_a_hub_data_set_that_cannot_be_read_is_named(
    task: str, place: str, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        build_task(task, [place]).load("de", "test")


def test_labels_that_mean_nothing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    features = {"sentence1": _TEXT, "sentence2": _TEXT, "label": Value("int64")}
    monkeypatch.setitem(_HUB, ("some/pairs", None, "test"), _rows(features, ("a", "b", 3)))
    with refused(ConfigurationError, "label '3'"):
        build_task("pawsx", ["hub:some/pairs"]).load("de", "test")


def test_hub_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "set" / "de"
    folder.mkdir(parents=True)
    question = {"id": ["1"], "question": ["q"], "context": ["abc"],
                "answers": [{"text": ["b"], "answer_start": [1]}]}  # fmt: skip
    Dataset.from_dict(question).to_parquet(folder / "validation.parquet")
    (tmp_path / "set" / "README.md").write_text(
        "---\nconfigs:\n- config_name: x.de\n  data_files:\n  - {split: validation, path: de/validation.parquet}\n---\n"
    )
    place = Location(f"hub:{tmp_path / 'set'}:x.{{language}}")
    found = read_hub(
        place, HubSpec("none", None, {}, {"test": "validation"}), SPAN, language="de", split="test"
    )
    assert found[0]["answers"] == {"text": ["b"], "start": [1]}
    assert found[0]["language"] == "de"


def test_a_word_without_a_class_gets_no_tag_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows({"tokens": List(_TEXT), "pos_tags": List(_labels(*_TAGS))}, (["Hu", "xi"], [1, -1]))
    monkeypatch.setitem(_HUB, ("google/xtreme", "udpos.German", "validation"), rows)
    with refused(ConfigurationError, "tag '-'"):
        build_task("pos", ["hub"]).load("de", "dev")


@pytest.mark.parametrize(("row", "hole"), [((None, "b", 2), "premise"), (("a", "b", None), "label")])
def test_a_row_with_a_hole_is_refused(
    monkeypatch: pytest.MonkeyPatch, row: tuple[object, ...], hole: str
) -> None:
    place = ("facebook/xnli", "de", "test")
    monkeypatch.setitem(_HUB, place, _rows(dict(_HUB[place].features), ("a", "b", 0), row))
    with refused(InputError, "row 2 ", f"'{hole}'"):
        build_task("xnli", ["hub"]).load("de", "test")


def test_rows_of_other_languages_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"premise": _TEXT, "hypothesis": _TEXT, "label": _labels("entailment"), "language": _TEXT}
    mixed = _rows(columns, ("a", "b", 0, "de"), ("c", "d", 0, "fra"))
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: mixed)
    found = build_task("xnli", ["hub:me/all"]).load("fr", "test")
    assert (found["first"][:], found["language"][:]) == (["c"], ["fr"])
    with refused(InputError, "'es'", "de, fra"):
        build_task("xnli", ["hub:me/all"]).load("es", "test")


def test_sentences_of_another_pivot_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"source_sentence": _TEXT, "target_sentence": _TEXT, "source_lang": _TEXT, "target_lang": _TEXT}
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: _rows(columns, ("x", "y", "deu", "eng")))
    task = build_task("tatoeba", ["hub:"])
    assert task.load("de", "test")["source"][:] == ["x"]
    with refused(InputError, "from 'de' to 'fr'"):
        task.load("de-fr", "test")
