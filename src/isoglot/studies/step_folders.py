"""The folder of a step, and its record: steps with equal fields share one folder, whoever asks for them.

class, fields ─> checked step ─> key (a hash of class and fields) ─> ROOT/KIND/NAME-KEY
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError
from isoglot.runs.fingerprint import key_of
from isoglot.runs.folder import clear
from isoglot.runs.lock import locked
from isoglot.runs.record import FORMER_NAMES, Record
from isoglot.studies.parts import Work
from isoglot.studies.step import Step, with_leaves

_STEP = "step"
"""Key of the step's record in the folder's manifest file. The file of a step that trains also holds the record of the
run."""
_LONGEST_SLUG = 60
"""Most characters of a step's name in the name of the folder."""


class StepInFolder(NamedTuple):
    """A step with its folder."""

    step: Step
    folder: Path
    text: str  # the step as JSON, in which the folders of the steps that it reads are found


class StepFolders:
    """Finds the folders of steps below ``root``.

    The folders are remembered, because cells ask for the same steps many times.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[tuple[type[Step], str], StepInFolder] = {}  # by the fields as JSON
        self._folders: dict[str, Path] = {}  # by the key

    def find(self, name: str, step_class: type[Step], fields: Mapping[str, Any]) -> StepInFolder:
        """Check the fields of a step, and find the step's folder.

        Raises:
            ConfigurationError: The fields do not make a step of this class.
        """
        try:
            # Not sorted, as opposed to the key of the folder: the step keeps its inputs in the order given here.
            given = step_class, json.dumps(fields, default=_path_of_work)
        except TypeError:
            # JSON has no such value, so the step cannot be remembered. The check of the fields refuses or converts it.
            return self._checked(name, step_class, fields)
        if given not in self._found:
            self._found[given] = self._checked(name, step_class, fields)
        return self._found[given]

    def use(self, folders: Iterable[Path]) -> None:
        """Take these folders for the steps with their keys, whatever names the steps have here."""
        for folder in folders:
            key = folder.name.rpartition("-")[2]
            if self._folders.get(key, folder) != folder:
                # Steps were found under the other name: find them again.
                self._found.clear()
            self._folders[key] = folder

    def _checked(self, name: str, step_class: type[Step], fields: Mapping[str, Any]) -> StepInFolder:
        """Make the step from its fields, in which a work is written as its folder, and find the step's folder."""
        plain = with_leaves(fields, lambda value: str(value) if isinstance(value, Work) else value)
        try:
            step = checked(step_class, plain)
        except ConfigurationError as error:
            raise ConfigurationError(
                [f"{step_class.kind} {name}: {text}" for text in error.problems]
            ) from error
        return StepInFolder(step, self._folder_of(name, step), step.model_dump_json())

    def _folder_of(self, name: str, step: Step) -> Path:
        r"""Return the folder of a step, ``KIND/NAME-KEY``: ``data/pairs-3f6c0a1b9d2e4875``.

        1. The key is a hash of the step's class and fields. Fields that have their default, and the step's ``unhashed``
           fields, are left out of the hash.
        2. The order of fields, and of the keys of a mapping in a field, does not count: two :class:`Derive` steps whose
           mappings of inputs differ in their order alone share the folder of the step that is made first.
        3. Paths below the root are hashed without the root, so that the whole root can be moved. In the JSON that is
           hashed, the root ``/runs/jörg`` is ``/runs/j\u00f6rg``, and that is taken out. Earlier releases tried to take
           out ``/runs/jörg``, which does not stand there, so they hashed the root too: that is ``former_key``. For a
           root that JSON writes unchanged, such as ``/runs/joerg``, both keys are equal.
        4. If a folder with this key exists, the step has this folder, whatever its name: equal steps with two names
           share one folder. A folder with the key of an earlier release is kept as well.
        """
        values = step.model_dump(mode="json", exclude_defaults=True, exclude=dict(step.unhashed))  # 1
        text = json.dumps(values, sort_keys=True)  # 2
        root_in_text = json.dumps(f"{self.root}/").strip('"')
        step_class = type(step).__qualname__
        key = key_of([step_class, text.replace(root_in_text, "")])  # 3
        if key not in self._folders:
            slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", name).strip("-")[:_LONGEST_SLUG]
            parent = self.root / step.kind
            former_key = key_of([step_class, text.replace(f"{self.root}/", "")])
            existing = sorted(parent.glob(f"*-{key}")) or sorted(parent.glob(f"*-{former_key}"))
            self._folders[key] = existing[0] if existing else parent / f"{slug}-{key}"  # 4
        return self._folders[key]


def record_of(folder: Path) -> Record:
    """Return the record of a step's folder.

    The record compares no inputs: the fields are hashed in the folder's name, and the contents of files from outside
    are compared by :func:`isoglot.studies.program.inspect_programs`.
    """
    return Record(folder, {}, what=_STEP, manifest_key=_STEP)


def empty_if_lost(work: Work) -> None:
    """Empty the folder of a step whose weights were deleted, so that the step is made again.

    The records go too, also those under the names of earlier releases.
    """
    with locked(work.folder):
        # Read the record again: another process may have emptied the folder meanwhile, and begun to train in it.
        recorded_now = replace(work, manifest=record_of(work.folder).read() or {})
        if recorded_now.has_lost_weights:
            clear(work.folder, FORMER_NAMES[_STEP])


def _path_of_work(value: Any) -> str:
    """Write a work as its folder, for JSON; refuse any other value that JSON does not have."""
    if isinstance(value, Work):
        return str(value)
    raise TypeError(f"got a {type(value).__name__}")
