"""What a training logged, step by step, and the checkpoint's path that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.runs.files import write_text
from isoglot.runs.json_lines import json_line, parse_object

if TYPE_CHECKING:
    import pandas as pd

    _Path = Path
else:
    _Path = type(Path())  # that of this system, which alone can be extended before Python 3.12

HISTORY = "history.jsonl"
"""In a run's folder: one line per step with what was logged."""
_SUMMARY = "train_runtime"
"""Name in what the trainer logs at the end about the whole run."""


class Checkpoint(_Path):
    """The folder of trained weights, a path like any other, which also shows how the training went.

    Example:
        >>> checkpoint = Checkpoint("runs/tlm/checkpoint")
        >>> checkpoint.name, len(checkpoint.history)
        ('checkpoint', 0)
    """

    @property
    def history(self) -> pd.DataFrame:
        """Losses and scores by step, one row each; without rows where nothing was logged.

        Raises:
            InputError: A line of the file is not a JSON object.
        """
        import pandas as pd  # noqa: PLC0415 - a path alone needs no frames

        path = Path(self).parent / HISTORY
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        rows = [parse_object(line, path=path, line=number) for number, line in enumerate(lines, 1)]
        return pd.DataFrame(rows, columns=None if rows else ["step"]).set_index("step")


def write_history(folder: Path, logged: Iterable[Mapping[str, Any]]) -> None:
    """Write what a trainer logged into a run's folder, one line per step.

    Values stand in the order of their names: a trainer that resumes reads its log from a file that sorts them, and the
    history must not say whether a run was interrupted.
    """
    steps: dict[int, dict[str, Any]] = {}
    for entry in logged:
        if _SUMMARY not in entry:
            step = int(entry["step"])
            steps.setdefault(step, {}).update(entry)
    lines = [json_line({"step": step, **dict(sorted(entry.items()))}) for step, entry in steps.items()]
    write_text(folder / HISTORY, "".join(lines))
