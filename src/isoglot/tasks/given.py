"""A task from what Python users hold: its name or object, and data as paths, data sets or frames."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.corpus.labelled.given import given_data
from isoglot.corpus.labelled.places import DataSource
from isoglot.errors import ConfigurationError
from isoglot.tasks import build_task, task_class
from isoglot.tasks.base import Task


def data_source(data: Any, task: Any, columns: Mapping[str, str] | None = None) -> DataSource:
    """Where a task finds its data.

    Args:
        data: A path, template or hub name as ``--data`` takes it, or several; or data in memory, see
            :func:`isoglot.corpus.labelled.given.given_data`.
        task: The task or its class, whose ``schema`` says which columns it reads.
        columns: Column of the schema to its name in data in memory.
    """
    specs = [data] if isinstance(data, str | Path) else data
    if isinstance(data, DataSource):
        return data
    if isinstance(specs, Sequence) and all(isinstance(spec, str | Path) for spec in specs):
        if columns:
            raise ConfigurationError(
                f"columns={', '.join(columns)} is for data in memory, not for the path {', '.join(map(str, specs))}; "
                "read the file with datasets.load_dataset or pandas"
            )
        return DataSource(tuple(map(str, specs)))
    if not hasattr(task, "schema"):
        raise ConfigurationError(
            f"task {getattr(task, 'name', task)} has no `schema`, the columns of data in memory; give a path"
        )
    return given_data(data, task.schema, columns)


def given_task(
    task: str | Task, data: Any, columns: Mapping[str, str] | None = None, /, **options: Any
) -> Task:
    """A task by its name, or a copy of one, that reads the data.

    ``options``: Of the task; one that is built already keeps its own.
    """
    if isinstance(task, str):
        chosen = task_class(task)  # an unknown name is the first thing to say
        if data is None:
            raise ConfigurationError(
                f"task {task} needs data=: a path, a datasets.Dataset, or a dict from languages"
            )
        made: Task = build_task(task, data_source(data, chosen, columns), **options)
        return made
    if options:
        raise ConfigurationError(
            f"got {', '.join(options)}, but the task is built already; set them on {type(task).__name__}(...)"
        )
    if data is not None:
        task = copy.copy(task)
        task.data = data_source(data, task, columns)
    return task
