"""A run of a shipped recipe that can be stopped and gone on with: ``python recipe_run.py FOLDER SETTINGS.json``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from recipe_world import smaller
from torch import Tensor
from training_fakes import leave_ranks
from transformers import TrainerCallback

from isoglot.pretraining.build import build_model, build_trainer
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.pretrain import training_arguments
from isoglot.pretraining.streams import encoded, prepared, tokenizer_of_run
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import Silent
from isoglot.training.trainer import AlignmentTrainer

STATEFUL = (  # queue, momentum, dictionary drawn anew each step, labels that change over, weight that grows
    "small/combined_en_de",
    "steps=8",
    "train.save_steps=2",
    "objectives.dictionary.sample=6",
    "objectives.dictionary.share=1.0",
    "objectives.word_alignment.self_after_step=4",
    "objectives.word_alignment.weight={value: 1.0, start_step: 1}",
    "objectives.contrast.weight={value: 1.0, start_step: 2, ramp_steps: 3}",
)


class Stop(TrainerCallback):
    """Ends a run at a step, as a kill would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def make(world: Path, out: Path, name: str, *overrides: str, stop: int | None = None) -> AlignmentTrainer:
    """The trainer of a shipped recipe made small."""
    recipe = load_recipe(name, [*smaller(name, world), *overrides])
    args = training_arguments(recipe, out)
    with args.main_process_first(local=True):
        corpora = prepared(recipe, cache_folder(), Silent())
        tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
        built = build_model(recipe, tokenizer, corpora)
        streams = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    trainer = build_trainer(recipe, built, streams, tokenizer, args)
    if stop is not None:
        trainer.add_callback(Stop(stop))
    return trainer


def remembered(trainer: AlignmentTrainer) -> dict[str, Tensor]:
    """Everything that the encoder and the objectives remember."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    return {n: v.detach().clone() for n, v in model.state_dict().items()}


def main() -> None:
    out, settings = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    torch.set_num_threads(1)
    trainer = make(Path(settings["world"]), out, *STATEFUL, stop=settings.get("stop"))
    trainer.train(resume_from_checkpoint=True)
    torch.save(remembered(trainer), out / f"final{trainer.args.process_index}.pt")
    del trainer
    leave_ranks()


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
