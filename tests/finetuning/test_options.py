from __future__ import annotations

import re
from typing import Any

import pytest
from refusals import refused

import isoglot as iso
from isoglot.core.errors import ConfigurationError
from isoglot.finetuning.options import FinetuneOptions, task_with_settings
from isoglot.reports.papers import paper_table


def _printed(value: object) -> tuple[float, ...]:
    """``{5,...,9}e-6`` as numbers."""
    text = str(value)
    found = re.fullmatch(r"\{(.*)\}(e-\d)?", text)
    if found is None:
        return (float(text),)
    numbers = found[1].replace("...", "").split(",")
    if "" in numbers:
        numbers = [str(n) for n in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return tuple(float(n + (found[2] or "")) for n in numbers)


def preset(paper: str, task: str, **changes: Any) -> FinetuneOptions:
    """A paper's settings of fine-tuning."""
    return task_with_settings(task, [], paper=paper, **changes)[1]


@pytest.mark.parametrize("task", ["pos", "ner", "xquad", "mlqa", "tydiqa", "xnli", "pawsx"])
def test_xlm_aligns_settings_are_those_of_its_table_12(task: str) -> None:
    rows = {row.label: row.values[task] for row in paper_table("xlm_align:12").rows}
    found = preset("xlm_align", task)
    for label, name in (("Batch size", "batch_size"), ("Learning rate", "learning_rate"), ("Epochs", "epochs"),
                        ("Weight decay", "weight_decay")):  # fmt: skip
        value = getattr(found, name)
        assert (value if isinstance(value, tuple) else (value,)) == pytest.approx(_printed(rows[label])), (
            label
        )
    warmup = {"10%": 0.1, "12,500 steps": 12_500}[str(rows["Warmup"])]
    assert (found.warmup, found.schedule, found.select) == (warmup, str(rows["LR schedule"]).lower(), "joint")


@pytest.mark.parametrize("task", ["xnli", "ner", "pos"])
def test_align_mlms_settings_are_those_of_its_table_11(task: str) -> None:
    values = next(row.values for row in paper_table("align_mlm:11").rows if row.label.lower() == task)
    found = preset("align_mlm", task)
    assert (found.learning_rate, found.epochs, found.batch_size) == (
        values["learning_rate"], values["epochs"], values["batch_size"],
    )  # fmt: skip
    assert found.max_length == values["max_seq_length"]
    assert found.select == "last", "the dev data are what the paper reports on"


def test_xtremes_and_ppas_settings() -> None:
    for task, rate, epochs in (
        ("xnli", 2e-5, 5),
        ("pawsx", 2e-5, 5),
        ("ner", 2e-5, 10),
        ("pos", 2e-5, 10),
        ("xquad", 3e-5, 3),
    ):
        found = preset("xtreme", task)
        assert (found.learning_rate, found.epochs, found.batch_size) == (rate, epochs, 32)
        assert preset("weam", task) == found
    assert [preset("xtreme", task).evaluate_every for task in ("xnli", "pawsx", "pos")] == [200, 100, None]
    questions = preset("xtreme", "tydiqa")
    assert (questions.warmup, questions.weight_decay, questions.max_length) == (500, 1e-4, 384)
    for task, rate, length in (("xnli", 5e-5, 128), ("mlqa", 3e-5, 386)):
        found = preset("ppa", task)
        assert (found.learning_rate, found.batch_size, found.epochs) == (rate, 32, 2)
        assert (found.max_length, found.warmup, found.weight_decay) == (length, 1000, 0.01)
        assert (found.schedule, found.select, found.precision) == ("linear", "source", "mixed")


def test_presets() -> None:
    assert preset("ppa", "mlqa").max_length == 386
    assert preset("xtreme", "xquad", epochs=1).epochs == 1
    assert len(preset("xlm_align", "mlqa").grid()) == 9
    assert preset("xlm_align", "xnli").warmup == 12_500
    for wrong in (
        {"epochs": 0},
        {"learning_rate": -1},
        {"learning_rate": float("nan")},
        {"batch_size": (8, 0)},
    ):
        with refused(ConfigurationError, f"`{next(iter(wrong))}`: "):
            preset("xtreme", "pos", **wrong)
    with refused(ConfigurationError, "preset 'ppa' ", "pos: ", "`preset` xtreme"):
        preset("ppa", "pos")
    with refused(ConfigurationError, "pos", "'learning_rat'", "'learning_rate'"):
        preset("xtreme", "pos", learning_rat=1)


def test_a_dropout_is_the_heads_and_makes_no_adapter() -> None:
    assert FinetuneOptions.build(dropout=0.1).adapter is None
    adapter = FinetuneOptions.build(dropout=0.1, adapter={"rank": 2}).adapter
    assert adapter is not None and adapter.dropout == 0.0
    with refused(ConfigurationError, "pos", "'rank'", "known: adam_beta1"):
        task_with_settings("pos", [], paper="xtreme", rank=2)


@pytest.mark.parametrize("seed", [[1, "2"], [], "1", 1.0, True, None])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    named: dict[str, Any] = {"model": "nothing", "task": "pos", "out": "nothing", "seed": seed}
    for function, more in ((iso.finetune, {}), (iso.transfer, {"languages": "en,de"})):
        with refused(ConfigurationError, "`seed`: got ", " whole numbers"):
            function(**named, **more)
