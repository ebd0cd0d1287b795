"""What a file of results and a folder of predictions have already, and what it was made of.

Beside either stands a journal, ``.NAME.done``: a line for each evaluation that is whole there. A file of results alone
would not tell: a stopped evaluation leaves some rows of a language, and data may have been edited since.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.evaluation.options import EvaluateOptions
from isoglot.example_counts import ENDING, CountsFile, ExampleCounts
from isoglot.results import Result, append, held
from isoglot.runs.files import hidden, is_stream
from isoglot.runs.folder import key_of
from isoglot.runs.lock import locked
from isoglot.tasks import submission
from isoglot.tasks.base import Predictions, Task

_IDENTITY = ("run", "task", "language", "split", "checkpoint_hash", "options")
"""Fields that distinguish the rows of one evaluation from those of others."""
_ABOUT = (*_IDENTITY, "seed")
"""Fields that counts of examples keep."""


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint on a task in one language."""

    shared: Mapping[str, Any]  # fields of its rows of results, but for metric, value and number of examples
    key: str  # stands for everything that it depends on
    data: str = ""  # stands for the examples

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


def known_rows(done: Evaluation, task: Task, options: EvaluateOptions) -> list[Result]:
    """Rows that an earlier call wrote of the same evaluation; none where it is not whole, or is to be made again."""
    if options.again:
        return []
    if (folder := options.predictions) is not None:
        stem = submission.stem_of(folder, task, *done.place[1:])
        if _noted(folder, done.place) != done.key or not submission.written(stem):
            return []
    return _rows(done, options.out)


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
        submission.write(stem, predictions)
        if counts:
            about = {name: done.shared[name] for name in _ABOUT} | {"data": done.data}
            CountsFile(about, counts).write(stem.with_name(f"{stem.name}{ENDING}"))
        _note(folder, done.place, done.key)
    if out is None:
        return rows
    if is_stream(out):
        append(out, rows)
        return rows
    with locked(out):
        known = [] if options.again else _rows(done, out)
        if known:
            return known
        if options.again or held(out)[-len(rows) :] != rows:  # else of a run killed before it noted them
            append(out, rows)
        _note(out, done.identity, done.key)
    return rows


def _rows(done: Evaluation, out: Path | None) -> list[Result]:
    if out is None or _noted(out, done.identity) != done.key:
        return []  # never measured, or on other data since
    own = [row for row in held(out) if [getattr(row, name) for name in _IDENTITY] == done.identity]
    return list({row.metric: row for row in own}.values())


def _journal(out: Path) -> Path:
    return hidden(out, ".done")


def _note(out: Path, what: list[Any], made_of: str) -> None:
    with _journal(out).open("a", encoding="utf-8") as file:
        file.write(f"{key_of(what)} {made_of}\n")


def _noted(out: Path, what: list[Any]) -> str | None:
    """What an evaluation was made of, the last time; ``None`` if it was never made."""
    if not _journal(out).is_file():
        return None
    lines = _journal(out).read_text(encoding="utf-8").splitlines()
    return dict(line.partition(" ")[::2] for line in lines).get(key_of(what))
