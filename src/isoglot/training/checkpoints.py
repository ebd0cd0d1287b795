"""Checkpoints that are complete or not there: written aside, renamed when done, checked before they are read."""

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
"""In a checkpoint: what the order of the batches depends on that it was made with."""

OBJECTIVES = "objectives.safetensors"
"""Parameters and buffers of the objectives, and the language embeddings."""

ADAPTER = "adapter"
"""Folder of an adapter by itself, which the weights beside it have merged."""

_FOLDER = re.compile(r"checkpoint-(\d+)")

logger = logging.getLogger(__name__)


def staging(output: str | Path) -> Path:
    """The folder that unfinished checkpoints are written into; the next save clears what a killed run left there."""
    return Path(output) / STAGING


def checkpoints_in(output: str | Path) -> list[Path]:
    """The checkpoint folders of a run, oldest step first, complete or not."""
    numbered = [(int(m[1]), p) for p in Path(output).glob("checkpoint-*") if (m := _FOLDER.fullmatch(p.name))]
    return [path for _, path in sorted(numbered)]


def commit(name: str, output: str | Path, *, plan: Mapping[str, Any]) -> Path:
    """List the files of a staged checkpoint, flush everything to disk and give it its name."""
    source, target = staging(output) / name, Path(output) / name
    write_json(source / PLAN, plan)
    discard(target)  # an incomplete or abandoned one of the same step
    exchange(source, target)
    shutil.rmtree(staging(output), ignore_errors=True)
    return target


def prune(output: str | Path, keep: int | None, *, best: int | None = None) -> None:
    """Delete the oldest checkpoints but for the last ``keep`` (``None`` or 0: none is deleted) and the best one."""
    for path in checkpoints_in(output)[:-keep] if keep else []:
        if path.name != f"checkpoint-{best}":
            discard(path)


def discard(checkpoint: Path) -> None:
    """Delete a checkpoint's files; what else somebody put there stays, under a name that no checkpoint has."""
    remove(checkpoint)
    names = (checkpoint.with_name(f"{checkpoint.name}.kept-{number}") for number in count(1))
    if checkpoint.exists():
        checkpoint.rename(next(name for name in names if not name.exists()))


def why_incomplete(folder: str | Path) -> str | None:
    """Say why a checkpoint is incomplete; ``None`` if every file is there as it was written."""
    if not (Path(folder) / LIST).is_file():
        return f"no {LIST}: it was not written to the end"
    if not (files := listed_in(Path(folder))):
        return f"{LIST} cannot be read"
    if damaged := damage(Path(folder)):
        return f"{damaged} is missing or damaged"
    if "trainer_state.json" not in files or not any(n.startswith("optimizer") for n in files):
        return "it holds no optimiser state (saved with save_only_model)"
    # A run that is chosen by development data needs its best checkpoint too.
    step = (read_json(Path(folder) / "trainer_state.json") or {}).get("best_global_step")
    best = Path(folder).with_name(f"checkpoint-{step}")
    if not step or best == Path(folder):
        return None
    why = why_incomplete(best)
    return None if why is None else f"the best checkpoint of the run up to it, {best}, cannot be used: {why}"


def chosen(
    resume: str | bool | None, output: str | Path, *, plan: Mapping[str, Any], main: bool
) -> str | None:
    """The checkpoint to resume from, the same on every rank: ``asked``, or the newest complete one if it is ``True``.

    ``plan``: what the order of batches of this run depends on; a difference to the checkpoint's is warned of.
    """
    if not resume:
        return None
    answer: list[Any] = [
        None,
        None,
    ]  # folder and problem: an error reaches every rank, none waits for another
    if main:
        try:
            answer[0] = newest(checkpoints_in(output) if resume is True else [Path(resume)])
        except TrainingError as error:
            answer[1] = str(error)
    broadcast_object_list(answer)
    folder, problem = answer
    if problem is not None:
        raise TrainingError(problem)
    if main and folder is None:
        logger.warning("no checkpoint in %s yet; starting at step 0", output)
    if main and folder is not None and read_json(Path(folder) / PLAN) != plan:
        logger.warning(
            "%s was made with other data, batches or ranks; the run will not be bit-identical", folder
        )
    return None if folder is None else str(folder)


def newest(checkpoints: Sequence[Path]) -> Path | None:
    """The last complete checkpoint; incomplete or damaged ones are passed over with a warning."""
    reasons: list[str] = []
    for path in reversed(checkpoints):
        reason = why_incomplete(path)
        if reason is None:
            for text in reasons:
                logger.warning("%s; going back to %s", text, path)
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
    """Write the objectives with their buffers, and language embeddings; ``state`` was gathered from shards."""
    rest, file = _rest(model), Path(folder) / OBJECTIVES
    if state is None:
        save_model(rest, str(file))
    else:
        save_file({name: state[name].contiguous() for name in rest.state_dict()}, str(file))
    return file


def load_weights(model: AlignmentModel, folder: str | Path) -> None:
    """Read encoder and objectives of a checkpoint into a model, in place; the encoder as any user reads it."""
    try:
        loaded = load_checkpoint(type(model.model), folder)
        load_plain_state(model.model, loaded.state_dict(), Path(folder) / ADAPTER)
        load_model(_rest(model), str(Path(folder) / OBJECTIVES))
    except (RuntimeError, FileNotFoundError, ConfigurationError) as error:
        raise TrainingError(
            f"checkpoint {folder} does not fit this model with objectives {sorted(model.objectives)}: {error}; "
            "resume with the recipe that made it (saved beside it), or start a new run from its encoder "
            f"(model.path={folder})"
        ) from error


def _rest(model: AlignmentModel) -> nn.Module:
    """All of a model but its encoder, by the same names."""
    rest = nn.Module()
    rest.objectives = model.objectives
    if model.language_embeddings is not None:
        rest.language_embeddings = model.language_embeddings
    return rest
