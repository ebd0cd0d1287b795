"""The Ray cluster that ``RAY_ADDRESS`` names, or one on this machine for as long as it is used."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isoglot.checks import missing_package


def load_ray() -> Any:
    """Ray, an optional dependency."""
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package("--engine ray", "ray", instead="--engine local") from error
    return ray


@contextmanager
def connected(cpus: int | None = None) -> Iterator[Any]:
    """Ray, connected inside the block.

    ``cpus``: Pieces of work at a time on this machine; a cluster that is there already decides by itself.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if not os.environ.get("RAY_ADDRESS"):
        # Little passes through the object store at a time, so a small one does.
        settings |= {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": 100 << 20}
    ray.init(**settings)
    try:
        yield ray
    finally:
        ray.shutdown()
