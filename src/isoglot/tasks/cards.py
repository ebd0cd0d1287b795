"""The card of a checkpoint, read before the weights: its run, its hash and, if it was fine-tuned, how.

In this module a checkpoint is a folder (``Path``) or a name on the hub (``str``), about which nothing is recorded.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.runs.files import read_json
from isoglot.runs.folder import CHECKPOINT, hash_checkpoint
from isoglot.runs.record import MANIFEST, RUN

TASK_FILE = "isoglot_task.json"
"""The file beside a fine-tuned model that holds its card."""


def origin(checkpoint: Path | str) -> dict[str, Any]:
    """Return the card of a checkpoint: ``run``, ``pretrained_hash`` and ``recipe_hash``; more if it was fine-tuned.

    A fine-tuned model keeps its card in :data:`TASK_FILE`. For any other checkpoint the card is made here.
    """
    if isinstance(checkpoint, str):
        digest = hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
        return {"run": checkpoint, "pretrained_hash": digest, "recipe_hash": ""}
    card = read_json(checkpoint / TASK_FILE)
    if card is not None:
        return card
    record = run_of(checkpoint)
    name = checkpoint.parent.name if checkpoint.name == CHECKPOINT else checkpoint.name
    return {
        "run": str(record.get("name") or name or "checkpoint"),
        "pretrained_hash": hash_checkpoint(checkpoint),
        "recipe_hash": str(record.get("recipe_hash", "")),
    }


def seed_of(checkpoint: Path | str, about: Mapping[str, Any]) -> int | None:
    """Return the seed of a checkpoint's fine-tuning, or of the run that pre-trained it; ``None`` if none is recorded.

    ``about``: Card of the checkpoint, from :func:`origin`.
    """
    seed = about.get("seed", run_of(checkpoint).get("seed"))
    return seed if isinstance(seed, int) else None  # a manifest beside it may be of another program


def changes_of(checkpoint: Path | str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a user changed for the training of a checkpoint, such as ``{"learning_rate": 0.01}``.

    They tell checkpoints of one run's name apart, as in a sweep. Nothing is returned if none are recorded.

    ``about``: Card of the checkpoint, from :func:`origin`.
    """
    changes = about.get("changes", run_of(checkpoint).get("changes"))
    return changes if isinstance(changes, dict) else {}  # a manifest beside it may be of another program


def run_of(checkpoint: Path | str) -> dict[str, Any]:
    """Read the record of the run that wrote a checkpoint; empty for a checkpoint outside a run."""
    if isinstance(checkpoint, str):
        return {}
    return read_json(checkpoint.parent / MANIFEST) or read_json(checkpoint.parent / RUN) or {}


def recipe_of(checkpoint: Path | str) -> dict[str, dict[str, Any]]:
    """Return the recipe that a checkpoint was pre-trained with, as ``{recipe_hash: values}``; empty if not recorded."""
    record = run_of(checkpoint)
    values = record.get("values")
    if not isinstance(values, dict) or "objectives" not in values or not record.get("recipe_hash"):
        return {}
    return {str(record["recipe_hash"]): values}


def measured_hash(checkpoint: Path | str, about: Mapping[str, Any]) -> str:
    """Return the hash that results of a checkpoint carry: of the files in its folder, or of its name on the hub."""
    return hash_checkpoint(checkpoint) if isinstance(checkpoint, Path) else str(about["pretrained_hash"])
