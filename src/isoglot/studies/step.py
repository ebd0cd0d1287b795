"""A piece of a study's work, which leaves one folder."""

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
    """A number that a cell cannot have, and why."""


NAMES = {"label", "about"}
"""Fields of a step that are names for people, on which its result does not depend."""


class Step(BaseModel):
    """One piece of work in its own folder; the result depends on its fields and nothing else.

    ``label`` is what results call it, ``about`` what the line says that is printed when it begins: `pre-training` and
    `MLM on English and its derived copy`. Neither is part of the hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str] = "data"
    doing: ClassVar[str] = "making"
    resumes: ClassVar[bool] = False
    """Whether it continues in an unfinished folder; otherwise the folder is emptied first."""
    weights: ClassVar[str] = ""
    """Folder of the weights that it leaves; where they were deleted, a step that reads them makes them again."""
    label: str = ""
    about: str = ""

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Do it. The result's ``values`` can stand in cells, everything else are facts."""
        raise NotImplementedError

    def check(self) -> Any:
        """Refuse what the fields' types let through; what is built of them here, :meth:`run` works with."""

    @property
    def takes_as_long_as(self) -> str:
        """A name that steps share which take about the same time, for the order of work and the time that is left."""
        return self.kind

    def files(self, studies: str) -> list[Input]:
        """What it reads from outside the folder of ``studies``: by default each text with a slash or a variable."""
        texts = texts_of(self.model_dump(mode="json", exclude=NAMES))
        return outside((text for text in texts if "/" in text or "${" in text), studies)

    def code(self) -> list[Any]:
        """The classes whose code it runs, of which those that isoglot ships count for nothing."""
        return [type(self)]

    def reads(self, studies: str) -> list[Input]:
        """All that its result depends on beside its fields: files from outside, and the user's code."""
        code = outside(map(str, code_files(*self.code())), studies)
        return list(dict.fromkeys([*self.files(studies), *code]))

    def explicit(self) -> dict[str, Any]:
        """Every value that it will use, defaults too."""
        return self.model_dump(mode="json", exclude=NAMES)

    def expanded(self) -> Step:
        """The same with variables of the environment filled in, as it is run."""
        values = self.model_dump(mode="json", exclude_unset=True)
        for text in texts_of(values):
            require_set(text)
        return type(self).model_validate(
            with_leaves(values, lambda value: expand(value) if isinstance(value, str) else value)
        )


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
