from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from refusals import refused
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState

from isoglot.core.errors import ConfigurationError
from isoglot.finetuning import train as finetune_train
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.selection import DevelopmentScorer, EarlyStop
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext


class _KilledError(Exception):
    pass


@pytest.fixture
def task(tmp_path: Path) -> Any:
    lines = [
        "".join(f"{w}\t{'NOUN' if len(w) > 4 else 'DET'}\n" for w in s.split())
        for s in tiny_bitext(32)["source"]
    ]
    (tmp_path / "en.tsv").write_text("\n".join(lines))
    return build_task("pos", [f"train={tmp_path}/en.tsv", f"dev={tmp_path}/en.tsv"])


@pytest.mark.parametrize(
    ("scores", "stops"),
    [([50.0], False), ([50.0, 49.0], False), ([50.0, 49.0, 50.0], True), ([50.0, 49.0, 51.0, 50.0], False)],
)
def test_training_stops_when_as_many_evaluations_have_not_been_better(
    scores: list[float], stops: bool
) -> None:
    report, control = Mock(), TrainerControl()
    state = TrainerState(global_step=9, max_steps=20)
    state.log_history = [{"step": n, "eval_selection": score} for n, score in enumerate(scores)]
    EarlyStop(2, report).on_evaluate(None, state, control)
    assert control.should_training_stop == stops
    assert report.note.call_count == stops


@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "killed"),
    [
        ({}, "before"),
        pytest.param({}, "after", marks=pytest.mark.slow),
        pytest.param({"evaluate_every": 3}, "before", marks=pytest.mark.slow),
        ({"evaluate_every": 3}, "after"),
    ],
    ids=["epochs-before", "epochs-after", "inside an epoch-before", "inside an epoch-after"],
)
def test_a_killed_run_stops_where_an_unbroken_one_does(
    encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    task: Any,
    every: dict[str, int],
    killed: str,
) -> None:
    """Killed in the step before patience ends, or when it had ended and the last checkpoint was written."""
    train = FinetuneOptions.build(
        learning_rate=1e-3, batch_size=8, epochs=9, dropout=0.1, bucket=2, patience=2, **every
    )
    values = {1: 50.0, 2: 60.0, 3: 60.0, 4: 55.0}  # evaluation to score; the second is the best
    length = every.get("evaluate_every", 4)

    def score(self: Any, prediction: Any) -> dict[str, float]:
        return {"selection": values[self.step() // length]}

    steps: list[int] = [0]
    original = finetune_train.Watcher.on_step_end

    def count(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        steps[0] = state.global_step
        if killed == "before" and len(runs) == 1 and state.global_step == 4 * length - 1:
            raise _KilledError
        original(self, args, state, control, **kwargs)

    def load_best(self: Any) -> None:
        if killed == "after" and len(runs) == 1:
            raise _KilledError
        best(self)

    runs = ["whole"]
    best = finetune_train._Trainer._load_best_model
    monkeypatch.setattr(DevelopmentScorer, "step", lambda self: steps[0], raising=False)
    monkeypatch.setattr(DevelopmentScorer, "__call__", score)
    monkeypatch.setattr(finetune_train.Watcher, "on_step_end", count)
    monkeypatch.setattr(finetune_train._Trainer, "_load_best_model", load_best)
    with pytest.raises(_KilledError):
        finetune(encoder, task, train=train, out=tmp_path / "cut")
    runs.append("resumed")
    found = [finetune(encoder, task, train=train, out=tmp_path / name) for name in ("cut", "whole")]
    one, other = (load_file(folder / "model.safetensors") for folder in found)
    assert all(torch.equal(one[name], other[name]) for name in one)
    histories = [(tmp_path / name / "history.jsonl").read_text() for name in ("cut", "whole")]
    scores = [[json.loads(line).get("eval_selection") for line in text.splitlines()] for text in histories]
    assert scores[0] == scores[1] and [v for v in scores[0] if v is not None] == [*values.values()]
    for name in ("cut", "whole"):
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        assert (manifest["steps"], manifest["selection"]) == (4 * length, 60.0)


def test_a_checkpoint_is_chosen_by_any_metric_of_the_task(encoder: Path, tmp_path: Path, task: Any) -> None:
    settings: dict[str, Any] = {"epochs": 2, "learning_rate": 1e-3, "batch_size": 8}
    for metric in ("macro_f1", "recall_DET", "accuracy"):
        notes: list[str] = []
        out = tmp_path / metric
        history = finetune(
            encoder, task, out=out, select_metric=metric, progress=notes.append, **settings
        ).history
        assert f"eval_{metric}_en" in history.columns
        assert sum(f"dev {metric} " in line for line in notes) == 2
    with refused(
        ConfigurationError, "`select_metric`: pos ", "'macro-f1'", "f1, precision, recall, accuracy"
    ):
        finetune(encoder, task, out=tmp_path / "wrong", select_metric="macro-f1")
    assert not (tmp_path / "wrong").exists()
    for given in ({"select_metric": "f1"}, {"patience": 2}):
        with refused(ConfigurationError, f"`{next(iter(given))}`: ", "select=last", 'select="source"'):
            FinetuneOptions.build(select="last", **given)


def test_new_settings_leave_the_record_of_older_runs_as_it_was() -> None:
    old = {"learning_rate", "batch_size", "epochs", "warmup", "weight_decay", "schedule", "adam_beta1", "adam_beta2",
           "adam_epsilon", "max_grad_norm", "max_length", "gradient_accumulation", "precision", "dropout", "bucket",
           "evaluate_every", "select", "select_languages", "adapter", "language_ids", "setting", "pivot",
           "dev_fraction", "max_train_examples"}  # fmt: skip
    assert set(FinetuneOptions.build().recorded()) == old
    given = FinetuneOptions.build(patience=2, class_weight="balanced", select_metric="macro_f1").recorded()
    assert set(given) - old == {"patience", "class_weight", "select_metric"}
