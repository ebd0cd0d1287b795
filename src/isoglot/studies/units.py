"""Units of work of a study, each named by a hash of all that it depends on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import did_you_mean

__all__ = [
    "CHECKPOINT",
    "FOLDED",
    "REFERENCE",
    "AnalysisEntry",
    "Difference",
    "EvaluateEntry",
    "FoldEntry",
    "Mean",
    "ModelsEntry",
    "Reading",
    "SystemEntry",
    "TaskEntry",
    "Term",
    "Unit",
    "UnitKind",
    "in_order",
    "parse_entry",
    "readings",
    "value_of",
]

CHECKPOINT, FOLDED = "checkpoint", "folded"
"""Folders of a trained unit: the checkpoint, and the one whose word embeddings hold the language embeddings."""

UnitKind = Literal["data", "pretrain", "finetune", "evaluate", "analyse", "figure"]
REFERENCE = re.compile(r"<unit:([0-9a-f]+)(?:\.([a-z][a-z0-9_]*))?>")
"""How a configuration names another unit's folder, or a fact of it."""


@dataclass(frozen=True, eq=False)
class Unit:
    """One piece of work, done once whatever asks for it.

    Args:
        kind: what is done.
        name: for people.
        config: everything that the result depends on; other units stand in it as ``<unit:KEY>``.
        needs: those units.
        used: values of the study that it depends on, directly or not.
        run: name of the run in results.
        seed: of the run, where one seed alone makes it.
    """

    kind: UnitKind
    name: str
    config: Mapping[str, Any]
    needs: tuple[Unit, ...] = ()
    used: frozenset[str] = field(default=frozenset())
    run: str = ""
    seed: int | None = None

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits of kind and configuration, and so of the units in it."""
        text = json.dumps([self.kind, self.config], sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def folder(self) -> str:
        """Its folder, relative to the study's."""
        slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", self.name).strip("-")[:60]
        return f"{self.kind}/{slug}-{self.key}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unit) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Reading:
    """One measured number: a unit's value of a metric (empty: the task's own)."""

    unit: Unit
    metric: str = ""


@dataclass(frozen=True)
class Mean:
    """Mean over languages or models."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Difference:
    """Supervised minus zero-shot."""

    left: Term
    right: Term


Term = Reading | Mean | Difference


def readings(term: Term) -> list[Reading]:
    """All measured numbers in a term."""
    if isinstance(term, Reading):
        return [term]
    parts = term.terms if isinstance(term, Mean) else (term.left, term.right)
    return [reading for part in parts for reading in readings(part)]


def value_of(term: Term, measured: Mapping[str, Mapping[str, float]]) -> float | None:
    """A term's value from what units measured (key -> metric -> value); ``None`` while something is missing."""
    if isinstance(term, Reading):
        return measured.get(term.unit.key, {}).get(term.metric)
    if isinstance(term, Difference):
        left, right = value_of(term.left, measured), value_of(term.right, measured)
        return None if left is None or right is None else left - right
    values = [value_of(part, measured) for part in term.terms]
    known = [v for v in values if v is not None]
    return fmean(known) if known and len(known) == len(values) else None


def in_order(units: Iterable[Unit]) -> list[Unit]:
    """The units with all that they need, each once, after what it needs."""
    found: dict[str, Unit] = {}

    def visit(unit: Unit) -> None:
        if unit.key in found:
            return
        for needed in unit.needs:
            visit(needed)
        found.setdefault(unit.key, unit)

    for unit in units:
        visit(unit)
    return list(found.values())


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ModelsEntry(_Entry):
    """One model a language (WEAM): ``value`` is set to the language; another language is the mean over all models."""

    value: str
    languages: list[str]


class FoldEntry(_Entry):
    """Language embeddings that become part of the word embeddings; see :mod:`isoglot.studies.fold`."""

    vocabulary: str
    languages: tuple[int, int]


class SystemEntry(_Entry):
    """A system: ``recipe`` with ``set`` laid over it, a ``checkpoint`` that is there, or neither (``encoder: false``).

    Args:
        recipe: built-in name or file.
        set: sections of the recipe that are changed; null deletes.
        checkpoint: folder or hub name; with ``${NAME}`` it is skipped where that is not set.
        fold: measure it with its language embeddings put into the word embeddings.
        encoder: false for what has none, such as a statistical aligner.
        seed: of pre-training; by default the study's.
        label: name in results.
        models: one model a language.
        unavailable: why it cannot be had.
    """

    recipe: str | None = None
    set: dict[str, Any] = {}
    checkpoint: str | None = None
    fold: FoldEntry | None = None
    encoder: bool = True
    seed: Any = "<seed>"
    label: str = ""
    models: ModelsEntry | None = None
    unavailable: str = ""


class EvaluateEntry(_Entry):
    """What is evaluated on, where it is not the data trained on (SQuAD, then XQuAD)."""

    task: str | None = None
    data: list[str] | None = None
    options: dict[str, Any] | None = None
    precision: str | None = None
    max_tokens: int = 8192


class TaskEntry(_Entry):
    """A task: fine-tuned and evaluated, or measured on the checkpoint as it is (retrieval, word alignment).

    Args:
        task: name in :data:`isoglot.tasks.TASKS`.
        data: as ``--data`` of ``isoglot finetune``.
        options: of the task.
        preset: settings of fine-tuning to start from.
        train: settings in their place (:class:`isoglot.finetuning.options.FinetuneOptions`).
        languages: that it can be evaluated in; a column without a language is the mean over them.
        source: language of zero-shot training; the study's by default.
        split: to evaluate on.
        evaluate: other data to evaluate on.
        settings: setting -> keys of this entry that differ there.
        seed: of fine-tuning; by default the study's.
        unavailable: why it cannot be had.
    """

    task: str
    data: list[str]
    options: dict[str, Any] = {}
    preset: str = "xtreme"
    train: dict[str, Any] = {}
    languages: list[str]
    source: str | None = None
    split: Literal["dev", "test"] = "test"
    evaluate: EvaluateEntry = EvaluateEntry()
    settings: dict[str, dict[str, Any]] = {}
    seed: Any = "<seed>"
    unavailable: str = ""


class AnalysisEntry(_Entry):
    """A measurement of a checkpoint that is no task.

    Args:
        type: name in :data:`isoglot.studies.analyses.ANALYSES`, or ``package.module:function``.
        options: of it.
        languages: as for tasks; without any it is measured once.
        unavailable: why it cannot be had.
    """

    type: str
    options: dict[str, Any] = {}
    languages: list[str] = []
    unavailable: str = ""


def parse_entry(kind: type[BaseModel], values: Mapping[str, Any], *, place: str) -> Any:
    """An entry of a study, checked.

    Raises:
        ConfigurationError: unknown keys or bad values.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        found = []
        for one in error.errors():
            key = ".".join(map(str, one["loc"]))
            hint = f"; {did_you_mean(key, kind.model_fields)}" if one["type"] == "extra_forbidden" else ""
            found.append(f"{place}.{key}: {one['msg']}{hint}")
        raise ConfigurationError(found) from error
