"""The shipped studies with one seed, and what their cells are measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from isoglot.recipe.source import read_document
from isoglot.reports.papers import paper_table
from isoglot.studies.catalogue import builtin_studies
from isoglot.studies.parts import StudyPart
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.step import Step
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

STUDIES = builtin_studies()
PAPERS = sorted({name.partition("/")[0] for name in STUDIES})


@cache
def programs(paper: str, scale: str) -> tuple[Program, ...]:
    """A paper's studies with one seed: seeds change neither cells nor options."""
    studies = [study for name, study in STUDIES.items() if name.startswith(f"{paper}/")]
    changes = {name: [1] for name in studies[0].sizes if name.endswith("seeds")}
    return tuple(Selection(studies, "nowhere", scale, changes).programs())


def program(name: str, scale: str = "tiny") -> Program:
    return next(p for p in programs(name.partition("/")[0], scale) if p.study.name == name)


def parts(own: Program) -> Sequence[StudyPart]:
    """The cells and figures of a program, with their steps."""
    for part in own.parts:
        part.ask()
    return own.parts


def tunings(part: StudyPart) -> list[Finetune]:
    """How the models of a cell are fine-tuned."""
    part.ask()
    steps = () if part.unavailable else part.steps
    return [w.step.finetune for w in steps if isinstance(w.step, Evaluate) and w.step.finetune is not None]


def encoders(part: StudyPart) -> set[str]:
    """What is trained or given for a cell."""
    part.ask()
    return {
        str(w.step.checkpoint)
        for w in part.steps
        if not isinstance(w.step, Pretrain) and hasattr(w.step, "checkpoint")
    }


def trained(name: str, *labels: str, scale: str = "tiny") -> set[str]:
    """The encoders of a row."""
    own = program(name, scale)
    table = paper_table(own.parts[0].table)
    row = table.row(*labels)
    cells = [part for part in own.parts if part.table and table.row(*part.row) == row]
    assert cells, labels
    return set().union(*map(encoders, cells))


def works_of(name: str, scale: str, kind: type[Step]) -> list[Any]:
    """What steps of this kind leave; fine-tunings that an evaluation begins with stand by themselves."""
    works = list(dict.fromkeys(work for part in parts(program(name, scale)) for work in part.steps))
    if kind is Finetune:
        works += [
            replace(work, step=work.step.finetune)
            for work in works
            if isinstance(work.step, Evaluate) and work.step.finetune is not None
        ]
    return [work for work in works if isinstance(work.step, kind)]


def steps_of(name: str, only: str, **changes: object) -> dict[str, Any]:
    """The steps of some cells at scale paper, all options checked."""
    changes = {"seeds": [1], **changes}
    plan = inspect_programs(Selection([STUDIES[name]], "nowhere", "paper", changes, [only]).programs())
    return {work.name: work.step for part in plan.parts for work in part.steps}


def resolved(step: Pretrain) -> Mapping[str, Any]:
    """A study's recipe with what it extends."""
    return read_document(step.values(), variables=False).values
