"""What a file of results and a folder of predictions have already, and what it was made of.

Beside either stands a journal, ``.NAME.done``: a line for each evaluation that is whole there. A file of results alone
would not tell: a stopped evaluation leaves some rows of a language, and data may have been edited since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from isoglot.errors import ConfigurationError
from isoglot.evaluation.options import EvaluateOptions
from isoglot.example_counts import ENDING, CountsFile, ExampleCounts
from isoglot.results import Result, append, rows_in
from isoglot.runs.files import hidden, is_stream, make_folder
from isoglot.runs.folder import key_of
from isoglot.runs.lock import locked
from isoglot.tasks import submission
from isoglot.tasks.base import Predictions, Task

_IDENTITY = ("run", "task", "language", "split", "checkpoint_hash", "options")
"""Fields that distinguish the rows of one evaluation from those of others."""
_ABOUT = (*_IDENTITY, "seed")
"""Fields that counts of examples keep."""
_BEGUN = "-"
"""In place of a key: predictions that may not be whole."""


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint on a task in one language."""

    shared: Mapping[str, Any]  # fields of its rows of results, but for metric, value and number of examples
    made_of: Mapping[str, Any]  # everything that it depends on but the name of its run
    data: str = ""  # stands for the examples

    @property
    def key(self) -> str:
        """Stands for everything that it depends on."""
        return key_of({**self.made_of, "run": self.shared["run"]})

    @property
    def owner(self) -> str:
        """Stands for the model and the options that its predictions are of."""
        return key_of([self.shared["checkpoint_hash"], self.shared["options"]])

    def under(self, run: str) -> Self:
        """The same, of a run of another name."""
        return replace(self, shared={**self.shared, "run": run})

    @property
    def identity(self) -> list[Any]:
        """What tells its rows from others."""
        return [self.shared[name] for name in _IDENTITY]

    def rows(self, scores: Mapping[str, float], examples: int) -> list[Result]:
        """Its rows of results, one a metric."""
        return [Result(**self.shared, metric=m, value=v, examples=examples) for m, v in scores.items()]

    @property
    def place(self) -> list[str]:
        """What tells its predictions from others."""
        return [self.shared[name] for name in ("task", "language", "split")]


def require_own_predictions(done: Evaluation, task: Task, folder: Path) -> None:
    """Refuse a folder with predictions of another model, or of this one with other options, in their place.

    Raises:
        ConfigurationError: They would be overwritten.
    """
    stem = submission.stem_of(folder, task, *done.place[1:])
    key, _, owner = (_noted(folder, done.place) or "").partition(" ")
    if submission.written(stem) and owner != done.owner and key != done.key:
        raise ConfigurationError(
            f"{stem}: predictions of another model or with other options are there; choose another folder for "
            "predictions, one per model, or delete them"
        )


def known_rows(done: Evaluation, task: Task, options: EvaluateOptions) -> list[Result]:
    """Rows that an earlier call wrote of the same evaluation; none where it is not whole, or is to be made again.

    A checkpoint's content is one run: where no name is asked for, rows under any name are its.
    """
    if options.again or options.out is None:
        return []
    names = [done.shared["run"]]
    if options.run is None:
        names += [r.run for r in rows_in(options.out) if r.checkpoint_hash == done.shared["checkpoint_hash"]]
    for named in map(done.under, dict.fromkeys(names)):
        if (folder := options.predictions) is not None:
            stem = submission.stem_of(folder, task, *done.place[1:])
            noted = (_noted(folder, done.place) or "").partition(" ")[0]
            if noted != named.key or not submission.written(stem):
                continue
        if rows := _rows(named, options.out):
            return rows
    return []


def keep(
    done: Evaluation,
    task: Task,
    rows: list[Result],
    predictions: Predictions,
    options: EvaluateOptions,
    counts: Mapping[str, ExampleCounts] | None = None,
) -> list[Result]:
    """Write rows, and predictions with the ``counts`` of each example, where they are asked for.

    Returns:
        The rows, or those of another process that has measured the same in the meantime.
    """
    out, folder = options.out, options.predictions
    if folder is not None:
        stem = submission.stem_of(folder, task, *done.place[1:])
        _note(folder, done.place, f"{_BEGUN} {done.owner}")  # a run that is killed here may come back
        submission.write(stem, predictions)
        if counts:
            about = {name: done.shared[name] for name in _ABOUT} | {"data": done.data}
            CountsFile(about, counts).write(stem.with_name(f"{stem.name}{ENDING}"))
        _note(folder, done.place, f"{done.key} {done.owner}")
    if out is None:
        return rows
    if is_stream(out):
        append(out, rows)
        return rows
    with locked(out):
        known = [] if options.again else _rows(done, out)
        if known:
            return known
        if options.again or rows_in(out)[-len(rows) :] != rows:  # else of a run killed before it noted them
            append(out, rows)
        _note(out, done.identity, done.key)
    return rows


def _rows(done: Evaluation, out: Path | None) -> list[Result]:
    if out is None or _noted(out, done.identity) != done.key:
        return []  # never measured, or on other data since
    own = [row for row in rows_in(out) if [getattr(row, name) for name in _IDENTITY] == done.identity]
    return list({row.metric: row for row in own}.values())


def _journal(out: Path) -> Path:
    return hidden(out, ".done")


def _note(out: Path, what: list[Any], made_of: str) -> None:
    make_folder(out.parent)
    with _journal(out).open("a", encoding="utf-8") as file:
        file.write(f"{key_of(what)} {made_of}\n")


def _noted(out: Path, what: list[Any]) -> str | None:
    """What an evaluation was made of, the last time; ``None`` if it was never made."""
    if not _journal(out).is_file():
        return None
    lines = _journal(out).read_text(encoding="utf-8").splitlines()
    return dict(line.partition(" ")[::2] for line in lines).get(key_of(what))
