"""Score checkpoints on development data, and stop a training whose score no longer rises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import (
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerState,
)

from isoglot.core.errors import ConfigurationError
from isoglot.results.confusion import class_metrics
from isoglot.runs.reporter import Reporter
from isoglot.tasks.base import Predictions, TrainableTask
from isoglot.tasks.features import row_lengths
from isoglot.tasks.language_vectors import add_language_ids, attached

SELECTION = "selection"
"""Name of the development score by which the checkpoint is kept."""
LOGGED_SELECTION = f"eval_{SELECTION}"
"""The same name in what the trainer logs: the library puts ``eval_`` before names of metrics."""


def require_metric(
    task: TrainableTask, metric: str | None, dev: Sequence[tuple[str, Dataset]], labels: Sequence[str] | None
) -> None:
    """Refuse a metric that the task does not compute, before anything is trained.

    There are no predictions yet, so the task scores the gold labels of the development data as if they were
    predictions: the names of the metrics are the same. A task without ``gold`` cannot do so; for such a task a wrong
    name is found at the first evaluation, by :func:`development_score`.

    ``metric``: The metric that the user named; ``None`` for the task's own, which needs no check.
    """
    if metric is None or not hasattr(task, "gold"):
        return
    language, dataset = dev[0]
    names = [*task.score(dataset, task.gold(dataset), language=language)]
    # A task with classes, which also has the metrics of single classes, such as `f1_LABEL`.
    if hasattr(task, "confusion"):
        names += class_metrics(labels or ())
    if metric not in names:
        raise _unknown_metric(task, metric, names)


def development_score(
    task: TrainableTask, metric: str, dataset: Dataset, predictions: Predictions, *, language: str
) -> float:
    """Score predictions on the development data of one language by one metric.

    The metric is one of the task's own (``accuracy``), or for a task with classes a macro average (``macro_f1``) or the
    score of one class (``f1_LABEL``). The classes of a tagger are its tags: ``macro_f1`` of entities is the mean over
    ``B-PER``, ``I-PER`` and so on, while the task's own ``f1`` counts whole entities.
    """
    scores: Mapping[str, float] = task.score(dataset, predictions, language=language)
    if metric not in scores and hasattr(task, "confusion"):  # a confusion is counted only where it is needed
        scores = {**task.confusion(dataset, predictions).scores(), **scores}
    if metric not in scores:
        raise _unknown_metric(task, metric, scores)
    return scores[metric]


def _unknown_metric(task: TrainableTask, metric: str, names: Iterable[str]) -> ConfigurationError:
    listed = ", ".join(dict.fromkeys(names))
    return ConfigurationError(f"[[select_metric]]: {task.name} has no metric {metric!r}; it has {listed}")


class DevelopmentScorer:
    """Score development data of several languages; the trainer keeps the checkpoint with the highest mean.

    The trainer evaluates one list, ``rows``: those of all languages, the longest first, so that little is padded.
    ``parts`` has the rows of each language. Row k of the list is row ``order[k]`` of the parts, one behind the other.
    """

    def __init__(
        self,
        task: TrainableTask,
        tokenizer: PreTrainedTokenizerBase,
        model: PreTrainedModel,
        dev: Sequence[tuple[str, Dataset]],
        metric: str,
    ) -> None:
        self.task, self.dev, self.metric = task, dev, metric
        self.parts = [task.encode(dataset, tokenizer, model, training=False) for _, dataset in dev]
        for part, (_, dataset) in zip(self.parts, dev, strict=True):
            add_language_ids(part, dataset, attached(model))
        joined: list[Mapping[str, Any]] = []
        for part in self.parts:
            joined += [row.inputs for row in part]
        self.order = np.argsort(-row_lengths(joined), kind="stable")
        self.rows = [joined[number] for number in self.order]

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """Return ``selection``, the mean over the languages, and the score of each language.

        ``{"selection": 75.0, "accuracy_de": 70.0, "accuracy_fr": 80.0}``
        """
        # A model with several outputs, such as the first and the last word of an answer, gives a tuple of arrays.
        predictions = prediction.predictions
        sorted_outputs = (
            np.stack(predictions, axis=1) if isinstance(predictions, tuple) else np.asarray(predictions)
        )
        # Undo the sorting by length.
        outputs = np.empty_like(sorted_outputs)
        outputs[self.order] = sorted_outputs
        values: list[float] = []
        scores: dict[str, float] = {}
        start = 0
        for (language, dataset), part in zip(self.dev, self.parts, strict=True):
            stop = start + len(part)
            predicted = self.task.decode(dataset, part, list(outputs[start:stop]))
            score = development_score(self.task, self.metric, dataset, predicted, language=language)
            values.append(score)
            scores[f"{self.metric}_{language}"] = score
            start = stop
        return {SELECTION: float(np.mean(values)), **scores}


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
        """Stop a resumed run at once if it was killed between its last evaluation and its end."""
        if self._is_used_up(state):
            control.should_training_stop = True

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop after the last evaluation that patience allows."""
        if self._is_used_up(state):
            control.should_training_stop = True
            # At the last step the training ends anyway.
            if state.global_step < state.max_steps:
                self.progress.note(
                    f"step {state.global_step}: stopped, no better score in {self.patience} evaluations"
                )

    def _is_used_up(self, state: TrainerState) -> bool:
        """Whether as many evaluations as patience allows came after the best one.

        Scores of 70, 72, 71, 72 use up a patience of 2: of equal scores the first is the best, as the trainer keeps the
        checkpoint of the first.
        """
        scores = [entry[LOGGED_SELECTION] for entry in state.log_history if LOGGED_SELECTION in entry]
        if not scores:
            return False
        evaluations_after_best = len(scores) - 1 - scores.index(max(scores))
        return evaluations_after_best >= self.patience
