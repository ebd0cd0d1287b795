"""Names of the files in a run's folder, deleting them, and the hash of the run's checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import read_json
from isoglot.runs.fingerprint import remembered_digest
from isoglot.runs.history import HISTORY
from isoglot.runs.listed import remove
from isoglot.runs.record import MANIFEST, RUN

CHECKPOINT = "checkpoint"
"""Folder of the trained encoder, which plain transformers loads."""
RECIPE = "recipe.yaml"
"""Name in a run's folder of the recipe with every value explicit."""
WORK = "work"
"""Folder of the checkpoints from which fine-tuning resumes."""
STAGING = ".saving"
"""Folder in which a trainer's checkpoint is written before it is renamed."""
# grid/NAME is the folder of one combination that a fine-tuning tries: grid/1, grid/2.
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
    """Delete what a run wrote into its folder; the user's files stay.

    ``names``: More names or patterns of files that the run wrote.
    ``keep``: Whether the folder itself stays, even empty.
    """
    checkpoints: list[Path] = []
    for pattern in _CHECKPOINTS:
        checkpoints += folder.glob(pattern)
    for checkpoint in checkpoints:
        remove(checkpoint)
    remove(folder, *_RECORDS, *names, keep=keep)


def checkpoint_entry(folder: Path) -> dict[str, Any]:
    """Return the entries of a run's manifest that name the checkpoint in its folder."""
    return {"checkpoint": CHECKPOINT, "checkpoint_hash": hash_checkpoint(folder / CHECKPOINT)}


def hash_checkpoint(folder: Path | str, patterns: Sequence[str] = _CHECKPOINT_FILES) -> str:
    """Hash a checkpoint's weights, configuration and tokenizer to 16 hexadecimal digits.

    A checkpoint on the hub, given as a text, stands for itself: its name is returned.

    ``patterns``: Patterns of the files that count.
    """
    if isinstance(folder, str):
        return folder
    files = {file for pattern in patterns for file in folder.glob(pattern)}
    return remembered_digest(sorted(files), size=8, named=True)


def require_checkpoint(folder: Path) -> None:
    """Refuse a finished run whose checkpoint was changed since the manifest was written.

    A checkpoint that is missing is not refused.
    """
    recorded = (read_json(folder / MANIFEST) or {}).get("checkpoint_hash")
    checkpoint = folder / CHECKPOINT
    if recorded is not None and checkpoint.is_dir() and recorded != hash_checkpoint(checkpoint):
        raise ConfigurationError(
            f"{checkpoint}: was changed after it was trained; restore it, or delete {folder} to train again"
        )
