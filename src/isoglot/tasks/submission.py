"""Write predictions in XTREME's submission format.

One file for each task and language, ``TASK/test-LANGUAGE.tsv`` (``.json`` for questions):

1. Tags: one per line, with a blank line between sentences.
2. Labels: one per line.
3. Nearest sentences: one number per line, counted from 0.
4. Answers: one JSON object from the id of the question to the answer.

The evaluation writes ``TASK/test-LANGUAGE.counts.safetensors`` beside each, by which two models are compared example by
example.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from isoglot.runs.files import inside, refuse_overwriting, write_text
from isoglot.tasks import TaskFacts
from isoglot.tasks.base import Predictions, Task


def stem_of(folder: Path, task: Task, language: str, split: str) -> Path:
    """Return the path of the files of a task, language and split, without an ending: ``pos/test-de``."""
    facts = TaskFacts.of(task)
    name = facts.xtreme if facts.xtreme and task.name == facts.kind else task.name
    return inside(inside(folder, name), f"{split}-{language}")


def write(stem: Path, predictions: Predictions) -> Path:
    """Write predictions for submission, and return the path of the file.

    ``stem``: The path of the file without its ending.
    """
    if isinstance(predictions, Mapping):  # 4
        text = json.dumps(dict(predictions), ensure_ascii=False, indent=2) + "\n"
        return write_text(stem.with_name(f"{stem.name}.json"), text)
    if predictions and isinstance(predictions[0], list | tuple):  # 1
        text = "\n\n".join("\n".join(tags) for tags in predictions) + "\n"
    else:  # 2, 3
        text = "".join(f"{label}\n" for label in predictions)
    return write_text(stem.with_name(f"{stem.name}.tsv"), text)


def written(stem: Path) -> bool:
    """Whether predictions were written already."""
    return any(path.is_file() for path in _files(stem))


def refuse_inputs(stem: Path, inputs: Iterable[str]) -> None:
    """Refuse predictions that would overwrite the data: XTREME's data have the names of its submissions."""
    for path in _files(stem):
        refuse_overwriting(path, inputs)


def _files(stem: Path) -> list[Path]:
    """Return the paths that predictions may have; which one is written depends on the task."""
    return [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("tsv", "json")]
