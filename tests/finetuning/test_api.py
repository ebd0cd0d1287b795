"""The requests that `isoglot.finetune` makes of its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from isoglot.finetuning.api import task_builder
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task

ROWS = [{"words": ["the", "river"], "tags": ["DET", "NOUN"]}]


@pytest.mark.parametrize(
    ("task", "data"), [("pos", ROWS), (build_task("pos", ["hub:nowhere"]), None)], ids=["name", "object"]
)
def test_finetune_trains_with_the_options_that_were_given(task: Any, data: Any) -> None:
    options = FinetuneOptions.build(epochs=7, select="last")
    build = task_builder(task, data, None, preset="xtreme", settings={}, train=options)
    _, found = build({})
    assert found == options
