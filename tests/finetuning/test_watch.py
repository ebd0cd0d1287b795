from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from transformers import TrainerState

from isoglot.errors import TrainingError
from isoglot.finetuning.watch import Watcher


@pytest.mark.parametrize("name", ["loss", "train_loss"])
def test_a_loss_that_is_not_a_number_stops_the_training(name: str) -> None:
    watcher, state = Watcher(Mock(), "f1"), TrainerState(global_step=7)
    watcher.on_log(None, state, None, logs={name: 0.5})
    with pytest.raises(TrainingError, match=r"the loss is nan at step 7; lower the learning rate"):
        watcher.on_log(None, state, None, logs={name: float("nan")})


def test_development_scores_and_steps_are_reported() -> None:
    report = Mock()
    watcher, state = Watcher(report, "f1"), TrainerState(global_step=5, max_steps=20)
    watcher.on_step_end(None, state, None)
    watcher.on_evaluate(None, state, None, metrics={"eval_selection": 71.256})
    watcher.on_evaluate(None, state, None, metrics={})
    report.progress.assert_called_once_with("fine-tune", 5, 20)
    report.note.assert_called_once_with("step 5: dev f1 71.26")


def test_the_best_checkpoint_is_found_where_the_run_is_now() -> None:
    state = TrainerState(best_global_step=4, max_steps=20, best_model_checkpoint="elsewhere/checkpoint-4")
    arguments = SimpleNamespace(output_dir="here/work", get_warmup_steps=lambda steps: 0, warmup_steps=0)
    Watcher(Mock(), "f1").on_train_begin(arguments, state, None)
    assert state.best_model_checkpoint == "here/work/checkpoint-4"
