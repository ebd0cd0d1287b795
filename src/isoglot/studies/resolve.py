"""From names in a study to units of work: each value that an entry mentions, and no other, is part of its hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import did_you_mean
from isoglot.studies.data import build_maker
from isoglot.studies.file import Setting, Study
from isoglot.studies.units import (
    CHECKPOINT,
    FOLDED,
    AnalysisEntry,
    Difference,
    Mean,
    Reading,
    SystemEntry,
    TaskEntry,
    Term,
    Unit,
    parse_entry,
)
from isoglot.studies.values import MISSING, expand_variables, lay_over, substitute, with_cases
from isoglot.tasks import is_probe

__all__ = ["Point", "Resolver", "UnavailableError"]

Point = Mapping[str, Any]
"""Values of one cell, ``seed`` among them."""

LIKE = "like"
"""``like: NAME``: an entry is laid over another one of its section."""


class UnavailableError(Exception):
    """Something cannot be measured here, and the study says why."""


@dataclass
class _Trace:
    """What resolving an entry came across."""

    needs: list[Unit] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def of(self, unit: Unit) -> None:
        self.needs.append(unit)
        self.used |= unit.used


class Resolver:
    """Turns what a cell asks for into units.

    Args:
        study: at one scale.
        assume: take checkpoints to be there, to look at a study away from them.
    """

    def __init__(self, study: Study, *, assume: bool = False) -> None:
        self.study, self.assume = study, assume
        self._open: list[str] = []
        self._known: dict[str, Any] = {}

    def term(
        self, system: str, name: str, setting: Setting, language: str, point: Point, metric: str = ""
    ) -> Term:
        """The number that stands in a cell for one seed.

        Args:
            system: of the row.
            name: of a task or analysis.
            setting: how it is fine-tuned.
            language: evaluated; empty for the mean over the entry's languages.
            point: values, and the seed.
            metric: empty for the task's own.

        Raises:
            UnavailableError: the study says that it cannot be had.
            ConfigurationError: a name that is not there, or a bad entry.
        """
        models = self._models(system, point)
        if models is not None and language in models.languages:
            point = {**point, models.value: language}
        elif models is not None:
            points = [{**point, models.value: own} for own in models.languages]
            if language:
                return Mean(tuple(self._plain(system, name, setting, language, p, metric) for p in points))
            return Mean(tuple(
                self.term(system, name, setting, own, point, metric) for own in self._languages(name, point)
            ))  # fmt: skip
        return self._plain(system, name, setting, language, point, metric)

    def data(self, name: str, point: Point) -> Unit:
        """The unit that makes a piece of data."""
        return self._cached("data", name, point, self._make_data)  # type: ignore[no-any-return]

    def checkpoint(self, system: str, point: Point) -> tuple[Unit | None, str]:
        """The unit that trains a system (``None`` where it is there already), and how a configuration names it."""
        return self._cached("systems", system, point, self._make_system)  # type: ignore[no-any-return]

    def label(self, system: str, used: frozenset[str] | set[str], point: Point, *, full: bool = False) -> str:
        """A run's name: the system and those of the values it depends on that are not the study's own.

        Args:
            system: its name.
            used: values that it depends on.
            point: of the cell.
            full: values that the language's tag tells too, and defaults of those always named.
        """
        values, told = self.study.values, self.study.told_by_language
        shown = [
            n
            for n in values
            if n in used and (point[n] != values[n] or n in told) and (full or n not in told)
        ]
        return " ".join([system, *(f"{n}={point[n]}" for n in shown)])

    def _plain(
        self, system: str, name: str, setting: Setting, language: str, point: Point, metric: str
    ) -> Term:
        if setting == "delta":
            supervised, zero_shot = (
                self._plain(system, name, own, language, point, metric) for own in ("supervised", "zero_shot")
            )
            return Difference(supervised, zero_shot)
        if name in self.study.tasks and self._entry(SystemEntry, "systems", system, point)[0].encoder:
            entry = self._task(name, setting, point)
            known = [*entry.languages, entry.source or self.study.source]
            if language and language not in known:
                raise UnavailableError(f"{name} has no data in {language} at scale {self.study.scale}")
            measured = [language] if language else entry.languages
            terms = [Reading(self._evaluated(system, name, setting, own, point), metric) for own in measured]
            return terms[0] if len(terms) == 1 else Mean(tuple(terms))
        if name in self.study.analyses:
            return self._analysed(system, name, language, point, metric)
        raise UnavailableError(f"{name} is not measured at scale {self.study.scale}")

    def _evaluated(self, system: str, name: str, setting: Setting, language: str, point: Point) -> Unit:
        source = self._task(name, "zero_shot", point).source or self.study.source
        setting = "zero_shot" if language == source else setting  # its own language is trained on anyway
        trace = _Trace()
        entry = self._task(name, setting, point, trace)
        trained, reference = self.checkpoint(system, point)
        if trained is not None:
            trace.of(trained)
        run = self.label(system, set() if trained is None else trained.used, point)
        seed = None if trained is None else trained.seed
        needs = list(trace.needs)
        if not is_probe(entry.task):
            tuned = self._tuned(entry, name, setting, language, (reference, run), trace, point)
            needs, reference, seed = [*needs, tuned], f"<unit:{tuned.key}>/{CHECKPOINT}", tuned.seed
        own = entry.evaluate
        config = {
            "checkpoint": reference,
            "task": own.task or entry.task,
            "name": name,
            "data": own.data if own.data is not None else entry.data,
            "options": own.options if own.options is not None else entry.options,
            "language": language,
            "split": entry.split,
            "precision": own.precision or entry.train.get("precision", "float32"),
            "max_tokens": own.max_tokens,
        }
        title = f"{self.label(system, trace.used, point, full=True)} {name} {_short(setting)} {language}"
        return Unit("evaluate", title, config, tuple(needs), frozenset(trace.used), run, seed)

    def _tuned(
        self,
        entry: TaskEntry,
        name: str,
        setting: Setting,
        language: str,
        of: tuple[str, str],
        trace: _Trace,
        point: Point,
    ) -> Unit:
        """Fine-tuning; the language itself under the settings that train on it."""
        source = entry.source or self.study.source
        trained_on = {
            "zero_shot": source,
            "translate_train_all": ",".join(dict.fromkeys([source, *entry.languages])),
        }.get(setting, language)
        seed = self._seed(entry.seed, point, f"tasks.{name}.seed")
        renamed = {"supervised": "translate_train", "translate_train_all": "translate_train"}
        name_of_setting = renamed.get(setting, setting)
        config = {
            "checkpoint": of[0],
            "task": entry.task,
            "name": name,
            "data": entry.data,
            "options": entry.options,
            "preset": entry.preset,
            "train": entry.train,
            "setting": name_of_setting,
            "language": trained_on,
            "seed": seed,
        }
        unit_name = (
            f"{of[1]} {name} {trained_on} s{seed}"  # of[1] is the run, and the language may tell the rest
        )
        used = frozenset(trace.used | {"seed"})
        return Unit("finetune", unit_name, config, tuple(trace.needs), used, of[1], seed)

    def _analysed(self, system: str, name: str, language: str, point: Point, metric: str) -> Term:
        trace = _Trace()
        here = {**point, "system": system}
        entry: AnalysisEntry = self._entry(AnalysisEntry, "analyses", name, here, trace)[0]
        if language and entry.languages and language not in entry.languages:
            raise UnavailableError(f"{name} has no data in {language} at scale {self.study.scale}")
        needs, reference, seed = list(trace.needs), "", None
        owner: SystemEntry = self._entry(SystemEntry, "systems", system, point)[0]
        used = set(trace.used)
        if owner.encoder:
            trained, reference = self.checkpoint(system, point)
            if trained is not None:
                needs, used, seed = [*needs, trained], used | trained.used, trained.seed
        run = self.label(system, used, point)
        terms = []
        for own in [language] if language else entry.languages or [""]:
            config = {"checkpoint": reference, "type": entry.type, "name": name, "options": entry.options,
                      "language": own}  # fmt: skip
            title = self.label(system, used, point, full=True)
            unit = Unit("analyse", f"{title} {name} {own}", config, tuple(needs), frozenset(used), run, seed)
            terms.append(Reading(unit, metric))
        return terms[0] if len(terms) == 1 else Mean(tuple(terms))

    def _make_data(self, name: str, point: Point) -> Unit:
        trace = _Trace()
        values = self._filled("data", name, point, trace)
        build_maker(values, place=f"data.{name}")
        return Unit("data", name, values, tuple(trace.needs), frozenset(trace.used))

    def _make_system(self, name: str, point: Point) -> tuple[Unit | None, str]:
        trace = _Trace()
        entry: SystemEntry = self._entry(SystemEntry, "systems", name, point, trace)[0]
        if entry.checkpoint is not None:
            if not self.assume:
                _require(entry.checkpoint)
            return None, entry.checkpoint
        if entry.recipe is None:
            raise ConfigurationError(
                f"systems.{name}: give recipe: NAME, checkpoint: PATH, or encoder: false"
            )
        seed = self._seed(entry.seed, point, f"systems.{name}.seed")
        if entry.seed == "<seed>":
            trace.used.add("seed")
        run = entry.label or self.label(name, trace.used, point)
        config: dict[str, Any] = {"recipe": entry.recipe, "set": entry.set, "seed": seed}
        if entry.fold is not None:
            config["fold"] = entry.fold.model_dump()
        unit = Unit(
            "pretrain",
            f"{self.label(name, trace.used, point, full=True)} s{seed}",
            config,
            tuple(trace.needs),
            frozenset(trace.used),
            run,
            seed,
        )
        return unit, f"<unit:{unit.key}>/{CHECKPOINT if entry.fold is None else FOLDED}"

    def _task(self, name: str, setting: str, point: Point, trace: _Trace | None = None) -> TaskEntry:
        trace = trace or _Trace()
        raw = self._raw("tasks", name, point, trace)
        overlay = (raw.get("settings") or {}).get(setting)
        if overlay:
            raw = lay_over(raw, overlay)
        raw.pop("settings", None)
        values = substitute(raw, self._lookup(point, trace), place=f"tasks.{name}")
        entry: TaskEntry = self._checked(TaskEntry, values, f"tasks.{name}")
        return entry

    def _languages(self, name: str, point: Point) -> list[str]:
        if name in self.study.tasks:
            return self._task(name, "zero_shot", point).languages
        return [str(v) for v in self.study.analyses.get(name, {}).get("languages", [])]

    def _models(self, system: str, point: Point) -> Any:
        raw = self._raw("systems", system, point).get("models")
        if raw is None:
            return None
        values = {**self._raw("systems", system, point), "set": {}, "recipe": None, "checkpoint": None}
        entry: SystemEntry = parse_entry(SystemEntry, values, place=f"systems.{system}")
        return entry.models

    def _entry(
        self, kind: type[BaseModel], section: str, name: str, point: Point, trace: _Trace | None = None
    ) -> tuple[Any]:
        if (
            trace is None and kind is SystemEntry
        ):  # only its fixed keys are asked for: nothing need be resolved
            raw = {
                k: v for k, v in self._raw(section, name, point).items() if k in ("encoder", "unavailable")
            }
            return (self._checked(kind, raw, f"{section}.{name}"),)
        return (
            self._checked(kind, self._filled(section, name, point, trace or _Trace()), f"{section}.{name}"),
        )

    def _checked(self, kind: type[BaseModel], values: Mapping[str, Any], place: str) -> Any:
        entry = parse_entry(kind, values, place=place)
        if entry.unavailable:
            raise UnavailableError(entry.unavailable)
        return entry

    def _raw(self, section: str, name: str, point: Point, trace: _Trace | None = None) -> dict[str, Any]:
        """An entry with its cases."""
        entries: Mapping[str, Mapping[str, Any]] = getattr(self.study, section)
        if name not in entries:
            if section == "systems":
                raise UnavailableError(f"system {name} is not there at scale {self.study.scale}")
            raise ConfigurationError(f"{section}: {name!r} is not defined; {did_you_mean(name, entries)}")
        entry, seen = entries[name], [name]
        while (like := entry.get(LIKE)) is not None:
            if like in seen or like not in entries:
                raise ConfigurationError(
                    f"{section}.{name}.like: {like!r} given; name another of {', '.join(entries)}, and no circle"
                )
            seen.append(like)
            entry = lay_over(entries[like], {k: v for k, v in entry.items() if k != LIKE})
        return with_cases(entry, self._lookup(point, trace or _Trace()), place=f"{section}.{name}")

    def _filled(self, section: str, name: str, point: Point, trace: _Trace) -> dict[str, Any]:
        raw = self._raw(section, name, point, trace)
        if raw.get("unavailable"):
            raise UnavailableError(str(raw["unavailable"]))
        kept = raw.pop("seed", None) if section == "systems" else None
        filled: dict[str, Any] = substitute(raw, self._lookup(point, trace), place=f"{section}.{name}")
        return filled if kept is None else {**filled, "seed": kept}

    def _lookup(self, point: Point, trace: _Trace) -> Any:
        def find(name: str, fact: str | None) -> Any:
            if name in point and fact is None:
                value = point[name]
                trace.used.add(name)
                if isinstance(value, str) and "<" in value:
                    return substitute(value, find, place=f"values.{name}")
                return value
            if name in self.study.data:
                unit = self.data(name, point)
                trace.of(unit)
                return f"<unit:{unit.key}.{fact}>" if fact else f"<unit:{unit.key}>"
            if name in self.study.systems and fact is None:
                trained, reference = self.checkpoint(name, point)
                if trained is not None:
                    trace.of(trained)
                return reference
            return MISSING

        return find

    def _seed(self, value: Any, point: Point, place: str) -> int:
        found = substitute(value, self._lookup(point, _Trace()), place=place)
        if not isinstance(found, int):
            raise ConfigurationError(f"{place}: {found!r} given; a number, or <seed>")
        return found

    def _cached(self, section: str, name: str, point: Point, make: Any) -> Any:
        key = json.dumps([section, name, dict(point)], sort_keys=True, default=str)
        if key not in self._known:
            mark = f"{section}.{name}"
            if mark in self._open:
                raise ConfigurationError(
                    f"{mark}: needs itself ({' -> '.join([*self._open, mark])}); break the circle"
                )
            self._open.append(mark)
            try:
                self._known[key] = make(name, point)
            finally:
                self._open.pop()
        return self._known[key]


def _require(checkpoint: str) -> None:
    """A checkpoint given by path or variable is there; a hub name cannot be told from here.

    Raises:
        UnavailableError: it is not.
    """
    try:
        path = expand_variables(checkpoint)
    except ConfigurationError:
        raise UnavailableError(f"external checkpoint {checkpoint}, not given") from None
    rooted = path.startswith((".", "/", "~")) or path != checkpoint
    if rooted and not Path(path).expanduser().exists():
        raise UnavailableError(f"external checkpoint {checkpoint}, not there")


def _short(setting: str) -> str:
    return {"zero_shot": "zs", "supervised": "sup", "translate_train": "tt", "code_switch": "cs"}.get(
        setting, setting
    )
