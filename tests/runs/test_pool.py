"""Pieces of work: in order or as they come, a bounded number at a time, and a killed worker is an error that helps."""

from __future__ import annotations

import operator
import os
import signal
from collections.abc import Iterator

import pytest
from refusals import refused

from isoglot.core.errors import IsoglotError
from isoglot.runs.pool import WorkPool


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_or_as_they_are_there(workers: int) -> None:
    read = 0

    def pieces() -> Iterator[int]:
        nonlocal read
        for number in range(20):
            read += 1
            yield number

    with WorkPool(workers) as pool:
        results = pool.map(operator.neg, pieces())
        assert next(results) == 0
        assert read == pool.ahead
        assert list(results) == [-number for number in range(1, 20)]
        assert sorted(pool.map_unordered(operator.neg, range(20))) == list(range(-19, 1))
        assert list(pool.map(operator.neg, range(4), ignore=lambda piece: piece % 2 == 0)) == [-1, -3]


def test_the_first_error_in_order_is_raised() -> None:
    with WorkPool(1) as pool, pytest.raises(TypeError, match="str"):
        list(pool.map(operator.neg, [1, "a", None]))


def test_a_killed_worker_says_what_to_lower() -> None:
    with WorkPool(2, fewer="--processes") as pool, refused(IsoglotError, "--processes"):
        list(pool.map(_killed, range(3)))


def _killed(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
