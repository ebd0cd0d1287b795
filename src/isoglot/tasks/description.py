"""Describe what a fine-tuning or an evaluation depends on: the task's options, and its data by their content."""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from isoglot.corpus.encode.store import content_hash
from isoglot.formats.labelled.sources import Location
from isoglot.runs.code import code_hashes
from isoglot.runs.fingerprint import fingerprint
from isoglot.tasks import TaskFacts
from isoglot.tasks.base import Task, locations_of

_NOT_OPTIONS = ("data", "allowed")


def describe_task(task: Any) -> dict[str, Any]:
    """Describe a task: its kind and options, as plain values, without its data.

    Options that a task did not always have, its ``recorded_if_given``, stand there only with other values than the
    defaults, so that older runs and results are found again.
    """
    facts, defaults = TaskFacts.of(task), _defaults(task)
    values = {"kind": facts.kind, "heads": facts.heads} | {name: getattr(task, name) for name in defaults}
    for name in getattr(type(task), "recorded_if_given", ()):
        if values[name] == defaults[name]:
            del values[name]
    return {k: asdict(v) if is_dataclass(v) and not isinstance(v, type) else v for k, v in values.items()}


def code_of(task: Any) -> dict[str, dict[str, str]]:
    """Hashes of the files that a task's class is made of; empty for one that isoglot ships."""
    hashes = code_hashes(task)
    return {"code": hashes} if hashes else {}


def changed_options(task: Any, usual: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task whose values are not the ``usual`` ones or else defaults; of a file its name alone."""
    defaults = {**_defaults(task), **usual}
    changed = {
        name: value
        for name, value in describe_task(task).items()
        if name in defaults and name != "name" and value != defaults[name]
    }
    return {k: Path(v).name if isinstance(v, str) and Path(v).is_file() else v for k, v in changed.items()}


def inherited_options(task: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a task's :attr:`TaskFacts.inherited` options had in a fine-tuning.

    ``about``: Of the fine-tuned model, as :func:`isoglot.tasks.cards.origin` gives it.
    """
    trained_with = about.get("options", {})
    return {
        n: trained_with[n] for n in TaskFacts.of(task).inherited if n in trained_with and hasattr(task, n)
    }


def _defaults(task: Any) -> dict[str, Any]:
    """Options of a task that can be read from it, and their defaults."""
    factories = {f.name: f.default_factory for f in fields(task)} if is_dataclass(task) else {}
    return {
        name: factory() if (factory := factories.get(name, MISSING)) is not MISSING else parameter.default
        for name, parameter in inspect.signature(type(task)).parameters.items()
        if name not in _NOT_OPTIONS and hasattr(task, name)
    }


def identify(task: Task, language: str, split: str) -> list[tuple[str, float, float]]:
    """The content of each place of a language and split, and the part of it that is taken.

    A moved file is the same, an edited one another. Data sets of the hub go by their names; splits of one are apart.
    """
    return [
        (_content(location) + f" {split}" * location.divided, location.start, location.stop)
        for location in locations_of(task, language, split)
    ]


def _content(location: Location) -> str:
    if location.rows is not None:
        return content_hash(location.rows, location.rows.column_names)
    path = location.path
    return path if location.on_hub or not Path(path).exists() else fingerprint(path)
