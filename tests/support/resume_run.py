"""A training run of its own process, for the tests that kill it: ``python resume_run.py FOLDER SETTINGS.json``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
from training_fakes import leave_ranks, make_trainer, weights


def main() -> None:
    folder, settings = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    slowly = settings.pop("slowly", 0)
    if slowly:  # widen the moment in which a kill falls into a save
        import time

        save = torch.save

        def slow_save(*args: object, **kwargs: object) -> None:
            time.sleep(slowly)
            save(*args, **kwargs)

        torch.save = slow_save
    torch.set_num_threads(1)
    trainer = make_trainer(folder, **settings)
    trainer.train(resume_from_checkpoint=True)
    if trainer.is_world_process_zero():
        torch.save(weights(trainer.model), folder / "final.tmp")
        (folder / "final.tmp").rename(folder / "final.pt")
    del trainer
    leave_ranks()


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
