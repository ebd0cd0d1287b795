"""Calls of a study, each named by a hash of its step, and the values that they will measure."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from isoglot.errors import ConfigurationError
from isoglot.runs.fingerprint import digest, files_of
from isoglot.runs.folder import key_of
from isoglot.runs.reporter import Reporter

TOKEN = re.compile(r"<([0-9a-f]{16})(?:\.(\w+))?>")
"""How a text names the folder of another call, or a fact that the call will record."""
T = TypeVar("T")
Facts = Mapping[str, Any]
Options = dict[str, Any]
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Input(NamedTuple):
    """What a step reads from outside: a path or other text as written, and whether it is there."""

    path: str
    there: bool

    @classmethod
    def of(cls, path: str) -> Input:
        """Look for a file, folder or pattern; names of the hub and other values, which have no root, count as there."""
        if unset(path):
            return cls(path, there=False)
        name = expanded(path)
        rooted = (name != path and "/" in name) or name.startswith((".", "/", "~"))
        return cls(path, not rooted or bool(glob.glob(str(Path(name).expanduser()))))  # noqa: PTH207

    @property
    def content(self) -> str:
        """A hash of the files' names and contents, or of any other value; empty for what is not there."""
        if not self.there:
            return ""
        name = str(Path(expanded(self.path)).expanduser())
        found = [Path(path) for path in sorted(glob.glob(name))]  # noqa: PTH207
        files = [(f, str(f.relative_to(p) if p.is_dir() else f.name)) for p in found for f in files_of(p)]
        return key_of([(called, digest([file], size=8)) for file, called in files] or name)


class Step(BaseModel):
    """One piece of work in a folder of its own; the result depends on its fields and nothing else.

    Texts may name the folders of other calls. ``label`` is a name for people and no part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"
    weights: ClassVar[str] = ""
    """The file in its folder without which it is of no use to other calls."""
    resumes: ClassVar[bool] = False
    """Whether it goes on with an unfinished folder; otherwise the folder is emptied first."""
    expands: ClassVar[bool] = True
    """Whether ``${NAME}`` is filled in before :meth:`run`."""
    label: str = ""

    def run(self, folder: Path, report: Reporter) -> Facts:
        """Do it. The result's ``values`` can stand in cells, everything else are facts."""
        raise NotImplementedError

    def files(self) -> list[Input]:
        """What it reads from outside: by default every text in its fields that has a slash."""
        return outside(text for text in leaves(self.model_dump(exclude={"label"}), str) if "/" in text)

    def check(self) -> Any:
        """Refuse options that whoever does the work would not take; what is made of them, :meth:`run` works with."""


class Call(str):
    """A step that is to be done; as a text it stands for its folder: ``f"{world}/text/en.train.txt"``."""

    step: Step
    name: str
    needs: tuple[Call, ...]
    key: str

    def __new__(cls, step: Step, name: str, needs: Sequence[Call] = ()) -> Call:
        """Name the call by a hash of its step."""
        values = step.model_dump(mode="json", exclude_defaults=True, exclude={"label"})
        key = key_of([type(step).__qualname__, values])
        call = super().__new__(cls, f"<{key}>")
        call.step, call.name, call.needs, call.key = step, name, tuple(needs), key
        return call

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.step, self.name, self.needs)

    def fact(self, name: str) -> str:
        """Stands for a number that is known once the call is done."""
        return f"<{self.key}.{name}>"

    @property
    def told(self) -> str:
        """What is done, for messages."""
        return f"{self.step.kind} {self.name}"

    @property
    def folder(self) -> str:
        """Its folder in that of the studies."""
        slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", self.name).strip("-")[:60]
        return f"{self.step.kind}/{slug}-{self.key}"


@dataclass(frozen=True)
class Unavailable:
    """Stands for an encoder, or a fine-tuned one, that is not available, and says why."""

    reason: str


class Told(NamedTuple):
    """What a row of results says of a number that an analysis measured; without a task there is no row."""

    task: str = ""
    language: str = ""
    metric: str = ""


class Value:
    """A number that is known once its calls are done; values can be subtracted, averaged and correlated.

    Args:
        call: the call that measures ``metric``.
        parts: the values that it is made of instead, by ``make``.
        unavailable: why there will be no number.
        told: of an analysis, what a row of results says of it; by default its kind of step and its metric.
    """

    def __init__(
        self,
        call: Call | None = None,
        metric: str = "",
        *,
        parts: Sequence[Value] = (),
        make: Callable[[list[float]], float | None] = fmean,
        unavailable: str = "",
        told: Told | None = None,
    ) -> None:
        self.call, self.metric, self.parts, self.make, self.told = call, metric, tuple(parts), make, told
        reasons = (unavailable, *(part.unavailable for part in self.parts))
        self.unavailable: str = next(filter(None, reasons), "")

    def __sub__(self, other: Value) -> Value:
        return Value(parts=[self, other], make=lambda numbers: numbers[0] - numbers[1])

    def __neg__(self) -> Value:
        return Value(parts=[self], make=lambda numbers: -numbers[0])

    def leaves(self) -> list[Value]:
        """The values that calls measure, of which it is made."""
        own = [] if self.call is None else [self]
        return own + [leaf for part in self.parts for leaf in part.leaves()]

    def reads(self) -> list[tuple[Call, str]]:
        """Every number that it is made of: a call and a metric."""
        return [(leaf.call, leaf.metric) for leaf in self.leaves() if leaf.call is not None]

    def known(self, find: Callable[[Call, str], float | None]) -> float | None:
        """The number, from what the calls measured; ``None`` while one is missing."""
        if self.call is not None:
            return find(self.call, self.metric)
        numbers = [number for part in self.parts if (number := part.known(find)) is not None]
        return self.make(numbers) if numbers and len(numbers) == len(self.parts) else None

    @property
    def correlates(self) -> bool:
        """Whether it is of several systems, and so no result of one."""
        return self.make is _rank_correlation or any(part.correlates for part in self.parts)


def mean(values: Sequence[Value]) -> Value:
    """The mean of values; one alone is itself."""
    return values[0] if len(values) == 1 else Value(parts=values)


def _rank_correlation(numbers: list[float]) -> float | None:
    from isoglot.report.stats import rank_correlation  # noqa: PLC0415 - loads the library

    half = len(numbers) // 2
    found = rank_correlation(numbers[:half], numbers[half:])
    return None if found is None else found.rho


def spearman(first: Sequence[Value], second: Sequence[Value]) -> Value:
    """Spearman's rank correlation of two lists of values."""
    return Value(parts=[*first, *second], make=_rank_correlation)


def resolve(value: Any, fill: Callable[[str, str], Any], *, variables: bool) -> Any:
    """A tree with folders and facts in place of the calls that its texts name.

    ``fill`` takes a key and a fact (empty for the folder) and gives what stands there; ``variables`` fills in
    ``${NAME}`` too.
    """
    if isinstance(value, Mapping):
        return {k: resolve(v, fill, variables=variables) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(v, fill, variables=variables) for v in value]
    if not isinstance(value, str):
        return value
    whole = TOKEN.fullmatch(value)
    if whole and whole[2]:
        return fill(whole[1], whole[2])
    text = TOKEN.sub(lambda m: str(fill(m[1], m[2] or "")), value)
    return expanded(text) if variables else text


def leaves(tree: Any, kind: type[T]) -> Iterator[T]:
    """Everything of a kind in a tree: its texts, or its values."""
    if isinstance(tree, kind):
        yield tree
    elif isinstance(tree, Mapping | list | tuple):
        for value in tree.values() if isinstance(tree, Mapping) else tree:
            yield from leaves(value, kind)


def outside(paths: Iterable[str]) -> list[Input]:
    """Those paths that are none of other calls', each once, looked for."""
    return [Input.of(path) for path in dict.fromkeys(paths) if TOKEN.search(path) is None]


def expanded(text: str) -> str:
    """A text with its ``${NAME}`` filled in."""
    if missing := unset(text):
        raise ConfigurationError(
            f"{text}: environment variable {missing[0]} is not set; type `export {missing[0]}=...`"
        )
    return _VARIABLE.sub(lambda m: os.environ[m[1]], text)


def unset(text: str) -> list[str]:
    """The environment variables that a text names and that are not set."""
    return [name for name in _VARIABLE.findall(text) if name not in os.environ]
