"""What ``torchrun`` tells each of its processes."""

import os

from isoglot.core.checks import is_number
from isoglot.core.errors import ConfigurationError

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")


def require_numbers() -> None:
    """Refuse environment variables that no ``torchrun`` has set."""
    wrong = [name for name in _NAMES if not is_number(os.environ.get(name, "0"))]
    if wrong:
        raise ConfigurationError(
            f"{wrong[0]}={os.environ[wrong[0]]} in the environment is not a number; torchrun sets it: "
            f"unset {wrong[0]}, or start with torchrun"
        )


def require_one_process(command: str, work: str) -> None:
    """Refuse to be one of several processes."""
    if world_size() > 1:
        raise ConfigurationError(
            f"torchrun started {command}, which {work} in one process; start it without torchrun"
        )


def world_size() -> int:
    """The number of processes that work together."""
    require_numbers()
    return int(os.environ.get("WORLD_SIZE", "1"))
