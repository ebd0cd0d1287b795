"""The folder of a study: which units are done, what they measured, and who is at work on one."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.runs.files import read_json, write_text
from isoglot.runs.folder import CHECKPOINT
from isoglot.runs.reporter import Reporter
from isoglot.studies.units import REFERENCE, Unit, in_order
from isoglot.studies.values import expand_variables

__all__ = ["UNIT", "Store"]

UNIT = "unit.json"
"""A unit's manifest, written last."""


class Store:
    """A study's folder; several processes may share it.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, unit: Unit) -> Path:
        """Where a unit's files are."""
        return self.root / unit.folder

    def manifest(self, unit: Unit) -> dict[str, Any] | None:
        """What a finished unit left; ``None`` while it is not finished."""
        found = read_json(self.folder(unit) / UNIT)
        return found if found is not None and found.get("key") == unit.key else None

    def is_done(self, unit: Unit) -> bool:
        """Whether a unit is finished and its files are there (weights may have been deleted since)."""
        if self.manifest(unit) is None:
            return False
        without_weights = unit.kind not in ("pretrain", "finetune")
        return without_weights or (self.folder(unit) / CHECKPOINT / "config.json").is_file()

    def finish(self, unit: Unit, values: Mapping[str, Any]) -> None:
        """Write a unit's manifest."""
        manifest = {"key": unit.key, "kind": unit.kind, "name": unit.name, "run": unit.run, "seed": unit.seed,
                    "config": unit.config, "needs": [u.folder for u in unit.needs], **values}  # fmt: skip
        text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str)
        write_text(self.folder(unit) / UNIT, text + "\n")

    def measured(self, units: Iterable[Unit]) -> dict[str, dict[str, float]]:
        """Key -> metric -> value of those units that are finished; metric ``""`` is a unit's own."""
        found = {}
        for unit in units:
            manifest = self.manifest(unit)
            if manifest is not None and "values" in manifest:
                found[unit.key] = dict(manifest["values"])
        return found

    def resolved(self, value: Any, unit: Unit, *, variables: bool) -> Any:
        """A configuration with folders and facts in place of the units it names.

        Args:
            value: of the unit's configuration.
            unit: whose needs are named.
            variables: expand ``${NAME}`` too.

        Raises:
            ConfigurationError: a fact that the unit has not, or a variable that is not set.
        """
        known = {needed.key: needed for needed in in_order(unit.needs)}

        def fill(text: str) -> Any:
            whole = REFERENCE.fullmatch(text)
            if whole and whole[2]:
                return self._fact(known[whole[1]], whole[2])
            filled = REFERENCE.sub(
                lambda m: str(self._fact(known[m[1]], m[2]) if m[2] else self.folder(known[m[1]]).resolve()),
                text,
            )
            return expand_variables(filled) if variables else filled

        return _each_text(value, fill)

    def clear(self, unit: Unit) -> None:
        """Delete what an unfinished unit left."""
        shutil.rmtree(self.folder(unit), ignore_errors=True)

    def drop_weights(self, unit: Unit) -> None:
        """Delete a fine-tuned model; its manifest stays."""
        manifest = self.manifest(unit)
        if manifest is not None:
            self.clear(unit)
            write_text(
                self.folder(unit) / UNIT,
                json.dumps({**manifest, "weights": "deleted"}, indent=1, default=str) + "\n",
            )

    @contextmanager
    def locked(self, unit: Unit, report: Reporter) -> Iterator[None]:
        """Keep other processes from the same unit; waits while one is at it."""
        place = self.root / ".locks"
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place / unit.key, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report.note(f"waiting for another process that makes {unit.name}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _fact(self, unit: Unit, name: str) -> Any:
        facts = (self.manifest(unit) or {}).get("facts", {})
        if name not in facts:
            raise ConfigurationError(
                f"<{unit.name}.{name}>: {unit.name} has no such fact; it has {', '.join(facts) or 'none'}"
            )
        return facts[name]


def _each_text(value: Any, fill: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _each_text(v, fill) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(v, fill) for v in value]
    return fill(value) if isinstance(value, str) else value
