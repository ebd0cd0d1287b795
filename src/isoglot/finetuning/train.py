"""Train a head with the Trainer of transformers: one run, with one combination of settings.

Open :func:`train_head` first. :class:`Watcher` shows the progress, and :class:`_Trainer` changes two things of the
library: which rows share a batch, and how the losses of micro-batches are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.core.named_options import spelled
from isoglot.finetuning.class_weights import weight_of_items, weighted_loss, weights_of
from isoglot.finetuning.data import LengthOrder, grouped
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.selection import LOGGED_SELECTION, SELECTION, DevelopmentScorer, EarlyStop
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
from isoglot.tasks.language_vectors import add_language_ids, attached, write_vectors
from isoglot.tasks.vector_classifier import include_encoder_in_saves
from isoglot.training.callbacks import endless_warmup
from isoglot.training.checkpoints import ADAPTER, checkpoints_in, discard, why_incomplete
from isoglot.training.saving import StagedTrainer

_EVALUATION_FACTOR = 2
"""Batches of an evaluation are larger by this factor: no gradients are kept."""
_BAR = "fine-tune"
"""Name of the progress bar."""
_FIRST_STEPS = 10
_LOGGED_EVERY = 50
"""Each of the first steps is logged; after them every fiftieth is."""
_IF_DIVERGED = "lower the learning rate ([[learning_rate=1e-5]]) or use [[precision='float32']]"
"""What to do about a training that diverged."""


@dataclass(frozen=True)
class TrainingData:
    """The training rows of a run, and the development data of some languages by which its checkpoint is chosen.

    Rows with the same number in the column :data:`ORIGINAL`, which code-switching adds, share a batch.
    """

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
    """Train a model with a head and write its best checkpoint; an unfinished run in the folder is continued.

    Returns:
        ``selection``, the development score of the checkpoint that was kept (``None`` if it is simply the last one),
        and ``steps``, the number of steps that were trained.
    """
    # Encode the training rows. The settings are checked against them before anything is trained.
    dataset, dev = data.dataset, data.dev
    fit_length(task, model, progress)
    rows = task.encode(dataset, tokenizer, model, training=True)
    if not len(rows):
        raise ConfigurationError("no training rows are left; check the training data")
    unknown_languages = add_language_ids(rows, dataset, attached(model))
    if unknown_languages:
        note = (
            f"no language embedding for {', '.join(sorted(unknown_languages))}: the mean of the others is added; name "
            "the ids with [[language_ids=IDS]]"
        )
        progress.note(spelled(note))
    code_switched = ORIGINAL in dataset.features
    if code_switched and options.single("batch_size") % options.copies:
        raise ConfigurationError(
            f"{options.setting} needs a batch_size that {options.copies} divides, as the rows that one translation "
            f"makes share a batch; got {options.batch_size}"
        )
    weights = None
    if options.class_weight is not None:
        weights = weights_of(options.class_weight, model_labels(model), rows)

    # The rows of a group share a batch: the copies of an original, or else a single row.
    groups = grouped(rows, dataset) if code_switched else [[row.inputs] for row in rows]

    # Make the trainer, with the development data if the best checkpoint is kept.
    metric = options.select_metric or task.primary_metric
    scorer = DevelopmentScorer(task, tokenizer, model, dev, metric) if dev else None
    early_stop = [] if options.patience is None else [EarlyStop(options.patience, progress)]
    trainer = _Trainer(
        model=model,
        args=_arguments(options, seed=seed, work=folder / WORK, chooses=bool(dev), copies=options.copies),
        train_dataset=groups,
        eval_dataset=None if scorer is None else scorer.rows,
        data_collator=RowCollator(tokenizer, multiple=8 if torch.cuda.is_available() else 1),
        compute_metrics=scorer,
        preprocess_logits_for_metrics=None if scorer is None else _reducer(task),
        callbacks=[Watcher(progress, metric), *early_stop, *callbacks],
    )
    trainer.class_weights = weights
    # `groups_per_step` counts the groups of this process: `train_batch_size` is `per_device_train_batch_size` times the
    # number of GPUs that the process uses.
    groups_per_step = trainer.args.train_batch_size * options.gradient_accumulation
    lengths = np.array([row_lengths(group).max() for group in groups], np.int64)
    trainer.order = LengthOrder(lengths, groups_per_step, bucket=options.bucket, seed=seed)
    for callback in (PrinterCallback, ProgressCallback):  # the Watcher shows the progress
        trainer.remove_callback(callback)

    # Train, from the newest intact checkpoint if a run was killed. The first process deletes damaged checkpoints
    # before any process looks for one. Checkpoints to resume from leave out a frozen encoder, which does not change.
    if trainer.is_world_process_zero():
        _drop_damaged(trainer.folder, progress)
    trainer.accelerator.wait_for_everyone()
    include_encoder_in_saves(model, include=False)
    with quiet():
        trainer.train(resume_from_checkpoint=bool(checkpoints_in(trainer.folder)))
    include_encoder_in_saves(model, include=True)

    # The trainer has put the weights of the best checkpoint back into the model.
    if trainer.is_world_process_zero():
        _save(model, tokenizer, folder)
        write_history(folder, trainer.state.log_history)
    best_score = trainer.state.best_metric
    return {
        "selection": None if best_score is None else float(best_score),
        "steps": int(trainer.state.global_step),
    }


def _arguments(
    options: FinetuneOptions, *, seed: int, work: Path, chooses: bool, copies: int
) -> TrainingArguments:
    """Translate the settings into arguments of transformers.

    ``batch_size`` counts rows of one optimiser step, but the trainer counts groups of one forward pass. A batch size of
    32 with two copies of each original and ``gradient_accumulation=4`` makes 16 groups a step, 4 a forward pass.

    Args:
        options: The settings, without lists.
        seed: Of the order of rows, and of dropout.
        work: The folder of the checkpoints that the run resumes from.
        chooses: Whether there are development data by which the best checkpoint is kept.
        copies: Rows of a group.
    """
    groups_per_device = int(options.single("batch_size")) // copies  # in one optimiser step
    if groups_per_device % options.gradient_accumulation:
        raise ConfigurationError(
            f"batch_size {options.batch_size} cannot be split over {options.gradient_accumulation} forward passes; "
            "change gradient_accumulation"
        )
    every = "epoch" if options.evaluate_every is None else "steps"
    groups_per_pass = groups_per_device // options.gradient_accumulation
    return TrainingArguments(
        output_dir=str(work),
        seed=seed,
        data_seed=seed,
        num_train_epochs=options.single("epochs"),
        learning_rate=options.single("learning_rate"),
        per_device_train_batch_size=groups_per_pass,
        per_device_eval_batch_size=_EVALUATION_FACTOR * groups_per_pass * copies,
        gradient_accumulation_steps=options.gradient_accumulation,
        # The library, too, takes a value below 1 as a share of all steps; of other values it drops the fraction.
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
        save_steps=options.evaluate_every or 1,  # a number by its type; not read with "epoch"
        save_total_limit=1,
        eval_strategy=every if chooses else "no",
        eval_steps=options.evaluate_every,
        load_best_model_at_end=chooses,
        metric_for_best_model=SELECTION,
        greater_is_better=True,
        logging_steps=_LOGGED_EVERY,
        logging_nan_inf_filter=False,  # the filter would hide a NaN from the Watcher: it logs the mean of the others
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


class Watcher(TrainerCallback):
    """Report steps and evaluations, and stop at a loss that is not finite."""

    def __init__(self, progress: Reporter, metric: str) -> None:
        self.progress, self.metric = progress, metric

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Warn of a warm-up that is longer than the run, and find the best checkpoint of a resumed run."""
        warning = endless_warmup(args, state.max_steps, "warmup")
        if warning:
            self.progress.note(warning)
        # The state has the absolute path of the best checkpoint, which is wrong if the run's folder was moved.
        if state.best_global_step:
            state.best_model_checkpoint = str(
                Path(str(args.output_dir)) / f"checkpoint-{state.best_global_step}"
            )

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Move the bar; log the loss of the first steps and of the last one too, so that a short run has a history."""
        if state.global_step <= _FIRST_STEPS or state.global_step == state.max_steps:
            control.should_log = True
        self.progress.progress(_BAR, state.global_step, state.max_steps)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """Show the mean loss since the last log beside the bar; stop at a loss that is not finite."""
        for name in ("loss", "train_loss"):
            loss = (logs or {}).get(name, 0.0)
            if not np.isfinite(loss):
                raise TrainingError(f"the loss is {loss} at step {state.global_step}; {_IF_DIVERGED}")
        if logs and "loss" in logs:
            detail(self.progress, _BAR, f"loss {logs['loss']:.4f}")

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        """Report the development score."""
        value = (metrics or {}).get(LOGGED_SELECTION)
        if value is not None:
            self.progress.note(f"step {state.global_step}: dev {self.metric} {value:.2f}")


def _reducer(task: TrainableTask) -> Callable[[Any, Any], Any]:
    """Return a function that makes the outputs of an evaluation batch small; the trainer keeps those of all batches.

    A tagger keeps the best label of each word in place of the scores of all labels (``TrainableTask.reduce``).
    """

    def reduce(logits: Any, labels: Any) -> Any:
        del labels  # the trainer passes them; the scorer reads those of the data set
        outputs = logits if isinstance(logits, tuple) else [logits]
        if not all(all_finite(output) for output in outputs):
            raise TrainingError(f"the logits on the development data are NaN or infinite; {_IF_DIVERGED}")
        return task.reduce(logits)

    return reduce


def _drop_damaged(work: Path, progress: Reporter) -> None:
    """Delete damaged checkpoints, from the newest back to the first intact one.

    A run without any intact checkpoint starts again from the beginning, and ends with the same weights.
    """
    for path in reversed(checkpoints_in(work)):
        why = why_incomplete(path)
        if why is None:
            return  # the run resumes from this one
        progress.note(f"{path} cannot be used ({why}); the run continues from an earlier one")
        discard(path)


class _Trainer(StagedTrainer):
    """A Trainer whose batches hold rows of like length, and whose loss does not depend on how a step is divided.

    The mean of a loss is over *items*, as transformers calls them: words with a label in tagging, rows in
    classification. With class weights an item counts as much as its class weighs.
    """

    order: LengthOrder
    class_weights: torch.Tensor | None = None

    def plan(self) -> dict[str, Any]:
        """Return the values on which the order of batches depends. A resumed run compares them with its checkpoint."""
        args = self.args
        return {
            "examples": len(self.train_dataset),  # type: ignore[arg-type]
            "batch": args.train_batch_size * args.gradient_accumulation_steps,
            "ranks": args.world_size,
        }

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler[int] | None:
        return self.order

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor:
        """Count the items of an optimiser step, over all its micro-batches and ranks."""
        of_this_rank = torch.stack([self._items(batch) for batch in batch_samples]).sum().float()
        of_all_ranks: torch.Tensor = self.accelerator.reduce(of_this_rank.to(device), "sum")
        return of_all_ranks

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute a micro-batch's loss such that all micro-batches together give the mean over the items of the step.

        A head gives the mean over its own micro-batch. The library would average these means, so that an item counts
        more the fewer items stand beside it: of two micro-batches with 1 and 9 items, the one item would count half.

        1. The mean is therefore multiplied by the micro-batch's share of the items: 1/10 and 9/10.
        2. The loss is multiplied in advance by the numbers of micro-batches and ranks, because the library divides it
           by the first and DDP by the second (:class:`~isoglot.training.saving.StagedTrainer`).

        Evaluations report the mean over the batch, weighted if there are class weights.
        """
        if self.class_weights is None:
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        else:
            loss, outputs = weighted_loss(model, inputs, self.class_weights)
        if model.training and num_items_in_batch is not None:
            share = self._items(inputs).to(loss.device) / num_items_in_batch  # 1
            # 2. The micro-batches of this step: the last step of an epoch may have fewer than the others.
            micro_batches = self.current_gradient_accumulation_steps
            loss = loss * share * micro_batches * self.args.world_size
        return (loss, outputs) if return_outputs else loss

    def _items(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Count the items of a batch, each by the weight of its class if there are class weights."""
        if self.class_weights is None:
            return _unweighted_items(batch)
        return weight_of_items(batch["labels"], self.class_weights)

    def _run_epoch(self, *given: Any, **named: Any) -> None:
        """Train an epoch, unless a callback has stopped the training before the epoch's first step.

        The library asks only after each step whether to stop. A resumed run whose patience is used up
        (:class:`EarlyStop`) would otherwise train one step more than a run that was never killed.
        """
        if not self.control.should_training_stop:
            super()._run_epoch(*given, **named)  # type: ignore[no-untyped-call]


def _unweighted_items(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Count the items of a batch: labels that are not ignored, or rows if the batch has no ``labels``.

    The rows of question answering have none: their loss is that of the first and the last word of the answer.
    """
    labels = batch.get("labels")
    if labels is None:
        return torch.tensor(len(batch["input_ids"]))
    return (labels != IGNORED).sum()


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write the final checkpoint, the adapter merged into its weights, and the adapter itself if it is to be kept."""
    language_vectors = attached(model)
    # Language embeddings have a file of their own: transformers does not know them.
    state = {
        name: values
        for name, values in plain_state(model).items()
        if not name.startswith("language_embeddings.")
    }
    broken = non_finite(state.items())
    if broken:
        raise TrainingError(f"{few(broken)} became NaN or infinite; {_IF_DIVERGED}")
    with whole_folder(folder / CHECKPOINT) as checkpoint:
        save_plain(model, checkpoint, state)
        if language_vectors is not None:
            write_vectors(language_vectors, checkpoint)
        tokenizer.save_pretrained(checkpoint)
    adapter = adapter_of(model)
    if adapter is not None and adapter.keep:
        with whole_folder(folder / ADAPTER) as path:
            write_adapter(model, path)
