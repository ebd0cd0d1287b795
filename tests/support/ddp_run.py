"""Losses and gradients of short runs in this process, or in two: `ddp_run.py FOLDER` in each rank."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import loaded
import torch
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


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def two_ranks(folder: Path, runs: dict[str, tuple[dict[str, int], dict[str, Any]]]) -> dict[str, list[Any]]:
    """Train runs, each a batch and settings, in the same two processes; what each rank found, by the run's name."""
    (folder / "runs.pickle").write_bytes(pickle.dumps(runs))
    port = str(free_port())
    ranks = []
    for rank in ("0", "1"):
        place = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        command = [loaded.python(), __file__, str(folder)]
        with (folder / f"rank{rank}.log").open("w") as log:
            ranks.append(subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **place}))
    for number, process in enumerate(ranks):
        assert process.wait() == 0, (folder / f"rank{number}.log").read_text()[-3000:]
    return {name: [torch.load(folder / f"{name}-rank{rank}.pt") for rank in range(2)] for name in runs}


def main() -> None:
    """Do the runs of a folder one after the other, as one of the ranks."""
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    torch.set_num_threads(1)
    for name, (batch, settings) in pickle.loads((folder / "runs.pickle").read_bytes()).items():
        torch.save(trained(folder / name, batch, **settings), folder / f"{name}-rank{rank}.pt")
    leave_ranks()


if __name__ == "__main__":
    main()
