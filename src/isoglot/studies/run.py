"""Carrying out a study: units one after the other, each once, going on where an earlier run was stopped."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.recipe.source import dump_yaml
from isoglot.report.scores import Measure
from isoglot.runs.files import write_text
from isoglot.runs.folder import CHECKPOINT, versions
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.analyses import find_analysis
from isoglot.studies.data import build_maker
from isoglot.studies.figures import draw_figure
from isoglot.studies.plan import Plan
from isoglot.studies.store import Store
from isoglot.studies.units import FOLDED, Unit, in_order

__all__ = ["TRAINER_STATE", "Done", "recipe_text", "run_study"]

TRAINER_STATE = "trainer_state.json"
"""Where the trainer keeps what it logged."""


@dataclass(frozen=True)
class Done:
    """What a run of a study did.

    Args:
        made: units that were done now, by kind.
        found: units that were done already and asked for.
        seconds: by kind, of those done now.
        failed: unit -> message.
    """

    made: Mapping[str, int]
    found: int
    seconds: Mapping[str, float]
    failed: Mapping[str, str]


def run_study(
    plan: Plan,
    out: str | Path,
    *,
    part: tuple[int, int] = (1, 1),
    keep: bool = False,
    progress: Reporter | None = None,
) -> Done:
    """Do all units of a plan that are not done.

    A unit that cannot be done for a user's mistake (a checkpoint that is not there, bad data) is noted, and the others
    are done; what hangs on it is left out.

    Args:
        plan: of a study.
        out: the folder; studies share it.
        part: (k, n) of the checkpoints.
        keep: fine-tuned weights after their evaluation.
        progress: told about the work.

    Raises:
        ConfigurationError: ``part`` out of range.
    """
    if not 1 <= part[0] <= part[1]:
        raise ConfigurationError(
            f"part {part[0]}/{part[1]} given; k of n is needed with 1 ≤ k ≤ n, for example 2/8"
        )
    work = _Work(Store(Path(out)), progress or Silent(), keep)
    leaves = plan.leaves(part)
    own = in_order(leaves)
    open_ = [unit for unit in own if not work.store.is_done(unit)]
    work.total = len(open_) if any(not work.store.manifest(u) for u in leaves) else 0
    for group in _together(leaves):
        work.measure(group, leaves)
    return Done(work.made, work.found, work.seconds, work.failed)


def _together(leaves: Sequence[Unit]) -> list[list[Unit]]:
    """Evaluations of one fine-tuned model on one task stand together: it is loaded once."""
    groups: dict[tuple[str, ...], list[Unit]] = {}
    for unit in leaves:
        config = {k: v for k, v in unit.config.items() if k != "language"}
        key = (unit.kind, str(sorted(config.items(), key=lambda kv: kv[0])))
        groups.setdefault(key if unit.kind == "evaluate" else (unit.key,), []).append(unit)
    return list(groups.values())


class _Work:
    """One process's work on a folder."""

    def __init__(self, store: Store, report: Reporter, keep: bool) -> None:
        self.store, self.report, self.keep = store, report, keep
        self.total, self.found, self.number = 0, 0, 0
        self.made: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.failed: dict[str, str] = {}

    def measure(self, group: Sequence[Unit], leaves: Sequence[Unit]) -> None:
        """Do the measurements of a group that are not done, and what they need."""
        missing = [unit for unit in group if self.store.manifest(unit) is None]
        self.found += len(group) - len(missing)
        if missing:
            try:
                for needed in missing[0].needs:
                    self.ensure(needed)
                self._measured(missing)
            except IsoglotError as error:
                self.failed.setdefault(missing[0].name, str(error))
                self.report.note(f"left out: {missing[0].name}: {error}")
        if not self.keep:
            self._drop(group[0], leaves)

    def ensure(self, unit: Unit) -> None:
        """Do a unit and what it needs, unless it is done."""
        if self.store.is_done(unit):
            return
        if unit.name in self.failed:
            raise ConfigurationError(f"needs {unit.name}, which cannot be done")
        with self.store.locked(unit, self.report):
            if self.store.is_done(unit):
                return
            for needed in unit.needs:
                self.ensure(needed)
            try:
                self._timed(
                    unit,
                    {"data": self._make, "pretrain": self._pretrain, "finetune": self._finetune}[unit.kind],
                )
            except IsoglotError as error:
                self.failed.setdefault(unit.name, str(error))
                raise

    def _timed(self, unit: Unit, do: Any) -> None:
        self.number += 1
        total = f"/{self.total}" if self.total else ""
        self.report.note(f"[{self.number}{total}] {unit.kind} {unit.name}")
        began = time.monotonic()
        values = do(unit)
        seconds = time.monotonic() - began
        self.store.finish(unit, {**values, "seconds": round(seconds, 2), "versions": versions()})
        self._count(unit.kind, seconds)

    def _count(self, kind: str, seconds: float) -> None:
        self.made[kind] = self.made.get(kind, 0) + 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def _make(self, unit: Unit) -> dict[str, Any]:
        self.store.clear(unit)
        folder = self.store.folder(unit)
        folder.mkdir(parents=True)
        maker = build_maker(self.store.resolved(unit.config, unit, variables=True), place=f"data.{unit.name}")
        return {"facts": maker.write(folder, self.report)}

    def _pretrain(self, unit: Unit) -> dict[str, Any]:
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.pretrain import pretrain  # noqa: PLC0415

        path = self.store.root / "recipes" / f"{self.store.folder(unit).name}.yaml"
        write_text(path, recipe_text(unit, self.store.resolved(unit.config, unit, variables=False)))
        folder = self.store.folder(unit)
        pretrain(
            load_recipe(path), folder, resume=True, progress=self.report, cache=self.store.root / "cache"
        )
        if fold := unit.config.get("fold"):
            from isoglot.studies.fold import fold_language_embeddings  # noqa: PLC0415

            own = self.store.resolved(fold, unit, variables=True)
            fold_language_embeddings(
                folder / CHECKPOINT,
                folder / FOLDED,
                vocabulary=own["vocabulary"],
                languages=tuple(own["languages"]),
            )
        _keep_curves(folder)
        for old in folder.glob("checkpoint-*"):
            shutil.rmtree(old, ignore_errors=True)  # only a stopped run needs them
        return {"recipe": str(path)}

    def _finetune(self, unit: Unit) -> dict[str, Any]:
        from isoglot.finetuning.finetune import finetune  # noqa: PLC0415 - loads the libraries
        from isoglot.finetuning.options import preset  # noqa: PLC0415
        from isoglot.tasks import build_task  # noqa: PLC0415

        config = self.store.resolved(unit.config, unit, variables=True)
        folder = self.store.folder(unit)
        if self.store.manifest(unit) is not None:
            self.store.clear(unit)  # done once, and its weights deleted
        task = build_task(config["task"], config["data"], name=config["name"], **config["options"])
        settings = {**config["train"], "setting": config["setting"], "run": unit.run}
        options = preset(config["preset"], getattr(task, "kind", task.name), **settings)
        finetune(
            config["checkpoint"], task, language=config["language"], seed=config["seed"], train=options, out=folder,
            progress=self.report,
        )  # fmt: skip
        return {}

    def _measured(self, units: Sequence[Unit]) -> None:
        """Evaluations of one model in several languages, or one analysis."""
        self.number += len(units)
        first = units[0]
        began = time.monotonic()
        if first.kind == "evaluate":
            found = self._evaluate(units)
        else:
            found = [self._figure(first) if first.kind == "figure" else self._analyse(first)]
        seconds = (time.monotonic() - began) / len(units)
        for unit, values in zip(units, found, strict=True):
            self.store.finish(unit, {**values, "seconds": round(seconds, 2)})
            self._count(unit.kind, seconds)

    def _evaluate(self, units: Sequence[Unit]) -> list[dict[str, Any]]:
        from isoglot.finetuning.evaluate import EvaluateOptions, evaluate  # noqa: PLC0415 - loads the libraries
        from isoglot.tasks import build_task  # noqa: PLC0415

        unit = units[0]
        config = self.store.resolved(unit.config, unit, variables=True)
        task = build_task(config["task"], config["data"], name=config["name"], **config["options"])
        options = EvaluateOptions(
            run=unit.run, precision=config["precision"], max_tokens=config["max_tokens"]
        )
        languages = [str(u.config["language"]) for u in units]
        rows = evaluate(
            config["checkpoint"], task, languages=languages, split=config["split"], options=options,
            progress=self.report,
        )  # fmt: skip
        found = []
        for language in languages:
            own = [row for row in rows if row.language == language]
            values = {Measure(r.task, r.split, r.metric).common_metric: r.value for r in own}
            values |= {row.metric: row.value for row in own}
            values[""] = next(row.value for row in own if row.metric == task.primary_metric)
            found.append({"values": values, "rows": [row.model_dump() for row in own]})
        return found

    def _analyse(self, unit: Unit) -> dict[str, Any]:
        config = self.store.resolved(unit.config, unit, variables=True)
        measured = find_analysis(config["type"])(
            config["checkpoint"] or None, language=config["language"], **config["options"]
        )
        values = {name: float(value) for name, value in measured.items()}
        return {"values": {**values, "": next(iter(values.values()))}}

    def _figure(self, unit: Unit) -> dict[str, Any]:
        self.store.clear(unit)
        config = self.store.resolved(unit.config, unit, variables=True)
        return {"files": draw_figure(config, self.store.folder(unit), self.report)}

    def _drop(self, leaf: Unit, leaves: Sequence[Unit]) -> None:
        """Delete fine-tuned weights that nothing of this plan will read again."""
        for tuned in (u for u in leaf.needs if u.kind == "finetune"):
            waiting = [u for u in leaves if tuned in u.needs and self.store.manifest(u) is None]
            if not waiting and (self.store.folder(tuned) / CHECKPOINT).is_dir():
                self.store.drop_weights(tuned)


def _keep_curves(folder: Path) -> None:
    """Put the last checkpoint's log beside the run, where the report looks for curves."""
    states = folder.glob(f"checkpoint-*/{TRAINER_STATE}")
    last = max(states, key=lambda path: int(path.parent.name.rpartition("-")[2]), default=None)
    if last is not None:
        shutil.copyfile(last, folder / TRAINER_STATE)


def recipe_text(unit: Unit, config: Mapping[str, Any]) -> str:
    """The recipe of a pre-training unit as a file."""
    values = {"extends": config["recipe"], "name": unit.run, "seed": config["seed"], **config["set"]}
    return f"# {unit.name}: a run of a study; `isoglot pretrain` takes this file\n{dump_yaml(values)}"
