"""Folders that list what isoglot wrote into them: whole or not there, checked, and deleted by their list alone."""

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
from isoglot.runs.fingerprint import digest
from isoglot.runs.lock import locked

LIST = ".isoglot.json"
"""In a folder: its files with sizes and hashes."""
_SHOWN = 3
_READINGS = 20
"""How often a folder is read again that is replaced while it is read."""
Value = TypeVar("Value")
_UNPACKED = re.compile(r"[0-9a-f]+\.(arrow|json)")  # of earlier releases, without a folder of their own


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a new folder that takes its place when the block ends without an error.

    What stands there is replaced when the new folder is complete; a folder that holds anything else than what isoglot
    wrote is refused before the block.
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
    """List a finished folder's files and give it its name; what was there goes only then, by its own list.

    Of several processes that write one folder each waits for the other's exchange; the last one's folder stays.

    ``unlisted``: The name of a file that the list leaves out.
    """
    names = sorted(str(file.relative_to(new)) for file in _files(new))
    listed = {name: entry(new / name) for name in names if name not in (LIST, unlisted)}
    for name in listed:
        flush(new / name)
    write_json(new / LIST, {"files": listed})
    flush(new)
    with locked(target):
        _take_place(new, target)
    flush(target.parent)


def _take_place(new: Path, target: Path) -> None:
    """Give a folder its name, under the lock of that name."""
    _put_back(target)
    old = _replaced(target)
    if old.exists():
        remove(old)  # of a writer that was killed after its two renames
    if not target.exists() or not any(target.iterdir()):
        new.replace(target)
    else:
        target.rename(old)
        try:
            require_own(old, called=target)  # somebody may have put something there in the meantime
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
        remove(old)


def _put_back(target: Path) -> None:
    """Undo the first of two renames, between which a writer was killed; under the lock no other writer is there."""
    if not target.exists() and _replaced(target).exists():
        _replaced(target).rename(target)


def recovered(path: str | Path) -> Path:
    """The folder to read: what it replaced, too, if its writer was killed between two renames.

    A writer that is still between them is waited for. Where the folder can only be read, what was replaced is read in
    its place.
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
    """What ``read`` makes of a folder that another process may replace meanwhile: all of it from one state.

    ``read`` runs again if the folder was replaced while it ran, whether it failed or returned a mixture of both.
    """
    for _ in range(_READINGS):
        folder = recovered(path)
        before = _identity(folder)
        try:
            value = read(folder)
        except (OSError, IsoglotError):
            if _identity(folder) == before:
                raise
        else:
            if _identity(folder) == before:
                return value
    return read(recovered(path))


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from one that took its place."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def add_to_list(file: Path) -> None:
    """Note a file that was written later in the list of its folder, where there is one."""
    contents = read_json(file.parent / LIST)
    if contents is not None:
        write_json(file.parent / LIST, {**contents, "files": {**contents["files"], file.name: entry(file)}})


def entry(file: Path, *, remembered: bool = False) -> list[Any]:
    """Size and hash of a file, as lists have them."""
    return [file.stat().st_size, (digest if remembered else digest_of)([file], size=16)]


def damage(folder: Path, *, remembered: bool = False) -> str | None:
    """A listed file that is missing or not as it was written; ``None`` if all are as the list has them.

    ``remembered``: Large files that have not changed since they were last read are not read again.
    """
    for name, recorded in listed_in(folder).items():
        file = folder / name
        size = (
            recorded[:1] if isinstance(recorded, list) else None
        )  # a list that somebody changed may hold anything
        if (
            not file.is_file()
            or [file.stat().st_size] != size
            or entry(file, remembered=remembered) != recorded
        ):
            return name
    return None


def require_own(folder: Path, *, called: Path | None = None) -> None:
    """Refuse a folder, ``called`` so in the message, with anything that isoglot did not write and list there."""
    if not folder.is_dir():
        return
    listed = set(_own_files(folder))
    foreign = sorted(str(file.relative_to(folder)) for file in _files(folder) if file not in listed)
    if foreign:
        names = ", ".join(foreign[:_SHOWN]) + (
            f" and {len(foreign) - _SHOWN} more" if foreign[_SHOWN:] else ""
        )
        raise ConfigurationError(
            f"{called or folder}: holds files that isoglot did not write and will not delete ({names}); move them, "
            "or choose another folder"
        )


def remove(folder: Path, *patterns: str, keep: bool = False) -> None:
    """Delete the files that a folder's list names, and those of patterns, and the folders that are empty then.

    ``keep``: The folder itself stays, even empty.
    """
    named = [file for pattern in patterns for file in folder.glob(pattern) if not file.is_dir()]
    for file in [*named, *_own_files(folder)]:
        if file.is_file() or file.is_symlink():
            file.unlink(missing_ok=True)
    for path, *_ in os.walk(folder, topdown=False):
        if not (keep and Path(path) == folder):
            with suppress(OSError):  # it holds something else
                Path(path).rmdir()


def listed_in(folder: Path) -> dict[str, Any]:
    """The files that a folder's list names, with sizes and hashes; none if there is no readable list.

    Names that lead out of the folder are none of its files, whoever wrote the list.
    """
    files = (read_json(folder / LIST) or {}).get("files")
    if not isinstance(files, dict):
        return {}
    inside = folder.resolve()
    return {
        name: state
        for name, state in files.items()
        if "\0" not in name
        and ".." not in Path(name).parts
        and (folder / name).parent.resolve().is_relative_to(inside)
    }


def _own_files(folder: Path) -> list[Path]:
    """What isoglot wrote into a folder: what its list and listed lists name, and is kept beside; the list last."""
    listed = [folder / name for name in listed_in(folder)]
    inner = [file.parent for file in listed if file.name == LIST]
    files = [file for file in listed if file.name != LIST]
    files += [file for inner_folder in inner for file in _own_files(inner_folder)]
    for inner_folder in {folder, *(file.parent for file in files)}:
        files += _kept_in(inner_folder)
    return [*files, folder / LIST]


def _kept_in(folder: Path) -> Iterator[Path]:
    """What is beside listed files: unpacked rows, locks, what a killed writer left."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if is_temporary(entry):
            yield from _files(entry) if entry.is_dir() and not entry.is_symlink() else (entry,)
        elif entry.name.startswith(".") and entry.suffix == ".lock" and not entry.lstat().st_size:
            yield entry
        elif entry.name == ".cache" and entry.is_dir() and not entry.is_symlink():
            for cached in entry.iterdir():
                if cached.is_dir():
                    yield from _own_files(cached)
                elif _UNPACKED.fullmatch(cached.name):
                    yield cached


def _files(folder: Path) -> Iterator[Path]:
    """Everything in a folder and its folders but these themselves."""
    for path, folders, names in os.walk(folder):
        yield from (Path(path) / name for name in names)
        yield from (Path(path) / name for name in folders if (Path(path) / name).is_symlink())


def _replaced(target: Path) -> Path:
    """Where a folder waits while its successor takes its name; no other writer's clearing touches it."""
    return hidden(target, ".replaced.partial")
