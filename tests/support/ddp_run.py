"""Loss and gradients of one optimiser step in two gloo processes, compared with one process; run by its test."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.spawn import spawn
from training_fakes import leave_ranks, make_model, make_trainer
from transformers import TrainerCallback

from isoglot.training.batches import BatchOptions


class Gradients(TrainerCallback):
    """Keeps the gradients of every optimiser step (before clipping, which is off)."""

    def __init__(self) -> None:
        self.seen: list[dict[str, torch.Tensor]] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        found = {n: p.grad.clone() for n, p in kwargs["model"].named_parameters() if p.grad is not None}
        self.seen.append(found)


def trained(
    folder: Path, batch: dict[str, int], **settings: Any
) -> tuple[list[Any], list[float], dict[str, Any]]:
    """Gradients and losses of a short run, and its final weights."""
    watch = Gradients()
    objectives = {
        n: settings.pop(n) for n in ("queue", "dictionary", "words", "normalisation") if n in settings
    }
    objectives["text"] = bool(settings.get("text"))
    trainer = make_trainer(
        folder,
        model=make_model(dropout=0.0, **objectives),
        batch=BatchOptions(**batch),
        callbacks=[watch],
        epochs=1,
        max_grad_norm=0.0,
        logging_steps=1,
        save_strategy="no",
        **settings,
    )
    trainer.train()
    losses = [h["loss"] for h in trainer.state.log_history if "loss" in h]
    return watch.seen, losses, {n: v.clone() for n, v in trainer.model.state_dict().items()}


def worker(rank: int, folder: str, port: int, batch: dict[str, int], settings: dict[str, Any]) -> None:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    torch.set_num_threads(1)
    result = trained(Path(folder) / "two", batch, **settings)
    torch.save(result, Path(folder) / f"rank{rank}.pt")
    leave_ranks()


def two_ranks(folder: Path, port: int, batch: dict[str, int], settings: dict[str, Any]) -> list[Any]:
    """The same run in two processes."""
    spawn(worker, (str(folder), port, batch, settings), nprocs=2)
    return [torch.load(folder / f"rank{r}.pt") for r in range(2)]


sys.path.insert(0, str(Path(__file__).parent))
