"""Hashes of values and files, by which a record tells whether inputs are the same as before.

Only the content of a file counts. The hash of a large file is remembered, so that the file is read again only if its
size, times or inode have changed. Start with :func:`fingerprint` (a file or folder) and :func:`key_of` (values);
:func:`remembered_digest` has the rules of remembering, and :func:`forget` forgets all remembered hashes.
"""

import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import digest_of, read_json, write_json

_SMALL = 1 << 20
"""Bytes below which files are always read: reading them takes no longer than looking a hash up."""
_SETTLED = 5.0
"""Seconds without a change after which the next change of a file surely gives it other times."""
_HASHES = "hashes"
"""Folder of remembered hashes, in the cache folder."""
_ENTRY = re.compile(r"[0-9a-f]{32}\.json")


class FileState(NamedTuple):
    """Facts about a file that change when the file is written, and that are known without reading it."""

    path: str  # the real one, behind links
    size: int
    modified: int  # nanoseconds
    changed: int  # nanoseconds; a change of permissions or names counts too
    inode: int


def key_of(values: Any) -> str:
    """Hash plain values to 16 hexadecimal digits, regardless of the order of their keys.

    Example:
        >>> key_of({"layer": 4, "seed": 1}) == key_of({"seed": 1, "layer": 4})
        True
    """
    return blake2b(canonical(values).encode(), digest_size=8).hexdigest()


def canonical(values: Any) -> str:
    """Return plain values as JSON with sorted keys; values that JSON does not have are written as text."""
    return json.dumps(values, sort_keys=True, default=str)


def fingerprint(path: str | Path) -> str:
    """Hash the content of a file, or the files of a folder with their names, to 32 hexadecimal digits.

    Hidden files of a folder do not count.
    """
    root = Path(path)
    if not root.is_dir():
        return remembered_digest([root], size=16)
    files = files_of(root)
    return _hashed([[str(file.relative_to(root)), remembered_digest([file], size=16)] for file in files])


def remembered_digest(files: Sequence[Path], *, size: int, named: bool = False) -> str:
    """Hash files as :func:`isoglot.runs.files.digest_of` does, but do not read large unchanged files again.

    1. Files of less than 1 MiB in all are always read.
    2. The hash of larger files is remembered in the cache folder, with the states of the files when they were read. It
       is used while the states are the same.
    3. A hash is remembered only if the files were not changed while they were read, nor in the five seconds before.
       A file that was written twice within one tick of the clock has the same times for both contents.
    """
    before = states(files)
    if sum(state.size for state in before) < _SMALL:  # 1
        return digest_of(files, size=size, named=named)
    names = [[state.path, file.name] for state, file in zip(before, files, strict=True)]
    remembered_in = cache_folder() / _HASHES / f"{_hashed([names, size, named])}.json"
    states_without_paths = [list(state[1:]) for state in before]
    with suppress(OSError):  # without a readable cache, the files are read
        remembered = read_json(remembered_in) or {}
        if remembered.get("states") == states_without_paths:  # 2
            return str(remembered["hash"])
    began = time.time()
    content = digest_of(files, size=size, named=named)
    last_change = max(max(state.modified, state.changed) for state in before) / 1e9
    if began - last_change > _SETTLED and states(files) == before:  # 3
        with suppress(OSError, ConfigurationError):  # without a writable cache, nothing is remembered
            write_json(remembered_in, {"states": states_without_paths, "hash": content})
    return content


def states(files: Sequence[Path]) -> list[FileState]:
    """Return the present states of files."""
    found = []
    for file in files:
        path, status = os.path.realpath(file), file.stat()
        found.append(FileState(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
    return found


def forget() -> None:
    """Forget all remembered hashes, so that every process reads every file again.

    Raises:
        ConfigurationError: The cache cannot be written.
    """
    folder = cache_folder() / _HASHES
    for entry in folder.iterdir() if folder.is_dir() else ():
        if _ENTRY.fullmatch(entry.name):
            try:
                entry.unlink(missing_ok=True)
            except OSError as error:
                raise ConfigurationError(
                    f"{entry}: a remembered hash cannot be removed ({error.strerror}); set ISOGLOT_CACHE to a "
                    "writable folder"
                ) from error


def files_of(path: str | Path) -> list[Path]:
    """Return the files that a path stands for: itself, or all files of a folder, sorted.

    Standard input and names of data sets stand for no files. Hidden files of a folder, and files in hidden folders, do
    not count: opening a corpus leaves some there.
    """
    folder = Path(path)
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        return []
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file for file in files if not _is_hidden(file.relative_to(folder)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _hashed(values: Any) -> str:
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()
