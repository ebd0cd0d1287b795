"""The record of a folder: what it was made from, so that nothing is made twice and no other folder is overwritten.

A folder's `manifest.json` says what the folder was made from. It is written last: a folder that has one is finished. A
run that can be continued writes the same values into `run.json` first. To make a folder:

    record = Record(out, {"request": ..., "inputs": [...]}, what="derived corpus", overwrite=overwrite)
    manifest, is_new = record.make(write)  # write(folder) fills a new folder, which then takes the name `out`

The values of a record, and where they stand:

- *made_from*: inputs and options, in `run.json` and in the manifest; a later command compares them.
- *contents* of `run.json`: `made_from`, and more that is known when the run begins.
- *results*: facts that are known at the end, in the manifest beside the contents.
- *circumstances*: versions and times (:func:`_circumstances`). A run that is continued with other versions is warned
  of, and not refused.

The manifest of a prepared corpus is compared here, but has a form of its own, which `corpus/manifest.py` writes.

`make` holds the folder's lock: if two processes want the same folder, one makes it and the other waits. Training takes
hours, so a second training of the same folder is refused instead (`isoglot.runs.lock.occupied`); training calls
`state`, `begin` and `finish` itself.
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
"""In the folder of a run that can be continued: what the run is made from, written when the run begins."""
FORMER_NAMES = {
    "aligned corpus": "alignment.json",
    "exported encoder": "export.json",
    "step": "call.json",
    "trimmed encoder": "trim.json",
    "unpacked aligner": "unpacked.json",
    "world": "world.json",
}
"""Names that earlier releases gave the manifest of a kind of folder. They are still read, but no longer written."""
_SHOWN = 8
"""Names of different values in a message, at most."""
_PACKAGES = ("isoglot", "torch", "transformers", "accelerate", "datasets", "tokenizers", "pyarrow", "numpy")
_LOGGER = logging.getLogger(__name__)

FolderState = Literal["new", "unfinished", "finished"]


@dataclass(frozen=True)
class Record:
    """The values that a folder is made from, compared with those in its manifest.

    Args:
        folder: The folder.
        made_from: Inputs and options by name; the manifest must have the same value for every name.
        what: Name of this kind of folder, for messages ("holds another fine-tuning run") and for
            :data:`FORMER_NAMES`.
        overwrite: Whether to replace a folder of the same kind that was made from something else; ``None`` where the
            user cannot ask for that.
        explained_by: Readable values behind a hash in ``made_from``, used to say what differs.
        manifest_key: Key of the manifest under which this record is kept, where the folder has a manifest for another
            reason too: an aligned corpus is also a corpus, and a step of a study may also be a run. By default this
            record is the whole manifest.
    """

    folder: str | Path
    made_from: Mapping[str, Any]
    what: str
    overwrite: bool | None = None
    explained_by: Mapping[str, Any] | None = None
    manifest_key: str = ""

    def read(self) -> dict[str, Any] | None:
        """Return the manifest, or its value under ``manifest_key``; ``None`` if the folder is not finished."""
        folder = recovered(self.folder)
        manifest = read_json(folder / MANIFEST)
        if self.manifest_key:
            manifest = (manifest or {}).get(self.manifest_key)
        former_name = FORMER_NAMES.get(self.what)
        # A folder of an earlier release has this record in a file of its own, perhaps beside another record's manifest.
        if former_name is not None and not self._is_mine(manifest):
            manifest = read_json(folder / former_name)
        return manifest if isinstance(manifest, dict) else None

    def state(self, *, resume: bool = True) -> FolderState:
        """Return whether the folder is new, unfinished or finished.

        1. A folder that is missing or empty is new. A lock and temporary files of a killed run do not count.
        2. A folder without a record of this kind is refused: its files belong to somebody else.
        3. A folder that was made from something else is refused, or counts as new with ``overwrite``.
        4. A folder with a manifest is finished.
        5. A folder with `run.json` alone is unfinished: its run was killed, and can be continued.

        ``resume``: Whether an unfinished run may be continued; otherwise it is refused.

        Raises:
            ConfigurationError: The folder is refused.
        """
        folder, path = self.folder, Path(self.folder)
        if path.exists() and not path.is_dir():
            raise ConfigurationError(
                f"{folder}: is a file, and {self.what}s are folders; choose another [[out]]"
            )
        if not path.exists() or all(p.name == RUN_LOCK or is_temporary(p) for p in path.iterdir()):  # 1
            return "new"
        manifest = self.read()
        # A record under a key of the manifest is written when the work is finished, and has no `run.json`.
        started = None if self.manifest_key else read_json(path / RUN)
        # A finished folder has both, or the manifest alone; an unfinished one has `run.json` alone.
        recorded = {**(started or {}), **(manifest or {})}
        if not self._is_mine(recorded):  # 2
            raise ConfigurationError(
                f"{folder}: is not empty and holds no {self.what}; choose another [[out]], or empty it"
            )
        if _differences(recorded, self.made_from):  # 3
            if self.overwrite:
                return "new"
            self._refuse_other(recorded)  # raises
        if manifest is not None:  # 4
            return "finished"
        if not resume:  # 5
            raise ConfigurationError(
                f"{folder}: holds an unfinished {self.what}; add [[resume=True]] to continue it, or delete it to start "
                "again"
            )
        _warn_of_versions(path, recorded.get("versions"))
        return "unfinished"

    def begin(self, contents: Mapping[str, Any]) -> None:
        """Write `run.json`, so that the run can be continued if it is killed; circumstances are added.

        ``contents``: All of ``made_from``, which a later run compares, and what else a reader wants to know.
        """
        write_json(Path(self.folder) / RUN, {**contents, **_circumstances(time_key="started")})

    def finish(self, results: Mapping[str, Any]) -> None:
        """Write the manifest: the contents of `run.json`, then the results. The folder is finished after that.

        Versions are those of the end, also where a run was continued with other versions than it began with.

        ``results``: Facts that are known at the end, such as ``{"steps": 3, "checkpoint_hash": ...}``.
        """
        started = None if self.manifest_key else read_json(Path(self.folder) / RUN)
        manifest = {**(started or {}), **results, **_circumstances(time_key="finished")}
        self._write(Path(self.folder), manifest)

    def make(
        self, write: Callable[[Path], Mapping[str, Any]], *, resumes: bool = False, cached: bool = False
    ) -> tuple[dict[str, Any], bool]:
        """Make the folder unless it is finished; return its manifest, and whether the folder was made now.

        If several processes want the same folder, one makes it and the others wait.

        Args:
            write: Fills the folder that it is given, and returns more values for the manifest.
            resumes: Whether ``write`` works in the folder itself and continues in an unfinished one. It also writes
                `run.json` itself, as a training does. Otherwise ``write`` gets a temporary folder, which is renamed
                when it is whole.
            cached: Whether the folder only saves time: it is made again if its files were changed.
        """
        # The lock is needed for looking too: it also removes the lock file that a killed process left.
        with locked(self.folder):
            recovered(self.folder)
            if cached:
                self._remove_changed()
            manifest = self.read() if self.state() == "finished" else None
            if manifest is not None:
                return manifest, False
            opened = nullcontext(make_folder(self.folder)) if resumes else whole_folder(self.folder)
            with opened as folder:
                manifest = {**self.made_from, **write(folder), **_circumstances()}
                self._write(folder, manifest)
                return manifest, True

    def _is_mine(self, recorded: Mapping[str, Any] | None) -> bool:
        """Whether a manifest has every name of ``made_from``, as manifests of this kind of folder do."""
        return recorded is not None and self.made_from.keys() <= recorded.keys()

    def _write(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        if self.manifest_key:
            manifest = {**(read_json(folder / MANIFEST) or {}), self.manifest_key: manifest}
        write_json(folder / MANIFEST, manifest)

    def _refuse_other(self, recorded: Mapping[str, Any]) -> None:
        """Refuse a folder that was made from something else, and name the values that differ."""
        # Callers wrap the readable values as {"values": ...} in `explained_by`.
        differ = _differences(recorded, self.explained_by or self.made_from)
        names = ", ".join(name.removeprefix("values.") for name in differ[:_SHOWN])
        different = f" (different: {names})" if names else ""
        hint = "or delete it" if self.overwrite is None else "or add [[overwrite=True]]"
        raise ConfigurationError(
            f"{self.folder}: holds another {self.what}{different}; choose another [[out]], {hint}"
        )

    def _remove_changed(self) -> None:
        """Delete a folder of the cache if a file in it was changed, or if it has no list of its files."""
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


def _circumstances(*, time_key: str | None = None) -> dict[str, Any]:
    """Return versions, and the time now under ``time_key``: ``started`` or ``finished``; no time without a key.

    The folders that :meth:`Record.make` makes, such as derived corpora, get no time: the fingerprint of a folder counts
    its manifest too. With a time in it, the same corpus made again would count as another input.
    """
    return {"versions": versions()} | ({time_key: _now()} if time_key else {})


def versions() -> dict[str, str]:
    """Return the versions of Python, Unicode and the packages that a result depends on."""
    numbers = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
    for package in _PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "not installed"
    return numbers


def has_manifest(folder: str | Path) -> bool:
    """Whether a folder has a manifest, readable or not, about the files in the folder itself.

    The manifest of a world, or of a step of a study, is about the folders of tasks below it and does not count.
    """
    path = recovered(folder) / MANIFEST
    if not path.is_file():
        return False
    manifest = read_json(path) or {}
    # A world's manifest has the key "world". A step's record is under "step"; if other keys stand beside it, the step
    # is itself a run.
    return "world" not in manifest and manifest.keys() != {"step"}


def _differences(recorded: Mapping[str, Any], made_from: Mapping[str, Any]) -> list[str]:
    """Return dotted names of the values in ``made_from`` that the record has otherwise: ``inputs.a.txt.size``.

    All values are compared in a first round; only if they are all equal, there is a second round.

    1. In the first round input files are named by their paths, which say most to a user: if ``a.txt`` has grown,
       ``inputs.a.txt.size`` differs. Files in another order are equal here, and of two inputs with the same path only
       the last one is compared.
    2. In the second round input files are named by their numbers in the list, so that these differences are found too:
       for the same files in another order, ``inputs.0.path`` differs.
    3. In both, ``None`` equals a missing value: a record without the option ``a`` does not differ from ``a: None``.
    """
    before = {name: recorded.get(name) for name in made_from}
    now = json.loads(canonical(made_from))
    for by_path in (True, False):  # 1, 2
        old, new = _flat(before, by_path=by_path), _flat(now, by_path=by_path)
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))  # 3
        if names:
            return names
    return []


def _flat(value: Any, prefix: str = "", *, by_path: bool) -> dict[str, Any]:
    """Flatten nested values into one dictionary with dotted names.

    ``{"inputs": [{"path": "a.txt", "size": 3}]}`` becomes ``{"inputs.a.txt.path": "a.txt", "inputs.a.txt.size": 3}``
    with ``by_path``, and ``{"inputs.0.path": "a.txt", "inputs.0.size": 3}`` without.
    """
    named = value
    if isinstance(value, list):
        named = {}
        for number, item in enumerate(value):
            name = item.get("path", number) if by_path and isinstance(item, Mapping) else number
            named[name] = item
    if not isinstance(named, Mapping) or not named:
        return {prefix: value}
    flat: dict[str, Any] = {}
    for name, item in named.items():
        flat |= _flat(item, f"{prefix}.{name}" if prefix else str(name), by_path=by_path)
    return flat


def _warn_of_versions(folder: Path, before: Any) -> None:
    """Warn of packages whose version changed between the start of a run and its continuation."""
    now = versions()
    changed = []
    for name, old in dict(before or {}).items():
        if now.get(name, old) != old:
            changed.append(f"{name} {old} -> {now[name]}")
    if changed:
        _LOGGER.warning(
            "%s: was started with other versions (%s); the run will not be bit-identical",
            folder,
            ", ".join(changed),
        )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
