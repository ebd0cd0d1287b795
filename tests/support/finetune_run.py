"""A fine-tuning of its own process, for the tests that kill it: ``python finetune_run.py MODEL DATA OUT SELECT``."""

from __future__ import annotations

import sys
import time

import torch

from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task

SETTINGS = {"learning_rate": 1e-3, "batch_size": 8, "epochs": 4, "dropout": 0.1, "bucket": 2}
_PAUSE = 0.05


def main() -> None:
    model, data, out, select = sys.argv[1:]
    save = torch.save

    def slow_save(
        *args: object, **kwargs: object
    ) -> None:  # widens the moment in which a kill falls into a save
        time.sleep(_PAUSE)
        save(*args, **kwargs)
        time.sleep(_PAUSE)

    torch.save = slow_save
    torch.set_num_threads(1)
    options = FinetuneOptions.build(select=select, **SETTINGS)
    task = build_task("pos", [f"train={data}", f"dev={data}"])
    finetune(model, task, language="en", train=options, out=out)


if __name__ == "__main__":
    main()
