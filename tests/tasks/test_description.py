from __future__ import annotations

from pathlib import Path

from datasets import Dataset, DatasetDict
from labelled_files import json_lines

from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task
from isoglot.tasks.description import identify


def test_a_data_set_has_its_own_splits(tmp_path: Path) -> None:
    part = Dataset.from_list([{"first": "a", "second": "b", "label": "0", "language": "de"}])
    part.save_to_disk(tmp_path / "one")
    DatasetDict({"train": part, "validation": part}).save_to_disk(tmp_path / "divided")
    one, divided, hub = (
        build_task("xnli", [str(p)]) for p in (tmp_path / "one", tmp_path / "divided", "hub")
    )
    assert [task.data.has_dev("de") for task in (one, divided, hub)] == [False, True, True]
    assert [identify(t, "de", "train") == identify(t, "de", "dev") for t in (one, divided, hub)] == [
        True,
        False,
        False,
    ]


def test_options_that_are_given_hold_also_where_they_are_the_defaults(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "0"} for n in range(8)]
    data = [json_lines(tmp_path / "a.jsonl", *rows)]
    train = FinetuneOptions.build(epochs=1, batch_size=8, select="last", max_length=16)
    out = finetune(encoder, build_task("xnli", data), language="en", train=train, out=tmp_path / "r")
    found = [
        evaluate_checkpoint(out, build_task("xnli", data, **given), languages=["en"])[0].options
        for given in ({}, {"max_length": 128}, {"max_length": 16})
    ]
    assert found == [{}, {"max_length": 128}, {}]
