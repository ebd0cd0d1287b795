"""What adapters and freezing cost and keep: memory, CPU time, what is stored, and the loss, beside full training.

    ISOGLOT_RUNS=runs python benchmarks/adapters.py [STEPS [ROW...]]

After benchmarks/align_freeze.sh, whose encoder and pairs it reads: the realignment of its recipe, once as each row. A
row is a whole `isoglot pretrain` in a process of its own, start and export included; seconds are user and system.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

RECIPE = Path(__file__).parent / "real_systems" / "align_freeze.yaml"
FAST = "train.learning_rate=5e-4"
ROWS: dict[str, list[str]] = {
    "full training": [],
    "embeddings frozen": ["parts.embeddings=0"],
    "embeddings and lower half frozen": ["parts.embeddings=0", "parts.freeze_layers=6"],
    "LoRA, rank 8": ["model.adapter={type: lora, rank: 8}", FAST],
    "LoRA, rank 32": ["model.adapter={type: lora, rank: 32}", FAST],
    "LoRA, rank 8, query and value": ["model.adapter={type: lora, rank: 8, modules: [query, value]}", FAST],
    "LoRA, rank 8, upper half": ["model.adapter={type: lora, rank: 8}", "parts.freeze_layers=6", FAST],
    "DoRA, rank 8": ["model.adapter={type: dora, rank: 8}", FAST],
    "IA3": ["model.adapter={type: ia3}", "train.learning_rate=5e-3"],
}


def measured(name: str, changes: list[str], steps: int) -> list[str]:
    """The figures of one row."""
    out = Path(os.environ["ISOGLOT_RUNS"]) / "adapters" / re.sub(r"\W+", "-", name)
    shutil.rmtree(out, ignore_errors=True)
    changes = [*changes, f"steps={steps}", "train.logging_steps=10", f"train.save_steps={steps}"]
    command = [sys.executable, "-m", "isoglot.cli", "pretrain", str(RECIPE), "-q", "--out", str(out)]
    command += [part for change in changes for part in ("--set", change)]
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, command, os.environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{name}: exit status {status}")
    state = json.loads((out / f"checkpoint-{steps}" / "trainer_state.json").read_text())
    losses = [entry["loss"] for entry in state["log_history"] if "loss" in entry]
    optimizer = out / f"checkpoint-{steps}" / "optimizer.pt"
    return [
        name,
        f"{used.ru_maxrss / 1024:,.0f}",
        f"{used.ru_utime + used.ru_stime:,.0f}",
        f"{optimizer.stat().st_size / 1e6:,.1f}",
        f"{losses[0]:.2f}",
        f"{losses[-1]:.2f}",
    ]


def main() -> None:
    """Print the table."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    heads = ["", "peak memory, MB", "CPU, s", "optimizer, MB", "loss, first 10", f"loss, last 10 of {steps}"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name in sys.argv[2:] or ROWS:
        print("| " + " | ".join(measured(name, ROWS[name], steps)) + " |", flush=True)


if __name__ == "__main__":
    main()
