"""Folders with a list of the files that isoglot wrote into them.

Such a folder appears under its name when it is whole, can be checked against the list, and only listed files are ever
deleted: a user's file in it is safe. Start with :func:`whole_folder`, which makes one.

How a new folder takes the name `out` from an old one, although no file system renames a folder over another one with
files in it:

1. The new folder is written as `.out.…-host.partial`, with its list.
2. Under the lock of `out`, the old folder is renamed to `.out.replaced.partial` (:func:`_replaced`).
3. The new folder is renamed to `out`, and the files of the old folder are deleted (:func:`_take_place`).

A writer that is killed between 2 and 3 leaves no `out`. Whoever writes or reads `out` next undoes step 2
(:func:`_put_back`, :func:`recovered`).
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any, TypeVar

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.runs.files import (
    beside,
    digest_of,
    flush,
    followed,
    hidden,
    is_temporary,
    make_folder,
    read_json,
    write_json,
)
from isoglot.runs.fingerprint import remembered_digest
from isoglot.runs.lock import locked

LIST = ".isoglot.json"
"""Name of the list in a folder: its files with sizes and hashes."""
_SHOWN = 3
"""Foreign files in a message, at most."""
_READINGS = 20
"""Attempts to read a folder that is replaced while it is read."""
Value = TypeVar("Value")
_UNPACKED = re.compile(r"[0-9a-f]+\.(arrow|json)")
"""Rows that earlier releases unpacked into `.cache` itself, without a folder of their own."""


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that gets the name ``path`` when the block ends without an error.

    A folder that is there already is replaced only then. If it holds files that isoglot did not write, it is refused
    before the block; if such a file was added meanwhile, the folder is refused at the end, and the new one is deleted.

    Example:
        >>> from tempfile import mkdtemp
        >>> out = Path(mkdtemp(), "out")
        >>> with whole_folder(out) as folder:
        ...     _ = (folder / "words.txt").write_text("Haus")
        >>> sorted(file.name for file in out.iterdir())
        ['.isoglot.json', 'words.txt']
    """
    target = followed(Path(path))
    if target.name in ("", ".."):
        raise ConfigurationError(
            f"{path} cannot be replaced by a new folder; name a folder inside it: {Path(path) / 'out'}"
        )
    if target.exists() and not target.is_dir():
        raise ConfigurationError(f"{path} is a file, but the output is a folder; choose another name")
    make_folder(target.parent)
    with locked(target):
        _put_back(target)
        require_own(target)
    with beside(target, path) as new:
        new.mkdir(0o700 if target.exists() else 0o777)
        yield new
        if target.exists():
            new.chmod(S_IMODE(target.stat().st_mode))
        exchange(new, target)


def exchange(new: Path, target: Path, *, unlisted: str = "") -> None:
    """Write the list of a finished folder and rename the folder to ``target``, then delete the folder it replaces.

    Of the replaced folder only the files in its own list are deleted. If several processes write one folder, they
    exchange it one after another, and the folder of the last one stays.

    ``unlisted``: The name of a file that the list leaves out.
    """
    names = sorted(str(file.relative_to(new)) for file in _files(new))
    listed = {name: entry(new / name) for name in names if name not in (LIST, unlisted)}
    # Everything is on the disk before the rename that makes the folder visible.
    for name in listed:
        flush(new / name)
    write_json(new / LIST, {"files": listed})
    flush(new)
    with locked(target):
        _take_place(new, target)
    flush(target.parent)


def _take_place(new: Path, target: Path) -> None:
    """Rename ``target`` out of the way and ``new`` to ``target``; call it under the lock of ``target``."""
    _put_back(target)
    old = _replaced(target)
    if old.exists():
        remove(old)  # a writer was killed after its two renames
    if not target.exists() or not any(target.iterdir()):
        new.replace(target)
        return
    target.rename(old)  # 2
    try:
        # Somebody may have added a file since the first check.
        require_own(old, called=target)
        new.rename(target)  # 3
    except BaseException:
        old.rename(target)
        raise
    remove(old)


def _put_back(target: Path) -> None:
    """Undo the first rename of a writer that was killed between its two; call it under the lock of ``target``."""
    if not target.exists() and _replaced(target).exists():
        _replaced(target).rename(target)


def recovered(path: str | Path) -> Path:
    """Return the folder to read; put a folder back whose writer was killed while it was replaced.

    If a writer is at work between its two renames, wait for it. If the folder cannot be put back, because the disk is
    read-only, return the folder under the name it has now.
    """
    target = followed(Path(path))
    if target.exists() or not _replaced(target).exists():
        return Path(path)
    with locked(target):
        try:
            _put_back(target)
        except OSError:
            return _replaced(target)
    return Path(path)


def read_whole(path: str | Path, read: Callable[[Path], Value]) -> Value:
    """Return what ``read`` returns for a folder, from one state of it, even if another process replaces the folder.

    If the folder was replaced while ``read`` ran, ``read`` runs again, because it may have failed or returned a mixture
    of the old files and the new ones.
    """
    for _ in range(_READINGS):
        folder = recovered(path)
        before = _identity(folder)
        try:
            value = read(folder)
        except (OSError, IsoglotError):
            if _identity(folder) == before and not _is_being_replaced(path):
                raise
        else:
            if _same_folder(before, _identity(folder)):
                return value
    return read(recovered(path))


def _same_folder(before: tuple[int, int, int] | None, after: tuple[int, int, int] | None) -> bool:
    """Whether two identities are of one folder: both missing, or device and inode equal.

    The time may differ: a cache that is added to the folder meanwhile changes it.
    """
    if before is None or after is None:
        return before is after
    return before[:2] == after[:2]


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return device, inode and time of the last change, which tell a folder from another that took its name.

    The time is needed where a read failed: the inode of a deleted folder may be given to the next new one.
    """
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _is_being_replaced(path: str | Path) -> bool:
    """Whether the folder is missing because a writer is between its two renames."""
    target = followed(Path(path))
    return not target.exists() and _replaced(target).exists()


def write_listed(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file into the folder of a run that goes on, and list it there if the folder has a list.

    The list names the file before it is there. So if the writer is killed, the folder holds no file that seems to be a
    user's, and the run can replace it. Until a new file is whole, :func:`damage` names it: into a folder that nobody
    will write again, write the file first, then call :func:`add_to_list`.
    """
    contents = read_json(file.parent / LIST)
    if contents is not None:
        # Without size and hash; an entry of the same file stays.
        write_json(file.parent / LIST, {**contents, "files": {file.name: None, **contents["files"]}})
    write(file)
    add_to_list(file)


def add_to_list(file: Path) -> None:
    """Add a file that was written later to the list of its folder, if the folder has a list."""
    contents = read_json(file.parent / LIST)
    if contents is not None:
        write_json(file.parent / LIST, {**contents, "files": {**contents["files"], file.name: entry(file)}})


def entry(file: Path, *, remembered: bool = False) -> list[Any]:
    """Return the size and hash of a file, as lists have them.

    ``remembered``: Whether the hash of a large file may come from the cache of hashes.
    """
    content_hash = (remembered_digest if remembered else digest_of)([file], size=16)
    return [file.stat().st_size, content_hash]


def damage(folder: Path, *, remembered: bool = False) -> str | None:
    """Return the name of a listed file that is missing or changed; ``None`` if all files are as the list has them.

    ``remembered``: Large files that have not changed since they were last read are not read again.
    """
    for name, recorded in listed_in(folder).items():
        file = folder / name
        if not file.is_file():
            return name
        # Somebody may have edited the list, so an entry may be anything.
        recorded_size = recorded[:1] if isinstance(recorded, list) else None
        if [file.stat().st_size] != recorded_size:  # the size first: it needs no reading
            return name
        if entry(file, remembered=remembered) != recorded:
            return name
    return None


def require_own(folder: Path, *, called: Path | None = None) -> None:
    """Refuse a folder that holds a file which isoglot did not write and list there.

    ``called``: The folder's name in the message, where it was renamed.
    """
    if not folder.is_dir():
        return
    own = set(_own_files(folder))
    foreign = sorted(str(file.relative_to(folder)) for file in _files(folder) if file not in own)
    if not foreign:
        return
    names = ", ".join(foreign[:_SHOWN])
    if len(foreign) > _SHOWN:
        names += f" and {len(foreign) - _SHOWN} more"
    raise ConfigurationError(
        f"{called or folder}: holds files that isoglot did not write and will not delete ({names}); move them, "
        "or choose another folder"
    )


def remove(folder: Path, *patterns: str, keep: bool = False) -> None:
    """Delete the files that a folder's list names or that match a pattern, then the folders that are empty.

    ``keep``: Whether the folder itself stays, even empty.
    """
    matching = []
    for pattern in patterns:
        matching += [file for file in folder.glob(pattern) if not file.is_dir()]
    for file in [*matching, *_own_files(folder)]:
        if file.is_file() or file.is_symlink():
            file.unlink(missing_ok=True)
    for path, *_ in os.walk(folder, topdown=False):
        if not (keep and Path(path) == folder):
            with suppress(OSError):  # it holds something else
                Path(path).rmdir()


def listed_in(folder: Path) -> dict[str, Any]:
    """Return the files that a folder's list names, with sizes and hashes; none if there is no readable list.

    A name that leads out of the folder (``../notes.txt``, or through a link) is left out: whoever wrote the list, files
    elsewhere must not be deleted by it.
    """
    files = (read_json(folder / LIST) or {}).get("files")
    if not isinstance(files, dict):
        return {}
    resolved_folder = folder.resolve()
    listed = {}
    for name, state in files.items():
        if "\0" in name or ".." in Path(name).parts:
            continue
        if (folder / name).parent.resolve().is_relative_to(resolved_folder):
            listed[name] = state
    return listed


def _own_files(folder: Path) -> list[Path]:
    """Return the files that isoglot wrote into a folder, its list last, so that a killed deletion can go on.

    1. Files that the folder's list names.
    2. Where a listed file is itself a list, the files of the folder below that it belongs to.
    3. Helpers beside listed files, which no list names: locks, caches, temporary files (:func:`_helpers_in`).
    """
    listed = [folder / name for name in listed_in(folder)]
    files = [file for file in listed if file.name != LIST]  # 1
    for file in listed:
        # A list never names itself, but somebody may have edited it. All other lists are of folders further below.
        if file.name == LIST and file.parent.resolve() != folder.resolve():
            files += _own_files(file.parent)  # 2
    for place in {folder, *(file.parent for file in files)}:
        files += _helpers_in(place)  # 3
    return [*files, folder / LIST]


def _helpers_in(folder: Path) -> Iterator[Path]:
    """Yield files that isoglot leaves beside listed files: temporary files, locks, and rows unpacked in `.cache`."""
    for path in folder.iterdir() if folder.is_dir() else ():
        is_real_folder = path.is_dir() and not path.is_symlink()
        if is_temporary(path):  # a killed writer left it
            yield from _files(path) if is_real_folder else (path,)
        elif path.name.startswith(".") and path.suffix == ".lock" and not path.lstat().st_size:
            yield path
        elif path.name == ".cache" and is_real_folder:
            for cached in path.iterdir():
                if cached.is_dir():
                    yield from _own_files(cached)
                elif _UNPACKED.fullmatch(cached.name):
                    yield cached


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder and below it, and links to folders, which count as files."""
    for path, folders, names in os.walk(folder):
        for name in names:
            yield Path(path) / name
        for name in folders:
            if (Path(path) / name).is_symlink():
                yield Path(path) / name


def _replaced(target: Path) -> Path:
    """Return the name of a folder while its successor takes its place.

    The folder may be the only copy. So its name has no process and no machine, by which `files.py` knows what a killed
    process left and the next writer deletes.
    """
    return hidden(target, ".replaced.partial")
