"""The card of a checkpoint, read before the weights: its run, its hash and, if it was fine-tuned, how."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.runs.files import read_json
from isoglot.runs.folder import CHECKPOINT, hash_checkpoint
from isoglot.runs.record import MANIFEST, RUN

TASK_FILE = "isoglot_task.json"
"""Beside a fine-tuned model: what it was made from."""


def origin(checkpoint: Path | str) -> dict[str, Any]:
    """The origin of a checkpoint: ``run``, ``checkpoint_hash``, ``recipe_hash`` and, if it was fine-tuned, more."""
    if isinstance(checkpoint, str):
        digest = hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
        return {"run": checkpoint, "pretrained_hash": digest, "recipe_hash": ""}
    card = read_json(checkpoint / TASK_FILE)
    if card is not None:
        return card
    around = run_of(checkpoint)
    name = checkpoint.parent.name if checkpoint.name == CHECKPOINT else checkpoint.name
    return {
        "run": str(around.get("name") or name or "checkpoint"),
        "pretrained_hash": hash_checkpoint(checkpoint),
        "recipe_hash": str(around.get("recipe_hash", "")),
    }


def seed_of(checkpoint: Path | str, about: Mapping[str, Any]) -> int | None:
    """The seed of a checkpoint: of its fine-tuning, or of the run that pre-trained it; ``None`` for any other."""
    seed = about.get("seed", run_of(checkpoint).get("seed"))
    return seed if isinstance(seed, int) else None  # a manifest beside it may be of another program


def changes_of(checkpoint: Path | str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Values by which the training of a checkpoint may differ from others of its run's name; empty if not recorded.

    ``about``: Of the checkpoint, as :func:`origin` gives it.
    """
    changes = about.get("changes", run_of(checkpoint).get("changes"))
    return changes if isinstance(changes, dict) else {}  # a manifest beside it may be of another program


def run_of(checkpoint: Path | str) -> dict[str, Any]:
    """The record of the run that left a checkpoint; empty for a checkpoint outside a run."""
    if isinstance(checkpoint, str):
        return {}
    return read_json(checkpoint.parent / MANIFEST) or read_json(checkpoint.parent / RUN) or {}


def recipe_of(checkpoint: Path | str) -> dict[str, dict[str, Any]]:
    """The values of the recipe that a checkpoint was pre-trained by, by its hash; empty where they are not recorded."""
    record = run_of(checkpoint)
    values = record.get("values")
    if not isinstance(values, dict) or "objectives" not in values or not record.get("recipe_hash"):
        return {}
    return {str(record["recipe_hash"]): values}


def measured_hash(checkpoint: Path | str, about: Mapping[str, Any]) -> str:
    """The hash of a checkpoint's own files, beside its results; of one on the hub that of its name."""
    return hash_checkpoint(checkpoint) if isinstance(checkpoint, Path) else str(about["pretrained_hash"])
