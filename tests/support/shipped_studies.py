"""The shipped studies with one seed, and what their cells are measured on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from isoglot.recipe.source import read_document
from isoglot.reports.papers import paper_table
from isoglot.studies.catalogue import builtin_studies
from isoglot.studies.engine import Store
from isoglot.studies.lab import CellPlan
from isoglot.studies.program import Program, build_programs, inspect_programs
from isoglot.studies.training_steps import Finetune, Pretrain

STUDIES = builtin_studies()
PAPERS = sorted({name.partition("/")[0] for name in STUDIES})


@cache
def programs(paper: str, scale: str) -> tuple[Program, ...]:
    """A paper's studies with one seed: seeds change neither cells nor options."""
    own = [study for name, study in STUDIES.items() if name.startswith(f"{paper}/")]
    sizes = own[0].sizes
    return tuple(build_programs(own, scale=scale, changes={n: [1] for n in sizes if n.endswith("seeds")}))


def program(name: str, scale: str = "tiny") -> Program:
    return next(p for p in programs(name.partition("/")[0], scale) if p.study.name == name)


def encoders(place: CellPlan) -> set[str]:
    """What is trained or given for a cell."""
    found = set()
    for call in place.value.calls():
        tuned = next((n for n in call.needs if isinstance(n.step, Finetune)), call)
        found.add(str(getattr(tuned.step, "checkpoint", "")))
    return found


def trained(name: str, *labels: str, scale: str = "tiny") -> set[str]:
    """The encoders of a row."""
    table = paper_table(program(name, scale).cells[0].table)
    row = table.row(*labels)
    own = [p for p in program(name, scale).cells if table.row(*p.row) == row]
    assert own, labels
    return set().union(*map(encoders, own))


def calls_of(name: str, scale: str, kind: type) -> list[Any]:
    """Calls whose step is of this kind."""
    found = Store(Path("nowhere")).missing(program(name, scale).targets())
    return [call for call in found if isinstance(call.step, kind)]


def steps_of(name: str, only: str, **changes: object) -> dict[str, Any]:
    """The steps of some cells at scale paper, all options checked."""
    (own,) = build_programs([STUDIES[name]], scale="paper", changes={"seeds": [1], **changes}, only=[only])
    return {call.name: call.step for call in inspect_programs([own], Store(Path("nowhere"))).calls}


def resolved(step: Pretrain) -> Mapping[str, Any]:
    """A study's recipe with what it extends."""
    return read_document(step.values(), variables=False).values
