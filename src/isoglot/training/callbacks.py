"""What happens once per optimiser step, and what is shown of it."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TextColumn
from rich.progress import Progress as Bar
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from isoglot.training.batches import TokenBudgetBatches
from isoglot.training.meter import Meter

__all__ = ["ProgressLines", "StepHooks"]


class StepHooks(TrainerCallback):
    """Checks the loss before each optimiser step, and tells the objectives and the epoch-wise settings after it.

    Args:
        batches: know which steps end an epoch of the primary stream.
        meter: knows the losses.
    """

    def __init__(self, batches: TokenBudgetBatches, meter: Meter) -> None:
        self.batches, self.meter = batches, meter

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the clock of tokens a second."""
        self.meter.flush()

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
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


class ProgressLines(TrainerCallback):
    """A bar with losses, tokens a second and time left on a terminal, plain lines elsewhere.

    Args:
        console: where to; standard error by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._bar: Bar | None = None
        self._task: Any = None
        self._began = (0, 0.0)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Open the bar."""
        self._began = (state.global_step, time.perf_counter())
        if not state.is_world_process_zero or not self.console.is_terminal:
            return
        self._bar = Bar(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            _TimeLeft("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[text]}"),
            console=self.console,
        )
        self._task = self._bar.add_task(
            "", total=state.max_steps, completed=state.global_step, text="", left=""
        )
        self._bar.start()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=state.global_step, left=self._left(state))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Show what was logged."""
        if not state.is_world_process_zero or not logs or "loss" not in logs:
            return
        text = describe(logs)
        if self._bar is not None:
            self._bar.update(self._task, text=text)
        else:
            line = f"step {state.global_step}/{state.max_steps} {text}  left {self._left(state)}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _left(self, state: TrainerState) -> str:
        first, began = self._began
        done = state.global_step - first
        if done <= 0:
            return "?"
        seconds = (time.perf_counter() - began) / done * (state.max_steps - state.global_step)
        hours, rest = divmod(round(seconds), 3600)
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


class _TimeLeft(TextColumn):
    """Percentage and time left, counted from where this process began."""

    def render(self, task: Task) -> Any:
        return super().render(task).append(f" {task.fields['left']} left")


def describe(logs: dict[str, float]) -> str:
    """Losses per objective, accuracies and speed in one line."""
    shown = [f"loss {logs['loss']:.4f}"]
    shown += [f"{name.replace('/', ' ')} {value:.4f}" for name, value in logs.items() if "/" in name]
    if "learning_rate" in logs:
        shown.append(f"lr {logs['learning_rate']:.2e}")
    if "tokens_per_second" in logs:
        shown.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    return "  ".join(shown)
