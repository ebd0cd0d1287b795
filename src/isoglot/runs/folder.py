"""What a folder was made from: recorded first, sealed by a manifest last; a manifest that matches means done."""

import hashlib
import json
import logging
import platform
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from isoglot.errors import ConfigurationError
from isoglot.runs.files import is_temporary, make_folder, read_json, write_json
from isoglot.runs.fingerprint import digest
from isoglot.runs.history import HISTORY
from isoglot.runs.listed import LIST, damage, listed_in, recovered, remove, whole_folder
from isoglot.runs.lock import locked

MANIFEST = "manifest.json"
CHECKPOINT = "checkpoint"
RUN = "run.json"
RECIPE = "recipe.yaml"
"""In a run's folder: the recipe with everything explicit."""
WORK = "work"
"""Where fine-tuning keeps what it resumes from."""
STAGING = ".saving"
"""Where a trainer's checkpoint is written before it has its name."""
_RECORDS = (
    RUN, MANIFEST, RECIPE, HISTORY, f"grid/*/{MANIFEST}", f"grid/*/{HISTORY}", "trainer_state.json",
    "**/events.out.tfevents.*", f"**/{STAGING}/**/*",
)  # fmt: skip
_CHECKPOINTS = (CHECKPOINT, "checkpoint-*", f"grid/*/{CHECKPOINT}", f"**/{WORK}/checkpoint-*")
"""Folders with lists of their own."""
TOKENIZER_FILES = (
    "tokenizer*.json", "vocab.*", "merges.txt", "*.model", "added_tokens.json", "special_tokens_map.json",
)  # fmt: skip
"""Patterns of the files that a tokenizer is read from."""
_CHECKPOINT_FILES = ("*.safetensors", "config.json", *TOKENIZER_FILES)
_LOCK = ".run.lock"
_SHOWN = 8
_PACKAGES = ("isoglot", "torch", "transformers", "accelerate", "datasets", "tokenizers", "pyarrow", "numpy")
_LOGGER = logging.getLogger(__name__)

FolderState = Literal["new", "unfinished", "finished"]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    numbers = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
    for package in _PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "not installed"
    return numbers


def key_of(values: Any) -> str:
    """16 hexadecimal digits that stand for plain values, whatever the order of their keys."""
    return hashlib.blake2b(_canonical(values).encode(), digest_size=8).hexdigest()


def state_of(
    folder: str | Path,
    inputs: Mapping[str, Any],
    *,
    what: str,
    overwrite: bool | None = None,
    resume: bool = True,
    name: str = MANIFEST,
    told_by: Mapping[str, Any] | None = None,
) -> FolderState:
    """What a folder holds, compared with what it should be made from.

    ``inputs``: Values by name; every one must be as the folder's manifest (or, unfinished, its ``run.json``) has it.
    ``what``: What such a folder is called in messages: ``fine-tuning run``.
    ``overwrite``: Take a folder of the same kind with other inputs as new; ``None`` where that is not offered.
    ``resume``: Whether an unfinished run may be continued.
    ``told_by``: More recorded values that name the differences where ``inputs`` has a hash.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{folder}: is a file, and {what}s are folders; choose another --out")
    # a run killed while it began has left a temporary file, which the next one removes
    if not path.exists() or all(p.name == _LOCK or is_temporary(p) for p in path.iterdir()):
        return "new"
    manifest, started = read_json(path / name), read_json(path / RUN)
    recorded = {**(started or {}), **(manifest or {})}
    if not inputs.keys() <= recorded.keys():
        raise ConfigurationError(
            f"{folder}: is not empty and holds no {what}; choose another --out, or empty it"
        )
    if _differences(recorded, inputs):
        if overwrite:
            return "new"
        differ = [n.removeprefix("values.") for n in _differences(recorded, told_by or inputs)]
        names = ", ".join(differ[:_SHOWN])
        hint = "or delete it" if overwrite is None else "or add --overwrite"
        raise ConfigurationError(
            f"{folder}: holds another {what}{f' (different: {names})' if names else ''}; choose another --out, {hint}"
        )
    if manifest is not None:
        return "finished"
    if not resume:
        raise ConfigurationError(
            f"{folder}: holds an unfinished {what}; add --resume to continue it, or delete it to start again"
        )
    _warn_of_versions(path, recorded.get("versions"))
    return "unfinished"


def begin(folder: Path, values: Mapping[str, Any]) -> None:
    """Record what a run is made from."""
    write_json(folder / RUN, {**values, "versions": versions(), "started": _now()})


def finish(folder: Path, values: Mapping[str, Any]) -> None:
    """Write the manifest, with what :func:`begin` recorded: from now on the run counts as finished."""
    started = read_json(folder / RUN) or {}
    weights = {"checkpoint": CHECKPOINT, "checkpoint_hash": hash_checkpoint(folder / CHECKPOINT)}
    ended = {"versions": versions(), "finished": _now()}
    write_json(folder / MANIFEST, {**started, **values, **weights, **ended})


def make_once(
    folder: str | Path,
    inputs: Mapping[str, Any],
    make: Callable[[Path], Mapping[str, Any]],
    *,
    what: str,
    overwrite: bool | None = None,
    name: str = MANIFEST,
    cached: bool = False,
) -> tuple[dict[str, Any], bool]:
    """Make a folder, unless it is there already; of several processes one makes it and the others wait.

    ``inputs``: What it is made from, as the manifest records it.
    ``make``: Writes into the folder it is given and returns what else the manifest should record.
    ``cached``: It is only kept to save time: if its files changed since they were written, it is rebuilt.
    """

    def finished() -> dict[str, Any] | None:
        path = Path(folder)
        if cached and path.is_dir() and any(path.iterdir()):
            wrong = damage(path, remembered=True) if listed_in(path) else LIST
            if wrong is not None:
                _LOGGER.warning("%s: changed since it was written (%s); it is rebuilt", folder, wrong)
                remove(path)
            if wrong is not None and path.is_dir():
                raise ConfigurationError(
                    f"{folder}: is a folder of the cache with files that isoglot did not write; delete it"
                )
        state = state_of(folder, inputs, what=what, overwrite=overwrite, name=name)
        return read_json(path / name) if state == "finished" else None

    return make_unless(finished, folder, lambda new: {**inputs, **make(new)}, name=name)


def make_unless(
    finished: Callable[[], dict[str, Any] | None],
    folder: str | Path,
    make: Callable[[Path], Mapping[str, Any]],
    *,
    name: str,
    resumes: bool = False,
) -> tuple[dict[str, Any], bool]:
    """Make a folder unless a look at it finds it finished: its manifest, and whether it was made now.

    Of several processes one looks and makes, the others wait.

    ``finished``: The manifest of a finished folder, or ``None``.
    ``make``: Writes into the folder it is given and returns what the manifest should record.
    ``name``: The manifest's, which is written last.
    ``resumes``: Whether ``make`` continues in an unfinished folder; otherwise it gets a new one.
    """
    with locked(folder):  # also to look: a lock that a killed process left goes with it
        recovered(folder)
        if (manifest_before := finished()) is not None:
            return manifest_before, False
        with nullcontext(make_folder(folder)) if resumes else whole_folder(folder) as path:
            manifest = {**make(path), "versions": versions()}
            write_json(path / name, manifest)
            return manifest, True


def clear(folder: Path, *names: str, keep: bool = False) -> None:
    """Delete what a run wrote into its folder; everything else stays.

    ``names``: More that it wrote.
    ``keep``: The folder itself stays, even empty.
    """
    for checkpoint in [path for pattern in _CHECKPOINTS for path in folder.glob(pattern)]:
        remove(checkpoint)
    remove(folder, *_RECORDS, *names, keep=keep)


def hash_checkpoint(folder: Path | str, patterns: Sequence[str] = _CHECKPOINT_FILES) -> str:
    """16 hexadecimal digits of a checkpoint's weights, configuration and tokenizer; of one on the hub its name.

    ``patterns``: Of the files that count.
    """
    if isinstance(folder, str):
        return folder
    files = {file for pattern in patterns for file in folder.glob(pattern)}
    return digest(sorted(files), size=8, named=True)


def require_checkpoint(folder: Path) -> None:
    """Refuse a finished run whose checkpoint is there and is not the one that its manifest speaks of."""
    recorded, checkpoint = (read_json(folder / MANIFEST) or {}).get("checkpoint_hash"), folder / CHECKPOINT
    if recorded is not None and checkpoint.is_dir() and recorded != hash_checkpoint(checkpoint):
        raise ConfigurationError(
            f"{checkpoint}: was changed after it was trained; restore it, or delete {folder} to train again"
        )


def _differences(recorded: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[str]:
    """Dotted names of the wanted values that are not held.

    Input files go by their paths; where these do not differ, by their numbers, since their order counts, and so do
    several from one path.
    """
    pair = {name: recorded.get(name) for name in inputs}, json.loads(_canonical(inputs))
    for by_path in (True, False):
        old, new = (_flat(values, by_path=by_path) for values in pair)
        if names := sorted(name for name in {*old, *new} if old.get(name) != new.get(name)):
            return names
    return []


def _flat(value: Any, prefix: str = "", *, by_path: bool) -> dict[str, Any]:
    inner = value
    if isinstance(value, list):
        inner = {
            v.get("path", i) if by_path and isinstance(v, Mapping) else i: v for i, v in enumerate(value)
        }
    if not isinstance(inner, Mapping) or not inner:
        return {prefix: value}
    flat = [_flat(v, f"{prefix}.{k}" if prefix else str(k), by_path=by_path) for k, v in inner.items()]
    return {name: leaf for part in flat for name, leaf in part.items()}


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True, default=str)


def _warn_of_versions(folder: Path, before: Any) -> None:
    now = versions()
    changed = [
        f"{name} {old} -> {now[name]}"
        for name, old in dict(before or {}).items()
        if now.get(name, old) != old
    ]
    if changed:
        _LOGGER.warning(
            "%s: was started with other versions (%s); the run will not be bit-identical",
            folder,
            ", ".join(changed),
        )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
