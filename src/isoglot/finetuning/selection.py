"""The metric that checkpoints are chosen by, and when training stops because it no longer rises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from datasets import Dataset
from transformers import TrainerCallback, TrainerState

from isoglot.core.errors import ConfigurationError
from isoglot.results.confusion import class_metrics
from isoglot.runs.reporter import Reporter
from isoglot.tasks.base import Predictions, TrainableTask

_SELECTION = "eval_selection"
"""Name of the development score in what the trainer logs."""


def require_metric(
    task: TrainableTask, metric: str | None, dev: Sequence[tuple[str, Dataset]], labels: Sequence[str] | None
) -> None:
    """Refuse a metric that the task does not compute, before anything is trained.

    The task scores the development data's own labels, whose metrics have the same names as those of predictions. A
    task that cannot say what they are is asked again at the first evaluation.
    """
    if metric is None or not hasattr(task, "gold"):
        return
    language, dataset = dev[0]
    names = [*task.score(dataset, task.gold(dataset), language=language)]
    if hasattr(task, "confusion"):
        names += class_metrics(labels or ())
    if metric not in names:
        raise _unknown_metric(task, metric, names)


def development_score(
    task: TrainableTask, metric: str, dataset: Dataset, predictions: Predictions, *, language: str
) -> float:
    """The value of a metric: one that the task scores by, a macro average, or the score of one class."""
    scores: Mapping[str, float] = task.score(dataset, predictions, language=language)
    if metric not in scores and hasattr(task, "confusion"):
        scores = {**task.confusion(dataset, predictions).scores(), **scores}
    if metric not in scores:
        raise _unknown_metric(task, metric, scores)
    return scores[metric]


def _unknown_metric(task: TrainableTask, metric: str, names: Iterable[str]) -> ConfigurationError:
    listed = ", ".join(dict.fromkeys(names))
    return ConfigurationError(f"[[select_metric]]: {task.name} has no metric {metric!r}; it has {listed}")


class EarlyStop(TrainerCallback):
    """Stops a training whose development score has not risen for some evaluations.

    The scores are read from the trainer's own history, which each checkpoint keeps. So a run that was killed and
    resumed stops at the same step as one that was not, also where it was killed after the last evaluation.

    Args:
        patience: Evaluations without a new best score after which the training stops.
    """

    def __init__(self, patience: int, progress: Reporter) -> None:
        self.patience, self.progress = patience, progress

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop a resumed run at once if its patience was at an end already."""
        if self._at_end(state):
            control.should_training_stop = True

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop after the last evaluation that patience allows."""
        if self._at_end(state):
            control.should_training_stop = True
            if state.global_step < state.max_steps:
                self.progress.note(
                    f"step {state.global_step}: stopped, no better score in {self.patience} evaluations"
                )

    def _at_end(self, state: TrainerState) -> bool:
        """Whether the best score is followed by as many evaluations as patience allows."""
        scores = [entry[_SELECTION] for entry in state.log_history if _SELECTION in entry]
        # The first of equal scores is the best: the trainer keeps the checkpoint of the first, too.
        return bool(scores) and len(scores) - 1 - scores.index(max(scores)) >= self.patience
