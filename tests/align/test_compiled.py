"""What is kept of compiled loops is read again, and made anew where it cannot be."""

from __future__ import annotations

import pickle
from pathlib import Path

import numba
import pytest

from isoglot.align.compiled import compiled

MISSING_CLASS = pickle.dumps(numba.__version__) + b"cisoglot.align.compiled\nGone\n."


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
