"""Journals of finished evaluations, by which rows of results and predictions are recognised and not made again.

Beside a file of results or a folder of predictions stands its journal, `.NAME.done`, with a line for each evaluation.
The results alone would not tell: a stopped evaluation leaves some of its rows, and data may have been edited since.

    of results.jsonl:    HASH of the identity    KEY
    of predictions/:     HASH of the place       - OWNER      while they are written
                         HASH of the place       KEY OWNER    when they are whole

KEY, OWNER, identity and place are properties of :class:`Evaluation`. The last line of a HASH counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.options import EvaluateOptions
from isoglot.results.confusion import ENDING as CONFUSION_ENDING
from isoglot.results.confusion import Confusion, ConfusionMatrix
from isoglot.results.example_counts import ENDING as COUNTS_ENDING
from isoglot.results.example_counts import CountsFile, ExampleCounts
from isoglot.results.rows import Result, append, rows_in
from isoglot.runs.files import hidden, is_stream, make_folder
from isoglot.runs.fingerprint import key_of
from isoglot.runs.lock import locked
from isoglot.tasks import submission
from isoglot.tasks.base import Predictions, Task

_IDENTITY = ("run", "task", "language", "split", "checkpoint_hash", "options")
"""Fields that distinguish the rows of one evaluation from those of others."""
_WITH_COUNTS = (*_IDENTITY, "seed", "recipe_hash", "changes")
"""Fields of an evaluation that are written with counts of examples and of classes."""
_BEGUN = "-"
"""Stands in place of a key while predictions are written."""


@dataclass(frozen=True)
class Evaluation:
    """One checkpoint on one task in one language.

    Args:
        shared: Fields of the rows of results; metric, value and number of examples are added when they are known.
        inputs: Everything that the figures depend on, except the name of the run.
        data: Hash of the examples.
    """

    shared: Mapping[str, Any]
    inputs: Mapping[str, Any]
    data: str = ""

    @property
    def key(self) -> str:
        """Hash of everything that the rows depend on: the inputs and the name of the run."""
        return key_of({**self.inputs, "run": self.shared["run"]})

    @property
    def owner(self) -> str:
        """Hash of the model and the options that made the predictions."""
        return key_of([self.shared["checkpoint_hash"], self.shared["options"]])

    @property
    def identity(self) -> list[Any]:
        """Values that tell rows of this evaluation from others in a file of results."""
        return [self.shared[name] for name in _IDENTITY]

    @property
    def place(self) -> list[str]:
        """Task, language and split, which tell the predictions from others in a folder of one model."""
        return [self.shared[name] for name in ("task", "language", "split")]

    def rows(self, scores: Mapping[str, float], examples: int) -> list[Result]:
        """Make the rows of results, one per metric."""
        rows = []
        for metric, value in scores.items():
            rows.append(Result(**self.shared, metric=metric, value=value, examples=examples))
        return rows

    def stem(self, folder: Path, task: Task) -> Path:
        """Return the path of the predictions in a folder, without an ending."""
        _, language, split = self.place
        return submission.stem_of(folder, task, language, split)


def require_own_predictions(evaluation: Evaluation, task: Task, folder: Path) -> None:
    """Refuse a folder in which another model has predictions of the same task, language and split.

    This model with other options counts as another one.

    Raises:
        ConfigurationError: The predictions would be overwritten.
    """
    stem = evaluation.stem(folder, task)
    key, _, owner = _last_entry(folder, evaluation.place).partition(" ")
    # The model and options that wrote the predictions may overwrite them.
    is_same_owner = owner == evaluation.owner
    # So may the same evaluation, which can have another owner than its entry:
    # - An entry of an old isoglot has no owner.
    # - The owner is a hash of, among others, `shared["options"]`: the options that differ from those in the model's
    #   card. If the card has changed or is lost, other options differ. The key does not depend on them.
    is_same_evaluation = key == evaluation.key
    if submission.written(stem) and not is_same_owner and not is_same_evaluation:
        raise ConfigurationError(
            f"{stem}: predictions of another model or with other options are there; choose another folder for "
            "predictions, one per model, or delete them"
        )


def known_rows(evaluation: Evaluation, task: Task, options: EvaluateOptions) -> list[Result]:
    """Return the rows that an earlier call wrote for the same evaluation; none if it must be measured.

    1. With ``again``, or without a file of results, everything is measured.
    2. If the user gives no name for the run, rows of the same checkpoint under any name count.
    3. If predictions are asked for, all of this evaluation's must be there.
    4. The journal must say that all rows of this evaluation were written.
    """
    if options.again or options.out is None:  # 1
        return []
    shared, folder = evaluation.shared, options.predictions
    names = [shared["run"]]
    if options.run is None:  # 2
        checkpoint_hash = shared["checkpoint_hash"]
        names += [row.run for row in rows_in(options.out) if row.checkpoint_hash == checkpoint_hash]
    for name in dict.fromkeys(names):
        # The name of the run is a part of `key` and `identity`, by which the journals and rows are searched.
        named = replace(evaluation, shared={**shared, "run": name})
        if folder is not None:  # 3
            key, _, _ = _last_entry(folder, named.place).partition(" ")
            if key != named.key or not submission.written(named.stem(folder, task)):
                continue
        rows = _rows(named, options.out)  # 4
        if rows:
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
    """Write the rows to the file of results, and the predictions to their folder, as far as the options ask for them.

    Args:
        evaluation: What was measured.
        task: The task, which knows the format of predictions.
        rows: Rows of results.
        predictions: The prediction for each example.
        options: The files to write.
        counts: Counts of each example, written beside the predictions.
        confusion: Counts of classes, written beside the predictions.

    Returns:
        The rows, or those of another process that has measured the same in the meantime.
    """
    out, folder = options.out, options.predictions
    if folder is not None:
        stem = evaluation.stem(folder, task)
        # Noted before the first file, so that a run that is killed here may overwrite its own predictions later.
        _add_entry(folder, evaluation.place, f"{_BEGUN} {evaluation.owner}")
        submission.write(stem, predictions)
        fields = {name: evaluation.shared[name] for name in _WITH_COUNTS} | {"data": evaluation.data}
        if counts:
            CountsFile(fields, counts).write(stem.with_name(f"{stem.name}{COUNTS_ENDING}"))
        if confusion is not None:
            language = str(evaluation.shared["language"])
            file = stem.with_name(f"{stem.name}{CONFUSION_ENDING}")
            Confusion({language: confusion}, fields).write(file)
        _add_entry(folder, evaluation.place, f"{evaluation.key} {evaluation.owner}")
    if out is None:
        return rows
    if is_stream(out):  # nothing can be read back from a stream
        append(out, rows)
        return rows
    with locked(out):
        written = [] if options.again else _rows(evaluation, out)
        if written:
            return written
        # A run that was killed after it wrote its rows and before it noted them has left the same rows at the end.
        if options.again or rows_in(out)[-len(rows) :] != rows:
            append(out, rows)
        _add_entry(out, evaluation.identity, evaluation.key)
    return rows


def _rows(evaluation: Evaluation, out: Path) -> list[Result]:
    """Return the rows of an evaluation in a file of results, of each metric the last row.

    There are none if the evaluation was never finished, or was last measured with other inputs.
    """
    identity = evaluation.identity
    if _last_entry(out, identity) != evaluation.key:
        return []
    by_metric = {}
    for row in rows_in(out):
        if [getattr(row, name) for name in _IDENTITY] == identity:
            by_metric[row.metric] = row
    return list(by_metric.values())


def _add_entry(beside: Path, values: list[Any], entry: str) -> None:
    """Add a line to the journal beside a file of results or a folder: the hash of the values, a space, the entry."""
    make_folder(beside.parent)
    with hidden(beside, ".done").open("a", encoding="utf-8") as file:
        file.write(f"{key_of(values)} {entry}\n")


def _last_entry(beside: Path, values: list[Any]) -> str:
    """Return the last entry for the hash of the values in the journal beside a file or folder; empty without any."""
    journal = hidden(beside, ".done")
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.is_file() else []
    entry_of_hash = {}
    for line in lines:
        line_hash, _, entry = line.partition(" ")
        entry_of_hash[line_hash] = entry
    return entry_of_hash.get(key_of(values), "")
