"""What a run leaves in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.runs.folder import clear, hash_checkpoint
from isoglot.runs.record import Record


def test_clearing_keeps_a_folder_that_was_there(tmp_path: Path) -> None:
    for existed in (False, True):
        (tmp_path / "run").mkdir(exist_ok=True)
        Record(tmp_path / "run", {}, what="run").begin({})
        clear(tmp_path / "run", keep=existed)
        assert (tmp_path / "run").exists() is existed


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "vocab.txt", "merges.txt", "sentencepiece.bpe.model",
    ],
)  # fmt: skip
def test_a_checkpoints_hash_is_that_of_all_it_is_read_from(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / name).write_bytes(b"one")
    first = hash_checkpoint(tmp_path)
    # A card, and what says how the checkpoint is used.
    for other in ("README.md", "aligner.json", "isoglot_task.json"):
        (tmp_path / other).write_text("{}")
    assert hash_checkpoint(tmp_path) == first
    (tmp_path / name).write_bytes(b"two")
    assert hash_checkpoint(tmp_path) != first
