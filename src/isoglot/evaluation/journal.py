"""What a file of results and a folder of predictions have already, and what it was made of.

Beside either stands a journal, ``.NAME.done``: a line for each evaluation that is whole there. A file of results alone
would not tell: a stopped evaluation leaves some rows of a language, and data may have been edited since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.options import EvaluateOptions
from isoglot.results.confusion import ENDING as CONFUSION_ENDING
from isoglot.results.confusion import Confusion, ConfusionMatrix
from isoglot.results.example_counts import ENDING, CountsFile, ExampleCounts
from isoglot.results.rows import Result, append, rows_in
from isoglot.runs.files import hidden, is_stream, make_folder
from isoglot.runs.fingerprint import key_of
from isoglot.runs.lock import locked
from isoglot.tasks import submission
from isoglot.tasks.base import Predictions, Task

_IDENTITY = ("run", "task", "language", "split", "checkpoint_hash", "options")
"""Fields that distinguish the rows of one evaluation from those of others."""
_ABOUT = (*_IDENTITY, "seed", "recipe_hash", "changes")
"""Fields that counts of examples keep."""
_BEGUN = "-"
"""In place of a key: predictions that may not be whole."""


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint on a task in one language."""

    shared: Mapping[str, Any]  # fields of its rows of results, but for metric, value and number of examples
    inputs: Mapping[str, Any]  # everything that it depends on but the name of its run
    data: str = ""  # stands for the examples

    @property
    def key(self) -> str:
        """Stands for everything that it depends on."""
        return key_of({**self.inputs, "run": self.shared["run"]})

    @property
    def owner(self) -> str:
        """Stands for the model and the options that its predictions are of."""
        return key_of([self.shared["checkpoint_hash"], self.shared["options"]])

    @property
    def identity(self) -> list[Any]:
        """What tells its rows from others."""
        return [self.shared[name] for name in _IDENTITY]

    @property
    def dataset(self) -> list[str]:
        """What tells its predictions from others: task, language and split."""
        return [self.shared[name] for name in ("task", "language", "split")]

    def rows(self, scores: Mapping[str, float], examples: int) -> list[Result]:
        """Its rows of results, one a metric."""
        return [Result(**self.shared, metric=m, value=v, examples=examples) for m, v in scores.items()]

    def stem(self, folder: Path, task: Task) -> Path:
        """The path of its predictions in a folder, without an ending."""
        return submission.stem_of(folder, task, *self.dataset[1:])


def require_own_predictions(evaluation: Evaluation, task: Task, folder: Path) -> None:
    """Refuse a folder with predictions of another model, or of this one with other options, in their place.

    Raises:
        ConfigurationError: They would be overwritten.
    """
    stem = evaluation.stem(folder, task)
    key, _, owner = _noted(folder, evaluation.dataset).partition(" ")
    if submission.written(stem) and owner != evaluation.owner and key != evaluation.key:
        raise ConfigurationError(
            f"{stem}: predictions of another model or with other options are there; choose another folder for "
            "predictions, one per model, or delete them"
        )


def known_rows(evaluation: Evaluation, task: Task, options: EvaluateOptions) -> list[Result]:
    """Rows that an earlier call wrote of the same evaluation; none where it is not whole, or is to be made again.

    A checkpoint's content is one run: where no name is asked for, rows under any name are its.
    """
    if options.again or options.out is None:
        return []
    shared, folder = evaluation.shared, options.predictions
    names = [shared["run"]]
    if options.run is None:
        names += [r.run for r in rows_in(options.out) if r.checkpoint_hash == shared["checkpoint_hash"]]
    for name in dict.fromkeys(names):
        named = replace(evaluation, shared={**shared, "run": name})
        if folder is not None:
            key = _noted(folder, named.dataset).partition(" ")[0]
            if key != named.key or not submission.written(named.stem(folder, task)):
                continue
        if rows := _rows(named, options.out):
            return rows
    return []


def keep(
    evaluation: Evaluation,
    task: Task,
    rows: list[Result],
    predictions: Predictions,
    options: EvaluateOptions,
    counts: Mapping[str, ExampleCounts] | None = None,
    confusion: ConfusionMatrix | None = None,
) -> list[Result]:
    """Write rows, and predictions with the ``counts`` of each example and of classes, where they are asked for.

    Returns:
        The rows, or those of another process that has measured the same in the meantime.
    """
    out, folder, dataset = options.out, options.predictions, evaluation.dataset
    if folder is not None:
        stem = evaluation.stem(folder, task)
        _note(folder, dataset, f"{_BEGUN} {evaluation.owner}")  # a run that is killed here may come back
        submission.write(stem, predictions)
        about = {name: evaluation.shared[name] for name in _ABOUT} | {"data": evaluation.data}
        if counts:
            CountsFile(about, counts).write(stem.with_name(f"{stem.name}{ENDING}"))
        if confusion is not None:
            language = str(evaluation.shared["language"])
            file = stem.with_name(f"{stem.name}{CONFUSION_ENDING}")
            Confusion({language: confusion}, about).write(file)
        _note(folder, dataset, f"{evaluation.key} {evaluation.owner}")
    if out is None:
        return rows
    if is_stream(out):
        append(out, rows)
        return rows
    with locked(out):
        if not options.again and (written := _rows(evaluation, out)):
            return written
        if options.again or rows_in(out)[-len(rows) :] != rows:  # else of a run killed before it noted them
            append(out, rows)
        _note(out, evaluation.identity, evaluation.key)
    return rows


def _rows(evaluation: Evaluation, out: Path) -> list[Result]:
    """The rows of an evaluation in a file of results; none of one that was never measured, or on other data since."""
    identity = evaluation.identity
    if _noted(out, identity) != evaluation.key:
        return []
    rows = (row for row in rows_in(out) if [getattr(row, name) for name in _IDENTITY] == identity)
    return list({row.metric: row for row in rows}.values())


def _note(out: Path, what: list[Any], entry: str) -> None:
    make_folder(out.parent)
    with hidden(out, ".done").open("a", encoding="utf-8") as file:
        file.write(f"{key_of(what)} {entry}\n")


def _noted(out: Path, what: list[Any]) -> str:
    """The last entry of an evaluation; empty if it was never made."""
    path = hidden(out, ".done")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(line.partition(" ")[::2] for line in lines).get(key_of(what), "")
