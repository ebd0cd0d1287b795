"""Checkpoints that are complete or missing, never half: written aside, renamed when done, checked before they are read.

A checkpoint is written into ``OUT/.saving/checkpoint-200``, which is all that a killed run can leave half-written. Then
the list of its files is written, with their sizes and hashes, and the folder is renamed to ``OUT/checkpoint-200``
(:func:`commit`). Whoever resumes compares the files with the list first (:func:`why_incomplete`).
"""

import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from safetensors.torch import load_model, save_file, save_model
from torch import nn

from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.modules.adapter import load_plain_state
from isoglot.modules.checkpoint import load_checkpoint
from isoglot.runs.files import read_json, write_json
from isoglot.runs.folder import STAGING
from isoglot.runs.listed import LIST, damage, exchange, listed_in, remove
from isoglot.training.model import AlignmentModel

PLAN = "plan.json"
"""In a checkpoint: the values on which the order of its run's batches depends."""

OBJECTIVES = "objectives.safetensors"
"""In a checkpoint: the parameters and buffers of the objectives, and the language embeddings."""

ADAPTER = "adapter"
"""In a checkpoint: the folder of the adapter by itself. The weights beside the folder have the adapter merged."""

_FOLDER = re.compile(r"checkpoint-\d+")

_LOGGER = logging.getLogger(__name__)


def staging(output: str | Path) -> Path:
    """Return the folder for unfinished checkpoints; the next save clears the files that a killed run left there."""
    return Path(output) / STAGING


def checkpoints_in(output: str | Path) -> list[Path]:
    """Return the checkpoint folders of a run, oldest step first, complete or not: checkpoint-90, checkpoint-100."""
    checkpoints = [path for path in Path(output).glob("checkpoint-*") if _FOLDER.fullmatch(path.name)]
    return sorted(checkpoints, key=_step_of)


def _step_of(checkpoint: Path) -> int:
    """Return the step in the name of a checkpoint's folder: 90 for ``checkpoint-90``."""
    return int(checkpoint.name.removeprefix("checkpoint-"))


def commit(name: str, output: str | Path, *, plan: Mapping[str, Any]) -> Path:
    """Complete a staged checkpoint and give it its name: ``checkpoint-200``."""
    source, target = staging(output) / name, Path(output) / name
    write_json(source / PLAN, plan)
    # A run that resumed from an earlier checkpoint may have left one of this step.
    discard(target)
    # This also writes the list of the files, and flushes everything to disk before the rename.
    exchange(source, target)
    shutil.rmtree(staging(output), ignore_errors=True)
    return target


def prune(output: str | Path, keep: int | None, *, written: int, best: int | None = None) -> None:
    """Delete all checkpoints but the last ``keep`` and the best one; with ``keep`` 0 or ``None`` all are kept.

    A run that went back to an earlier checkpoint leaves checkpoints of later steps. They count as older than all
    others: if 12 was damaged and the run went back to 6 and has written 9, the order is 12, 6, 9.

    Args:
        output: The run's folder.
        keep: Number of checkpoints to keep.
        written: Step of the checkpoint that the run has just written.
        best: Step of the best checkpoint, in a run whose checkpoint is chosen by a development score.
    """
    if not keep:
        return
    checkpoints = checkpoints_in(output)
    abandoned = [path for path in checkpoints if _step_of(path) > written]
    current = [path for path in checkpoints if _step_of(path) <= written]
    for path in [*abandoned, *current][:-keep]:
        if path.name != f"checkpoint-{best}":
            discard(path)


def discard(checkpoint: Path) -> None:
    """Delete a checkpoint's own files.

    If the user put other files there, the folder stays under a name that no checkpoint has: checkpoint-200.kept-1.
    """
    remove(checkpoint)
    if not checkpoint.exists():
        return
    for number in count(1):
        kept = checkpoint.with_name(f"{checkpoint.name}.kept-{number}")
        if not kept.exists():
            checkpoint.rename(kept)
            return


def why_incomplete(folder: str | Path) -> str | None:
    """Say why a run cannot go on from a checkpoint; return ``None`` if it can.

    1. The checkpoint has its list, which is written last.
    2. Every file in the list is there, with its size and hash.
    3. The state of trainer and optimiser is among them. ``save_only_model`` leaves them out.
    4. In a run whose checkpoint is chosen by a development score, the best checkpoint so far can be used too.
    """
    folder = Path(folder)
    if not (folder / LIST).is_file():  # 1
        return f"no {LIST}: it was not written to the end"
    files = listed_in(folder)
    if not files:
        return f"{LIST} cannot be read"
    damaged = damage(folder)
    if damaged:  # 2
        return f"{damaged} is missing or damaged"
    if "trainer_state.json" not in files or not any(name.startswith("optimizer") for name in files):  # 3
        return "it holds no optimiser state (saved with save_only_model)"
    best_step = (read_json(folder / "trainer_state.json") or {}).get("best_global_step")  # 4
    best = folder.with_name(f"checkpoint-{best_step}")
    if not best_step or best == folder:
        return None
    why = why_incomplete(best)
    return None if why is None else f"the best checkpoint of the run up to it, {best}, cannot be used: {why}"


def chosen_checkpoint(
    resume: str | bool | None, output: str | Path, *, plan: Mapping[str, Any], is_main: bool
) -> str | None:
    """Choose the checkpoint to resume from, the same on every rank; ``None`` to start at step 0.

    Args:
        resume: A checkpoint's folder; ``True`` for the newest complete one; false for none.
        output: The run's folder.
        plan: The values on which the order of this run's batches depends; a warning says if the checkpoint's differ.
        is_main: Whether this is the first rank, which looks at the folder for all.
    """
    if not resume:
        return None
    # Folder and problem. The first rank sends an error to the others instead of raising it at once: they would wait for
    # its answer for ever.
    answer: list[Any] = [None, None]
    if is_main:
        try:
            answer[0] = newest(checkpoints_in(output) if resume is True else [Path(resume)])
        except TrainingError as error:
            answer[1] = str(error)
    broadcast_object_list(answer)
    folder, problem = answer
    if problem is not None:
        raise TrainingError(problem)
    if is_main and folder is None:
        _LOGGER.warning("no checkpoint in %s yet; starting at step 0", output)
    if is_main and folder is not None and read_json(Path(folder) / PLAN) != plan:
        _LOGGER.warning(
            "%s was made with other data, batches or ranks; the run will not be bit-identical", folder
        )
    return None if folder is None else str(folder)


def newest(checkpoints: Sequence[Path]) -> Path | None:
    """Return the last complete checkpoint; skip incomplete and damaged ones with a warning.

    Raises:
        TrainingError: There are checkpoints, but none is complete.
    """
    reasons: list[str] = []
    for path in reversed(checkpoints):
        reason = why_incomplete(path)
        if reason is None:
            for text in reasons:
                _LOGGER.warning("%s; going back to %s", text, path)
            return path
        reasons.append(f"checkpoint {path} cannot be used: {reason}")
    if reasons:
        raise TrainingError(
            f"{'; '.join(reasons)}; a complete checkpoint is needed to resume. Restore one, or delete the run's folder "
            "and run again without [[resume=True]]"
        )
    return None


def save_objectives(
    model: AlignmentModel, folder: str | Path, *, state: Mapping[str, Any] | None = None
) -> Path:
    """Write the objectives with their buffers, and the language embeddings; return the file.

    ``state``: The gathered state of the whole model, in a run that shards; otherwise the model's own is written.
    """
    beside_encoder, file = _beside_encoder(model), Path(folder) / OBJECTIVES
    if state is None:
        save_model(beside_encoder, str(file))
    else:
        tensors = {name: state[name].contiguous() for name in beside_encoder.state_dict()}
        save_file(tensors, str(file))
    return file


def load_weights(model: AlignmentModel, folder: str | Path) -> None:
    """Load encoder and objectives of a checkpoint into a model, in place; the encoder as any user loads it."""
    try:
        loaded = load_checkpoint(type(model.model), folder)
        load_plain_state(model.model, loaded.state_dict(), Path(folder) / ADAPTER)
        load_model(_beside_encoder(model), str(Path(folder) / OBJECTIVES))
    except (RuntimeError, FileNotFoundError, ConfigurationError) as error:
        raise TrainingError(
            f"checkpoint {folder} does not fit this model with objectives {sorted(model.objectives)}: {error}; "
            "resume with the recipe that made it (saved beside it), or start a new run from its encoder "
            f"(model.path={folder})"
        ) from error


def _beside_encoder(model: AlignmentModel) -> nn.Module:
    """Return everything of a model but its encoder, as a module with the same names of weights.

    Such a name is ``objectives.contrast.projection.maps.0.weight``.
    """
    module = nn.Module()
    module.objectives = model.objectives
    if model.language_embeddings is not None:
        module.language_embeddings = model.language_embeddings
    return module
