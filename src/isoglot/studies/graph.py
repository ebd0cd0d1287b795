"""The graph of a study: steps, calls of them that are still to be made, and the values that these will measure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from isoglot.checks import checked
from isoglot.errors import ConfigurationError
from isoglot.runs.code import code_files
from isoglot.runs.folder import key_of
from isoglot.runs.reporter import Reporter
from isoglot.studies.inputs import Input, outside

T = TypeVar("T")
NO_ROW = ("", "", "")
"""The row of a value that the results leave out, such as a layer or a correlation."""


class Step(BaseModel):
    """One piece of work in its own folder; the result depends on its fields and nothing else.

    ``label`` is a name for people and no part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"
    weights: ClassVar[str] = ""
    """The file in its folder without which it is of no use to other calls."""
    resumes: ClassVar[bool] = False
    """Whether it continues in an unfinished folder; otherwise the folder is emptied first."""
    expands: ClassVar[bool] = True
    """Whether ``${NAME}`` is filled in before :meth:`run`."""
    label: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Do it. The result's ``values`` can stand in cells, everything else are facts."""
        raise NotImplementedError

    def files(self) -> list[Input]:
        """What it reads from outside: by default every text in its fields that has a slash or names a variable."""
        texts = leaves(self.model_dump(mode="json", exclude={"label"}), str)
        return outside(text for text in texts if "/" in text or "${" in text)

    def code(self) -> list[Any]:
        """The classes whose code it runs, of which those that isoglot ships count for nothing."""
        return [type(self)]

    def reads(self) -> list[Input]:
        """All that its result depends on beside its fields: files from outside, and code of one's own."""
        return list(dict.fromkeys([*self.files(), *outside(map(str, code_files(*self.code())))]))

    def check(self) -> Any:
        """Refuse what the fields' types let through; what is made of them here, :meth:`run` works with."""


class Call:
    """A step with arguments, not made yet; ``call / "en.txt"`` is a file in the folder that it will leave.

    Arguments may hold other calls and paths in their folders: these are what it needs. ``step`` has placeholders in
    their place, and ``key`` is a hash of it.
    """

    def __init__(self, name: str, step: type[Step], arguments: Mapping[str, Any]) -> None:
        self.name, self.arguments = name, arguments
        self.needs = tuple(dict.fromkeys(one.call for one in leaves(arguments, Output)))
        try:
            self.step = checked(step, resolve(arguments, _placeholder))
        except ConfigurationError as error:
            raise ConfigurationError([f"{step.kind} {name}: {one}" for one in error.problems]) from error
        values = self.step.model_dump(mode="json", exclude_defaults=True, exclude={"label"})
        self.key = key_of([step.__qualname__, values])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __truediv__(self, path: str) -> Output:
        return Output(self) / path

    def __format__(self, spec: str) -> str:
        raise TypeError(f"{self.title} has no folder yet; write call / 'path', and + for text around it")

    def fact(self, name: str) -> Output:
        """A number that is known once the call is made."""
        return Output(self, fact=name)

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> Value:
        """A number that it measures.

        Args:
            metric: its name among the ``values`` that the step returns.
            row: Task, language and metric of its row in the results; by default the step's kind and ``metric``;
                :data:`NO_ROW` for a number that is not a result.
        """
        return Value(self, metric, row=row)

    @property
    def title(self) -> str:
        """What is made, for messages."""
        return f"{self.step.kind} {self.name}"

    @property
    def folder(self) -> str:
        """Its folder in that of the studies."""
        slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", self.name).strip("-")[:60]
        return f"{self.step.kind}/{slug}-{self.key}"


@dataclass(frozen=True)
class Output:
    """A path in the folder of a call, or a fact that it will record, with the text around it."""

    call: Call
    before: str = ""
    after: str = ""
    fact: str = ""

    def __truediv__(self, path: str) -> Output:
        return replace(self, after=f"{self.after}/{path}")

    def __add__(self, text: str) -> Output:
        return replace(self, after=self.after + text)

    def __radd__(self, text: str) -> Output:
        return replace(self, before=text + self.before)

    def __format__(self, spec: str) -> str:
        return format(self.call)


def _placeholder(leaf: Any) -> Any:
    """What stands for an output while its call is not made."""
    if not isinstance(leaf, Output):
        return leaf
    return f"{leaf.before}<{leaf.call.key}{f'.{leaf.fact}' if leaf.fact else ''}>{leaf.after}"


class Value:
    """A number that is known once its calls are made; values can be subtracted, averaged and correlated.

    Args:
        call: the call that measures ``metric``.
        parts: the values that it is made of instead, by ``make``.
        unavailable: why there will be no number.
        row: as :meth:`Call.value` takes it.
    """

    def __init__(
        self,
        call: Call | None = None,
        metric: str = "",
        *,
        parts: Sequence[Value] = (),
        make: Callable[[list[float]], float | None] = fmean,
        unavailable: str = "",
        row: tuple[str, str, str] | None = None,
    ) -> None:
        self.call, self.metric, self.parts, self.make, self.row = call, metric, tuple(parts), make, row
        reasons = (unavailable, *(part.unavailable for part in self.parts))
        self.unavailable: str = next(filter(None, reasons), "")

    def __sub__(self, other: Value) -> Value:
        return Value(parts=[self, other], make=lambda numbers: numbers[0] - numbers[1])

    def __neg__(self) -> Value:
        return Value(parts=[self], make=lambda numbers: -numbers[0])

    def leaves(self) -> Iterator[tuple[Call, Value]]:
        """The values that calls measure, of which it is made, each with its call."""
        if self.call is not None:
            yield self.call, self
        for part in self.parts:
            yield from part.leaves()

    def calls(self) -> list[Call]:
        """The calls that measure it."""
        return [call for call, _ in self.leaves()]

    def known(self, find: Callable[[Call, str], float | None]) -> float | None:
        """The number, from what the calls measured; ``None`` while one is missing."""
        if self.unavailable:
            return None
        if self.call is not None:
            return find(self.call, self.metric)
        numbers = [number for part in self.parts if (number := part.known(find)) is not None]
        return self.make(numbers) if numbers and len(numbers) == len(self.parts) else None

    @property
    def is_result(self) -> bool:
        """Whether it is a result of one system, as a layer and a correlation over systems are not."""
        return self.row != NO_ROW and all(part.is_result for part in self.parts)


def below(folder: str | Call | Output, path: str) -> str | Output:
    """A path in a folder that is there already, or that a call will leave."""
    return f"{folder}/{path}" if isinstance(folder, str) else folder / path


def mean(values: Sequence[Value]) -> Value:
    """The mean of values; one alone is itself."""
    return values[0] if len(values) == 1 else Value(parts=values)


def _rank_correlation(numbers: list[float]) -> float | None:
    from isoglot.reports.stats import rank_correlation  # noqa: PLC0415 - loads the library

    half = len(numbers) // 2
    found = rank_correlation(numbers[:half], numbers[half:])
    return None if found is None else found.rho


def spearman(first: Sequence[Value], second: Sequence[Value]) -> Value:
    """Spearman's rank correlation of two lists of values."""
    return Value(parts=[*first, *second], make=_rank_correlation, row=NO_ROW)


def resolve(tree: Any, fill: Callable[[Any], Any]) -> Any:
    """A tree with what ``fill`` gives in place of all that is neither a mapping nor a list; a call is its output."""
    if isinstance(tree, Mapping):
        return {key: resolve(value, fill) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [resolve(value, fill) for value in tree]
    return fill(Output(tree) if isinstance(tree, Call) else tree)


def leaves(tree: Any, kind: type[T]) -> Iterator[T]:
    """Everything of a kind in a tree: its texts, its values, or outputs; a call is its whole output."""
    if isinstance(tree, kind):
        yield tree
    elif isinstance(tree, Call):
        yield from leaves(Output(tree), kind)
    elif isinstance(tree, Mapping | list | tuple):
        for value in tree.values() if isinstance(tree, Mapping) else tree:
            yield from leaves(value, kind)
