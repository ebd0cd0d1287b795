"""What ``finetune``, ``evaluate`` and ``transfer`` share: task, data and settings of the training."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import Field

from isoglot.options import Options, option

Checkpoints = Annotated[
    list[str], typer.Argument(metavar="CHECKPOINT", help="Folders of checkpoints or runs, or hub names.")
]


class TaskData(Options):
    """A task and its data."""

    task: str = option(
        ..., "Task by name (`finetune --tasks` lists them), or package.module:Name.", flags=["--task", "-t"]
    )
    data: tuple[str, ...] = option(
        ...,
        "File, folder, template ('wikiann/{language}/{split}') or hub; repeatable. train=PATH, dev=PATH, test=PATH for "
        "one split; PATH#0:80% for a part.",
        flags=["--data", "-d"],
        metavar="PLACE",
    )


class Training(Options):
    """Settings of fine-tuning."""

    preset: str = option("xtreme", "Paper whose settings hold: xtreme, weam, ppa, align_mlm or xlm_align.")
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = option(
        (1,), "Seed; 1,2,3 for three runs.", flags=["--seed"], commas=True, min_length=1
    )
    epochs: float | None = option(None, "Epochs of training; by default the preset's.")
    settings: dict[str, Any] = option(
        {},
        "Setting of fine-tuning or option of the task, see `finetune --tasks`: --set batch_size=16; repeatable.",
        flags=["--set"],
        metavar="KEY=VALUE",
    )

    def changes(self) -> dict[str, Any]:
        """Values that replace those of the preset."""
        return self.settings | ({} if self.epochs is None else {"epochs": self.epochs})
