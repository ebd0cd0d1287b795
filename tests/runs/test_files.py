"""Files and folders are whole under their names, or as they were before."""

from __future__ import annotations

import errno
import gzip
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError, DiskError
from isoglot.runs.files import (
    hidden,
    is_stream,
    make_folder,
    read_json,
    refuse_overwriting,
    whole_file,
    whole_path,
    write_json,
    write_text,
)
from isoglot.runs.listed import whole_folder
from isoglot.runs.lock import locked


class StoppedError(Exception):
    """Stands for anything that ends a writer."""


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "old\n")
    with whole_file(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old\n"
    assert path.read_bytes() == b"new"
    with pytest.raises(StoppedError), whole_file(path) as file:
        file.write("half")
        raise StoppedError
    assert path.read_text() == "new" and list(path.parent.iterdir()) == [path]


def test_text_is_packed_where_the_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    write_text(path, "Köln\n")
    first = path.read_bytes()
    assert gzip.decompress(first).decode() == "Köln\n"
    with pytest.raises(StoppedError), whole_file(path) as file:
        file.write("new")
        raise StoppedError
    with whole_file(tmp_path / "b.gz", binary=True) as file:
        file.write(b"bytes")
    assert path.read_bytes() == first and (tmp_path / "b.gz").read_bytes() == b"bytes"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.tsv.gz", "b.gz"]


def test_bytes_and_json(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a.bin", binary=True) as file:
        file.write(b"\r\n\0")
    assert (tmp_path / "a.bin").read_bytes() == b"\r\n\0"
    assert read_json(write_json(tmp_path / "a.json", {"ö": Path("x")})) == {"ö": "x"}
    name = os.fsdecode(b"\xff")
    assert read_json(write_json(tmp_path / "a.json", {"ö": name})) == {"ö": name}


@pytest.mark.parametrize("text", [None, '{"name": "x', "[1]", "[" * 100_000])
def test_a_cut_off_object_is_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    assert read_json(tmp_path / "a.json") is None


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    write_text(real, "old")
    real.chmod(0o640)
    link.symlink_to("real/a.txt")
    write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "real" / "b.txt")
    write_text(dangling, "made")
    assert dangling.is_symlink() and (tmp_path / "real" / "b.txt").read_text() == "made"


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_temporary_file_does_not_follow_somebodys_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for _ in range(2):
        with whole_path(tmp_path / "a.txt") as place:
            assert place.is_file(), "made at once, by this process alone"
            names.append(place.name)
    assert names[0] != names[1] and not any(f"{os.getpid()}-0-" in name for name in names)
    (tmp_path / "theirs").write_text("theirs")
    monkeypatch.setattr("isoglot.runs.files.secrets.token_hex", lambda size: "guessed")
    planted = f".b.txt.{os.getpid()}-guessed-{socket.gethostname()}.partial"
    (tmp_path / planted).symlink_to("theirs")
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "b.txt", "ours")
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    path.chmod(0o600)
    with whole_path(path) as place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_fifo_is_written_through(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    write_text(fifo, "through")
    reader.join(timeout=20)
    assert read == ["through"] and stat.S_ISFIFO(fifo.stat().st_mode)


def test_devices_and_open_streams_are_written_through(tmp_path: Path) -> None:
    assert is_stream(Path(os.devnull)) and is_stream(Path("/dev/stdout")) and not is_stream(tmp_path / "new")
    code = "from isoglot.runs.files import write_text; write_text('/dev/stdout', 'shown')"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "shown"
    out = tmp_path / "out.txt"
    out.write_text("before ")
    with out.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert "shown" in out.read_text() and not list(Path("/dev").glob(".std*"))


def test_a_killed_writers_files_go_with_the_next_writer(tmp_path: Path) -> None:
    dead = next(n for n in range(99_999, 1, -1) if not psutil.pid_exists(n))
    here, there = socket.gethostname(), "another.machine"
    names = [f".a.txt.{n}-0-{m}.partial" for n in (dead, os.getppid()) for m in (here, there)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").touch()
    old = time.time() - 30 * 24 * 3600
    for path in (tmp_path / names[1], tmp_path / names[1] / "part"):
        os.utime(path, (old, old))
    for name in (names[0], names[2]):  # what is beside a temporary file for a while
        (tmp_path / f".{name}.lock").touch()
        (tmp_path / f".{name}.x_1").mkdir()
    write_text(tmp_path / "a.txt", "new")
    alive = {f".{names[2]}.lock", f".{names[2]}.x_1"}
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", names[2], names[3], *alive}


@pytest.mark.parametrize("name", ["n" * 240, "n" * 255, "ä" * 120 + ".txt", "漢" * 85])
def test_a_name_may_be_as_long_as_the_disk_takes(tmp_path: Path, name: str) -> None:
    path, dead = tmp_path / name, next(n for n in range(99_999, 1, -1) if not psutil.pid_exists(n))
    left = hidden(path, f".{dead}-0-{socket.gethostname()}.partial")
    left.touch()
    with locked(path):
        write_text(path, "new")
        assert read_json(write_json(path, {"a": 1})) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert hidden(path, ".lock") != hidden(tmp_path / f"{name[:-1]}x", ".lock")
    with pytest.raises(ConfigurationError, match=r"name of 2\d\d bytes.* 255 "):
        write_text(tmp_path / f"{'n' * 250}{name[:6]}", "")
    with pytest.raises(ConfigurationError, match=r"/n{256} "):
        make_folder(tmp_path / ("n" * 256))


def test_the_wrong_kind_of_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refused(ConfigurationError, f"{tmp_path.name} ", "folder", "/out.txt"):
        write_text(tmp_path, "")
    with (
        refused(ConfigurationError, "/file ", "file, ", "folder"),
        whole_folder(tmp_path / "file"),
    ):
        pass
    for below in (tmp_path / "file" / "out", tmp_path / "file" / "deep" / "out"):
        with refused(ConfigurationError, f"{below} ", f"{tmp_path}/file "):
            make_folder(below)
    for nowhere in ("/proc/out.txt", "/proc/nowhere/out.txt"):
        with pytest.raises((ConfigurationError, OSError), match=r"/proc/(nowhere|out\.txt)"):
            write_text(nowhere, "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, number: int) -> None:
    write_text(tmp_path / "a.txt", "old")
    with (
        refused(DiskError, "a.txt: ", "TMPDIR=FOLDER"),
        whole_path(tmp_path / "a.txt"),
    ):
        raise RuntimeError("saving failed") from OSError(number, os.strerror(number))
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"] and (tmp_path / "a.txt").read_text() == "old"


def test_an_output_may_not_be_an_input(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file, link = tmp_path / "in" / "a.tsv", tmp_path / "link.tsv"
    file.touch()
    link.symlink_to(file)
    (tmp_path / "hard.tsv").hardlink_to(file)
    for output in (file, link, tmp_path / "hard.tsv", tmp_path / "in" / ".." / "in" / "a.tsv"):
        with refused(ConfigurationError, f"{output}: ", "input"):
            refuse_overwriting(output, ["-", None, "hub/name", file])
    for inside, named in ((tmp_path / "in", "also an input"), (link, f"input {link}")):
        with pytest.raises(ConfigurationError, match=f"{tmp_path}/in: .*{named}"):
            refuse_overwriting(tmp_path / "in", [inside])
    refuse_overwriting("-", [file])
    refuse_overwriting(tmp_path / "new", [file])
    refuse_overwriting("/dev/null", ["/dev/null"])


def test_a_folder_named_by_dots_has_its_hidden_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    assert hidden(Path(), ".done") == tmp_path.resolve() / ".run.done"
    assert hidden(Path(".."), ".done") == tmp_path.resolve().parent / f".{tmp_path.name}.done"
    assert hidden(Path("/"), ".done") == Path("/.done")
