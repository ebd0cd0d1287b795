"""Environment variables by which ``torchrun`` numbers its processes."""

import os

from isoglot.core.checks import is_number
from isoglot.core.errors import ConfigurationError

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")


def require_numbers() -> None:
    """Refuse such an environment variable that is not a number, so ``torchrun`` cannot have set it."""
    wrong = [name for name in _NAMES if not is_number(os.environ.get(name, "0"))]
    if wrong:
        raise ConfigurationError(
            f"{wrong[0]}={os.environ[wrong[0]]} in the environment is not a number; torchrun sets it: "
            f"unset {wrong[0]}, or start with torchrun"
        )


def require_one_process(command: str, work: str) -> None:
    """Refuse to run as one of several processes of ``torchrun``.

    ``command``, ``work``: Parts of the message: "torchrun started COMMAND, which WORK in one process".
    """
    if world_size() > 1:
        raise ConfigurationError(
            f"torchrun started {command}, which {work} in one process; start it without torchrun"
        )


def world_size() -> int:
    """Return the number of processes that ``torchrun`` started; 1 without it."""
    require_numbers()
    return int(os.environ.get("WORLD_SIZE", "1"))
