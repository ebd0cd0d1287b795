"""Inputs of a study's steps from outside: files, folders, patterns, names of the hub, environment variables."""

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import expand, unset_in
from isoglot.runs.fingerprint import digest, files_of, key_of


class Input(NamedTuple):
    """What a step reads from outside: a path or other text as written, and whether it is there."""

    path: str
    there: bool

    @classmethod
    def of(cls, path: str) -> "Input":
        """Look for a file, folder or pattern; names of the hub and other values, which have no root, count as there."""
        if unset_in(path):
            return cls(path, there=False)
        name = expand(path)
        rooted = (name != path and "/" in name) or name.startswith((".", "/", "~"))
        return cls(path, not rooted or bool(glob.glob(str(Path(name).expanduser()))))  # noqa: PTH207

    @property
    def content(self) -> str:
        """A hash of the files' names and contents, or of any other value; empty for a missing one."""
        if not self.there:
            return ""
        name = str(Path(expand(self.path)).expanduser())
        paths = [Path(path) for path in sorted(glob.glob(name))]  # noqa: PTH207
        files = [(f, str(f.relative_to(p) if p.is_dir() else f.name)) for p in paths for f in files_of(p)]
        return key_of([(label, digest([file], size=8)) for file, label in files] or name)


def outside(paths: Iterable[str], studies: str) -> list[Input]:
    """The paths outside the folder of studies, each once, with whether they are there."""
    return [Input.of(path) for path in dict.fromkeys(paths) if studies not in path]


def require_set(text: str) -> None:
    """Refuse a text with an environment variable that is not set."""
    if missing := unset_in(text):
        raise ConfigurationError(
            f"{text}: environment variable {missing[0]} is not set; type `export {missing[0]}=...`"
        )
