"""The record of a folder: what it was made from, so that the same is not made twice and nothing else is replaced.

A folder's `manifest.json` says what the folder was made from. It is written last: a folder that has one is finished. A
run that can be continued writes the same into `run.json` first. Whoever makes a folder uses these few words:

    record = Record(out, {"request": ..., "inputs": [...]}, what="derived corpus", overwrite=overwrite)
    manifest, is_new = record.make(write)  # write(folder) fills a new folder, which then takes the name `out`

`make` holds the folder's lock: of two processes that want the same folder one makes it and the other waits. A training
takes hours, so a second one is refused instead (`isoglot.runs.lock.occupied`), and it calls `state`, `begin` and
`finish` itself.
"""

import json
import logging
import platform
import time
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import is_temporary, make_folder, read_json, write_json
from isoglot.runs.fingerprint import canonical
from isoglot.runs.listed import LIST, damage, listed_in, recovered, remove, whole_folder
from isoglot.runs.lock import RUN_LOCK, locked

MANIFEST = "manifest.json"
"""In a finished folder: what it was made from, and what its maker says about it."""
RUN = "run.json"
"""In the folder of a run that can be continued: what it is made from, from the beginning on."""
FORMER_NAMES = {
    "aligned corpus": "alignment.json",
    "exported encoder": "export.json",
    "step": "call.json",
    "trimmed encoder": "trim.json",
    "unpacked aligner": "unpacked.json",
    "world": "world.json",
}
"""What earlier releases called the manifest of such a folder. It is still read, and no longer written."""
_SHOWN = 8
_PACKAGES = ("isoglot", "torch", "transformers", "accelerate", "datasets", "tokenizers", "pyarrow", "numpy")
_LOGGER = logging.getLogger(__name__)

FolderState = Literal["new", "unfinished", "finished"]


@dataclass(frozen=True)
class Record:
    """What a folder is made from, compared with what its manifest says.

    Args:
        folder: The folder.
        made_from: Inputs and options by name; every one must be as the manifest has it.
        what: What such a folder is called in messages: ``fine-tuning run``.
        overwrite: Whether to replace a folder of the same kind that was made from something else; ``None`` where the
            user cannot ask for that.
        explained_by: Readable values behind a hash in ``made_from``, used to say what differs.
        part: Name of the part of the manifest that is this record's, where the folder has a manifest of its own: an
            aligned corpus is a corpus, and a step of a study may be a run.
    """

    folder: str | Path
    made_from: Mapping[str, Any]
    what: str
    overwrite: bool | None = None
    explained_by: Mapping[str, Any] | None = None
    part: str = ""

    def read(self) -> dict[str, Any] | None:
        """The manifest, or this record's part of it; ``None`` if the folder is not finished."""
        folder = recovered(self.folder)
        manifest = read_json(folder / MANIFEST)
        if self.part:
            manifest = (manifest or {}).get(self.part)
        former_name = FORMER_NAMES.get(self.what)
        if former_name is not None and not self._is_mine(manifest):
            manifest = read_json(folder / former_name)
        return manifest if isinstance(manifest, dict) else None

    def state(self, *, resume: bool = True) -> FolderState:
        """Whether the folder is new, unfinished or finished.

        ``resume``: Whether an unfinished run may be continued.

        Raises:
            ConfigurationError: The folder holds something else, which must not be replaced.
        """
        folder, path = self.folder, Path(self.folder)
        if path.exists() and not path.is_dir():
            raise ConfigurationError(
                f"{folder}: is a file, and {self.what}s are folders; choose another [[out]]"
            )
        # A run that was killed while it began has left a temporary file, which the next run removes.
        if not path.exists() or all(p.name == RUN_LOCK or is_temporary(p) for p in path.iterdir()):
            return "new"
        manifest, started = self.read(), None if self.part else read_json(path / RUN)
        recorded = {**(started or {}), **(manifest or {})}
        if not self._is_mine(recorded):
            raise ConfigurationError(
                f"{folder}: is not empty and holds no {self.what}; choose another [[out]], or empty it"
            )
        if _differences(recorded, self.made_from):
            if self.overwrite:
                return "new"
            self._refuse_other(recorded)
        if manifest is not None:
            return "finished"
        if not resume:
            raise ConfigurationError(
                f"{folder}: holds an unfinished {self.what}; add [[resume=True]] to continue it, or delete it to start "
                "again"
            )
        _warn_of_versions(path, recorded.get("versions"))
        return "unfinished"

    def begin(self, values: Mapping[str, Any]) -> None:
        """Write what a run is made from, by which a killed run is recognised and continued."""
        write_json(Path(self.folder) / RUN, {**values, "versions": versions(), "started": _now()})

    def finish(self, values: Mapping[str, Any]) -> None:
        """Write the manifest, with what :meth:`begin` wrote: from now on the folder counts as finished."""
        started = None if self.part else read_json(Path(self.folder) / RUN)
        ended = {"versions": versions(), "finished": _now()}
        self._write(Path(self.folder), {**(started or {}), **values, **ended})

    def make(
        self, write: Callable[[Path], Mapping[str, Any]], *, resumes: bool = False, cached: bool = False
    ) -> tuple[dict[str, Any], bool]:
        """Make the folder unless it is finished; its manifest, and whether the folder was made now.

        Of several processes one makes the folder and the others wait.

        Args:
            write: Fills the folder that it is given and returns what else the manifest should say.
            resumes: Whether ``write`` continues in an unfinished folder; otherwise it gets a new one, which takes its
                name when it is whole.
            cached: Whether the folder is only kept to save time: it is made again if its files changed.
        """
        with locked(self.folder):  # also to look: a lock that a killed process left goes with it
            recovered(self.folder)
            if cached:
                self._remove_changed()
            manifest = self.read() if self.state() == "finished" else None
            if manifest is not None:
                return manifest, False
            with nullcontext(make_folder(self.folder)) if resumes else whole_folder(self.folder) as folder:
                manifest = {**self.made_from, **write(folder), "versions": versions()}
                self._write(folder, manifest)
                return manifest, True

    def _is_mine(self, recorded: Mapping[str, Any] | None) -> bool:
        """Whether a manifest says what a folder of this kind is made from."""
        return recorded is not None and self.made_from.keys() <= recorded.keys()

    def _write(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        if self.part:
            manifest = {**(read_json(folder / MANIFEST) or {}), self.part: manifest}
        write_json(folder / MANIFEST, manifest)

    def _refuse_other(self, recorded: Mapping[str, Any]) -> None:
        """Say by name what the folder was made from otherwise."""
        differ = _differences(recorded, self.explained_by or self.made_from)
        names = ", ".join(name.removeprefix("values.") for name in differ[:_SHOWN])
        hint = "or delete it" if self.overwrite is None else "or add [[overwrite=True]]"
        raise ConfigurationError(
            f"{self.folder}: holds another {self.what}{f' (different: {names})' if names else ''}; choose another "
            f"[[out]], {hint}"
        )

    def _remove_changed(self) -> None:
        """Delete a folder of the cache whose files are not as they were written."""
        path = Path(self.folder)
        if not path.is_dir() or not any(path.iterdir()):
            return
        changed = damage(path, remembered=True) if listed_in(path) else LIST
        if changed is None:
            return
        _LOGGER.warning("%s: changed since it was written (%s); it is rebuilt", self.folder, changed)
        remove(path)
        if path.is_dir():
            raise ConfigurationError(
                f"{self.folder}: is a folder of the cache with files that isoglot did not write; delete it"
            )


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    numbers = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
    for package in _PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "not installed"
    return numbers


def has_manifest(folder: str | Path) -> bool:
    """Whether a folder has a manifest, readable or not, of what stands in the folder itself.

    The manifest of a world, or of a step of a study, is none of these: below them each task has a folder of its own.
    """
    path = recovered(folder) / MANIFEST
    if not path.is_file():
        return False
    manifest = read_json(path) or {}
    return "world" not in manifest and manifest.keys() != {"step"}


def _differences(recorded: Mapping[str, Any], made_from: Mapping[str, Any]) -> list[str]:
    """Dotted names of the values in ``made_from`` that the record has otherwise: ``inputs.a.txt.size``.

    Input files go by their paths. Where no path differs they go by their numbers, because their order counts, and
    because several inputs may have one path.
    """
    before = {name: recorded.get(name) for name in made_from}
    now = json.loads(canonical(made_from))
    for by_path in (True, False):
        old, new = _flat(before, by_path=by_path), _flat(now, by_path=by_path)
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if names:
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
