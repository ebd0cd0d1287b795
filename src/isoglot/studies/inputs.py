"""Inputs of steps from outside a study: files, folders, patterns, names of the hub, environment variables."""

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import expand, unset_in
from isoglot.runs.fingerprint import digest, files_of, key_of


class Input(NamedTuple):
    """A path that a step reads, or another text on which its result depends, as it is written: ``${DATA}/en.txt``."""

    path: str
    there: bool

    @classmethod
    def of(cls, path: str) -> "Input":
        """Look for a file, a folder, or files that fit a pattern.

        Only a text that begins like a path (``/``, ``.``, ``~``), or that a variable makes a path, is looked for. Any
        other text counts as there: ``xlm-roberta-base`` may be on the hub.
        """
        if unset_in(path):
            return cls(path, there=False)
        name = expand(path)
        is_path = (name != path and "/" in name) or name.startswith((".", "/", "~"))
        return cls(path, not is_path or bool(glob.glob(str(Path(name).expanduser()))))  # noqa: PTH207

    @property
    def content(self) -> str:
        """A hash of the names and contents of the files; of the text itself if it names no file; empty if missing."""
        if not self.there:
            return ""
        name = str(Path(expand(self.path)).expanduser())
        hashes = []
        for found in map(Path, sorted(glob.glob(name))):  # noqa: PTH207
            for file in files_of(found):
                label = file.relative_to(found) if found.is_dir() else file.name
                hashes.append((str(label), digest([file], size=8)))
        return key_of(hashes or name)


def outside(paths: Iterable[str], studies: str) -> list[Input]:
    """Look for the paths that do not lie in the folder of ``studies``, each once."""
    return [Input.of(path) for path in dict.fromkeys(paths) if studies not in path]


def require_set(text: str) -> None:
    """Refuse a text with an environment variable that is not set."""
    if missing := unset_in(text):
        raise ConfigurationError(
            f"{text}: environment variable {missing[0]} is not set; type `export {missing[0]}=...`"
        )
