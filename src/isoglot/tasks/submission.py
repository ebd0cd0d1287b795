"""Predictions in XTREME's submission format.

One file a task and language, ``TASK/test-LANGUAGE.tsv`` (``.json`` for questions): tags one a line with blank lines
between sentences, labels one a line, answers as one JSON object from question to answer, neighbours one 0-based line
number a line. Beside each lies ``TASK/test-LANGUAGE.counts.safetensors``, by which two models are compared in pairs.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from isoglot.runs.files import inside, refuse_overwriting, write_text
from isoglot.tasks import TaskFacts
from isoglot.tasks.base import Predictions, Task


def stem_of(folder: Path, task: Task, language: str, split: str) -> Path:
    """The path of the files of a task, language and split, without their endings."""
    facts = TaskFacts.of(task)
    name = facts.xtreme if facts.xtreme and task.name == facts.kind else task.name
    return inside(inside(folder, name), f"{split}-{language}")


def write(stem: Path, predictions: Predictions) -> Path:
    """Write predictions for submission."""
    if isinstance(predictions, Mapping):
        text = json.dumps(dict(predictions), ensure_ascii=False, indent=2) + "\n"
        return write_text(stem.with_name(f"{stem.name}.json"), text)
    if predictions and isinstance(predictions[0], list | tuple):
        text = "\n\n".join("\n".join(tags) for tags in predictions) + "\n"
    else:
        text = "".join(f"{label}\n" for label in predictions)
    return write_text(stem.with_name(f"{stem.name}.tsv"), text)


def written(stem: Path) -> bool:
    """Whether there are predictions already."""
    return any(path.is_file() for path in _files(stem))


def refuse_inputs(stem: Path, inputs: Iterable[str]) -> None:
    """Refuse predictions that would overwrite the data: XTREME's data have the names of its submissions."""
    for path in _files(stem):
        refuse_overwriting(path, inputs)


def _files(stem: Path) -> list[Path]:
    return [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("tsv", "json")]
