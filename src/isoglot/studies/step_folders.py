"""The folder of a step: steps with equal fields share one, whoever asks for them.

kind, fields ─> checked step ─> key (a hash of the fields) ─> ROOT/KIND/NAME-KEY
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError
from isoglot.runs.fingerprint import key_of
from isoglot.studies.parts import Work
from isoglot.studies.step import NAMES, Step, with_leaves

_UNHASHED: dict[str, Any] = {**dict.fromkeys(NAMES, True), "keep": True, "finetune": NAMES}
"""Fields that do not change the folder, as pydantic's `exclude`: names for people, those of the fine-tuning inside an
evaluation too, and whether fine-tuned weights are kept."""
_LONGEST_SLUG = 60
"""Characters of a step's name in the name of its folder, at most."""


class StepInFolder(NamedTuple):
    """A step with its folder."""

    step: Step
    folder: Path
    text: str  # the step as JSON, in which the folders of the steps that it reads are found


class StepFolders:
    """Finds the folders of steps below ``root``, and remembers them: cells ask for the same steps many times."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[tuple[type[Step], str], StepInFolder] = {}  # by the fields as JSON
        self._folders: dict[str, Path] = {}  # by the key

    def find(self, name: str, kind: type[Step], fields: Mapping[str, Any]) -> StepInFolder:
        """Check the fields of a step, and find the step's folder.

        Raises:
            ConfigurationError: The fields do not make a step of this kind.
        """
        try:
            # The order of the keys counts here: a step takes its inputs in the order in which they are given.
            given = kind, json.dumps(fields, default=_path_of_work)
        except TypeError:  # a value that JSON does not have: checked each time
            return self._checked(name, kind, fields)
        if given not in self._found:
            self._found[given] = self._checked(name, kind, fields)
        return self._found[given]

    def _checked(self, name: str, kind: type[Step], fields: Mapping[str, Any]) -> StepInFolder:
        plain = with_leaves(fields, lambda value: str(value) if isinstance(value, Work) else value)
        try:
            step = checked(kind, plain)
        except ConfigurationError as error:
            raise ConfigurationError([f"{kind.kind} {name}: {text}" for text in error.problems]) from error
        return StepInFolder(step, self._folder_of(name, step), step.model_dump_json())

    def _folder_of(self, name: str, step: Step) -> Path:
        """Return the folder of a step, ``KIND/NAME-KEY``: ``data/pairs-3f6c0a1b9d2e4875``.

        1. The key is a hash of the step's class and of the fields without defaults and without names for people.
        2. Paths below the root are hashed without it, so that the whole root can be moved.
        3. If there is a folder with this key already, it is taken under its own name: equal steps with two names are
           one folder.
        """
        values = step.model_dump(mode="json", exclude_defaults=True, exclude=_UNHASHED)  # 1
        portable = json.dumps(values, sort_keys=True).replace(f"{self.root}/", "")  # 2
        key = key_of([type(step).__qualname__, portable])
        if key not in self._folders:
            slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", name).strip("-")[:_LONGEST_SLUG]
            of_kind = self.root / step.kind
            existing = sorted(of_kind.glob(f"*-{key}"))
            self._folders[key] = existing[0] if existing else of_kind / f"{slug}-{key}"  # 3
        return self._folders[key]


def _path_of_work(value: Any) -> str:
    """Write a work as its folder; no other value outside JSON is expected in the fields of a step."""
    if isinstance(value, Work):
        return str(value)
    raise TypeError(f"got a {type(value).__name__}")
