"""A piece of a study's work, which leaves one folder, and what it left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from isoglot.errors import IsoglotError
from isoglot.runs.code import code_files
from isoglot.runs.reporter import Reporter
from isoglot.studies.inputs import Input, expanded, outside


class UnavailableError(IsoglotError):
    """A number that a cell cannot have, and why."""


class StepError(IsoglotError):
    """A step that a user's mistake stopped, and the folder that it would have left."""

    def __init__(self, folder: Path, message: str) -> None:
        super().__init__(message)
        self.folder = folder


class Step(BaseModel):
    """One piece of work in its own folder; the result depends on its fields and nothing else.

    ``label`` is a name for people and no part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"
    resumes: ClassVar[bool] = False
    """Whether it continues in an unfinished folder; otherwise the folder is emptied first."""
    expands: ClassVar[bool] = True
    """Whether ``${NAME}`` is filled in before :meth:`run`."""
    weights: ClassVar[str] = ""
    """Folder of the weights that it leaves; where they were deleted, a step that reads them makes them again."""
    label: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Do it. The result's ``values`` can stand in cells, everything else are facts."""
        raise NotImplementedError

    def files(self, studies: str) -> list[Input]:
        """What it reads from outside the folder of ``studies``: by default each text with a slash or a variable."""
        texts = texts_of(self.model_dump(mode="json", exclude={"label"}))
        return outside((text for text in texts if "/" in text or "${" in text), studies)

    def code(self) -> list[Any]:
        """The classes whose code it runs, of which those that isoglot ships count for nothing."""
        return [type(self)]

    def reads(self, studies: str) -> list[Input]:
        """All that its result depends on beside its fields: files from outside, and the user's code."""
        code = outside(map(str, code_files(*self.code())), studies)
        return list(dict.fromkeys([*self.files(studies), *code]))

    def expanded(self) -> Step:
        """The same with variables of the environment filled in."""
        if not self.expands:
            return self
        values = self.model_dump(mode="json", exclude_unset=True)
        return type(self).model_validate(
            with_leaves(values, lambda v: expanded(v) if isinstance(v, str) else v)
        )

    def check(self) -> Any:
        """Refuse what the fields' types let through; what is built of them here, :meth:`run` works with."""


class NumberSource(NamedTuple):
    """A number that was read: whose it is, its metric, and task, language and metric of its row in the results."""

    work: Work
    metric: str
    row: tuple[str, str, str] | None


@dataclass
class Log:
    """What a lab did, or in a rehearsal would do, since it was replaced by a new one."""

    steps: dict[Work, None] = field(default_factory=dict)  # that were wanted, finished or not
    made: list[Work] = field(default_factory=list)
    inputs: dict[Work, list[Input]] = field(default_factory=dict)  # of a rehearsal's unfinished steps
    sources: list[NumberSource] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """What a step left, or in a rehearsal will leave: ``work / "en.txt"`` is a path in its folder."""

    name: str
    step: Step
    folder: Path
    manifest: dict[str, Any] = field(compare=False)  # empty in a rehearsal
    log: Log = field(compare=False)

    def __truediv__(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def __str__(self) -> str:
        return str(self.folder)

    def __hash__(self) -> int:
        return hash(self.folder)

    @property
    def title(self) -> str:
        """What it is, for messages."""
        return f"{self.step.kind} {self.name}"

    def fact(self, name: str) -> Any:
        """What its step recorded; some number in a rehearsal."""
        return self.manifest.get(name, 1000)

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> float:
        """A number that its step measured; not a number in a rehearsal.

        Args:
            metric: its name among the ``values`` that the step returns.
            row: Task, language and metric of its row in the results; by default the step's kind and ``metric``.
        """
        self.log.sources.append(NumberSource(self, metric, row))
        number = self.manifest.get("values", {}).get(metric)
        return nan if number is None else float(number)


def with_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with all that is neither a mapping nor a list changed."""
    if isinstance(tree, Mapping):
        return {key: with_leaves(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [with_leaves(value, change) for value in tree]
    return change(tree)


def texts_of(tree: Any) -> Iterator[str]:
    """Every text in a tree."""
    leaves: list[Any] = []
    with_leaves(tree, leaves.append)
    return (leaf for leaf in leaves if isinstance(leaf, str))
