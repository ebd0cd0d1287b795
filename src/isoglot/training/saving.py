"""A Trainer whose checkpoints are complete or not there, and which resumes from the newest of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase, Trainer
from transformers.trainer_utils import TrainOutput

from isoglot.training import checkpoints
from isoglot.training.batches import TokenBudgetBatches
from isoglot.training.export import save_encoder
from isoglot.training.meter import Meter

__all__ = ["CheckpointingTrainer"]


class CheckpointingTrainer(Trainer):
    """What :class:`~isoglot.training.trainer.AlignmentTrainer` does about checkpoints; not used by itself.

    Attributes:
        folder: the run's output folder.
        batches: say what the order of batches depends on.
        meter: says whether the losses up to here are finite.
        tokenizer: saved beside the encoder.
    """

    folder: Path
    batches: TokenBudgetBatches
    meter: Meter
    tokenizer: PreTrainedTokenizerBase | None
    _staging: Path | None = None

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> TrainOutput:  # type: ignore[override]
        """Train, or go on training; ``True`` finds the newest complete checkpoint."""
        plan = self.batches.fingerprint()
        found = checkpoints.chosen(
            resume_from_checkpoint, self.folder, plan=plan, main=self.is_world_process_zero()
        )
        return super().train(resume_from_checkpoint=found, **kwargs)

    def _get_output_dir(self, trial: Any = None) -> str:
        return str(self._staging or super()._get_output_dir(trial))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write aside, then rename; where the disk is full, keep the checkpoint before and go on."""
        self.meter.require_finite()
        name, main = f"checkpoint-{self.state.global_step}", self.args.should_save
        self._staging = checkpoints.staging(self.folder)
        with checkpoints.room_for(name, self.folder, main=main, keep=self.args.save_total_limit) as attempt:
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if main:
                checkpoints.commit(name, self.folder, plan=self.batches.fingerprint())
        self._staging = None
        if main and attempt.saved:
            checkpoints.prune(self.folder, self.args.save_total_limit)

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        if self.args.should_save:
            folder = self.folder if output_dir is None else Path(output_dir)
            model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
            save_encoder(model.model, folder, tokenizer=self.tokenizer, state=state_dict)
            checkpoints.save_objectives(model, folder)
            torch.save(self.args, folder / "training_args.bin")

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if self.is_fsdp_enabled:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
        else:
            checkpoints.load_weights(self.accelerator.unwrap_model(self.model), resume_from_checkpoint)
