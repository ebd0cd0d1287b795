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
    """A cell has no number, and why."""


NAMES = {"label", "about"}
"""Fields of a step that are names for people; the result of the step does not depend on them."""


class Step(BaseModel):
    """One piece of work in its own folder.

    The result depends on the fields, on the files that :meth:`files` names, and on nothing else: equal fields are one
    folder. A step of your own needs fields and a :meth:`run`::

        class CountLines(Step):
            path: str

            def run(self, folder, report):
                return {"values": {"lines": len(Path(self.path).read_text().splitlines())}}

    Args:
        label: Name in results, such as ``tlm``; no part of the hash.
        about: Printed when the step begins, such as ``MLM on English and its derived copy``; no part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"  # the folder of the steps of this kind
    doing: ClassVar[str] = "making"  # printed before `about` when the step begins
    resumes: ClassVar[bool] = False
    """Whether the step continues in an unfinished folder; otherwise the folder is emptied first."""
    weights: ClassVar[str] = ""
    """Folder of the weights that the step leaves. If they were deleted and another step reads them, they are made
    again."""
    label: str = ""
    about: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Do the work in ``folder``, and return what is recorded of it.

        Numbers under ``values`` can stand in cells: ``{"values": {"de/f1": 91.2}}``. Everything else is a fact, which a
        study reads with :meth:`Work.fact`.
        """
        raise NotImplementedError

    def check(self) -> Any:
        """Refuse fields that fit their types but not each other; a step may return what it builds for the check."""

    @property
    def duration_group(self) -> str:
        """A name that steps share if they take about the same time; the order of work and the time left go by it."""
        return self.kind

    def files(self, studies: str) -> list[Input]:
        """Return what the step reads from outside the folder of ``studies``.

        By default that is each text among the fields with a slash or a variable of the environment.
        """
        texts = texts_of(self.model_dump(mode="json", exclude=NAMES))
        return outside((text for text in texts if "/" in text or "${" in text), studies)

    def code(self) -> list[Any]:
        """Return the classes whose code the step runs; those that isoglot ships are ignored later."""
        return [type(self)]

    def reads(self, studies: str) -> list[Input]:
        """Return everything beside the fields that the result depends on: files from outside, and the user's code."""
        code = outside(map(str, code_files(*self.code())), studies)
        return list(dict.fromkeys([*self.files(studies), *code]))

    def explicit(self) -> dict[str, Any]:
        """Return every value that the step will use, defaults too; `--dry-run --show` prints it."""
        return self.model_dump(mode="json", exclude=NAMES)

    def expanded(self) -> Step:
        """Return the step with variables of the environment filled in, as it is run.

        The key of the folder is made from the fields as they are written: ``${ISOGLOT_DATA}/en.txt`` is one folder on
        every machine.
        """
        values = self.model_dump(mode="json", exclude_unset=True)
        for text in texts_of(values):
            require_set(text)
        return type(self).model_validate(
            with_leaves(values, lambda value: expand(value) if isinstance(value, str) else value)
        )


def with_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Copy nested mappings and lists, and change every value that is neither; a tuple becomes a list."""
    if isinstance(tree, Mapping):
        return {key: with_leaves(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [with_leaves(value, change) for value in tree]
    return change(tree)


def texts_of(tree: Any) -> Iterator[str]:
    """Yield every text in nested mappings and lists; keys do not count."""
    leaves: list[Any] = []
    with_leaves(tree, leaves.append)
    return (leaf for leaf in leaves if isinstance(leaf, str))
