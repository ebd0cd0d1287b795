"""Inputs of steps from outside a study: files, folders, patterns, names on the hub, environment variables."""

import glob
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import expand, unset_in
from isoglot.runs.fingerprint import files_of, key_of, remembered_digest


class Input(NamedTuple):
    """A path that a step reads, or another text on which the result of the step depends.

    Environment variables stay in the text: ``${DATA}/en.txt``.
    """

    path: str
    there: bool  # whether the files exist and the variables are set

    @classmethod
    def of(cls, path: str) -> "Input":
        """Look for a file, a folder, or files that fit a pattern.

        1. A text with a variable that is not set is not there.
        2. A text that begins like a path (``/``, ``.``, ``~``), or that has a variable and, once this is filled in, a
           slash, is looked for on the disk.
        3. Any other text counts as there, even with a slash: ``facebook/xlm`` may be on the hub.
        """
        if unset_in(path):  # 1
            return cls(path, there=False)
        expanded = expand(path)
        has_variable = expanded != path
        is_path = (has_variable and "/" in expanded) or expanded.startswith((".", "/", "~"))
        if not is_path:  # 3
            return cls(path, there=True)
        return cls(path, there=bool(_found(path)))  # 2

    @property
    def content(self) -> str:
        """A hash of the names and contents of the files; empty if the input is missing.

        If the text names no file, such as ``xlm-roberta-base``, it is the hash of the text.
        """
        if not self.there:
            return ""
        hashes = []
        for found in _found(self.path):
            for file in files_of(found):
                name = file.relative_to(found) if found.is_dir() else file.name
                hashes.append((str(name), remembered_digest([file], size=8)))
        return key_of(hashes or str(Path(expand(self.path)).expanduser()))


def _found(path: str) -> list[Path]:
    """Return the file or folder with this name; without one, all files and folders that fit the name as a pattern.

    The file ``a[1].txt`` does not fit its own name as a pattern, so the name is looked for first.
    """
    name = str(Path(expand(path)).expanduser())
    found = glob.glob(glob.escape(name)) or sorted(glob.glob(name))  # noqa: PTH207
    return [Path(file) for file in found]


def outside(paths: Iterable[str], studies: str) -> list[Input]:
    """Look for those of the paths that do not lie in the folder ``studies``; equal paths are one input.

    ``outside(["/studies/data/en-0123/text.txt", "/corpora/en.txt"], "/studies/")`` has only the input
    ``/corpora/en.txt``: a step of the study makes the other file. A path may follow other text, such as ``train=``.
    """
    # A path must begin with the folder: "/mnt/studies/en.txt" does not lie in "/studies/". So no character that can end
    # the name of a folder may stand before it.
    in_studies = re.compile(rf"(?<![\w.~}}-]){re.escape(studies)}")
    return [Input.of(path) for path in dict.fromkeys(paths) if not in_studies.search(path)]


def require_set(text: str) -> None:
    """Refuse a text with an environment variable that is not set."""
    if missing := unset_in(text):
        raise ConfigurationError(
            f"{text}: environment variable {missing[0]} is not set; type `export {missing[0]}=...`"
        )
