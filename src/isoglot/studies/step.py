"""The base of steps: a step is one piece of a study's work, and leaves one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from isoglot.core.errors import IsoglotError
from isoglot.recipe.document import expand
from isoglot.runs.code import code_files
from isoglot.runs.reporter import Reporter
from isoglot.studies.inputs import Input, outside, require_set


class UnavailableError(IsoglotError):
    """The reason why a cell has no number: a task without data here, or a package that is not installed."""


NAMES = {"label", "about"}
"""Fields of a step that only people read; the result of the step does not depend on them."""


class Step(BaseModel):
    """One piece of work in a folder of its own.

    The result depends on the fields, on the inputs that :meth:`reads` names, and on nothing else. So steps with equal
    fields share one folder. Give a step of your own a name that none of your other steps has, because the folder is
    found by the name of the class and the fields. The step needs fields and a :meth:`run`::

        class CountLines(Step):
            path: str

            def run(self, folder, report):
                return {"values": {"lines": len(Path(self.path).read_text().splitlines())}}

    Args:
        label: Name in results, such as ``tlm``; not part of the hash.
        about: Printed when the step begins, such as ``MLM on English and its derived copy``; not part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"  # the folder in which the steps of this class have their folders
    doing: ClassVar[str] = "making"  # printed before `about` when the step begins
    resumes: ClassVar[bool] = False
    """Whether the step continues in an unfinished folder; otherwise the folder is emptied first."""
    weights: ClassVar[str] = ""
    """Folder of the weights that the step leaves, empty for none. If the weights were deleted and another step reads
    them, the step is made again."""
    unhashed: ClassVar[Mapping[str, Any]] = dict.fromkeys(NAMES, True)
    """Fields that do not change the step's folder, in the form of pydantic's `exclude`."""
    label: str = ""
    about: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Do the work in ``folder``, and return the record of the step, which ``Work.manifest`` then has.

        1. Numbers under ``values`` can stand in cells: ``{"values": {"de/f1": 91.2}}``.
        2. The tables read two more keys: ``examples`` has the number of examples behind each value by the value's name,
           and ``rows`` the rows of an evaluation.
        3. The lab adds ``name``, ``step``, ``outside`` and ``seconds``. The seconds are those of the last attempt: a
           training that was stopped after five hours and resumed for one has the seconds of one hour. (A training's
           value ``hours`` covers all of its optimiser steps; the time of those before the stop is estimated.)
        4. Anything else is a fact, which a study reads with :meth:`Work.fact`.
        """
        raise NotImplementedError

    def check(self) -> Any:
        """Refuse fields that fit their types but not each other; a step may return the objects built for the check."""

    @property
    def duration_group(self) -> str:
        """A name that steps share if they take about the same time, such as ``evaluate pos``.

        The order of the steps, and the time left that is printed, are estimated from finished steps of the same name.
        """
        return self.kind

    def files(self, studies: str) -> list[Input]:
        """Return the files, and other texts of the same use, that the step reads from outside the folder ``studies``.

        By default these are all texts among the fields with a slash or an environment variable.
        """
        texts = texts_of(self.model_dump(mode="json", exclude=NAMES))
        return outside((text for text in texts if "/" in text or "${" in text), studies)

    def code(self) -> list[Any]:
        """Return the classes whose code the step runs; those that isoglot ships are ignored later."""
        return [type(self)]

    def reads(self, studies: str) -> list[Input]:
        """Return all inputs from outside, each once: those of :meth:`files`, then the user's own code."""
        code = outside(map(str, code_files(*self.code())), studies)
        return list(dict.fromkeys([*self.files(studies), *code]))

    def explicit(self) -> dict[str, Any]:
        """Return all values that the step will use, defaults too; `--dry-run --show` prints them."""
        return self.model_dump(mode="json", exclude=NAMES)

    def expanded(self) -> Step:
        """Return the step to run: a copy with environment variables filled in.

        The key of the folder is made before that, from the text ``${ISOGLOT_DATA}/en.txt``, and is therefore the same
        on every machine.
        """
        values = self.model_dump(mode="json", exclude_unset=True)
        for text in texts_of(values):
            require_set(text)
        filled_in = with_leaves(values, lambda value: expand(value) if isinstance(value, str) else value)
        return type(self).model_validate(filled_in)


def with_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Copy nested mappings and lists, and change every value in them that is neither; a tuple becomes a list.

    Example:
        >>> with_leaves({"steps": (1, 2), "train": {"epochs": 3}}, lambda number: 10 * number)
        {'steps': [10, 20], 'train': {'epochs': 30}}
    """
    if isinstance(tree, Mapping):
        return {key: with_leaves(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [with_leaves(value, change) for value in tree]
    return change(tree)


def texts_of(tree: Any) -> Iterator[str]:
    """Yield every text in nested mappings and lists; keys of mappings are not among them."""
    leaves: list[Any] = []
    with_leaves(tree, leaves.append)
    return (leaf for leaf in leaves if isinstance(leaf, str))
