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
"""Arguments of a task that are not options: the data, and the tags, which a trained model replaces by its own."""


def describe_task(task: Any) -> dict[str, Any]:
    """Describe a task: its kind and options, as plain values, without its data.

    Options that were added to a task after its first release, named in its ``recorded_if_given``, are left out at their
    default values, so that runs and results from before the option are recognised.

    Example:
        >>> from isoglot.tasks import build_task
        >>> describe_task(build_task("pos", ["train.conllu"]))["kind"]
        'pos'
    """
    facts, defaults = TaskFacts.of(task), _defaults(task)
    values: dict[str, Any] = {"kind": facts.kind, "heads": facts.heads}
    for name in defaults:
        values[name] = getattr(task, name)
    for name in getattr(type(task), "recorded_if_given", ()):
        if values[name] == defaults[name]:
            del values[name]
    for name, value in values.items():
        if is_dataclass(value) and not isinstance(value, type):
            values[name] = asdict(value)
    return values


def code_of(task: Any) -> dict[str, dict[str, str]]:
    """Return the hashes of the files that a user's own task is made of; nothing for a task of isoglot."""
    hashes = code_hashes(task)
    return {"code": hashes} if hashes else {}


def changed_options(task: Any, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task whose values differ from the expected ones: ``{"layer": 8}``.

    A value that is a file is given by the name of the file, because its folder says nothing.

    ``usual``: Values that are expected in place of the defaults.
    """
    expected = {**_defaults(task), **usual}
    changed: dict[str, Any] = {}
    for name, value in describe_task(task).items():
        if name in expected and name != "name" and value != expected[name]:
            is_file = isinstance(value, str) and Path(value).is_file()
            changed[name] = Path(value).name if is_file else value
    return changed


def inherited_options(task: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a task's :attr:`TaskFacts.inherited` options had in a fine-tuning.

    ``about``: Card of the fine-tuned model, as :func:`isoglot.tasks.cards.origin` reads it.
    """
    trained_with = about.get("options", {})
    values = {}
    for name in TaskFacts.of(task).inherited:
        if name in trained_with and hasattr(task, name):
            values[name] = trained_with[name]
    return values


def _defaults(task: Any) -> dict[str, Any]:
    """Return the options of a task and their defaults: arguments of its class that the task keeps as attributes."""
    factories: dict[str, Any] = {}
    if is_dataclass(task):
        factories = {field.name: field.default_factory for field in fields(task)}
    defaults: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(task)).parameters.items():
        if name in _NOT_OPTIONS or not hasattr(task, name):
            continue
        # The signature of a dataclass shows a placeholder for a default that a factory makes.
        factory = factories.get(name, MISSING)
        defaults[name] = parameter.default if factory is MISSING else factory()
    return defaults


def identify(task: Task, language: str, split: str) -> list[tuple[str, float, float]]:
    """Identify the data of a language and split: for each place its content, and its part as two percentages.

    The first 80 % of a file are ``[("9f3c…", 0, 80)]``, with the hash of the file's content: a moved file is the same
    data, an edited file is not. A place that holds several splits (``divided``) is identified together with the split,
    because its train and its test data differ.
    """
    identities = []
    for location in locations_of(task, language, split):
        content = _content(location)
        if location.divided:
            content = f"{content} {split}"
        identities.append((content, location.start, location.stop))
    return identities


def _content(location: Location) -> str:
    """Return the hash of rows in memory or of a file or folder; of a data set on the hub its name."""
    if location.rows is not None:
        return content_hash(location.rows, location.rows.column_names)
    path = location.path
    return path if location.on_hub or not Path(path).exists() else fingerprint(path)
