"""A study of sums, and programs that are built and made in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

from study_steps import Add

from isoglot.runs.reporter import Silent
from isoglot.studies.catalogue import Study
from isoglot.studies.lab import Lab
from isoglot.studies.making import Tally, measure
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.step import UnavailableError


def built(
    study: Study, root: Path | str = "nowhere", only: tuple[str, ...] = (), **changes: object
) -> Program:
    (program,) = Selection([study], root, changes=changes, only=only).programs()
    return program


def made(*programs: Program) -> Tally:
    plan = inspect_programs(programs, check=False)
    return measure(programs, plan, Selection([], "nowhere"), progress=Silent())


def study(tmp_path: Path) -> Study:
    log = str(tmp_path / "log")

    def add(lab: Lab, name: str, number: float, log: str = log) -> float:
        return lab.make(name, Add, log=log, number=number).value("sum")

    def lost() -> float:
        raise UnavailableError("not here")

    def table(lab: Lab) -> None:
        far = partial(add, lab, "far", 1, "/no/such/file")
        for name, number in (("one", 1), ("two", 2)):
            for seed in lab.seeds:
                value = partial(add, lab, f"{name} s{seed}", number * seed)
                lab.cell("mine", row=("all", name), column="sum", value=value, seed=seed)
        lab.cell("mine", row=("all", "lost"), column="sum", value=lost)
        lab.cell("mine", row=("all", "far"), column="sum", value=far)
        lab.figure("shape", partial(shape, lab, far))

    def shape(lab: Lab, far: Callable[[], float]) -> dict[str, object]:
        x = [add(lab, f"x{n}", n) for n in range(3)]
        points = [{"label": "a", "x": x[0], "y": -fmean(x)}, {"label": "b", "x": x[0], "y": far()}]
        return {"kind": "scatter", "title": "Shape", "points": points, "note": ""}

    return Study("mine/table", "A table.", table, {"seeds": ([1, 3], [1], [1])}, {"tiny": "Made up."})


def add_sum(lab: Lab, name: str, log: str, number: float, **more: object) -> float:
    return lab.make(name, Add, log=log, number=number, **more).value("sum")
