from __future__ import annotations

import copy
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from labelled_files import json_lines
from transformers import AutoModelForMaskedLM, AutoTokenizer

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.labelled.sources import DataSource
from isoglot.results.rows import read
from isoglot.tasks import build_task
from isoglot.tasks.retrieval import Tatoeba
from isoglot.testing import tiny_aligned, tiny_bitext, tiny_lexicon, tiny_model, tiny_tokenizer

TOKENIZER = tiny_tokenizer("bert")
MODEL = tiny_model("bert", tokenizer=TOKENIZER)


def _same(first: list[iso.Result], second: list[iso.Result]) -> bool:
    return [(r.metric, r.value, r.examples) for r in first] == [
        (r.metric, r.value, r.examples) for r in second
    ]


def test_an_object_is_measured_as_its_folder_is_and_stays_as_it_was(encoder: Path) -> None:
    model = tiny_model("bert", tokenizer=TOKENIZER).bfloat16().train()
    before = copy.deepcopy(model.state_dict()), vars(model.config).copy()
    own = iso.evaluate(model, "tatoeba", languages=["en-xx"], data=tiny_bitext(20), tokenizer=TOKENIZER)
    assert own[0].run == "bert" and len(own[0].checkpoint_hash) == 16
    assert model.training and model.dtype == torch.bfloat16 and vars(model.config) == before[1]
    assert all(torch.equal(value, before[0][name]) for name, value in model.state_dict().items())
    of_folder = iso.evaluate(encoder, "tatoeba", languages="en-xx", data=tiny_bitext(20))
    of_object = iso.evaluate(MODEL, "tatoeba", languages="en-xx", data=tiny_bitext(20), tokenizer=TOKENIZER)
    assert _same(of_folder, of_object)
    assert of_folder[0].checkpoint_hash == of_object[0].checkpoint_hash, "known by its content"


def test_results_of_objects_are_kept_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(
        Tatoeba, "measure", lambda self, *args, **named: (measured.append(1), ({"accuracy": 50.0}, [0, 0]))[1]
    )

    def ask(data: Dataset, model: torch.nn.Module = MODEL) -> list[iso.Result]:
        return iso.evaluate(
            model, "tatoeba", languages="en-xx", data=data, tokenizer=TOKENIZER, out=tmp_path / "rows.jsonl"
        )

    first = ask(tiny_bitext(8))
    assert ask(Dataset.from_list(tiny_bitext(8).to_list())) == first and len(measured) == 1, (
        "another object, same rows"
    )
    ask(tiny_bitext(8, seed=1))
    assert len(measured) == 2
    ask(tiny_bitext(8), tiny_model("bert", tokenizer=TOKENIZER, seed=5))
    assert len(measured) == 3


def test_a_checkpoint_is_one_run_whatever_its_folder_is_called(encoder: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    first, second = (shutil.copytree(encoder, tmp_path / name / "checkpoint") for name in ("first", "second"))
    ask = partial(iso.evaluate, task="tatoeba", languages="en-xx", data=tiny_bitext(8), out=out)
    rows = ask(first)
    assert {row.run for row in rows} == {"first"}
    assert ask(second) == rows == read(out), "the same content"
    named = ask(second, run="other")
    assert {row.run for row in named} == {"other"} and read(out) == [*rows, *named]

    out.unlink()
    tokenizer = AutoTokenizer.from_pretrained(second)
    of_object = [ask(AutoModelForMaskedLM.from_pretrained(second), tokenizer=tokenizer) for _ in range(2)]
    assert {row.run for row in of_object[0]} == {"second"}, "not the temporary folder"
    assert of_object[0] == of_object[1] == read(out)


def test_pairs_may_be_called_anything_and_a_language_may_have_its_own_frame(tmp_path: Path) -> None:
    pairs = tiny_bitext(12)
    frame = pd.DataFrame({"english": list(pairs["source"]), "x": list(pairs["target"]), "when": range(12)})
    columns = {"source": "x", "target": "english"}
    rows = iso.evaluate(
        MODEL, "tatoeba", languages=["xx", "yy"], tokenizer=TOKENIZER, columns=columns,
        data={"xx": frame, "yy": frame[:6]},
    )  # fmt: skip
    (tmp_path / "t.xx").write_text("\n".join(pairs["target"]) + "\n")
    (tmp_path / "t.en").write_text("\n".join(pairs["source"]) + "\n")
    files = [str(tmp_path / "t.xx"), tmp_path / "t.en"]
    of_files = iso.evaluate(MODEL, "tatoeba", languages="xx", tokenizer=TOKENIZER, data=files)
    assert _same(rows[: len(of_files)], of_files)
    assert {row.examples for row in rows if row.language == "yy"} == {6}
    with pytest.raises(ConfigurationError, match=r"'source' .*columns=\{'source'"):
        iso.evaluate(MODEL, "tatoeba", languages="xx", tokenizer=TOKENIZER, data=frame)
    with pytest.raises(ConfigurationError, match=r"test data for 'de', got xx \(12 rows\)"):
        iso.evaluate(
            MODEL, "tatoeba", languages="de", tokenizer=TOKENIZER, columns=columns, data={"xx": frame}
        )


def test_gold_links_in_memory_are_scored_as_those_of_a_file(tmp_path: Path) -> None:
    aligned = tiny_aligned(10)
    gold = [{"src": r["source_words"], "tgt": r["target_words"], "sure": r["links"]} for r in aligned]
    options = {"languages": "en-xx", "tokenizer": TOKENIZER, "method": "argmax", "layer": 2}
    of_file = iso.evaluate(
        MODEL, "word_alignment", data=json_lines(tmp_path / "en-xx.jsonl", *gold), **options
    )
    for data in (aligned, Dataset.from_list(gold)):
        assert _same(iso.evaluate(MODEL, "word_alignment", data=data, **options), of_file)
    wrong = Dataset.from_list([{**gold[0], "sure": [[99, 0]]}])
    with pytest.raises(ConfigurationError, match=r"row 1 of .*gold link"):
        iso.evaluate(MODEL, "word_alignment", data=wrong, **options)
    with pytest.raises(ConfigurationError, match="base 1"):
        iso.evaluate(MODEL, "word_alignment", data=aligned, base=1, **options)


def test_a_dictionary_in_memory_is_asked_for_whole() -> None:
    rows = iso.evaluate(
        MODEL, "lexicon_induction", languages="en-xx", data=tiny_lexicon(), tokenizer=TOKENIZER
    )
    assert rows[0].examples == len(set(tiny_lexicon()["source"]))


LABELS = ClassLabel(names=["DET", "NOUN"])


def _tagged(count: int) -> Dataset:
    words = [text.rstrip(".!?").split() for text in tiny_bitext(count)["source"]]
    tags = [[int(len(word) > 4) for word in own] for own in words]
    features = Features({"tokens": [Value("string")], "pos_tags": [LABELS], "note": Value("int64")})
    return Dataset.from_dict({"tokens": words, "pos_tags": tags, "note": range(count)}, features=features)


def _questions(count: int) -> Dataset:
    rows = []
    for text in tiny_bitext(count)["source"]:
        answer = text.split()[1]
        answers = {"text": [answer], "answer_start": [text.index(answer)]}
        rows.append({"question": "what", "context": text, "answers": answers})
    return Dataset.from_list(rows)


def _nli(count: int) -> Dataset:
    numbers = [n % 3 for n in range(count)]
    texts = list(tiny_bitext(count)["source"])
    columns = {"premise": texts, "hypothesis": texts[::-1], "label": numbers}
    label = ClassLabel(names=["entailment", "neutral", "contradiction"])
    return Dataset.from_dict(columns).cast_column("label", label)


def _topics(count: int) -> pd.DataFrame:
    texts = list(tiny_bitext(count)["source"])
    return pd.DataFrame({"utterance": texts, "label": ["long" if len(t) > 40 else "short" for t in texts]})


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize(
    ("task", "made"),
    [("pos", _tagged), ("xnli", _nli), ("squad", _questions), ("text_classification", _topics)],
)
def test_each_task_with_a_head_learns_from_and_is_tested_on_data_in_memory(
    task: str, made: type, tmp_path: Path
) -> None:
    train, test = made(16), made(8)
    data = {"en": {"train": train, "validation": test}, "xx": {"test": test}, "yy": test}
    settings: dict[str, Any] = {"epochs": 1, "batch_size": 8, "tokenizer": TOKENIZER, "data": data}
    checkpoint = iso.finetune(MODEL, task, out=tmp_path / "run", **settings)
    assert checkpoint == tmp_path / "run" / "checkpoint"
    stamp = (checkpoint / "model.safetensors").stat().st_mtime_ns
    iso.finetune(MODEL, task, out=tmp_path / "run", **settings)
    assert (checkpoint / "model.safetensors").stat().st_mtime_ns == stamp, "a finished run is kept"
    other = {**data, "en": {"train": test, "dev": test}}
    with pytest.raises(ConfigurationError, match="data"):
        iso.finetune(MODEL, task, out=tmp_path / "run", **{**settings, "data": other})
    rows = iso.evaluate(
        checkpoint, task, languages=["xx", "yy"], data=data, predictions=tmp_path / "predictions"
    )
    assert {row.language for row in rows} == {"xx", "yy"} and rows[0].run == "bert"
    found = iso.compare(tmp_path / "predictions", tmp_path / "predictions")
    measured = {(row.language, row.metric): row.value for row in rows}
    for one in found:
        assert one.first == pytest.approx(measured[one.about["language"], one.metric]), (
            "counts give the metric"
        )
    assert {row.metric for row in rows if row.metric in ("f1", "accuracy")} <= {one.metric for one in found}


def test_a_task_object_keeps_its_options_and_takes_data(tmp_path: Path) -> None:
    task = Tatoeba(DataSource(()), layer=1)
    (row, *_) = iso.evaluate(MODEL, task, languages="en-xx", data=tiny_bitext(6), tokenizer=TOKENIZER)
    assert row.options == {"layer": 1} and task.data.specs == ()
    with pytest.raises(ConfigurationError, match=r"layer.*Tatoeba\("):
        iso.evaluate(MODEL, task, languages="en-xx", data=tiny_bitext(6), tokenizer=TOKENIZER, layer=2)
    pos = build_task("pos", [])
    checkpoint = iso.finetune(
        MODEL, pos, tokenizer=TOKENIZER, out=tmp_path / "run", epochs=1, select="last",
        data=DatasetDict(train=_tagged(8), test=_tagged(4)),
    )  # fmt: skip
    assert iso.evaluate(checkpoint, pos, languages="en", data=_tagged(4))[0].examples == 4


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"data": None}, "tatoeba .*data="),
        ({"data": 5}, r"data: got 5; .*datasets\.Dataset"),
        ({"data": {}}, r"data=\{'de': rows\}"),
        ({"layers": 2}, "layers: .*did you mean 'layer'"),
        ({"max_tokens": 0}, "`max_tokens`: got 0"),
        ({"tokenizer": None}, "tokenizer=..."),
        ({"columns": {"text": "a"}}, "columns: .*text; .*source, target"),
        ({"data": "nowhere", "columns": {"source": "a"}}, "columns=source .*nowhere"),
        ({"model": "nowhere"}, "tokenizer.*nowhere"),
        ({"model": np.zeros(3)}, "model: .*ndarray"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_evaluate_refuses(wrong: dict[str, object], named: str) -> None:
    usual = {
        "model": MODEL,
        "task": "tatoeba",
        "languages": "en-xx",
        "data": tiny_bitext(4),
        "tokenizer": TOKENIZER,
    }
    with pytest.raises(ConfigurationError, match=named):
        iso.evaluate(**{**usual, **wrong})


def test_cells_that_lack_something_are_named() -> None:
    rows = tiny_bitext(3).to_list()
    data = Dataset.from_list([*rows, {**rows[0], "target": None}])
    with pytest.raises(InputError, match=r"row 4 .*'target'"):
        iso.evaluate(MODEL, "tatoeba", languages="en-xx", data=data, tokenizer=TOKENIZER)
