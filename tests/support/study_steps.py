"""Steps small enough to watch an engine do them, and to stop it; child processes import them too."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import write_json
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step


class Add(Step):
    """Adds a number to that of another step, and counts in ``log`` how often it was done."""

    log: str
    number: float
    to: str = ""
    kind: ClassVar[str] = "analyse"

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        below = float((Path(self.to) / "sum").read_text()) if self.to else 0.0
        (folder / "sum").write_text(str(below + self.number))
        with Path(self.log).open("a") as log:
            log.write(f"{self.number:g} in {os.getpid()}\n")
        return {"values": {"sum": below + self.number}, "doubled": 2 * (below + self.number)}


class Trains(Add):
    """An addition that leaves weights, and repeats itself where they are lost."""

    kind: ClassVar[str] = "pretrain"
    resumes: ClassVar[bool] = True
    weights: ClassVar[str] = "checkpoint"

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        (folder / "checkpoint").mkdir()
        (folder / "checkpoint" / "model.safetensors").write_bytes(b"1")
        return super().run(folder, report)


class Trained(Step):
    """An encoder that is copied, with the record that training leaves."""

    encoder: str
    kind: ClassVar[str] = "pretrain"

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        shutil.copytree(self.encoder, folder / "checkpoint")
        record = {"name": self.label, "recipe_hash": self.label, "values": {"model": {"path": self.encoder}}}
        for path in (folder, folder / "checkpoint"):
            write_json(path / "run.json", record)
        return {}


class Fails(Step):
    """A user's mistake."""

    to: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        raise ConfigurationError("no such thing")


class Breaks(Step):
    """A mistake of ours."""

    log: str = ""
    number: float = 0
    to: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        raise ZeroDivisionError("by us")


class DiesOnce(Add):
    """Its first worker is killed on the way."""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        mark = Path(self.log).with_suffix(".killed")
        if not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(folder, report)
