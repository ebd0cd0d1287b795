"""Monitoring while a head is trained: development scores, progress, a loss that is not finite."""

from collections.abc import Sequence
from pathlib import Path
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

from isoglot.errors import TrainingError
from isoglot.runs.reporter import Reporter
from isoglot.tasks.base import TrainableTask
from isoglot.tasks.features import row_lengths
from isoglot.tasks.language_vectors import attached, number_rows
from isoglot.training.callbacks import endless_warmup

LOWER = "lower the learning rate (--set learning_rate=1e-5) or use --set precision=float32"
"""What to do about a training that diverged."""


class Chooser:
    """Dev data of several languages as one list of rows, and the mean of their scores."""

    def __init__(
        self,
        task: TrainableTask,
        tokenizer: PreTrainedTokenizerBase,
        model: PreTrainedModel,
        dev: Sequence[tuple[str, Dataset]],
    ) -> None:
        self.task, self.dev = task, dev
        self.parts = [task.encode(dataset, tokenizer, model, training=False) for _, dataset in dev]
        for part, (_, dataset) in zip(self.parts, dev, strict=True):
            number_rows(part, dataset, attached(model))
        joined = [row.inputs for part in self.parts for row in part]
        self.order = np.argsort(-row_lengths(joined), kind="stable")
        self.rows = [joined[place] for place in self.order]

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """``selection``, the mean over the languages, and each language's own score."""
        given = prediction.predictions
        stacked = np.stack(given, axis=1) if isinstance(given, tuple) else np.asarray(given)
        outputs = np.empty_like(stacked)
        outputs[self.order] = stacked
        values, first, metric = [], 0, self.task.primary_metric
        scores: dict[str, float] = {}
        for (language, dataset), part in zip(self.dev, self.parts, strict=True):
            own = list(outputs[first : first + len(part)])
            first += len(part)
            predicted = self.task.decode(dataset, part, own)
            values.append(self.task.score(dataset, predicted, language=language)[metric])
            scores[f"{metric}_{language}"] = values[-1]
        return {"selection": float(np.mean(values)), **scores}


class Watcher(TrainerCallback):
    """Reports steps and evaluations, and stops at a loss that is not finite."""

    def __init__(self, progress: Reporter, metric: str) -> None:
        self.progress, self.metric = progress, metric

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Tell a warm-up that never ends; find a resumed run's best checkpoint, also where its folder was moved."""
        if text := endless_warmup(args, state.max_steps, "warmup"):
            self.progress.note(text)
        if state.best_global_step:
            state.best_model_checkpoint = str(
                Path(str(args.output_dir)) / f"checkpoint-{state.best_global_step}"
            )

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Move the bar."""
        self.progress.progress("fine-tune", state.global_step, state.max_steps)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """Stop at a loss that is not finite: the mean of the last steps, or of the whole training."""
        for name in ("loss", "train_loss"):
            loss = (logs or {}).get(name, 0.0)
            if not np.isfinite(loss):
                raise TrainingError(f"the loss is {loss} at step {state.global_step}; {LOWER}")

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        """Tell the development score."""
        value = (metrics or {}).get("eval_selection")
        if value is not None:
            self.progress.note(f"step {state.global_step}: dev {self.metric} {value:.2f}")
