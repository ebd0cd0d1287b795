"""Freed memory stays with a training process, and only with it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest
import torch
from training_fakes import make_trainer
from transformers import TrainerCallback

from isoglot.modules import allocator
from isoglot.modules.allocator import adjustable_glibc, freed_memory_kept

SIZE = 1 << 26
"""A block above glibc's highest threshold for mapping (32 MiB)."""


class _Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    )]  # fmt: skip


def mapped() -> bool:
    """Whether glibc maps a large block apart from its heap."""
    read = ctypes.CDLL(None).mallinfo2
    read.restype = _Heap
    before = read()
    # more than the free parts of the heap, which earlier work may have left, could hold
    block = torch.empty(SIZE + before.fordblks, dtype=torch.uint8)
    return read().hblkhd - before.hblkhd >= block.numel()


pytestmark = pytest.mark.skipif(
    not hasattr(adjustable_glibc(), "mallinfo2"), reason="needs glibc 2.33, which says what it has mapped"
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_ARENA_MAX_"):
        monkeypatch.delenv(name, raising=False)


def test_large_blocks_are_kept_inside_the_block_and_mapped_outside() -> None:
    assert mapped()
    with freed_memory_kept("cpu"):
        assert not mapped()
    assert mapped()
    with pytest.raises(KeyError), freed_memory_kept("cpu"):
        raise KeyError
    assert mapped()


@pytest.mark.parametrize(
    ("name", "value"),
    [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1048576")],
)
def test_a_users_own_setting_stands(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with freed_memory_kept("cpu"):
        assert mapped()


def test_memory_of_other_libraries_and_devices_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with freed_memory_kept("cuda"):
        assert mapped()
    monkeypatch.setattr(allocator, "adjustable_glibc", lambda: None)
    with freed_memory_kept("cpu"):
        assert mapped()


def test_training_keeps_what_it_frees(tmp_path: Path) -> None:
    found = []

    class Look(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            found.append(mapped())

    trainer = make_trainer(tmp_path, epochs=1, examples=24)
    trainer.add_callback(Look())
    trainer.train()
    assert found and not any(found)
    assert mapped()
