from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_laser
import torch
from datasets import Dataset
from refusals import refused
from small_laser import SmallLaser
from transformers import AutoModel, AutoModelForSequenceClassification

import isoglot as iso
from isoglot.core.errors import ConfigurationError
from isoglot.finetuning.options import task_with_settings
from isoglot.tasks import build_task
from isoglot.tasks.description import describe_task
from isoglot.tasks.vector_classifier import new_classifier

WORDS = ["river", "mountain", "horse", "winter", "house", "bread"]
NLI = [
    {"first": f"the old {a}", "second": f"the {b}", "label": "entailment" if a == b else "contradiction"}
    for a in WORDS
    for b in WORDS
    for _ in range(1 + 4 * (a == b))
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


def tuned(model: Any, out: Path, **more: Any) -> Path:
    data = {"train": NLI, "dev": NLI}
    settings: dict[str, Any] = {"epochs": 40, "batch_size": 20, "learning_rate": 3e-3, "evaluate_every": 30}
    made: Path = iso.finetune(model, "xnli", data=data, out=out, frozen="vectors", **settings, **more)
    return made


def test_features_are_those_of_the_paper() -> None:
    model = new_classifier(
        "small_laser:SmallLaser", labels=["a", "b", "c"], texts=2, hidden=(5,), layer=-1, pooling="mean", prefix="",
        dropout=None, seed=1,
    ).eval()  # fmt: skip
    texts = ["the old river", "a horse"]
    p, h = SmallLaser()(texts)
    numbers = model.number(texts, None, 128)
    by_hand = np.concatenate([p, h, p * h, np.abs(p - h)])
    expected = model.classifier(torch.from_numpy(by_hand)[None])
    torch.testing.assert_close(model(torch.tensor([[*numbers, 0, 0]])).logits, expected)
    assert [layer.out_features for layer in model.classifier if hasattr(layer, "out_features")] == [5, 3]


@pytest.mark.slow
def test_a_frozen_encoder_is_learned_from_saved_measured_and_predicts(encoder: Path, tmp_path: Path) -> None:
    run = tuned(encoder, tmp_path / "run", layer=1)
    loaded = AutoModelForSequenceClassification.from_pretrained(run)
    original = AutoModel.from_pretrained(encoder).state_dict()
    for name, value in loaded.encoder.state_dict().items():
        assert "pooler" in name or torch.equal(value, original[name]), name
    shutil.rmtree(tmp_path / "cache")
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "run", moved)
    (row,) = iso.evaluate(moved, "xnli", languages="en", data=NLI)
    assert row.value > 70 and row.options == {}, "equal words can be seen in vectors"
    said = iso.predict(moved, "xnli", Dataset.from_list(NLI), probabilities=True)
    right = np.mean([r["prediction"] == r["label"] for r in said])
    assert row.value == pytest.approx(100 * right)
    assert [*said[0]["probabilities"]] == ["entailment", "neutral", "contradiction"]
    vectors = iso.TextEncoder(encoder, layer=1).encode(["the old river"])
    number = loaded.number(["the old river"], iso.TextEncoder(encoder).tokenizer, 128)
    np.testing.assert_allclose(loaded._table[number].numpy(), vectors, atol=1e-6)


@pytest.mark.slow
def test_vectors_of_a_function_are_computed_once(tmp_path: Path) -> None:
    small_laser.CALLS.clear()
    run = tuned("small_laser:SmallLaser", tmp_path / "run", seed=1)
    texts = len({row[side] for row in NLI for side in ("first", "second")})
    assert [2, texts] == small_laser.CALLS, "two to learn the width, then each text once"
    tuned(SmallLaser, tmp_path / "second", seed=2)
    assert small_laser.CALLS[2:] == [2], "another seed reads the cache"
    assert not list(run.glob("tokenizer*")) and json.loads((run / "config.json").read_text())["width"] == 64
    (row,) = iso.evaluate(run, "xnli", languages="en", data=NLI)
    assert row.value > 70
    (said,) = iso.predict(run, "xnli", [("the old horse", "the horse")])
    assert said["prediction"] in ("entailment", "neutral", "contradiction")


@pytest.mark.slow
def test_texts_too_and_weights_of_classes(encoder: Path, tmp_path: Path) -> None:
    rows = [{"text": f"the {word}", "label": "water" if word == "river" else "land"} for word in WORDS * 5]
    run = iso.finetune(
        encoder, "text_classification", data={"train": rows, "dev": rows}, out=tmp_path / "run", frozen="vectors",
        class_weight="balanced", select_metric="macro_f1", epochs=30, batch_size=10, hidden=16,
    )  # fmt: skip
    counted = iso.confusion(run, "text_classification", languages="en", data=rows)
    assert {score.label: score.recall for score in counted.classes()}["water"] == 100.0


def test_vector_classifier_refuses_encoders_and_options_that_do_not_fit(
    encoder: Path, tmp_path: Path
) -> None:
    with refused(ConfigurationError, "small_laser:broken: ", "(1, 64)", "2 texts"):
        tuned("small_laser:broken", tmp_path / "run")
    with refused(ConfigurationError, "small_laser:SmallLaser ", 'frozen="vectors"'):
        iso.finetune(SmallLaser, "xnli", data={"train": NLI, "dev": NLI}, out=tmp_path / "run")
    with refused(ConfigurationError, "`hidden`: ", 'frozen="vectors"'):
        iso.finetune(encoder, "xnli", data={"train": NLI, "dev": NLI}, out=tmp_path / "run", hidden=(8,))
    with refused(ConfigurationError, "<lambda>: ", "module"):
        tuned(lambda texts: texts, tmp_path / "run")


def test_the_option_leaves_older_runs_and_results_as_they_were() -> None:
    described = describe_task(build_task("xnli", []))
    assert described == {"kind": "xnli", "heads": "xnli", "name": "xnli", "max_length": 128}
    _, settings = task_with_settings("xnli", [], paper="xtreme", frozen="vectors", epochs=3)
    assert (settings.learning_rate, settings.batch_size, settings.epochs, settings.evaluate_every) == (
        1e-3,
        128,
        3,
        None,
    )
