"""What happens once per optimiser step, and what is shown of it."""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from isoglot.runs.reporter import Reporter
from isoglot.training.batches import TokenBudgetBatches
from isoglot.training.meter import Meter


class StepHooks(TrainerCallback):
    """Checks the loss before each optimiser step, and tells the objectives and the epoch-wise settings after it."""

    def __init__(self, batches: TokenBudgetBatches, meter: Meter) -> None:
        self.batches, self.meter = batches, meter

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Start the clock of tokens a second."""
        self.meter.flush()

    def on_pre_optimizer_step(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Stop before a broken gradient is applied (on a GPU one step later, so as not to wait for it)."""
        self.meter.require_finite(wait=args.device.type != "cuda")

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Momentum updates; saving and logging by epochs of the primary stream."""
        kwargs["model"].after_step()
        before, after = (self.batches.epoch_at(s) for s in (state.global_step - 1, state.global_step))
        if int(after) > int(before):
            control.should_save |= args.save_strategy == SaveStrategy.EPOCH
            control.should_log |= args.logging_strategy == IntervalStrategy.EPOCH
        return control


class Told(TrainerCallback):
    """Tells a reporter of steps, and of what is logged: losses, tokens a second, time left."""

    def __init__(self, report: Reporter) -> None:
        self.report = report
        self._began = (0, 0.0)

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._began = (state.global_step, time.perf_counter())

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        """One line."""
        first, began = self._began
        if logs and "loss" in logs and state.global_step > first:
            done, left = state.global_step - first, state.max_steps - state.global_step
            hours, rest = divmod(round((time.perf_counter() - began) / done * left), 3600)
            time_left = f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
            place = f"step {state.global_step}/{state.max_steps}"
            self.report.note(f"{place} {describe(logs)}  left {time_left}")

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Move the bar."""
        self.report.progress("train", state.global_step, state.max_steps)


def describe(logs: dict[str, float]) -> str:
    """Losses per objective, accuracies and speed in one line."""
    shown = [f"loss {logs['loss']:.4f}"]
    shown += [f"{name.replace('/', ' ')} {value:.4f}" for name, value in logs.items() if "/" in name]
    if "learning_rate" in logs:
        shown.append(f"lr {logs['learning_rate']:.2e}")
    if "tokens_per_second" in logs:
        shown.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    return "  ".join(shown)
