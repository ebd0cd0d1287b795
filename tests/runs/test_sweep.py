"""Several runs in one call: which there are, where each is kept, and what is said of mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.runs.reporter import Reporter, Silent
from isoglot.runs.run_each import run_each
from isoglot.runs.sweep import PlannedRun, SweepRequest, check_each, planned_runs, sweep_folder


def test_every_combination_has_a_folder_and_a_seed_inside(tmp_path: Path) -> None:
    runs = planned_runs(tmp_path, {"a.layer": [4, 8], "a.weight": [0.5]}, [1, 2])
    assert [run.label for run in runs] == [
        "layer=4,weight=0.5/seed-1",
        "layer=4,weight=0.5/seed-2",
        "layer=8,weight=0.5/seed-1",
        "layer=8,weight=0.5/seed-2",
    ]
    assert [run.label for run in planned_runs(tmp_path, {}, [1, 2])] == ["seed-1", "seed-2"]
    assert planned_runs(tmp_path, {}, [1])[0].folder == tmp_path


def test_a_folder_that_is_a_run_takes_no_runs(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with refused(ConfigurationError, f"{tmp_path.name}: ", "`out`"):
        planned_runs(tmp_path, {}, [1, 2])


@pytest.mark.parametrize("value", ["a/b c", "x" * 300, "ü: *?", [1, 2], None, True, 1e-05])
def test_a_folder_is_one_plain_component(value: Any) -> None:
    name = sweep_folder({"k": value})
    assert not set(name) & set('/\\:*?"<>| ') and len(name.encode()) < 200
    assert name != sweep_folder({"k": f"{value}!"})


def test_a_text_and_the_number_that_it_reads_like_have_folders_of_their_own(tmp_path: Path) -> None:
    values = [4, "4", True, "true", None, "null", "four"]
    names = [run.label for run in planned_runs(tmp_path, {"k": values}, [1])]
    assert len({*names}) == len(values)
    assert [names[number] for number in (0, 2, 4, 6)] == [
        "k=4/seed-1",
        "k=true/seed-1",
        "k=null/seed-1",
        "k=four/seed-1",
    ]


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        ({"a": []}, "has no values"),
        ({"a": [1, 1]}, "more than once"),
        ({"seed": [1, 2]}, "a seed is not swept"),
        ({"name": ["a", "b"]}, "the name is a label"),
    ],
)
def test_sweep_refuses_what_is_none(sweep: Mapping[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        validated(SweepRequest, {"sweep": sweep})


def test_all_mistakes_are_found_before_the_first_run() -> None:
    def check(values: Mapping[str, Any]) -> None:
        if values["rate"] == "x":
            raise ConfigurationError("[[rate]]: got 'x'; a number is needed")

    runs = planned_runs("out", {"rate": [1, "x"]}, [1, 2])
    with refused(ConfigurationError, 'sweep={"rate": "x"}: ', "'x'"):
        check_each(runs, check)


def fails_at_four(run: PlannedRun, progress: Reporter) -> int:
    del progress
    if run.values["layer"] == 4:
        raise InputError("no such layer")
    if run.values["layer"] == 5:
        raise ZeroDivisionError("a defect")
    return int(run.values["layer"])


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_that_fails_leaves_the_others_going_and_is_named(workers: int) -> None:
    runs, done = planned_runs("out", {"layer": [3, 4, 5, 6]}, [1]), []
    with refused(ConfigurationError, "2 of 4 runs", "out/layer=4/seed-1: ", "out/layer=5/seed-1: ") as caught:
        run_each(
            runs,
            fails_at_four,
            workers=workers,
            progress=Silent(),
            verb="pretrain",
            done=lambda _, result: done.append(result),
        )
    assert sorted(done) == [3, 6]
    assert "layer=4/seed-1: no such layer" in str(caught.value)
    assert "layer=5/seed-1: ZeroDivisionError: a defect" in str(caught.value)
    good = [run for run in runs if run.values["layer"] in (3, 6)]
    assert run_each(good, fails_at_four, workers=1, progress=Silent(), verb="pretrain") == [3, 6]
