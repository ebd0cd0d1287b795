"""A run's folder: what it was made from is written first, the manifest last; a manifest that matches means done."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from isoglot.errors import ConfigurationError
from isoglot.recipe.sections import Recipe

__all__ = [
    "CHECKPOINT",
    "MANIFEST",
    "RECIPE",
    "RUN",
    "State",
    "claim",
    "clear",
    "finish",
    "hash_checkpoint",
    "read_json",
    "state_of",
    "versions",
]

MANIFEST = "manifest.json"
RECIPE = "recipe.yaml"
CHECKPOINT = "checkpoint"
RUN = "run.json"
_PACKAGES = ("isoglot", "torch", "transformers", "accelerate", "datasets", "tokenizers", "numpy")

State = Literal["new", "unfinished", "finished"]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file; ``None`` if there is none or it is cut off."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return values if isinstance(values, dict) else None


def state_of(out: Path, recipe: Recipe, *, resume: bool) -> State:
    """What a folder holds, checked against what is wanted of it.

    Args:
        out: the run's folder.
        recipe: the recipe of the run that is to be there.
        resume: whether an unfinished run may be gone on with.

    Raises:
        ConfigurationError: it holds another run, an unfinished one without ``resume``, or something else.
    """
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"{out}: is a file, and a run is a folder; choose another --out")
    if not out.exists() or not any(out.iterdir()):
        return "new"
    manifest, started = read_json(out / MANIFEST), read_json(out / RUN)
    if manifest is None and started is None:
        raise ConfigurationError(f"{out}: is not empty and holds no run; choose another --out, or empty it")
    held = (manifest or started or {}).get("recipe_hash")
    if held != recipe.hash:
        what = "a finished run" if manifest is not None else "an unfinished run"
        differ = _differences(out, recipe)
        raise ConfigurationError(
            f"{out}: holds {what} of another recipe (hash {held}, this one has {recipe.hash}"
            f"{'; different: ' + ', '.join(differ) if differ else ''}); choose another --out, or delete it"
        )
    if manifest is not None:
        return "finished"
    if not resume:
        raise ConfigurationError(
            f"{out}: holds an unfinished run of this recipe; add --resume to go on, or delete it to start anew"
        )
    return "unfinished"


def claim(out: Path, recipe: Recipe, *, resolved: str, inputs: Mapping[str, str]) -> None:
    """Write what the run is made from: the resolved recipe, versions, seed and hashes of its inputs."""
    out.mkdir(parents=True, exist_ok=True)
    (out / RECIPE).write_text(f"# {recipe.name}, everything explicit\n{resolved}", encoding="utf-8")
    _write_json(
        out / RUN,
        {
            "name": recipe.name,
            "recipe_hash": recipe.hash,
            "seed": recipe.seed,
            "inputs": dict(inputs),
            "versions": versions(),
            "started": _now(),
            "values": recipe.model_dump(mode="json"),
        },
    )


def finish(out: Path, recipe: Recipe, values: Mapping[str, Any]) -> None:
    """Write the manifest: from now on the run counts as finished."""
    started = read_json(out / RUN) or {}
    kept: dict[str, Any] = {k: started[k] for k in ("inputs", "started") if k in started}
    _write_json(
        out / MANIFEST,
        {
            "name": recipe.name,
            "recipe_hash": recipe.hash,
            "seed": recipe.seed,
            "versions": versions(),
            **kept,
            "finished": _now(),
            "checkpoint": CHECKPOINT,
            **values,
        },
    )


def clear(out: Path, *, existed: bool) -> None:
    """Take back a folder in which nothing has been trained.

    Args:
        out: the run's folder.
        existed: whether it was there (empty) before; then it stays, empty.
    """
    shutil.rmtree(out, ignore_errors=True)
    if existed:
        out.mkdir(parents=True, exist_ok=True)


def hash_checkpoint(folder: Path) -> str:
    """16 hexadecimal digits of a checkpoint's weights."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _differences(out: Path, recipe: Recipe) -> list[str]:
    """Dotted names of the values in which the folder's recipe is another."""
    held = (read_json(out / RUN) or {}).get("values")
    if not isinstance(held, dict):
        return []
    old, new = _flat(held), _flat(recipe.model_dump(mode="json"))
    return sorted(k for k in {*old, *new} if old.get(k) != new.get(k) and k not in ("name", "purpose"))[:8]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
