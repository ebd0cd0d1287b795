"""Hugging Face's Trainer, extended for alignment models, runs counted in steps, and complete checkpoints."""

import logging
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerBase, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback
from transformers.training_args import ParallelMode

from isoglot.core.errors import ConfigurationError
from isoglot.core.named_options import spelled
from isoglot.modules.adapter import has_adapter
from isoglot.modules.checkpoint import require_fitting
from isoglot.modules.encoder import base_of
from isoglot.recipe.sections import PartsSection
from isoglot.runs.workers import fork_server
from isoglot.training.batches import BatchOptions, TokenBudgetBatches
from isoglot.training.callbacks import StepHooks, StepMeter, real_tokens
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.training.model import AlignmentModel
from isoglot.training.parts import FreezeFirst, freeze, require_thaw, split_groups, warm_up_late
from isoglot.training.saving import CheckpointingTrainer

_LOGGER = logging.getLogger(__name__)
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Types of integers by their bytes."""


class AlignmentTrainer(CheckpointingTrainer):
    """Train an :class:`AlignmentModel` on a :class:`Mixture`.

    The run is one list of batches, a pure function of the seed; ``args.max_steps`` (or, if not set, the mixture's
    ``length``) ends it. ``resume_from_checkpoint=True`` continues bit-identically from the newest complete checkpoint
    of ``args.output_dir``, or starts where there is none yet.

    Args:
        model: encoder, objectives and weights.
        args: the library's training arguments (``train`` of a recipe); batch sizes and epochs in them are not read.
            They are adapted in place. Settings that the library does not know are arguments here.
        mixture: the examples.
        batch: how large a batch of one device is.
        collator: makes views of examples and pads them.
        tokenizer: saved beside the encoder.
        callbacks: besides the library's; a :class:`~isoglot.training.callbacks.LossReports` reports losses.
        parts: learning rate of each part of the model, and for how long the encoder stays frozen.
    """

    # The library calls the methods below
    #
    # - once a run: `get_train_dataloader`, `create_optimizer`, `create_scheduler`
    # - once a step, before its forwards: `_get_num_items_in_batch`, which also sets `model.step`
    # - once a micro-batch: `compute_loss`
    # - at steps that are logged, after the callbacks of the step's end: `log`

    def __init__(
        self,
        model: AlignmentModel,
        args: TrainingArguments,
        *,
        mixture: Mixture,
        batch: BatchOptions,
        collator: Collator,
        tokenizer: PreTrainedTokenizerBase | None = None,
        callbacks: list[TrainerCallback] | None = None,
        parts: PartsSection | None = None,
    ) -> None:
        compile_options = adapt_arguments(args)
        if args.fsdp and has_adapter(model.model):
            raise ConfigurationError(
                "model.adapter: an adapter is not sharded; remove train.fsdp or the adapter"
            )
        if tokenizer is not None:
            require_fitting(tokenizer, model.model)
        self.mixture, self.meter, self.tokenizer, self.parts = mixture, StepMeter(), tokenizer, parts
        if parts is not None:
            freeze(model, parts)
            if parts.freeze_encoder_steps:
                # DDP refuses parameters without gradient, which the encoder's are as long as it is frozen.
                args.ddp_find_unused_parameters = True
        super().__init__(
            model,
            args,
            data_collator=collator,
            train_dataset=mixture,
            processing_class=tokenizer,
            callbacks=callbacks,
        )
        self.batches = TokenBudgetBatches(
            mixture,
            batch,
            rank=args.process_index,
            world_size=args.world_size,
            accumulation=args.gradient_accumulation_steps,
            steps=args.max_steps if args.max_steps > 0 else None,
        )
        steps = self.batches.steps
        args.max_steps = steps
        # Steps in which the encoder is frozen.
        self.frozen_steps = 0 if parts is None else require_thaw(parts, steps, args.get_warmup_steps(steps))
        for callback in (ProgressCallback, PrinterCallback):
            self.remove_callback(callback)
        # Sums of the encoder's tensors by their names in the whole model, to see after training whether any changed.
        encoder = {id(tensor) for tensor in base_of(model.model).state_dict(keep_vars=True).values()}
        self.bits_before: dict[str, int] = {}
        for name, tensor in model.state_dict(keep_vars=True).items():
            if id(tensor) in encoder:
                self.bits_before[name] = _sum_of_bits(tensor)
        self.add_callback(StepHooks(self.batches, self.meter))
        if parts is not None and self.frozen_steps:
            self.add_callback(FreezeFirst(model, parts, self.frozen_steps))
        if compile_options is not None:
            # Encodings run the encoder uncompiled when an objective reads inner layers.
            base_of(model.model).compile(**compile_options)

    def warn_if_unchanged(self, state: Mapping[str, torch.Tensor]) -> None:
        """Warn if training has changed no tensor of the encoder; ``state`` is the whole model's after training."""
        if all(_sum_of_bits(state[name]) == bits for name, bits in self.bits_before.items()):
            _LOGGER.warning(
                spelled(
                    "the encoder did not change: all its %d tensors are as they were before this run; raise "
                    "train.learning_rate, train for more steps than warm up or are frozen, or give a part of the "
                    "encoder a rate ([[parts.encoder=1]])"
                ),
                len(self.bits_before),
            )

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return a loader of this rank's batches, which the library must not divide among ranks again."""
        workers = self.args.dataloader_num_workers
        # Ranks on CPUs run threads of gloo. A process that is forked while one of the threads holds a lock waits for
        # ever, so the workers are forked from a server without threads.
        has_gloo_threads = (
            self.args.world_size > 1 and self.args.device.type == "cpu" and sys.platform == "linux"
        )
        by_server = bool(workers) and has_gloo_threads
        if by_server:
            fork_server()
        return DataLoader(
            self.mixture,
            batch_sampler=self.batches,  # type: ignore[arg-type]
            collate_fn=self.data_collator,
            num_workers=workers,
            prefetch_factor=self.args.dataloader_prefetch_factor if workers else None,
            multiprocessing_context="forkserver" if by_server else None,
            pin_memory=self.args.dataloader_pin_memory and self.args.device.type == "cuda",
            generator=torch.Generator(),  # without it, starting the workers draws from the global generator
        )

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Make the library's optimiser, with a learning rate for each part."""
        is_new = self.optimizer is None
        optimizer = super().create_optimizer(model)
        if is_new and self.parts is not None:
            unwrapped = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
            split_groups(optimizer, unwrapped, self.parts)
        return optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Make the library's schedule, with a separate warm-up for an encoder that is frozen at first."""
        is_new = self.lr_scheduler is None
        scheduler = super().create_scheduler(num_training_steps, optimizer)
        if is_new:
            warm_up_late(scheduler, self.frozen_steps, self.args.get_warmup_steps(num_training_steps))
        return scheduler

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Any:
        """Count the items of the whole optimiser step for each objective, over all micro-batches and ranks.

        The library calls this method once before the forwards of a step, so the model's step is set here and the step's
        tokens are counted.
        """
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        model.step = self.state.global_step
        self.meter.tokens += sum(real_tokens(batch) for batch in batch_samples)
        # Objectives may run the encoder to count, in the precision of training. With FSDP they must not: only the
        # forward of the whole model gathers the encoder's shards.
        with self.accelerator.autocast():
            return model.step_counts(
                batch_samples,
                lambda local: self.accelerator.reduce(local.to(device), "sum"),
                ahead=not self.is_fsdp_enabled,
            )

    def _prepare_input(self, data: Any) -> Any:
        """Copy a batch to the device; from pinned memory this does not wait for the last step to end."""
        if isinstance(data, torch.Tensor):
            return data.to(self.args.device, non_blocking=True)
        return super()._prepare_input(data)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the micro-batch's share of the step's loss, times the number of micro-batches.

        The library divides by that number: :class:`~isoglot.training.saving.StagedTrainer` says who divides by what.
        """
        accumulation = getattr(self, "current_gradient_accumulation_steps", 1)
        outputs = model(inputs, counts=num_items_in_batch, accumulation=accumulation)
        self.meter.add(self.state.global_step, outputs)
        loss = outputs["loss"] * accumulation
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the mean losses and metrics since the last log, over all ranks, and tokens per second."""
        # The library computes samples per second from a batch size that this trainer does not use.
        logs.pop("train_samples_per_second", None)
        if "loss" in logs:
            logs |= self.meter.flush()
        self.state.epoch = self.batches.epoch_at(self.state.global_step)
        super().log(logs, start_time)


def adapt_arguments(args: TrainingArguments) -> dict[str, Any] | None:
    """Change arguments in place as an alignment run needs; return how to compile the encoder, or ``None``."""
    if args.fsdp and (
        args.parallel_mode != ParallelMode.DISTRIBUTED or args.fsdp_plugin_args["fsdp_version"] != 2
    ):
        raise ConfigurationError(
            "train.fsdp needs ranks (`torchrun --nproc-per-node 2 -m isoglot.cli pretrain …`) and version 2"
        )
    args.remove_unused_columns = False
    # The filter would hide a broken loss, and wait for the device at each batch.
    args.logging_nan_inf_filter = False
    if args.ddp_broadcast_buffers is None:
        args.ddp_broadcast_buffers = False  # ranks compute equal buffers, and a key queue is large
    if not args.torch_compile:
        return None
    # The library would compile the whole model. Only the encoder is compiled: objectives branch on their data (links,
    # masked tokens).
    options = {"backend": args.torch_compile_backend, "mode": args.torch_compile_mode}
    args.torch_compile, args.torch_compile_backend, args.torch_compile_mode = False, None, None
    return {key: value for key, value in options.items() if value is not None}


def _sum_of_bits(tensor: torch.Tensor) -> int:
    """Read the numbers of a tensor as integers of the same bits, and add these up: one number to compare.

    The float32 number 1.0 is 0x3F800000, so a tensor of two of them gives 0x7F000000. If any number changes, the sum
    nearly always changes.
    """
    values = tensor.detach().contiguous()
    integers = values.view(_INTEGERS[values.element_size()])
    return int(integers.sum(dtype=torch.int64))
