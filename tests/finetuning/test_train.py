from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from refusals import refused
from safetensors.torch import load_file
from transformers import TrainerCallback, TrainerState
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.train import Watcher, _arguments, _unweighted_items
from isoglot.tasks import build_task
from isoglot.tasks.features import IGNORED
from isoglot.testing import tiny_bitext


def _xnli(folder: Path) -> Path:
    rows = [f"{a}\t{b}\t{i % 3}" for i, (a, b) in enumerate(pairwise(tiny_bitext(36)["source"]))]
    (folder / "en.tsv").write_text("\n".join(rows) + "\n")
    return folder / "en.tsv"


def _ner(folder: Path) -> Path:
    """Sentences of one to nine words, so that forwards of as many rows have other numbers of tags."""
    words = " ".join(tiny_bitext(60)["source"]).split()
    starts = np.cumsum([0, *(1 + i % 9 for i in range(34))])
    lines = [
        "".join(f"{w}\t{'B-LOC' if len(w) > 4 else 'O'}\n" for w in words[a:b])
        for a, b in pairwise(starts.tolist())
    ]
    (folder / "en.tsv").write_text("\n".join(lines) + "\n")
    return folder / "en.tsv"


def _squad(folder: Path) -> Path:
    """Rows of one length: the head's softmax runs over padding too, which a forward of other rows has more of."""
    (text,) = tiny_bitext(1)["source"]
    words = text.split()
    answers = [{"text": word, "answer_start": text.index(word)} for word in words]
    questions = [
        {"id": str(i), "question": words[0], "answers": [answers[i % len(words)]]} for i in range(35)
    ]
    (folder / "en.json").write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": [{"context": text, "qas": questions}]}]})
    )
    return folder / "en.json"


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize(("name", "write"), [("xnli", _xnli), ("ner", _ner), ("squad", _squad)])
def test_steps_in_several_forwards_learn_the_same(
    encoder: Path, tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    """Also where items are not as many in each forward: tags, or the rows of the last step of an epoch."""
    task, weights, told = build_task(name, [f"train={write(tmp_path)}"]), [], []
    settings = FinetuneOptions.build(
        learning_rate=0.1, batch_size=8, epochs=1, dropout=0, select="last", warmup=8, adam_epsilon=1
    )  # so that the size of a gradient tells
    for forwards in (1, 4):
        train, notes, out = settings.changed(gradient_accumulation=forwards), Mock(), tmp_path / str(forwards)
        found = finetune(encoder, task, language="en,en", train=train, out=out, progress=notes)
        weights.append(load_file(found / "model.safetensors"))
        told += [call.args[0] for call in notes.note.call_args_list]
    for key, one in weights[0].items():
        torch.testing.assert_close(one, weights[1][key], atol=1e-6, rtol=0)
    assert [line[:81] for line in told] == [
        "warm-up of 8 steps, training of 5: the learning rate only rises, to 62% of its pe"
    ] * 2, "a language that is named twice counts once"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, (8, 16, 1, "epoch")),
        ({"gradient_accumulation": 4}, (2, 4, 4, "epoch")),
        ({"evaluate_every": 7}, (8, 16, 1, "steps")),
    ],
)
def test_settings_reach_the_trainer(
    tmp_path: Path, changes: dict[str, int], found: tuple[int, int, int, str]
) -> None:
    options = FinetuneOptions.build(batch_size=8, epochs=2, learning_rate=1e-3, warmup=0.1, **changes)
    made = _arguments(options, seed=3, work=tmp_path, chooses=True, copies=1)
    assert (
        made.per_device_train_batch_size,
        made.per_device_eval_batch_size,
        made.gradient_accumulation_steps,
        SaveStrategy(made.save_strategy).value,
    ) == found
    assert made.eval_strategy == made.save_strategy
    assert (made.metric_for_best_model, made.load_best_model_at_end) == ("selection", True)
    assert (made.seed, made.learning_rate, made.num_train_epochs, made.warmup_steps) == (3, 1e-3, 2, 0.1)
    last = _arguments(options, seed=3, work=tmp_path, chooses=False, copies=2)
    assert IntervalStrategy(last.eval_strategy) is IntervalStrategy.NO and not last.load_best_model_at_end
    assert last.per_device_train_batch_size * last.gradient_accumulation_steps == 4, "an item is two copies"


def test_a_batch_that_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    options = FinetuneOptions.build(batch_size=8, gradient_accumulation=3)
    with refused(ConfigurationError, "batch_size 8 ", "3 forward passes", "gradient_accumulation"):
        _arguments(options, seed=1, work=tmp_path, chooses=False, copies=1)


def test_a_loss_is_the_mean_over_labels_that_count_or_else_rows() -> None:
    ids = torch.zeros(2, 3)
    assert (
        _unweighted_items(
            {"input_ids": ids, "labels": torch.tensor([[1, IGNORED, 2], [IGNORED, IGNORED, 3]])}
        )
        == 3
    )
    assert _unweighted_items({"input_ids": ids, "labels": torch.tensor([1, 0])}) == 2
    assert _unweighted_items({"input_ids": ids, "start_positions": torch.tensor([1, 2])}) == 2


@pytest.mark.parametrize("name", ["loss", "train_loss"])
def test_a_loss_that_is_not_a_number_stops_the_training(name: str) -> None:
    watcher, state = Watcher(Mock(), "f1"), TrainerState(global_step=7)
    watcher.on_log(None, state, None, logs={name: 0.5})
    with refused(TrainingError, "loss is nan", "step 7", "learning_rate=", 'precision="float32"'):
        watcher.on_log(None, state, None, logs={name: float("nan")})


def test_development_scores_and_steps_are_reported() -> None:
    report = Mock()
    watcher, state = Watcher(report, "f1"), TrainerState(global_step=5, max_steps=20)
    watcher.on_step_end(None, state, Mock())
    watcher.on_evaluate(None, state, None, metrics={"eval_selection": 71.256})
    watcher.on_evaluate(None, state, None, metrics={})
    report.progress.assert_called_once_with("fine-tune", 5, 20)
    report.note.assert_called_once_with("step 5: dev f1 71.26")


def test_the_best_checkpoint_is_found_where_the_run_is_now() -> None:
    state = TrainerState(best_global_step=4, max_steps=20, best_model_checkpoint="elsewhere/checkpoint-4")
    arguments = SimpleNamespace(output_dir="here/work", get_warmup_steps=lambda steps: 0, warmup_steps=0)
    Watcher(Mock(), "f1").on_train_begin(arguments, state, None)
    assert state.best_model_checkpoint == "here/work/checkpoint-4"


class Logged(TrainerCallback):
    """Keeps the development scores that it hears of."""

    scores: ClassVar[list[float]] = []

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        self.scores.append(metrics["eval_selection"])


def test_callbacks_hear_and_the_history_of_the_best_settings_is_a_frame(
    encoder: Path, tmp_path: Path
) -> None:
    data = [f"train={_xnli(tmp_path)}", f"dev={_xnli(tmp_path)}"]
    settings: dict[str, Any] = {
        "batch_size": 8,
        "epochs": 2.0,
        "learning_rate": (1e-4, 1e-3),
        "evaluate_every": None,
    }
    Logged.scores.clear()
    found = finetune(
        encoder, "xnli", data=data, language="en", out=tmp_path / "run", callbacks=[Logged()], **settings
    )
    assert len(Logged.scores) == 4, "two epochs of two settings"
    history = found.history
    assert (
        history["loss"].first_valid_index() == 1 and history["loss"].last_valid_index() == history.index[-1]
    )
    assert list(history["eval_selection"].dropna()) in (Logged.scores[:2], Logged.scores[2:])
    assert finetune(
        encoder, "xnli", data=data, language="en", out=tmp_path / "run", **settings
    ).history.equals(history)


def test_a_run_of_other_settings_is_replaced_where_that_is_asked_for(encoder: Path, tmp_path: Path) -> None:
    run: dict[str, Any] = {
        "data": [f"train={_xnli(tmp_path)}"],
        "out": tmp_path / "run",
        "select": "last",
        "epochs": 1,
    }
    first = finetune(encoder, "xnli", **run, evaluate_every=None)
    (tmp_path / "run" / "notes").write_text("mine")
    with refused(ConfigurationError, "/run: ", "different: inputs.seed)", "overwrite=True"):
        finetune(encoder, "xnli", **run, evaluate_every=None, seed=2)
    before = load_file(first / "model.safetensors")["classifier.weight"].clone()
    second = finetune(encoder, "xnli", **run, evaluate_every=None, seed=2, overwrite=True)
    assert not torch.equal(load_file(second / "model.safetensors")["classifier.weight"], before)
    assert (tmp_path / "run" / "notes").read_text() == "mine"
