"""Callbacks of each optimiser step, and the progress that they show."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.core.named_options import spelled
from isoglot.objectives.base import Batch
from isoglot.runs.reporter import Reporter
from isoglot.training.batches import TokenBudgetBatches

_LOGGER = logging.getLogger(__name__)


def require_callback(callback: Any) -> TrainerCallback:
    """A callback as it is, or made of its class.

    Raises:
        ConfigurationError: It is not one of ``transformers``.
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
    """Lets a plain ``transformers.Trainer`` tell an :class:`AlignmentModel` of its optimiser steps.

    Without it scheduled weights, momentum copies and changes of labels stay at the first step.
    """

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Weights are those of this step."""
        kwargs["model"].step = state.global_step

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Momentum updates and changes of labels."""
        kwargs["model"].after_step()


class StepHooks(TrainerCallback):
    """Checks the loss before each optimiser step, and tells the objectives and the epoch-wise settings after it."""

    def __init__(self, batches: TokenBudgetBatches, meter: StepMeter) -> None:
        self.batches, self.meter = batches, meter
        self.first = 0

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Start the clock of tokens a second."""
        kwargs["model"].expect_steps()
        self.first = state.global_step
        self.meter.flush()

    def on_train_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Warn of objectives that a whole run has not trained, though their weight is not 0."""
        self.meter.flush()
        idle = [n for n, weight in kwargs["model"].weights.items() if weight and not self.meter.items.get(n)]
        if idle and not self.first and state.is_world_process_zero:
            _LOGGER.warning(
                "not trained: %s; no batch had anything to predict, or the weight starts after the last step: look at "
                "what the model sees with `isoglot inspect`",
                ", ".join(idle),
            )

    def on_pre_optimizer_step(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop before a broken gradient is applied (on a GPU one step later, so as not to wait for it)."""
        self.meter.require_finite(wait=args.device.type != "cuda")

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> Any:
        """Momentum updates; saving and logging by epochs of the primary stream; the last losses."""
        kwargs["model"].after_step()
        control.should_log |= (
            state.global_step >= state.max_steps and args.logging_strategy != IntervalStrategy.NO
        )
        before, after = (self.batches.epoch_at(s) for s in (state.global_step - 1, state.global_step))
        if int(after) > int(before):
            control.should_save |= args.save_strategy == SaveStrategy.EPOCH
            control.should_log |= args.logging_strategy == IntervalStrategy.EPOCH
        return control


class LossReports(TrainerCallback):
    """Reports steps and what is logged: losses, tokens per second, time left."""

    def __init__(self, report: Reporter) -> None:
        self.report = report
        self.began = (0, 0.0)

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Start the clock; report a warm-up that never ends."""
        self.began = (state.global_step, time.perf_counter())
        if text := endless_warmup(args, state.max_steps, "train.warmup_steps"):
            self.report.note(text)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """One line."""
        first, began = self.began
        if logs and "loss" in logs and state.global_step > first:
            done, left = state.global_step - first, state.max_steps - state.global_step
            time_left = timedelta(seconds=round((time.perf_counter() - began) / done * left))
            progress = f"step {state.global_step}/{state.max_steps}"
            self.report.note(f"{progress} {describe(logs)}  left {time_left}")

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Move the bar."""
        self.report.progress("train", state.global_step, state.max_steps)


def endless_warmup(args: TrainingArguments, steps: int, setting: str) -> str:
    """What to report of a warm-up as long as the run, whose learning rate only rises; empty for a shorter one."""
    if (warmup := args.get_warmup_steps(steps)) < steps:
        return ""
    return spelled(
        f"warm-up of {warmup:,} steps, training of {steps:,}: the learning rate only rises, to "
        f"{steps / warmup:.0%} of its peak; [[{setting}=0.1]] is a share"
    )


def describe(logs: dict[str, float]) -> str:
    """Losses per objective, accuracies and speed in one line."""
    parts = [f"loss {logs['loss']:.4f}"]
    parts += [f"{name.replace('/', ' ')} {value:.4f}" for name, value in logs.items() if "/" in name]
    if "learning_rate" in logs:
        parts.append(f"lr {logs['learning_rate']:.2e}")
    if "tokens_per_second" in logs:
        parts.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    return "  ".join(parts)


def real_tokens(batch: Batch) -> int:
    """Tokens of a batch that are not padding, over all its inputs."""
    masks = [v for view in batch.values() for key, v in view.items() if key.endswith("attention_mask")]
    return sum(int(mask.sum()) for mask in masks)


class StepMeter:
    """Sums since the last log, kept on the device so that a step does not wait for them."""

    def __init__(self) -> None:
        self.tokens = 0
        self.items: dict[str, float] = {}  # of each objective, up to the last flush
        self._sums: dict[str, Tensor] = {}
        self._unchecked: list[tuple[int, tuple[str, ...], Tensor]] = []
        self._since = time.perf_counter()

    def add(self, step: int, outputs: Mapping[str, Any]) -> None:
        """Take in one micro-batch's outputs of :class:`~isoglot.training.model.AlignmentModel`."""
        for name, total in outputs["totals"].items():
            self._add(f"{name}/loss", total, outputs["counts"][name])
        for name, (value, items) in outputs["metrics"].items():
            count = items.to(value.device)
            self._add(name, torch.where(count > 0, value, 0.0) * count, count)
        names = tuple(outputs["totals"])
        self._unchecked.append((step, names, torch.stack(list(outputs["totals"].values()))))

    def require_finite(self, *, wait: bool = True) -> None:
        """Check the losses since the last check, the newest step's only with ``wait``: a GPU has to be waited for."""
        newest = self._unchecked[-1][0] if self._unchecked else 0
        ready = [item for item in self._unchecked if wait or item[0] < newest]
        self._unchecked = [item for item in self._unchecked if not wait and item[0] >= newest]
        if not ready or bool(torch.isfinite(torch.cat([values for _, _, values in ready])).all()):
            return
        for step, names, values in ready:
            bad = [(n, v) for n, v in zip(names, values.tolist(), strict=True) if not abs(v) < float("inf")]
            if bad:
                raise TrainingError(
                    f"objective {bad[0][0]!r} has loss {bad[0][1]} at step {step + 1}; a finite number is needed. "
                    "Lower train.learning_rate, raise train.warmup_steps, set train.max_grad_norm=1.0 or train in fp32 "
                    "(train.bf16=false), then run again with [[resume=True]] from the last checkpoint"
                )

    def flush(self) -> dict[str, float]:
        """Means since the last flush over all ranks, and real tokens a second; starts anew."""
        sums = torch.stack([*self._sums.values()]).double().tolist() if self._sums else []
        here = {"sums": dict(zip(self._sums, sums, strict=True)), "tokens": self.tokens}
        everywhere = gather_object([here])
        names = sorted({n for rank in everywhere for n in rank["sums"]})
        logs = {}
        for name in names:
            parts = [rank["sums"][name] for rank in everywhere if name in rank["sums"]]
            total, count = (sum(column) for column in zip(*parts, strict=True))
            if count:
                logs[name] = total / count
            if name.endswith("/loss"):
                objective = name.removesuffix("/loss")
                self.items[objective] = self.items.get(objective, 0.0) + count
        seconds = time.perf_counter() - self._since
        logs["tokens_per_second"] = sum(rank["tokens"] for rank in everywhere) / max(seconds, 1e-9)
        self._sums, self.tokens, self._since = {}, 0, time.perf_counter()
        return logs

    def _add(self, name: str, total: Tensor, count: Tensor) -> None:
        pair = torch.stack([total.reshape(()), count.to(total.device).reshape(())])
        self._sums[name] = self._sums[name] + pair if name in self._sums else pair
