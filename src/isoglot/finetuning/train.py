"""One fine-tuning run with the library's Trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import (
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.core.named_options import spelled
from isoglot.finetuning.class_weights import weighted_items, weighted_loss, weights_of
from isoglot.finetuning.data import LengthOrder, grouped
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.selection import EarlyStop, development_score
from isoglot.modules.adapter import adapter_of, plain_state, save_plain, write_adapter
from isoglot.modules.checkpoint import few, quiet
from isoglot.modules.finite import all_finite, non_finite
from isoglot.runs.folder import CHECKPOINT, WORK
from isoglot.runs.history import write_history
from isoglot.runs.listed import whole_folder
from isoglot.runs.reporter import Reporter, detail
from isoglot.tasks.base import TrainableTask
from isoglot.tasks.code_switching import ORIGINAL
from isoglot.tasks.features import IGNORED, RowCollator, row_lengths
from isoglot.tasks.head_task import fit_length, model_labels
from isoglot.tasks.language_vectors import attached, number_rows, write_vectors
from isoglot.tasks.vector_classifier import save_encoder
from isoglot.training.callbacks import endless_warmup
from isoglot.training.checkpoints import ADAPTER, checkpoints_in, discard, why_incomplete
from isoglot.training.saving import StagedTrainer

_EVALUATION_FACTOR = 2
_BAR = "fine-tune"
_FIRST_STEPS = 10
"""Steps of which each is logged; after them every fiftieth is."""
LOWER = "lower the learning rate ([[learning_rate=1e-5]]) or use [[precision='float32']]"
"""What to do about a training that diverged."""


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from, where copies of an :data:`ORIGINAL` share a batch, and what it is chosen by."""

    dataset: Dataset
    dev: Sequence[tuple[str, Dataset]] = ()


def train_head(  # noqa: PLR0913 - what one run is made of
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: TrainableTask,
    data: TrainingData,
    options: FinetuneOptions,
    *,
    seed: int,
    folder: Path,
    progress: Reporter,
    callbacks: Sequence[TrainerCallback] = (),
) -> dict[str, Any]:
    """Train a model with a head and write its best checkpoint; go on with an unfinished run in the folder.

    Returns:
        ``selection``, the metric that the checkpoint was chosen by (``None`` for the last one), and ``steps``.
    """
    dataset, dev = data.dataset, data.dev
    fit_length(task, model, progress)
    rows = task.encode(dataset, tokenizer, model, training=True)
    if not len(rows):
        raise ConfigurationError("no training rows are left; check the training data")
    unknown = number_rows(rows, dataset, attached(model))
    if unknown:
        note = (
            f"no language embedding for {', '.join(sorted(unknown))}: the mean of the others is added; name the ids "
            "with [[language_ids=IDS]]"
        )
        progress.note(spelled(note))
    switched = ORIGINAL in dataset.features
    if switched and options.single("batch_size") % options.copies:
        raise ConfigurationError(
            f"{options.setting} needs a batch_size that {options.copies} divides, as the rows that one translation "
            f"makes share a batch; got {options.batch_size}"
        )
    weights = None
    if options.class_weight is not None:
        weights = weights_of(options.class_weight, model_labels(model), rows)
    metric = options.select_metric or task.primary_metric
    items = grouped(rows, dataset) if switched else [[row.inputs] for row in rows]
    chooser = Chooser(task, tokenizer, model, dev, metric) if dev else None
    stops = [] if options.patience is None else [EarlyStop(options.patience, progress)]
    trainer = _Trainer(
        model=model,
        args=_arguments(options, seed=seed, work=folder / WORK, chooses=bool(dev), copies=options.copies),
        train_dataset=items,
        eval_dataset=None if chooser is None else chooser.rows,
        data_collator=RowCollator(tokenizer, multiple=8 if torch.cuda.is_available() else 1),
        compute_metrics=None if chooser is None else chooser,
        preprocess_logits_for_metrics=None if chooser is None else _reducer(task),
        callbacks=[Watcher(progress, metric), *stops, *callbacks],
    )
    # heads return means over a batch and ignore the number of items that they receive
    trainer.model_accepts_loss_kwargs = False
    trainer.class_weights = weights
    step = trainer.args.train_batch_size * options.gradient_accumulation
    lengths = np.array([row_lengths(item).max() for item in items], np.int64)
    trainer.order = LengthOrder(lengths, step, bucket=options.bucket, seed=seed)
    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
    if trainer.is_world_process_zero():
        _drop_damaged(trainer.folder, progress)
    trainer.accelerator.wait_for_everyone()
    save_encoder(model, whole=False)
    with quiet():
        trainer.train(resume_from_checkpoint=bool(checkpoints_in(trainer.folder)))
    save_encoder(model, whole=True)
    if trainer.is_world_process_zero():
        _save(model, tokenizer, folder)
        write_history(folder, trainer.state.log_history)
    best = trainer.state.best_metric
    return {"selection": None if best is None else float(best), "steps": int(trainer.state.global_step)}


def _arguments(
    options: FinetuneOptions, *, seed: int, work: Path, chooses: bool, copies: int
) -> TrainingArguments:
    batch = int(options.single("batch_size")) // copies
    if batch % options.gradient_accumulation:
        raise ConfigurationError(
            f"batch_size {options.batch_size} cannot be split over {options.gradient_accumulation} forward passes; "
            "change gradient_accumulation"
        )
    every = "epoch" if options.evaluate_every is None else "steps"
    per_device = batch // options.gradient_accumulation
    return TrainingArguments(
        output_dir=str(work),
        seed=seed,
        data_seed=seed,
        num_train_epochs=options.single("epochs"),
        learning_rate=options.single("learning_rate"),
        per_device_train_batch_size=per_device,
        per_device_eval_batch_size=_EVALUATION_FACTOR * per_device * copies,
        gradient_accumulation_steps=options.gradient_accumulation,
        warmup_steps=options.warmup,
        weight_decay=options.weight_decay,
        lr_scheduler_type=options.schedule,
        adam_beta1=options.adam_beta1,
        adam_beta2=options.adam_beta2,
        adam_epsilon=options.adam_epsilon,
        max_grad_norm=options.max_grad_norm,
        use_cpu=not torch.accelerator.is_available(),  # without it bfloat16 is refused on a CPU
        bf16=options.precision == "bfloat16",
        fp16=options.precision == "float16" or (options.precision == "mixed" and torch.cuda.is_available()),
        save_strategy=every,
        save_steps=options.evaluate_every or 1,
        save_total_limit=1,
        eval_strategy=every if chooses else "no",
        eval_steps=options.evaluate_every,
        load_best_model_at_end=chooses,
        metric_for_best_model="selection",
        greater_is_better=True,
        logging_steps=50,
        logging_nan_inf_filter=False,  # which would log the mean of the other losses
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


class Chooser:
    """Dev data of several languages as one list of rows, and the mean of their scores."""

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
            number_rows(part, dataset, attached(model))
        joined = [row.inputs for part in self.parts for row in part]
        self.order = np.argsort(-row_lengths(joined), kind="stable")
        self.rows = [joined[number] for number in self.order]

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """``selection``, the mean over the languages, and each language's own score."""
        predictions = prediction.predictions
        stacked = np.stack(predictions, axis=1) if isinstance(predictions, tuple) else np.asarray(predictions)
        outputs = np.empty_like(stacked)
        outputs[self.order] = stacked
        values, first = [], 0
        scores: dict[str, float] = {}
        for (language, dataset), part in zip(self.dev, self.parts, strict=True):
            predicted = self.task.decode(dataset, part, list(outputs[first : first + len(part)]))
            first += len(part)
            values.append(development_score(self.task, self.metric, dataset, predicted, language=language))
            scores[f"{self.metric}_{language}"] = values[-1]
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
        """Move the bar; log the loss at the first steps and at the last one too, so that a short run has a history."""
        if state.global_step <= _FIRST_STEPS or state.global_step == state.max_steps:
            control.should_log = True
        self.progress.progress(_BAR, state.global_step, state.max_steps)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """Show the mean loss since the last log beside the bar; stop at one that is not finite."""
        for name in ("loss", "train_loss"):
            loss = (logs or {}).get(name, 0.0)
            if not np.isfinite(loss):
                raise TrainingError(f"the loss is {loss} at step {state.global_step}; {LOWER}")
        if logs and "loss" in logs:
            detail(self.progress, _BAR, f"loss {logs['loss']:.4f}")

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        """Tell the development score."""
        value = (metrics or {}).get("eval_selection")
        if value is not None:
            self.progress.note(f"step {state.global_step}: dev {self.metric} {value:.2f}")


def _reducer(task: TrainableTask) -> Callable[[Any, Any], Any]:
    def reduce(logits: Any, labels: Any) -> Any:
        del labels
        if not all(map(all_finite, logits if isinstance(logits, tuple) else [logits])):
            raise TrainingError(f"the logits on the development data are NaN or infinite; {LOWER}")
        return task.reduce(logits)

    return reduce


def _drop_damaged(work: Path, progress: Reporter) -> None:
    """Go back to the newest whole checkpoint; a run that has none starts anew, and ends the same."""
    for path in reversed(checkpoints_in(work)):
        why = why_incomplete(path)
        if why is None:
            return
        progress.note(f"{path} cannot be used ({why}); the run continues from an earlier one")
        discard(path)


class _Trainer(StagedTrainer):
    """Batches of rows of like length."""

    order: LengthOrder
    class_weights: torch.Tensor | None = None

    def plan(self) -> dict[str, Any]:
        """What the order of batches depends on."""
        args = self.args
        return {
            "examples": len(self.train_dataset),  # type: ignore[arg-type]
            "batch": args.train_batch_size * args.gradient_accumulation_steps,
            "ranks": args.world_size,
        }

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler[int] | None:
        return self.order

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor:
        """Items of the whole optimiser step, over all its micro-batches and ranks."""
        local = torch.stack([self._items(batch) for batch in batch_samples]).sum().float()
        items: torch.Tensor = self.accelerator.reduce(local.to(device), "sum")
        return items

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The micro-batch's share of the step's mean over its items, times what the library is going to divide it by.

        A head gives the mean over its own micro-batch, which weighs an item more the fewer there are beside it.
        """
        if self.class_weights is None:
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        else:
            loss, outputs = weighted_loss(model, inputs, self.class_weights)
        if model.training and num_items_in_batch is not None:
            share = self._items(inputs).to(loss.device) / num_items_in_batch
            loss = loss * share * self.current_gradient_accumulation_steps * self.args.world_size
        return (loss, outputs) if return_outputs else loss

    def _items(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """What a batch's loss is the mean of: labels by their weights, or each label or row as one."""
        weights = self.class_weights
        return _items(batch) if weights is None else weighted_items(batch["labels"], weights)

    def _run_epoch(self, *given: Any, **named: Any) -> None:
        """Train an epoch, unless the callbacks have stopped the training before its first step."""
        if not self.control.should_training_stop:
            super()._run_epoch(*given, **named)  # type: ignore[no-untyped-call]


def _items(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """What a batch's loss is the mean of: labels that are not ignored, or else rows."""
    labels = batch.get("labels")
    return torch.tensor(len(batch["input_ids"])) if labels is None else (labels != IGNORED).sum()


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write the checkpoint whole, and the adapter if it is to be kept."""
    vectors = attached(model)
    state = {k: v for k, v in plain_state(model).items() if not k.startswith("language_embeddings.")}
    if wrong := non_finite(state.items()):
        raise TrainingError(f"{few(wrong)} became NaN or infinite; {LOWER}")
    with whole_folder(folder / CHECKPOINT) as checkpoint:
        save_plain(model, checkpoint, state)
        if vectors is not None:
            write_vectors(vectors, checkpoint)
        tokenizer.save_pretrained(checkpoint)
    adapter = adapter_of(model)
    if adapter is not None and adapter.keep:
        with whole_folder(folder / ADAPTER) as path:
            write_adapter(model, path)
