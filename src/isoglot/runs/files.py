"""Files and folders that appear under their names when they are complete, or not at all."""

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import secrets
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import IO, Any

import psutil

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.options import LONGEST_NAME, file_path, one_component
from isoglot.runs.disk import disk_problem, full_disk_named

_SUFFIX = ".partial"
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
_ABANDONED_AFTER = 7 * 24 * 3600.0
"""Seconds after which an unchanged temporary file of another machine counts as left behind."""


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file, which appears when it is whole; make its folder if it is missing."""
    with whole_file(path) as file:
        file.write(text)
    return Path(path)


def write_json(path: str | Path, values: Mapping[str, Any]) -> Path:
    """Write an indented JSON file, which appears when it is whole; values unknown to JSON are written as text."""
    text = json.dumps(values, indent=2, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        text = json.dumps(values, indent=2, default=str)
    return write_text(path, f"{text}\n")


def read_json(path: str | Path) -> dict[str, Any] | None:
    """Read a JSON object from a file; ``None`` if the file is missing, cut off or holds no object."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _zstandard(file: IO[bytes]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few files are packed so

    return pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")


_PACKED: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 - closed by who writes it
    ".zst": _zstandard,
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
}
"""Functions that compress a file, by the ending of its name."""


def bare_suffix(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, without that of a compression: ``.tsv`` of ``a.TSV.gz``."""
    name = Path(path).name.lower()
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return Path(name).suffix


@contextmanager
def whole_file(path: str | Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    r"""Open a file for writing that appears under its name when the block ends without an error.

    The text goes to a temporary file beside ``path``, which is renamed at the end. Permissions stay, and a symbolic
    link keeps pointing to the file. Devices, FIFOs and ``/dev/stdout`` are not replaced but written to directly. Text
    is compressed if the name ends in ``.gz``, ``.xz``, ``.zst`` or ``.bz2``.

    Args:
        path: Path of the file; its folder is made if it is missing.
        binary: Write bytes instead of UTF-8 text with ``\n`` line ends.

    Raises:
        ConfigurationError: The path is a folder, or its folder cannot be made.
        OSError: The file cannot be written; an older file under the name is unchanged.
    """
    how: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"}
    pack = None if binary else _PACKED.get(Path(path).suffix.lower())
    with whole_path(path) as temporary, contextlib.ExitStack() as stack:
        file: Any = stack.enter_context(
            temporary.open("wb") if binary or pack else temporary.open("w", **how)
        )
        if pack is not None:
            file = stack.enter_context(pack(file))
            file = stack.enter_context(io.TextIOWrapper(file, **how))
        yield file


@contextmanager
def text_output(path: str | Path) -> Iterator[IO[str]]:
    """Open a text file as :func:`whole_file` does, or standard output for ``-``, in UTF-8 on any terminal."""
    if str(path) != "-":
        with whole_file(path) as file:
            yield file
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    yield sys.stdout


@contextmanager
def whole_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which takes the place of ``path`` when the block ends without an error.

    As :func:`whole_file`, for libraries that write to a path: ``pq.write_table(table, temporary)``.
    """
    target = followed(file_to_write(path))
    if is_stream(target):
        yield target
        return
    if target.is_dir():
        raise ConfigurationError(
            f"{path} is a folder, but the output is a file; name a file, for example {Path(path) / 'out.txt'}"
        )
    make_folder(target.parent)
    before = target.stat() if target.exists() else None
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    with beside(target, path) as temporary:
        # O_EXCL and O_NOFOLLOW: nobody can have put a link under this name that leads the output elsewhere. 0600: where
        # the old file may be readable for some only, the temporary one is not readable for others in the meantime.
        permissions = 0o666 if before is None else 0o600
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, permissions))
        mode = stat.S_IMODE((before or temporary.stat()).st_mode)
        yield temporary
        temporary.chmod(mode)  # a library may have replaced the file by one that only its owner may read
        if before is not None:
            with contextlib.suppress(PermissionError):
                os.chown(temporary, before.st_uid, before.st_gid)
        flush(temporary)
        temporary.replace(target)


@contextmanager
def beside(target: Path, path: str | Path) -> Iterator[Path]:
    """Yield an unused temporary path beside ``target``, and delete what is left there at the end.

    Errors name ``path``, the output that the user asked for.
    """
    _remove_left_behind(target)
    temporary = hidden(target, f".{os.getpid()}-{secrets.token_hex(8)}-{socket.gethostname()}{_SUFFIX}")
    try:
        with full_disk_named(path):
            yield temporary
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)
        raise
    finally:
        _drop(temporary)


def make_folder(path: str | Path) -> Path:
    """Make a folder and its parents."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(p for p in (folder, *folder.parents) if p.exists() and not p.is_dir())
        raise ConfigurationError(
            f"{folder} cannot be created, because {file} is a file; choose another path"
        ) from None
    except OSError as error:
        if disk_problem(error) is not None:
            raise
        raise ConfigurationError(
            f"{folder} cannot be created ({error.strerror}); choose a writable place"
        ) from error
    return folder


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name in a folder.

    Raises:
        ConfigurationError: The name is empty, or would lead out of the folder.
    """
    try:
        return folder / one_component(name)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def require_writable(path: str | Path, *, folder: bool = False) -> None:
    """Refuse an output that cannot be written, before the work begins; nothing is made.

    ``folder``: Whether the output is a folder, or files in it.
    """
    target = followed(file_to_write(path) if not folder else Path(path))
    if is_stream(target):
        return
    if target.exists() and target.is_dir() != folder:
        expected, actual = ("folder", "file") if folder else ("file", "folder")
        raise ConfigurationError(f"{path} is a {actual}, but the output is a {expected}; choose another path")
    try:
        if target.is_file():
            os.close(os.open(target, os.O_WRONLY | os.O_APPEND))
        # A file can be made in the nearest folder that exists: others are made below it.
        above = target if folder else target.parent
        parent = next(parent for parent in (above, *above.parents) if parent.exists())
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as error:
        reason = disk_problem(error) or os.strerror(error.errno or errno.EIO)
        raise ConfigurationError(f"{path} is not writable ({reason}); choose a writable place") from error


def file_to_write(path: str | Path) -> Path:
    """Return the path of a file to write, and refuse a name that ends in a slash, which means a folder."""
    try:
        return file_path(path)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that is one of the inputs, or a folder that holds one.

    ``inputs``: Paths that are going to be read; names that are not paths, ``-`` and ``None`` are skipped.
    """
    out = Path(output)
    if not out.is_file() and not out.is_dir():
        return
    for name in inputs:
        if name is None or not Path(name).exists():
            continue
        path = Path(name).resolve()
        if out.samefile(path) or (out.is_dir() and any(out.samefile(parent) for parent in path.parents)):
            what = "is also an input" if out.samefile(path) else f"holds the input {name}"
            raise ConfigurationError(f"{output}: {what}, which would be overwritten; choose another output")


def check_outputs(
    outputs: Sequence[str | Path],
    inputs: Sequence[str | Path | None],
    *,
    folders: Collection[str | Path | None] = (),
) -> None:
    """Refuse outputs that cannot be written, that are an input, or that would overwrite another output.

    Called before any work; nothing is made.

    ``folders``: The outputs that are folders. ``-`` is standard output.
    """
    for first, second in permutations(outputs, 2):
        is_standard_output = str(first) == "-" or str(second) == "-"
        if str(first) == str(second) or (
            not is_standard_output and Path(second).resolve().is_relative_to(Path(first).resolve())
        ):
            raise ConfigurationError(
                f"{first} and {second}: two outputs are the same file or folder, and one would overwrite the other; "
                "name another"
            )
    for path in outputs:
        if str(path) != "-":
            refuse_overwriting(path, inputs)
            require_writable(path, folder=path in folders)


def digest_of(paths: Iterable[Path], *, size: int, named: bool = False) -> str:
    """Hash the content of files one after another with BLAKE2b.

    ``size``: Bytes of the hash, each two hexadecimal digits.
    ``named``: Whether the names of the files count too.
    """
    digest = hashlib.blake2b(digest_size=size)
    for path in paths:
        digest.update(path.name.encode() if named else b"")
        refuse_pipe(path)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe as an input: it can be read only once, and reading waits for ever if nobody writes to it.

    Raises:
        InputError: The path is a pipe.
    """
    if path.is_fifo():
        raise InputError(
            "is a pipe, not a regular file; write its content to a file and name that", path=path
        )


def flush(path: Path) -> None:
    """Wait until a file or folder is on the disk, before the rename that makes it visible."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def followed(path: Path) -> Path:
    """Follow a chain of symbolic links to its end, or to a link that stands for an open stream (``/dev/stdout``)."""
    for _ in range(40):  # as many as Linux follows
        if not path.is_symlink() or str(path).startswith(_STREAMS):
            break
        path = path.parent / path.readlink()
    return path


def is_stream(path: Path) -> bool:
    """Whether output goes directly to a path instead of replacing a file: a device, a FIFO, ``/dev/stdout``."""
    path = followed(path)
    if path.exists() and str(path).startswith(_STREAMS):
        return not path.is_dir()
    return path.exists() and not path.is_file() and not path.is_dir()


def is_temporary(path: Path) -> bool:
    """Whether a path has a temporary name, as a file or folder has until it is whole.

    It may still be needed: `.out.replaced.partial` is a whole folder, maybe the only copy (`isoglot.runs.listed`).
    """
    return path.name.startswith(".") and path.name.endswith(_SUFFIX)


def _remove_left_behind(target: Path) -> None:
    """Delete the temporary files and folders that killed writers of a target left beside it.

    The name for `out.txt` is `.out.txt.4711-9f3c…-myhost.partial`: process, random digits, machine.
    """
    names = "|".join(map(re.escape, (target.name, _short(target.name))))
    # The last group is for the lock of a temporary file, `..out.txt.4711-9f3c…-myhost.partial.lock`, and the like.
    pattern = re.compile(rf"\.+(?:{names})\.(\d+)-[0-9a-f]+-(.+?){re.escape(_SUFFIX)}(\..+)?")
    with contextlib.suppress(PermissionError):  # a folder that may be written to and not be listed
        for path in list(target.parent.iterdir()):
            match = pattern.fullmatch(path.name)
            if match is not None and _left_behind(path, int(match[1]), match[2]):
                _drop(path)


def hidden(target: Path, ending: str) -> Path:
    """Return a hidden path beside another one: `.links.txt.parts` for `links.txt` and `.parts`; shorten a long name."""
    if target.name in ("", ".."):  # "." and the like: take the folder's own name
        target = target.resolve()
    if not target.name:  # the root folder
        return target / ending
    name = f".{target.name}{ending}"
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f".{_short(target.name)}{ending}"
    return target.with_name(name)


def _short(name: str) -> str:
    """Shorten a name to 100 bytes at most, with a hash so that no two names become one."""
    encoded = os.fsencode(name)
    return f"{encoded[:80].decode(errors='ignore')}~{hashlib.blake2b(encoded, digest_size=8).hexdigest()}"


def _drop(path: Path) -> None:
    """Delete a temporary file or folder; if somebody put a link in its place, delete only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):  # a read-only disk refuses it even where nothing is there
            path.unlink(missing_ok=True)


def _left_behind(path: Path, process: int, machine: str) -> bool:
    """Whether the process that made a temporary file or folder is gone.

    A process of another machine cannot be looked up: it counts as gone if nothing was written for a week.
    """
    if machine == socket.gethostname():
        return not psutil.pid_exists(process)
    try:
        latest = max(p.lstat().st_mtime for p in (path, *path.rglob("*")))
    except FileNotFoundError:  # its writer is at work
        return False
    return time.time() - latest > _ABANDONED_AFTER
