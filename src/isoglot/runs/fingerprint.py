"""Whether inputs are the same: hashes of values, and of files, remembered while size, times and inode of a file stay.

Names, sizes and times never stand for content. They only tell that a file whose hash is known need not be read again,
and not even that while it is a few seconds old: a change in the same tick of the clock would leave no trace in them.
:func:`forget` has everything read again.
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
"""Bytes below which files are always read: it takes as long as looking a hash up."""
_SETTLED = 5.0
"""Seconds without a change after which the times of a file tell of the next one."""
_HASHES = "hashes"
_ENTRY = re.compile(r"[0-9a-f]{32}\.json")


class FileState(NamedTuple):
    """What tells without reading it that a file may have changed."""

    path: str  # the real one
    size: int
    modified: int
    changed: int  # also of its permissions and names
    inode: int


def key_of(values: Any) -> str:
    """16 hexadecimal digits that stand for plain values, whatever the order of their keys."""
    return blake2b(canonical(values).encode(), digest_size=8).hexdigest()


def canonical(values: Any) -> str:
    """Plain values as JSON, with keys in order; what JSON does not have is written as its text."""
    return json.dumps(values, sort_keys=True, default=str)


def fingerprint(path: str | Path) -> str:
    """32 hexadecimal digits of a file's content, or of a folder's files with their names; hidden files do not count."""
    root = Path(path)
    if not root.is_dir():
        return digest([root], size=16)
    hashes = [[str(file.relative_to(root)), digest([file], size=16)] for file in files_of(root)]
    return _hashed(hashes)


def digest(files: Sequence[Path], *, size: int, named: bool = False) -> str:
    """As :func:`isoglot.runs.files.digest_of`; large files that have not changed since are not read again."""
    before = states(files)
    if sum(state.size for state in before) < _SMALL:
        return digest_of(files, size=size, named=named)
    names = [[state.path, file.name] for state, file in zip(before, files, strict=True)]
    entry = cache_folder() / _HASHES / f"{_hashed([names, size, named])}.json"
    key = [list(state[1:]) for state in before]
    with suppress(OSError):  # a cache that cannot be read is done without
        remembered = read_json(entry) or {}
        if remembered.get("states") == key:
            return str(remembered["hash"])
    began = time.time()
    content = digest_of(files, size=size, named=named)
    latest = max(max(state.modified, state.changed) for state in before)
    if began - latest / 1e9 > _SETTLED and states(files) == before:
        with suppress(OSError, ConfigurationError):  # a cache that cannot be written is done without
            write_json(entry, {"states": key, "hash": content})
    return content


def states(files: Sequence[Path]) -> list[FileState]:
    """The states of files as they are now."""
    stats = [(os.path.realpath(file), file.stat()) for file in files]
    return [FileState(path, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for path, s in stats]


def forget() -> None:
    """Forget all hashes, so that every file is read again, in whatever process.

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
    """The files that a path stands for; none for standard input and data-set names.

    Hidden ones of a folder do not count: opening a corpus leaves some there.
    """
    folder = Path(path)
    if folder.is_dir():
        files = (f for f in folder.rglob("*") if f.is_file())
        return sorted(f for f in files if not any(p.startswith(".") for p in f.relative_to(folder).parts))
    return [folder] if folder.is_file() else []


def _hashed(values: Any) -> str:
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()
