"""The Ray cluster that ``RAY_ADDRESS`` names, or one on this machine for as long as it is used."""

import logging
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
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
    settings: dict[str, Any] = {"logging_level": logging.ERROR}
    if not os.environ.get("RAY_ADDRESS"):
        # Little passes through the object store at a time, so a small one does.
        settings |= {"num_cpus": cpus, "object_store_memory": 100 << 20}
    start(ray, **settings)
    try:
        yield ray
    finally:
        ray.shutdown()


def start(ray: Any, **settings: Any) -> None:
    """Connect to Ray; its workers work in the current folder, and do not look for modules there."""
    ours = {name: value for name, value in os.environ.items() if name.startswith("ISOGLOT_")}
    env = {
        "env_vars": {**ours, _FOLDER: str(Path.cwd())},
        "worker_process_setup_hook": f"{__name__}.{enter_folder.__name__}",
    }
    if not os.environ.get("RAY_ADDRESS"):
        settings |= {"include_dashboard": False}
    with chdir("/"):  # Ray puts the folder that it is started in first on the workers' path: data lie in ours
        ray.init(log_to_driver=False, runtime_env=env, **settings)


def enter_folder() -> None:
    """What a Ray worker does first: go to the driver's folder, where it is there."""
    folder = Path(os.environ[_FOLDER])
    if folder.is_dir():
        os.chdir(folder)


_FOLDER = "ISOGLOT_FOLDER"
