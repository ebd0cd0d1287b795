"""A run's folder: what is in it, how it is cleared, and the hash of its checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import read_json
from isoglot.runs.fingerprint import digest
from isoglot.runs.history import HISTORY
from isoglot.runs.listed import remove
from isoglot.runs.record import MANIFEST, RUN

CHECKPOINT = "checkpoint"
RECIPE = "recipe.yaml"
"""In a run's folder: the recipe with everything explicit."""
WORK = "work"
"""Where fine-tuning keeps what it resumes from."""
STAGING = ".saving"
"""Where a trainer's checkpoint is written before it has its name."""
_RECORDS = (
    RUN, MANIFEST, RECIPE, HISTORY, f"grid/*/{MANIFEST}", f"grid/*/{HISTORY}", "trainer_state.json",
    "**/events.out.tfevents.*", f"**/{STAGING}/**/*",
)  # fmt: skip
_CHECKPOINTS = (CHECKPOINT, "checkpoint-*", f"grid/*/{CHECKPOINT}", f"**/{WORK}/checkpoint-*")
"""Folders with lists of their own."""
TOKENIZER_FILES = (
    "tokenizer*.json", "vocab.*", "merges.txt", "*.model", "added_tokens.json", "special_tokens_map.json",
)  # fmt: skip
"""Patterns of the files that a tokenizer is read from."""
_CHECKPOINT_FILES = ("*.safetensors", "config.json", *TOKENIZER_FILES)


def clear(folder: Path, *names: str, keep: bool = False) -> None:
    """Delete what a run wrote into its folder; everything else stays.

    ``names``: More that it wrote.
    ``keep``: The folder itself stays, even empty.
    """
    for checkpoint in [path for pattern in _CHECKPOINTS for path in folder.glob(pattern)]:
        remove(checkpoint)
    remove(folder, *_RECORDS, *names, keep=keep)


def checkpoint_entry(folder: Path) -> dict[str, Any]:
    """How a run's manifest names the checkpoint in its folder."""
    return {"checkpoint": CHECKPOINT, "checkpoint_hash": hash_checkpoint(folder / CHECKPOINT)}


def hash_checkpoint(folder: Path | str, patterns: Sequence[str] = _CHECKPOINT_FILES) -> str:
    """16 hexadecimal digits of a checkpoint's weights, configuration and tokenizer; of one on the hub its name.

    ``patterns``: Of the files that count.
    """
    if isinstance(folder, str):
        return folder
    files = {file for pattern in patterns for file in folder.glob(pattern)}
    return digest(sorted(files), size=8, named=True)


def require_checkpoint(folder: Path) -> None:
    """Refuse a finished run whose checkpoint is there and is not the one that its manifest speaks of."""
    recorded, checkpoint = (read_json(folder / MANIFEST) or {}).get("checkpoint_hash"), folder / CHECKPOINT
    if recorded is not None and checkpoint.is_dir() and recorded != hash_checkpoint(checkpoint):
        raise ConfigurationError(
            f"{checkpoint}: was changed after it was trained; restore it, or delete {folder} to train again"
        )
