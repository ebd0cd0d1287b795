"""What is kept of compiled loops is read again, and made anew where it cannot be."""

from __future__ import annotations

import pickle
from pathlib import Path

import numba
import pytest

from isoglot.aligners.compiled import compiled, helper

MISSING_CLASS = pickle.dumps(numba.__version__) + b"cisoglot.aligners.compiled\nGone\n."


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("left", [MISSING_CLASS, MISSING_CLASS[:-8], b"", b"no index"])
def test_an_index_that_cannot_be_read_is_made_anew(left: bytes) -> None:
    first = compiled(double)
    assert first(3) == 6
    index = Path(first._cache._cache_file._index_path)
    assert index.is_file()
    index.write_bytes(left)
    second = compiled(double)
    assert second(3) == 6 and not second.stats.cache_hits
    third = compiled(double)
    assert third(3) == 6 and third.stats.cache_hits


@pytest.mark.parametrize("left", [b"", b"no code", b"\x80\x04\x95"])
def test_code_that_cannot_be_read_is_compiled_anew(left: bytes, caplog: pytest.LogCaptureFixture) -> None:
    first = compiled(double)
    assert first(3) == 6
    index = Path(first._cache._cache_file._index_path)
    for code in index.parent.glob(f"{index.stem}.*.nbc"):
        code.write_bytes(left)
    second = compiled(double)
    assert second(3) == 6 and not second.stats.cache_hits and "compiling it again" in caplog.text
    third = compiled(double)
    assert third(3) == 6 and third.stats.cache_hits


def test_a_loop_calls_a_helper_and_is_kept_with_it() -> None:
    inner = helper(double)

    def quadruple(number: int) -> int:
        return int(inner(inner(number)))

    first = compiled(quadruple)
    assert first(3) == 12
    again = compiled(quadruple)
    assert again(4) == 16 and again.stats.cache_hits and not again.stats.cache_misses
