"""The allocator is set where it is glibc's and the user has not set it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from isoglot.modules import allocator

FREED = """
import sys
import numpy as np
from isoglot.modules.allocator import give_back_large_blocks

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

if sys.argv[1] == "set":
    give_back_large_blocks()
np.ones(3_000_000)  # freed at once: from now on glibc puts blocks of this size into its heap
block, above = np.ones(3_000_000), np.ones(100_000)
before = resident()
del block
print(before - resident() > 20_000_000)
"""


@pytest.mark.skipif(allocator.adjustable_glibc() is None, reason="needs glibc with its own settings")
@pytest.mark.parametrize(("how", "given_back"), [("set", "True"), ("unset", "False")])
def test_a_large_block_goes_back_though_another_lies_above_it(how: str, given_back: str) -> None:
    done = subprocess.run([sys.executable, "-c", FREED, how], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == given_back


@pytest.mark.parametrize(
    ("name", "value"), [("MALLOC_ARENA_MAX_", "1"), ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")]
)
def test_settings_of_the_user_stand(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert allocator.adjustable_glibc() is None


def test_allocator_of_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert allocator.adjustable_glibc() is None
    allocator.give_back_large_blocks()
