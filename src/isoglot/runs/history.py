"""The history of a training: what was logged at each step, and the checkpoint's path that shows it."""

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
    _Path = type(Path())  # PosixPath or WindowsPath: before Python 3.12, Path itself cannot be inherited from

HISTORY = "history.jsonl"
"""Name in a run's folder of the history: one line per step."""
_SUMMARY = "train_runtime"
"""Key of the last entry that a trainer logs, which is about the whole run and belongs to no step."""


class Checkpoint(_Path):
    """The path of a folder of trained weights, which also shows how the training went.

    Example:
        >>> checkpoint = Checkpoint("runs/tlm/checkpoint")
        >>> checkpoint.name, len(checkpoint.history)
        ('checkpoint', 0)
    """

    @property
    def history(self) -> pd.DataFrame:
        """Losses and scores, one row per step; no rows if nothing was logged.

        Raises:
            InputError: A line of the file is not a JSON object.
        """
        import pandas as pd  # noqa: PLC0415 - a path alone needs no frames

        path = Path(self).parent / HISTORY
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        # Not by splitlines(), which also ends a line at U+2028 inside a text.
        lines = text.removesuffix("\n").split("\n") if text else []
        rows = [parse_object(line, path=path, line=number) for number, line in enumerate(lines, 1)]
        return pd.DataFrame(rows, columns=None if rows else ["step"]).set_index("step")


def write_history(folder: Path, logged: Iterable[Mapping[str, Any]]) -> None:
    """Write what a trainer logged into a run's folder, one line per step.

    A step may be logged several times, by training and by evaluation; its values go into one line. Values are sorted by
    name, because a trainer that resumes reads its log from a file that sorts them, and the history must be the same
    whether a run was interrupted or not.
    """
    steps: dict[int, dict[str, Any]] = {}
    for entry in logged:
        if _SUMMARY not in entry:
            step = int(entry["step"])
            steps.setdefault(step, {}).update(entry)
    lines = [json_line({"step": step, **dict(sorted(entry.items()))}) for step, entry in steps.items()]
    write_text(folder / HISTORY, "".join(lines))
