"""Looking at a study before it runs: every recipe, task and analysis is checked, and what is not here is listed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.studies.analyses import check_analysis
from isoglot.studies.figures import check_figure
from isoglot.studies.file import Scale, load_study, scales_of
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.run import recipe_text
from isoglot.studies.store import Store
from isoglot.studies.units import Unit
from isoglot.studies.values import VARIABLE

__all__ = ["Checked", "Listed", "check_plan", "list_studies", "variables_missing"]

_ABSENT = ("no such file", "is not set")
"""What a recipe's mistakes say where only something outside the study is missing."""


@dataclass(frozen=True)
class Checked:
    """A plan that can run once everything is there.

    Args:
        units: in the order in which they run.
        missing: files and variables that are not here.
    """

    units: Sequence[Unit]
    missing: Sequence[str]


@dataclass(frozen=True)
class Listed:
    """A study for the list.

    Args:
        name: built-in name or path.
        tables: the paper's tables it fills.
        title: what it shows.
        runs: scale -> (rows, seeds, pre-training runs).
        missing: scale -> environment variables that it needs and that are not set.
    """

    name: str
    tables: Sequence[str]
    title: str
    runs: Mapping[Scale, tuple[int, int, int]]
    missing: Mapping[Scale, Sequence[str]]


class _Assumed(Store):
    """A folder in which everything is taken to be there."""

    def _fact(self, unit: Unit, name: str) -> Any:
        return 1000


def check_plan(plan: Plan, out: str | Path, part: tuple[int, int] = (1, 1)) -> Checked:
    """Resolve and check every unit of a plan; nothing is made.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings and analyses.
    """
    store = _Assumed(Path(out))
    units = plan.units(part)
    missing = variables_missing(units)
    problems: list[str] = []
    for unit in units:
        try:
            _check(unit, store)
        except ConfigurationError as error:
            for problem in error.problems:
                if any(text in problem for text in _ABSENT):
                    outside = (
                        str(store.root.resolve()) not in problem and "environment variable" not in problem
                    )
                    missing += [problem.partition(": ")[2]] if outside else []
                else:
                    problems.append(f"{unit.name}: {problem}")
    if problems:
        raise ConfigurationError(
            list(dict.fromkeys(problems)), heading=f"study {plan.study.name}: nothing was run"
        )
    return Checked(units, list(dict.fromkeys(missing)))


def variables_missing(units: Sequence[Unit]) -> list[str]:
    """Environment variables that units name and that are not set."""
    names = [n for u in units for n in VARIABLE.findall(json.dumps(u.config, default=str))]
    return [f"${{{name}}}" for name in dict.fromkeys(names) if name not in os.environ]


def list_studies(files: Mapping[str, Path]) -> list[Listed]:
    """What the list shows of studies.

    Args:
        files: name -> file.
    """
    found = []
    for name, path in files.items():
        runs: dict[Scale, tuple[int, int, int]] = {}
        missing: dict[Scale, Sequence[str]] = {}
        study = None
        for scale in scales_of(path):
            study = load_study(path, scale)
            plan = build_plan(study, assume=True)
            rows = sum(len(table.rows) for table in plan.tables)
            runs[scale] = (rows, len(study.seeds), plan.count("pretrain"))
            missing[scale] = variables_missing(plan.units())
        if study is not None:
            tables = [t.paper for t in study.tables.values()] + [f.paper for f in study.figures.values()]
            found.append(Listed(name, tables, study.title, runs, missing))
    return found


def _check(unit: Unit, store: Store) -> None:
    config = store.resolved(unit.config, unit, variables=False)
    if unit.kind == "pretrain":
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "recipe.yaml"
            path.write_text(recipe_text(unit, config), encoding="utf-8")
            load_recipe(path)
    elif unit.kind in ("finetune", "evaluate"):
        from isoglot.finetuning.options import preset  # noqa: PLC0415
        from isoglot.tasks import build_task  # noqa: PLC0415

        task = build_task(config["task"], config["data"], name=config["name"], **config["options"])
        if unit.kind == "finetune":
            settings = {**config["train"], "setting": config["setting"], "run": unit.run}
            preset(config["preset"], getattr(task, "kind", task.name), **settings)
    elif unit.kind == "analyse":
        check_analysis(config["type"], config["options"])
    elif unit.kind == "figure":
        check_figure(config)
