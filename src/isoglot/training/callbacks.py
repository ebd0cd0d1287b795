"""Callbacks of each optimiser step, and the progress that they show.

The trainer adds each micro-batch's losses to a :class:`StepMeter`. :class:`StepHooks` checks them and calls the
objectives after each step; :class:`LossReports` shows the means that are logged.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy, SchedulerType

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.core.named_options import spelled
from isoglot.objectives.base import Batch
from isoglot.runs.reporter import Reporter
from isoglot.training.batches import TokenBudgetBatches

_LOGGER = logging.getLogger(__name__)


def require_callback(callback: Any) -> TrainerCallback:
    """Return a callback, made of its class if the class is given.

    Raises:
        ConfigurationError: The object is not a callback of ``transformers``.
    """
    if isinstance(callback, type) and issubclass(callback, TrainerCallback):
        return callback()
    if not isinstance(callback, TrainerCallback):
        raise ConfigurationError(
            f"callbacks: got {shortened(callback)}; a transformers.TrainerCallback is needed: "
            "class Watch(TrainerCallback): def on_log(self, args, state, control, logs=None, **_): print(logs)"
        )
    return callback


class ObjectiveSteps(TrainerCallback):
    """Pass the optimiser steps of a plain ``transformers.Trainer`` on to an :class:`AlignmentModel`.

    Without this callback scheduled weights, momentum copies and changes of labels stay at the first step.
    """

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Set the step that scheduled weights are read at."""
        kwargs["model"].step = state.global_step

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Update momentum copies and labels."""
        kwargs["model"].after_step()


class StepHooks(TrainerCallback):
    """Check the loss before each optimiser step; after the step update the objectives, and save and log by epochs."""

    def __init__(self, batches: TokenBudgetBatches, meter: StepMeter) -> None:
        self.batches, self.meter = batches, meter
        self.first_step = 0  # larger in a resumed run

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Start the clock of tokens per second."""
        kwargs["model"].stop_watching_steps()  # `on_step_end` here calls `after_step`
        self.first_step = state.global_step
        self.meter.flush()  # its clock has run since the trainer was built

    def on_train_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Warn about objectives that a whole run has not trained, though their weight is not 0."""
        self.meter.flush()
        idle: list[str] = []
        for name, weight in kwargs["model"].weights.items():
            if weight and not self.meter.counts.get(name):
                idle.append(name)
        # A resumed run does not know what was trained before it was killed.
        is_resumed = self.first_step > 0
        if idle and not is_resumed and state.is_world_process_zero:
            _LOGGER.warning(
                "not trained: %s; no batch had anything to predict, or the weight starts after the last step: look at "
                "what the model sees with `isoglot inspect`",
                ", ".join(idle),
            )

    def on_pre_optimizer_step(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop at a loss that is not finite: on a CPU before it changes the weights, on a GPU a step later.

        A GPU would have to be waited for to check the losses of the newest step, so these are checked at the next one.
        """
        self.meter.require_finite(wait=args.device.type != "cuda")

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> Any:
        """Update the objectives; ask for a log after the last step; save and log by epochs of the primary stream."""
        kwargs["model"].after_step()
        is_last = state.global_step >= state.max_steps
        control.should_log |= is_last and args.logging_strategy != IntervalStrategy.NO
        # The library counts epochs in passes over the loader, and the whole run is one pass.
        epoch_before = self.batches.epoch_at(state.global_step - 1)
        epoch = self.batches.epoch_at(state.global_step)
        ends_epoch = int(epoch) > int(epoch_before)
        if ends_epoch:
            control.should_save |= args.save_strategy == SaveStrategy.EPOCH
            control.should_log |= args.logging_strategy == IntervalStrategy.EPOCH
        return control


class LossReports(TrainerCallback):
    """Report each step, and each log with its losses, tokens per second and the time left."""

    def __init__(self, report: Reporter) -> None:
        self.report = report
        self.first_step = 0  # larger in a resumed run
        self.started_at = 0.0  # seconds of the clock

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Start the clock; report a warm-up that never ends."""
        self.first_step, self.started_at = state.global_step, time.perf_counter()
        note = endless_warmup(args, state.max_steps, "train.warmup_steps")
        if note:
            self.report.note(note)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """Write one line: ``step 50/1000 loss 2.3011  …  left 0:12:40``."""
        steps_done = state.global_step - self.first_step
        if not logs or "loss" not in logs or steps_done <= 0:
            return
        seconds_per_step = (time.perf_counter() - self.started_at) / steps_done
        steps_left = state.max_steps - state.global_step
        time_left = timedelta(seconds=round(seconds_per_step * steps_left))
        progress = f"step {state.global_step}/{state.max_steps}"
        self.report.note(f"{progress} {describe(logs)}  left {time_left}")

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Move the bar."""
        self.report.progress("train", state.global_step, state.max_steps)


_WITHOUT_WARMUP = (SchedulerType.CONSTANT, SchedulerType.REDUCE_ON_PLATEAU)
"""Schedules to which the library gives no warm-up, whatever the setting is (``transformers.get_scheduler``)."""


def endless_warmup(args: TrainingArguments, steps: int, setting: str) -> str:
    """Return a note on a warm-up that is as long as the run, so that the learning rate only rises; else an empty text.

    ``setting``: Name of the setting, as the note spells it.
    """
    warmup = args.get_warmup_steps(steps)
    if warmup < steps or args.lr_scheduler_type in _WITHOUT_WARMUP:
        return ""
    return spelled(
        f"warm-up of {warmup:,} steps, training of {steps:,}: the learning rate only rises, to "
        f"{steps / warmup:.0%} of its peak; [[{setting}=0.1]] is a share"
    )


def describe(logs: dict[str, float]) -> str:
    """Write a log as one line: ``loss 2.3011  mlm loss 2.3011  mlm accuracy 0.1200  lr 1.00e-04  5,120 tokens/s``."""
    parts = [f"loss {logs['loss']:.4f}"]
    parts += [f"{name.replace('/', ' ')} {value:.4f}" for name, value in logs.items() if "/" in name]
    if "learning_rate" in logs:
        parts.append(f"lr {logs['learning_rate']:.2e}")
    if "tokens_per_second" in logs:
        parts.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    return "  ".join(parts)


def real_tokens(batch: Batch) -> int:
    """Count the tokens of a batch that are not padding, over all its inputs."""
    tokens = 0
    for view in batch.values():
        for key, values in view.items():
            if key.endswith("attention_mask"):  # a view with two inputs has two
                tokens += int(values.sum())
    return tokens


class _Losses(NamedTuple):
    """The losses of one micro-batch."""

    step: int
    objectives: tuple[str, ...]
    values: Tensor  # one for each objective


class StepMeter:
    """Sum losses and metrics from one log to the next. The sums stay on the device, so that no step waits for them.

    Each name in the log has a sum and a count of its own, and the log shows sum / count. A loss or a metric counts its
    items; a number that belongs to no items would be added with the count 1.
    """

    def __init__(self) -> None:
        self.tokens = 0
        # The number of items of each objective in the whole run, from its first step to the last flush.
        self.counts: dict[str, float] = {}
        # By the name in the log, such as `mlm/loss`: a tensor of two numbers, the sum and the count.
        self._sums: dict[str, Tensor] = {}
        self._unchecked: list[_Losses] = []
        self._last_flush = time.perf_counter()

    def add(self, step: int, outputs: Mapping[str, Any]) -> None:
        """Add one micro-batch's outputs of :class:`~isoglot.training.model.AlignmentModel`."""
        for name, total in outputs["totals"].items():
            self._add(f"{name}/loss", total, outputs["counts"][name])
        for name, (mean, number_of_items) in outputs["metrics"].items():
            count = number_of_items.to(mean.device)
            # Without items the mean is NaN, which would spoil the sum: 0 is added.
            total = torch.where(count > 0, mean, 0.0) * count
            self._add(name, total, count)
        values = torch.stack(list(outputs["totals"].values()))
        self._unchecked.append(_Losses(step, tuple(outputs["totals"]), values))

    def require_finite(self, *, wait: bool = True) -> None:
        """Check the losses since the last check, and refuse NaN and infinity.

        ``wait``: Whether the losses of the newest step are checked too, for which a GPU has to be waited; otherwise
        they are checked the next time.
        """
        newest = self._unchecked[-1].step if self._unchecked else 0
        ready: list[_Losses] = []
        later: list[_Losses] = []
        for losses in self._unchecked:
            if wait or losses.step < newest:
                ready.append(losses)
            else:
                later.append(losses)
        self._unchecked = later
        if not ready:
            return
        # All losses in one question to the device; which one is wrong is only looked for if one is.
        all_values = torch.cat([losses.values for losses in ready])
        if bool(torch.isfinite(all_values).all()):
            return
        for losses in ready:
            for name, value in zip(losses.objectives, losses.values.tolist(), strict=True):
                if not math.isfinite(value):
                    raise TrainingError(
                        f"objective {name!r} has loss {value} at step {losses.step + 1}; a finite number is needed. "
                        "Lower train.learning_rate, raise train.warmup_steps, set train.max_grad_norm=1.0 or train in "
                        "fp32 (train.bf16=false), then run again with [[resume=True]] from the last checkpoint"
                    )

    def flush(self) -> dict[str, float]:
        """Return the means since the last flush over all ranks, with the real tokens per second, and start again.

        ``{"mlm/loss": 2.3, "mlm/accuracy": 0.12, "tokens_per_second": 5120.0}``. Every rank has to call it. A metric
        may be missing on some of the ranks.
        """
        # One copy from the device for all sums.
        sums = torch.stack([*self._sums.values()]).double().tolist() if self._sums else []
        of_this_rank = {"sums": dict(zip(self._sums, sums, strict=True)), "tokens": self.tokens}
        of_ranks = gather_object([of_this_rank])
        names: set[str] = set()
        for rank in of_ranks:
            names.update(rank["sums"])
        logs = {}
        for name in sorted(names):
            total = count = 0.0
            for rank in of_ranks:
                if name in rank["sums"]:
                    total_of_rank, count_of_rank = rank["sums"][name]
                    total += total_of_rank
                    count += count_of_rank
            if count:
                logs[name] = total / count
            if name.endswith("/loss"):
                objective = name.removesuffix("/loss")
                self.counts[objective] = self.counts.get(objective, 0.0) + count
        now = time.perf_counter()
        tokens = sum(rank["tokens"] for rank in of_ranks)
        logs["tokens_per_second"] = tokens / max(now - self._last_flush, 1e-9)
        self._sums, self.tokens, self._last_flush = {}, 0, now
        return logs

    def _add(self, name: str, total: Tensor, count: Tensor) -> None:
        """Add to the sum and the count of a name."""
        both = torch.stack([total.reshape(()), count.to(total.device).reshape(())])
        self._sums[name] = self._sums[name] + both if name in self._sums else both
