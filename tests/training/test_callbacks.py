from __future__ import annotations

from pathlib import Path

import pytest
import torch
from training_fakes import make_trainer
from transformers import TrainingArguments

from isoglot.core.errors import TrainingError
from isoglot.runs.reporter import Silent
from isoglot.training.callbacks import LossReports, StepMeter, endless_warmup, real_tokens


def test_a_late_check_waits_for_no_step() -> None:
    meter = StepMeter()
    bad = {"totals": {"a": torch.tensor(float("inf"))}, "counts": {"a": torch.tensor(1.0)}, "metrics": {}}
    meter.add(0, bad)
    meter.require_finite(wait=False)  # step 0 may still be running
    meter.add(1, bad)
    with pytest.raises(TrainingError, match="'a' has loss inf at step 1"):
        meter.require_finite(wait=False)


def test_meter_means() -> None:
    meter = StepMeter()
    meter.flush()
    for total, count, accuracy in ((6.0, 3, 1.0), (4.0, 1, 0.0), (0.0, 0, float("nan"))):
        outputs = {
            "totals": {"a": torch.tensor(total)},
            "counts": {"a": torch.tensor(float(count))},
            "metrics": {"a/accuracy": (torch.tensor(accuracy), torch.tensor(float(count)))},
        }
        meter.add(0, outputs)
    meter.tokens = 50
    logs = meter.flush()
    assert logs["a/loss"] == 2.5 and logs["a/accuracy"] == 0.75 and logs["tokens_per_second"] > 0
    assert set(meter.flush()) == {"tokens_per_second"}


def test_real_tokens() -> None:
    ids = torch.ones(2, 3, dtype=torch.long)
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    assert real_tokens({"pair": {"input_ids": ids, "attention_mask": mask}}) == 3
    assert real_tokens({"two": {"query_attention_mask": mask, "key_attention_mask": mask}}) == 6


def test_losses_are_told(tmp_path: Path) -> None:
    class Kept(Silent):
        def __init__(self) -> None:
            self.lines: list[str] = []
            self.steps: list[tuple[int, int]] = []

        def note(self, text: str) -> None:
            self.lines.append(text)

        def progress(self, label: str, done: int, total: int) -> None:
            self.steps.append((done, total))

    kept = Kept()
    make_trainer(tmp_path, epochs=1, save_strategy="no", callbacks=[LossReports(kept)]).train()
    assert kept.steps[-1] == (12, 12) and len(kept.steps) == 12
    assert kept.lines[-1].startswith("step 12/12 loss ") and kept.lines[-1].endswith("left 0:00:00")
    assert "masked_lm accuracy" in kept.lines[-1] and "tokens/s" in kept.lines[-1]


@pytest.mark.parametrize(
    ("schedule", "noted"), [("linear", True), ("constant_with_warmup", True), ("constant", False)]
)
def test_endless_warmup_is_noted_for_schedules_with_a_warmup(
    tmp_path: Path, schedule: str, noted: bool
) -> None:
    args = TrainingArguments(str(tmp_path), warmup_steps=500, lr_scheduler_type=schedule, report_to=[])
    assert endless_warmup(args, 499, "warmup").startswith("warm-up of 500 steps") == noted
    assert endless_warmup(args, 501, "warmup") == ""
