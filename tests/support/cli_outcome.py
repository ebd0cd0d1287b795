"""What a command of the command line did, for the tests that run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Outcome:
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


Isoglot = Callable[..., Outcome]
