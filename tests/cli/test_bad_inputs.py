"""Every verb with every input file spoilt and every flag wrong: exit code 2 and one message, never a traceback."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_outcome import Isoglot, Outcome
from verb_calls import FILES, MODELS, TOKENIZERS, command, write_data, write_model

from isoglot.cli import app

CALLS = FILES | MODELS | TOKENIZERS
QUICK = set(FILES)
"""Calls that load no model: the quick tests."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What the calls read, and a model; copied before anything is spoilt."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "data").mkdir()
    return write_data(folder / "data"), write_model(folder / "model")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # a wrong name is not looked for
    monkeypatch.chdir(tmp_path)


def missing(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    """A pipe that somebody opens and closes, so that a reader who waits for it does not wait for ever."""
    path.unlink()
    os.mkfifo(path)

    def close() -> None:
        for _ in range(100):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads
                stop.wait(0.02)

    stop = threading.Event()
    threading.Thread(target=close, daemon=True).start()


def content(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


REFUSED: dict[str, Callable[[Path], None]] = {
    "missing": missing,
    "folder": folder,
    "empty": content(b""),
    "binary": content(bytes(range(256)) * 20),
    "broken UTF-8": content(b"\xff\xfa a\tb\n"),
    "UTF-16 without a mark": content("a\tb\n".encode("utf-16le")),
    "cut gzip": content(gzip.compress(b"a\tb\n" * 1000)[:30]),
}
SURVIVED: dict[str, Callable[[Path], None]] = {
    "UTF-16": content("a\tb\n".encode("utf-16")),
    "blank lines": content(b"\n\n \n"),
    "NUL": content(b"a\0b\tc\n"),
    "brackets": content(b"[" * 100_000),
    "digits": content(b"1" * 5000 + b"\n"),
    "half a surrogate pair": content(b'{"source": "\\ud800", "target": "b", "data": []}\n'),
    "NaN": content(b"NaN\n"),
    "null": content(b"null\n"),
    "object": content(b'{"a": {"b": [1, 2]}}\n'),
    "list": content(b"[1, 2]\n"),
    "separators": content(b"\t\t\t\n ||| ||| \n"),
    "one long word": content(b"a" * 300_000),
    "carriage returns": content(b"a\tb\rc\td\r"),
    "alias": content(b"a: &a [*a]\n"),
    "FIFO": fifo,
}
DAMAGES = REFUSED | SURVIVED
FEW = (
    "missing",
    "folder",
    "empty",
    "binary",
    "UTF-16",
    "UTF-16 without a mark",
    "blank lines",
    "brackets",
    "digits",
    "object",
    "FIFO",
)


def slots(line: str) -> list[str]:
    """The files that a call names."""
    return list(dict.fromkeys(re.findall(r"FOLDER/(\S+)", line)))


def cases() -> Iterator[Any]:
    for name, line in CALLS.items():
        for slot in slots(line):
            for damage in DAMAGES:
                slow = () if name in QUICK and damage in FEW else (pytest.mark.slow,)
                yield pytest.param(name, slot, damage, id=f"{name}: {slot} {damage}", marks=slow)


def told(done: Outcome) -> str:
    """The message of a call that was refused."""
    assert "Traceback" not in done.stderr
    assert re.search(r"^(isoglot|Error): \S", done.stderr, re.MULTILINE), done.stderr
    return done.stderr


@pytest.mark.parametrize("name", FILES)
def test_the_call_works_before_it_is_spoilt(
    name: str, world: tuple[Path, Path], tmp_path: Path, isoglot: Isoglot
) -> None:
    done = isoglot(*command(CALLS[name], *world, tmp_path / "out"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "slot", "damage"), list(cases()))
def test_a_spoilt_file(
    name: str, slot: str, damage: str, world: tuple[Path, Path], tmp_path: Path, isoglot: Isoglot
) -> None:
    data = shutil.copytree(world[0], tmp_path / "data")
    words = command(CALLS[name], data, world[1], tmp_path / "out")
    places = [data / slot.replace("{language}", code) for code in ("en", "xx")]
    for place in {p for path in places for p in (path.iterdir() if path.is_dir() else [path])}:
        DAMAGES[damage](place)
    done = isoglot(*words)
    # such lines are left empty, with a warning
    lenient = name.startswith("align") and damage in ("binary", "broken UTF-8")
    assert done.returncode == 2 or (done.returncode == 0 and (lenient or damage in SURVIVED)), (
        done.returncode,
        done.stderr,
    )
    if done.returncode:
        assert max(map(len, told(done).splitlines())) < 2000


VALUES = ("nan", "../x", "", ".", "=", "-1e400", "1,", "9" * 400, "x" * 5000)


def every_flag() -> Iterator[Any]:
    group = typer.main.get_command(app)
    for name, line in CALLS.items():
        words = line.split()
        found = group.commands[words[0]]  # type: ignore[attr-defined]
        if hasattr(found, "commands"):
            found = found.commands.get(words[1]) or found.commands["page"]
        for parameter in found.params:
            flags = [flag for flag in parameter.opts if flag.startswith("-")]
            if not flags or parameter.is_flag:
                continue
            for value in VALUES:
                slow = () if name in QUICK and value == VALUES[0] else (pytest.mark.slow,)
                yield pytest.param(name, flags[-1], value, id=f"{name} {flags[-1]} {value[:6]!r}", marks=slow)


@pytest.mark.parametrize(("name", "flag", "value"), list(every_flag()))
def test_a_wrong_value(
    name: str, flag: str, value: str, world: tuple[Path, Path], tmp_path: Path, isoglot: Isoglot
) -> None:
    done = isoglot(*command(CALLS[name], *world, tmp_path / "out"), flag, value)
    if done.returncode:
        assert done.returncode == 2 and told(done)
