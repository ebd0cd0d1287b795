"""Folders for the predictions of several checkpoints."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.runs.folder import CHECKPOINT

_OF_A_SWEEP = re.compile(r"[\w.]+=.*")
"""A folder that is named after a value of a sweep, ``learning_rate=0.01``, by :mod:`isoglot.runs.sweep`."""


def prediction_folders(checkpoints: Sequence[str | Path], folder: Path | None) -> list[Path | None]:
    """Return the folder for the predictions of each checkpoint: ``folder`` itself for one, a folder below for several.

    The folder below is named after the checkpoint alone, so predictions are found again when the same checkpoint is
    evaluated beside others.

    Example:
        >>> [str(path) for path in prediction_folders(["runs/a/checkpoint", "runs/b"], Path("out"))]
        ['out/runs/a', 'out/runs/b']

    Raises:
        ConfigurationError: Two checkpoints would share a folder.
    """
    if folder is None or len(checkpoints) == 1:
        return [folder] * len(checkpoints)
    # Folder of predictions to its checkpoint, in the order of the checkpoints.
    checkpoint_of: dict[Path, str | Path] = {}
    for checkpoint in checkpoints:
        own_folder = folder / _folder_name(checkpoint)
        if own_folder in checkpoint_of:
            raise ConfigurationError(
                f"predictions of {checkpoint_of[own_folder]} and {checkpoint} would both go to {own_folder}; evaluate "
                "them one at a time, each with its own [[predictions]], or name them by paths from a folder that "
                "holds both"
            )
        checkpoint_of[own_folder] = checkpoint
    return list(checkpoint_of)


def _folder_name(checkpoint: str | Path) -> Path:
    """Return the checkpoint's path as the user wrote it, relative and without `checkpoint` at its end.

    Of a path outside the current folder (``../runs/a``, ``/data/runs/a``) only the last part is kept, ``a``, and the
    folders of a sweep above it: ``/data/lr/learning_rate=0.01/seed-2`` gives ``learning_rate=0.01/seed-2``.
    """
    path = Path(checkpoint)
    if path.name == CHECKPOINT and len(path.parts) > 1:
        path = path.parent
    path = Path(os.path.normpath(path))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if path.is_absolute() or ".." in path.parts or path == Path():
        *above, last = path.resolve().parts
        kept = [last]
        while above and _OF_A_SWEEP.fullmatch(above[-1]):
            kept.insert(0, above.pop())
        path = Path(*kept)
    return path
