"""Each step once, whatever asks for it and whoever makes it; what is lost is made again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from study_programs import add_sum, built
from study_programs import made as made_here
from study_steps import Add, Fails

from isoglot.core.errors import ConfigurationError
from isoglot.results.rows import Cell, read_cells
from isoglot.runs.reporter import Silent
from isoglot.studies.catalogue import Study
from isoglot.studies.lab import Lab
from isoglot.studies.making import Schedule, StepOutcome, Tally, _make, measure
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.tables import write_study

STUDY = '''"""Sums."""

from isoglot.studies import UnavailableError
from study_steps import Add, Breaks, DiesOnce, Fails, Trains

KINDS = {{"add": Add, "breaks": Breaks, "dies": DiesOnce, "trains": Trains}}
CELLS = {cells!r}


def sums(lab):
    """Sums."""
    for name, numbers in CELLS.items():
        lab.cell("mine", row=name, column="sum", value=lambda numbers=numbers: total(lab, numbers))


def total(lab, numbers):
    """Each number is added to the sum of those before it."""
    work = ""
    for number in numbers:
        if number == "fails":
            work = lab.make("fails", Fails, to=str(work))
        else:
            kind, value = number if isinstance(number, tuple) else ("add", number)
            work = lab.make(f"add {{value:g}}", KINDS[kind], log={log!r}, number=value, to=str(work))
    if work.value("sum") < 0:
        raise UnavailableError("below 0")
    return work.value("sum")
'''


class Sums:
    """A study whose cells are sums, and a log of what was added."""

    def __init__(self, folder: Path, **cells: Sequence[object]) -> None:
        self.log, self.file, self.root = folder / "log", folder / "sums.py", folder / "out"
        self.file.write_text(STUDY.format(cells=cells, log=str(self.log)))
        self.log.touch()
        self.selection = Selection([str(self.file)], self.root)

    def made(self, **how: Any) -> Tally:
        programs = self.selection.programs()
        plan = inspect_programs(programs, check=False)  # the log is read, and changes
        return measure(programs, plan, self.selection, progress=Silent(), **how)

    def added(self) -> list[str]:
        return sorted(line.split()[0] for line in self.log.read_text().splitlines())

    def known(self) -> dict[str, float]:
        (program,) = self.selection.programs()
        return {part.row[0]: part.function() for part in program.parts}


def test_each_step_is_made_once_and_a_stopped_study_goes_on(tmp_path: Path) -> None:
    first = Sums(tmp_path, a=[1, 2])
    assert first.made().made == {"analyse": 2}
    both = Sums(tmp_path, a=[1, 2], b=[1, 3])
    assert both.made().made == {"analyse": 1} and both.made().made == {}
    assert both.known() == {"a": 3, "b": 4} and both.added() == ["1", "2", "3"]
    (manifest,) = (m for m in both.root.glob("analyse/add-2-*/manifest.json"))
    manifest.unlink()
    assert both.made().made == {"analyse": 1}


def test_a_study_of_an_earlier_release_is_not_measured_again(tmp_path: Path) -> None:
    sums = Sums(tmp_path, a=[1, 2])
    sums.made()
    for manifest in sums.root.glob("*/*/manifest.json"):
        manifest.with_name("call.json").write_text(json.dumps(json.loads(manifest.read_text())["step"]))
        manifest.unlink()
    assert sums.made().made == {} and sums.known() == {"a": 3}


def test_a_step_that_is_made_again_deletes_nothing_of_the_users(tmp_path: Path) -> None:
    sums = Sums(tmp_path, a=[1])
    sums.made()
    (folder,) = sums.root.glob("analyse/add-1-*")
    (folder / "manifest.json").unlink()
    (folder / "notes").touch()
    assert "notes" in sums.made().failed["a:sum"] and (folder / "notes").exists()


def test_a_mistake_leaves_the_other_cells_and_names_its_own(tmp_path: Path) -> None:
    sums = Sums(tmp_path, bad=["fails", 1], worse=["fails", 2], good=[5])
    tally = sums.made()
    assert sums.known()["good"] == 5 and tally.made == {"analyse": 1}
    assert tally.failed == dict.fromkeys(("bad:sum", "worse:sum"), "data fails: no such thing")
    with pytest.raises(ZeroDivisionError) as caught:
        Sums(tmp_path, broken=[("breaks", 1)]).made()
    assert "while doing data add 1 in" in "".join(caught.value.__notes__)


def test_a_number_that_turns_out_to_be_unavailable_leaves_the_other_cells(tmp_path: Path) -> None:
    sums = Sums(tmp_path, below=[-1], good=[5])
    tally = sums.made()
    assert (tally.made, tally.failed) == ({"analyse": 2}, {})
    (program,) = sums.selection.programs()
    cells = {cell.row[0]: (cell.value, cell.unavailable) for cell in _cells(program)}
    assert cells == {"below": (None, "below 0"), "good": (5, None)}


def _cells(program: Program) -> list[Cell]:
    return read_cells(write_study(program).folder / "cells.jsonl")


def test_deleted_weights_are_made_again_for_what_reads_them_alone(tmp_path: Path) -> None:
    first = Sums(tmp_path, a=[("trains", 1), 2])
    assert first.made().made == {"pretrain": 1, "analyse": 1}
    (checkpoint,) = first.root.glob("pretrain/*/checkpoint")
    shutil.rmtree(checkpoint)
    assert first.made().made == {}, "nothing reads them"
    both = Sums(tmp_path, a=[("trains", 1), 2], b=[("trains", 1), 3])
    assert both.made().made == {"pretrain": 1, "analyse": 1} and checkpoint.is_dir()
    assert both.known() == {"a": 3, "b": 4} and both.added() == ["1", "1", "2", "3"]


def test_several_processes_share_the_work(tmp_path: Path) -> None:
    sums = Sums(tmp_path, a=[1, 2], b=[1, 3], c=[1, 4], bad=["fails"])
    tally = sums.made(workers=2)
    assert tally.made == {"analyse": 4} and tally.failed == {"bad:sum": "data fails: no such thing"}
    assert {k: v for k, v in sums.known().items() if k != "bad"} == {"a": 3, "b": 4, "c": 5}
    assert sums.added() == ["1", "2", "3", "4"]
    assert str(os.getpid()) not in sums.log.read_text()


def test_a_cell_that_chooses_by_a_number_is_asked_again_when_the_number_is_known(tmp_path: Path) -> None:
    """Before its first step is made the cell asks for the step that adds 7, which must not be made."""

    def table(lab: Lab) -> None:
        lab.cell("mine", row="one", column="sum", value=partial(chosen, lab))

    def chosen(lab: Lab) -> float:
        first = add_sum(lab, "first", str(log), 1)
        return add_sum(lab, "second", str(log), 5 if first == 1 else 7)

    log = tmp_path / "log"
    log.touch()
    program = built(Study("mine/table", "A table.", table, {"seeds": ([1], [1], [1])}, {}), tmp_path / "out")
    assert made_here(program).made == {"analyse": 2}
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["1", "5"]


def test_a_cell_whose_choice_falls_on_a_step_that_failed_is_left_out_with_the_mistake(tmp_path: Path) -> None:
    """The step fails for the first cell, before the second cell knows that it needs this step as well."""

    def failing(lab: Lab, count: int = 1) -> float:
        fails = lab.make("fails", Fails)
        return sum(add_sum(lab, f"add {n}", str(log), n, to=str(fails)) for n in range(count))

    def choosing(lab: Lab) -> float:
        first = add_sum(lab, "first", str(log), 1)
        return failing(lab) if first == 1 else add_sum(lab, "other", str(log), 5)

    def guessing(lab: Lab) -> float:
        first = add_sum(lab, "first", str(log), 1)
        return add_sum(lab, "other", str(log), 5) if first == 1 else failing(lab)

    def table(lab: Lab) -> None:
        # Nine steps wait for the step that fails, so it is made before the first step of the other two cells.
        lab.cell("mine", row="fails", column="sum", value=partial(failing, lab, 9))
        lab.cell("mine", row="falls on it", column="sum", value=partial(choosing, lab))
        lab.cell("mine", row="guesses it", column="sum", value=partial(guessing, lab))

    log = tmp_path / "log"
    log.touch()
    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    tally = made_here(program)
    assert tally.failed == dict.fromkeys(("fails:sum", "falls on it:sum"), "data fails: no such thing")
    assert {part.row[0]: part.content for part in program.parts}["guesses it"] == 5


def test_a_worker_takes_the_folder_of_the_plan_for_a_step_with_two_names(tmp_path: Path) -> None:
    """The plan asks the second cell first for the shared step, the worker the first cell."""

    def table(lab: Lab) -> None:
        lab.cell("mine", row="a", column="sum", value=partial(chosen, lab, "a", 1))
        lab.cell("mine", row="b", column="sum", value=partial(chosen, lab, "b", 2))

    def chosen(lab: Lab, name: str, number: int) -> float:
        first = add_sum(lab, f"first of {name}", str(log), number)
        is_wanted = name == "b" or first == 1
        return add_sum(lab, f"second of {name}", str(log), 5 if is_wanted else 7)

    log = tmp_path / "log"
    log.touch()
    study = Study("mine/table", "A table.", table, {"seeds": [1]}, {})
    planned, at_work = built(study, tmp_path / "out"), built(study, tmp_path / "out")
    first_cell = inspect_programs([planned]).parts[0]
    first_cell.lab.run(first_cell.steps[0])
    first_cell.ask()
    shared = first_cell.steps[-1].folder
    assert shared.name.startswith("second-of-b-")
    assert _make(at_work.parts, 0, [shared]).is_new and (shared / "sum").exists()


def test_steps_that_others_wait_for_come_first_and_no_two_workers_want_one_folder(tmp_path: Path) -> None:
    """Two chains share their first step; a lone cell, although it was asked for first, comes after that step."""
    sums = Sums(tmp_path, lone=[9], a=[1, 2, 3], b=[1, 4, 5])
    programs = sums.selection.programs()
    plan = inspect_programs(programs, check=False)
    schedule = Schedule(list(enumerate(plan.parts)), Silent())
    order: list[str] = []
    while begun := list(schedule.next_steps(2)):
        assert len({work.folder for _, work in begun}) == len(begun)
        for _, work in begun:
            order.append(work.name)
            schedule.note_ended(work, StepOutcome(is_new=work.lab.run(work), seconds=1, problem=None))
    assert order[:2] == ["add 1", "add 2"] or order[:2] == ["add 1", "add 9"]
    assert len(order) == len(set(order)) == 6


def test_the_longest_of_the_steps_that_nothing_waits_for_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Odd numbers take 60 seconds and even ones 5, which is known once one of each was made."""
    monkeypatch.setattr(Add, "duration_group", property(lambda step: f"odd {step.number % 2}"))
    sums = Sums(tmp_path, **{f"cell {number}": [number] for number in (2, 4, 6, 1, 3)})
    plan = inspect_programs(sums.selection.programs(), check=False)
    schedule = Schedule(list(enumerate(plan.parts)), Silent())
    order: list[str] = []
    while begun := list(schedule.next_steps(1)):
        ((_, work),) = begun
        order.append(work.name)
        seconds = 60 if work.name in ("add 1", "add 3") else 5
        schedule.note_ended(work, StepOutcome(is_new=work.lab.run(work), seconds=seconds, problem=None))
    assert order == ["add 2", "add 1", "add 3", "add 4", "add 6"]


def test_a_line_says_what_begins_which_of_how_many_and_how_long_the_rest_takes(tmp_path: Path) -> None:
    class Lines(Silent):
        def note(self, text: str) -> None:
            lines.append(text)

    lines: list[str] = []
    sums = Sums(tmp_path, a=[1], b=[2], c=[3])
    plan = inspect_programs(sums.selection.programs(), check=False)
    schedule = Schedule(list(enumerate(plan.parts)), Lines())
    for seconds in (120, 120, 1):
        ((_, work),) = schedule.next_steps(1)
        schedule.note_ended(work, StepOutcome(is_new=work.lab.run(work), seconds=seconds, problem=None))
    assert lines == [
        "making add 1: 1 of 3",
        "making add 2: 2 of 3, about 4 min left",
        "making add 3: 3 of 3, about 2 min left",
    ]


def test_a_wrong_size_is_found_before_anything_is_made(tmp_path: Path) -> None:
    sums = Sums(tmp_path, a=[("add", 1)])
    with pytest.raises(ConfigurationError, match="unknown size 'stepps'"):
        Selection([str(sums.file)], sums.root, changes={"stepps": 1}).programs()


@pytest.mark.slow
def test_ray_makes_the_cells_again_whose_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    support = Path(__file__).parents[1] / "support"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(support), os.environ.get("PYTHONPATH", "")]))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        sums = Sums(tmp_path, top=[1, ("dies", 2), 3], other=[10], bad=["fails"])
        tally = sums.made(engine="ray")
        assert {k: v for k, v in sums.known().items() if k != "bad"} == {"top": 6, "other": 10}
        assert tally.failed == {"bad:sum": "data fails: no such thing"}
        assert sums.log.with_suffix(".killed").exists() and sums.added() == ["1", "10", "2", "3"]
        assert sums.made(engine="ray").made == {}
    finally:
        ray.shutdown()
