"""Short runs of several objectives, in this process or ``torchrun rank_runs.py FOLDER RUNS.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from training_fakes import leave_ranks, make_trainer, tokenizer
from transformers import PreTrainedModel, TrainerCallback

from isoglot.objectives.base import Objective
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignmentObjective
from isoglot.objectives.in_batch_contrast import InBatchContrastObjective
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.objectives.self_training import SelfTrainingObjective
from isoglot.objectives.sentence_contrast import SentenceContrastObjective
from isoglot.objectives.word_exchange import WordExchangeObjective
from isoglot.recipe.sections import PartsSection
from isoglot.testing import tiny_model
from isoglot.training.batches import BatchOptions
from isoglot.training.model import AlignmentModel
from isoglot.training.saving import gathered

OBJECTIVES: dict[str, Any] = {
    "tlm": lambda model: {"tlm": MaskedLMObjective(model)},
    "weam": lambda model: {"tlm": MaskedLMObjective(model), "weam": WordExchangeObjective(model)},
    "ppa": lambda model: {
        "tlm": MaskedLMObjective(model),
        "ppa": SentenceContrastObjective(model, projection_size=8, queue_size=40, momentum=0.9),
    },
    "dwa": lambda model: {
        "tlm": MaskedLMObjective(model),
        "dwa": DenoisingWordAlignmentObjective(model, label_layer=2),
    },
    "self_training": lambda model: {"self": SelfTrainingObjective(model, consistency=0.5)},
    "in_batch": lambda model: {"contrast": InBatchContrastObjective(model, temperature=0.2)},
    "late": lambda model: {"tlm": MaskedLMObjective(model)},
}
PARTS = {"late": PartsSection(head=3, layer_decay=0.5, freeze_encoder_steps=2)}


class StopAt(TrainerCallback):
    """Ends training at a step as a time limit would: what was saved stays."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop |= state.global_step == self.step


def model_of(name: str) -> AlignmentModel:
    """A tiny BERT without dropout, whose draws would differ from rank to rank."""
    encoder: PreTrainedModel = tiny_model(
        "bert", tokenizer=tokenizer(), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    torch.manual_seed(1)
    objectives: dict[str, Objective] = OBJECTIVES[name](encoder)
    return AlignmentModel(encoder, objectives)


def run(folder: Path, *, objective: str, examples: int, stop: int = 0, **settings: Any) -> dict[str, Any]:
    """Losses by step and the weights at the end."""
    trainer = make_trainer(
        folder,
        model=model_of(objective),
        batch=BatchOptions(examples=examples),
        callbacks=[StopAt(stop)] if stop else None,
        parts=PARTS.get(objective),
        epochs=1,
        logging_steps=1,
        adam_epsilon=1e-4,  # else a gradient of rounding errors alone moves a weight as far as any other
        **settings,
    )
    trainer.train(resume_from_checkpoint=True)
    logged = [entry for entry in trainer.state.log_history if "loss" in entry]
    losses = {entry["step"]: {k: v for k, v in entry.items() if k.endswith("loss")} for entry in logged}
    shards = [p.to_local() if isinstance(p, DTensor) else p for p in trainer.model.parameters()]
    local = sum(shard.numel() for shard in shards)
    return {"losses": losses, "weights": gathered(trainer.model.state_dict()), "parameters": local}


def main() -> None:
    """Do the runs one after the other; the first rank writes what came out."""
    folder, runs = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    torch.set_num_threads(1)
    for settings in runs:
        name = settings.pop("name")
        result = run(folder / name, **settings)
        if torch.distributed.get_rank() == 0:
            torch.save(result, folder / f"{name}.pt")
    leave_ranks()


if __name__ == "__main__":
    main()
