"""Where the predictions of each of several checkpoints go."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.runs.folder import CHECKPOINT

_OF_A_SWEEP = re.compile(r"[\w.]+=.*")
"""The folder of a value of a sweep, as :mod:`isoglot.runs.sweep` names it."""


def prediction_folders(checkpoints: Sequence[str | Path], folder: Path | None) -> list[Path | None]:
    """Where each checkpoint's predictions go: of several, in a folder called as the checkpoint is named.

    The name does not depend on the other checkpoints, so that predictions are found again beside others.
    """
    if folder is None or len(checkpoints) == 1:
        return [folder] * len(checkpoints)
    folders: dict[Path, str | Path] = {}
    for checkpoint in checkpoints:
        place = folder / _folder_name(checkpoint)
        if place in folders:
            raise ConfigurationError(
                f"predictions of {folders[place]} and {checkpoint} would both go to {place}; evaluate them one at a "
                "time, each with its own [[predictions]], or name them by paths from a folder that holds both"
            )
        folders[place] = checkpoint
    return list(folders)


def _folder_name(checkpoint: str | Path) -> Path:
    """The path of a checkpoint as it was given, without `checkpoint` at its end.

    Of a path outside the current folder only the last part stays, and the folders of a sweep above it:
    `/data/lr/learning_rate=0.01/seed-2/checkpoint` gives `learning_rate=0.01/seed-2`.
    """
    path = Path(checkpoint)
    if path.name == CHECKPOINT and len(path.parts) > 1:
        path = path.parent
    path = Path(os.path.normpath(path))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if path.is_absolute() or ".." in path.parts or path == Path():
        parts = path.resolve().parts
        kept = 1
        while kept < len(parts) and _OF_A_SWEEP.fullmatch(parts[-kept - 1]):
            kept += 1
        path = Path(*parts[-kept:])
    return path
