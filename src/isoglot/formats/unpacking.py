"""Open files for reading, and unpack those that are packed, whatever they are called."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    import io


class _Packing(NamedTuple):
    """A kind of packed file."""

    first_bytes: bytes
    unpack: Callable[[IO[bytes]], Any]
    program: str  # which checks such a file with `-t`


def _zstandard(handle: IO[bytes]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few files are packed so

    return pa.CompressedInputStream(pa.PythonFile(handle, "r"), "zstd")


_PACKINGS = (
    _Packing(b"\x1f\x8b", lambda handle: gzip.GzipFile(fileobj=handle), "gzip"),
    _Packing(b"BZh", bz2.BZ2File, "bzip2"),
    _Packing(b"\xfd7zXZ\x00", lzma.LZMAFile, "xz"),
    _Packing(b"\x28\xb5\x2f\xfd", _zstandard, "zstd"),
)
_LONGEST = max(len(packing.first_bytes) for packing in _PACKINGS)


class OpenFile(NamedTuple):
    """A file that is open for reading; whoever reads it closes the stream, then the handle."""

    stream: IO[bytes]  # the bytes, unpacked
    handle: IO[bytes]  # the file on disk; the stream itself if the file is not packed
    program: str  # the program that checks the packed file; empty if it is not packed


def open_bytes(path: str) -> OpenFile:
    """Open a file for reading, and unpack it if its first bytes say that it is packed; ``-`` is standard input."""
    try:
        file = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115 - the reader closes it
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror}); name a readable file", path=path) from error
    handle = cast("io.BufferedReader", file)
    packing = _packing_of(handle.peek(_LONGEST))
    if packing is None:
        return OpenFile(handle, handle, "")
    return OpenFile(packing.unpack(handle), handle, packing.program)


def is_packed(path: Path) -> bool:
    """Whether the first bytes of a file say that it is packed, whatever the file is called."""
    with path.open("rb") as file:
        return _packing_of(file.read(_LONGEST)) is not None


def _packing_of(first_bytes: bytes) -> _Packing | None:
    return next((packing for packing in _PACKINGS if first_bytes.startswith(packing.first_bytes)), None)
