"""Folders are replaced and deleted by the list of what isoglot wrote there, and nothing else goes."""

from __future__ import annotations

import errno
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError, DiskError
from isoglot.runs import listed
from isoglot.runs.files import read_json, write_json, write_text
from isoglot.runs.folder import clear
from isoglot.runs.listed import (
    LIST,
    add_to_list,
    damage,
    exchange,
    read_whole,
    recovered,
    remove,
    require_own,
    whole_folder,
    write_listed,
)
from isoglot.runs.record import Record


class StoppedError(Exception):
    """Stands for anything that ends a writer."""


def write(folder: Path, **files: str) -> Path:
    with whole_folder(folder) as place:
        for name, text in files.items():
            write_text(place / name, text)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.name != LIST)


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with whole_folder(target) as folder:
        (folder / "a").write_text("1")
        assert not target.exists()
    with pytest.raises(StoppedError), whole_folder(target) as folder:
        (folder / "a").write_text("2")
        raise StoppedError
    assert (target / "a").read_text() == "1"
    target.chmod(0o750)
    with whole_folder(target) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, "private while nobody knows whose it will be"
        (folder / "b").write_text("3")
        assert (target / "a").exists()
    assert names(target) == ["b"] and list(target.parent.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


def test_a_folder_outlives_a_writer_that_is_killed_between_its_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = write(tmp_path / "out", a="old")
    rename, done = Path.rename, []

    def killed(self: Path, target: Path) -> Path:
        done.append(target)
        if len(done) > 1:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt), whole_folder(out) as folder:
        (folder / "a").write_text("new")
    monkeypatch.undo()
    assert not out.exists()
    with pytest.raises(RuntimeError), whole_folder(out):
        raise RuntimeError
    assert (out / "a").read_text() == "old"
    write(out, a="newer")
    assert (out / "a").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_linked_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", a="")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "a").exists()


def test_a_full_disk_leaves_no_folder(tmp_path: Path) -> None:
    with refused(DiskError, "/out: ", "TMPDIR=FOLDER"), whole_folder(tmp_path / "out") as folder:
        (folder / "half").touch()
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["thesis.tex", "more/thesis.tex", ".cache/thesis.arrow", "en-de/a"])
def test_files_that_isoglot_did_not_write_are_never_replaced(tmp_path: Path, name: str) -> None:
    out = write(tmp_path / "out", a="old", b="old")
    if name == "en-de/a":  # a model in a folder of models, itself of isoglot
        write(out / "en-de", a="nested")
    else:
        write_text(out / name, "mine")
    before, began = names(out), False
    with (
        refused(ConfigurationError, "/out: ", f"{name})"),
        whole_folder(out) as folder,
    ):
        began = folder.exists()
    assert not began and names(out) == before and (out / "a").read_text() == "old"
    remove(out)
    assert set(names(out)) >= {name} and not (out / "b").exists()


def test_files_that_appear_during_the_work_are_not_replaced_either(tmp_path: Path) -> None:
    out = write(tmp_path / "out", a="old")
    with refused(ConfigurationError, "/out: ", "(notes)"), whole_folder(out) as folder:
        (folder / "a").write_text("new")
        (out / "notes").write_text("mine")
    assert names(out) == ["a", "notes"] and (out / "a").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_nested_folders_and_what_is_kept_beside_them_go_with_their_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        with whole_folder(out) as folder:
            write(folder / "inner", a="1")
        (out / "inner" / "later").write_text("2")
        add_to_list(out / "inner" / "later")
        write_text(out / "inner" / ".cache" / "0123456789abcdef.arrow", "rows")
        (out / "inner" / ".a.lock").touch()
        (out / ".inner.1-0-host.partial").mkdir()
        (out / ".inner.1-0-host.partial" / "part").touch()
    remove(out)
    assert not out.exists()


def test_a_list_from_elsewhere_leads_nowhere(tmp_path: Path) -> None:
    outside = [tmp_path / "a", tmp_path / "linked" / "a"]
    for path in outside:
        write_text(path, "mine")
    out = write(tmp_path / "out", a="1")
    (out / "link").symlink_to(tmp_path / "linked")
    listed = {name: [4, ""] for name in ("../a", str(tmp_path / "a"), "link/a", "a", "a\0/b")}
    write_text(out / LIST, json.dumps({"files": listed}))
    remove(out)
    assert all(path.read_text() == "mine" for path in outside) and names(out) == ["link"]


@pytest.mark.parametrize("name", [LIST, f"link/{LIST}"])
def test_a_list_that_names_itself_is_read_once(tmp_path: Path, name: str) -> None:
    out = write(tmp_path / "out", a="1")
    (out / "link").symlink_to(out)
    write_json(out / LIST, {"files": {"a": [1, ""], "link": [1, ""], name: [1, ""]}})
    require_own(out)
    remove(out)
    assert not out.exists()


@pytest.mark.parametrize("name", [".cache", ".x.partial"])
def test_links_named_as_the_files_beside_a_list_lead_nowhere(tmp_path: Path, name: str) -> None:
    outside = write_text(tmp_path / "linked" / "0123456789abcdef.json", "mine")
    out = write(tmp_path / "out", a="1")
    (out / name).symlink_to(outside.parent)
    remove(out)
    assert outside.read_text() == "mine"


def test_damage_is_seen(tmp_path: Path) -> None:
    out = write(tmp_path / "out", a="12", b="34")
    assert damage(out) is None
    (out / "b").write_text("35")
    assert damage(out) == "b"
    (out / "a").unlink()
    assert damage(out) == "a"
    (out / "a").write_text("12")
    write_json(out / LIST, {"files": {"a": 2}})
    assert damage(out) == "a"


@pytest.mark.parametrize("is_written", [True, False])
def test_a_folder_whose_writer_was_killed_while_it_added_a_file_can_be_replaced(
    tmp_path: Path, is_written: bool
) -> None:
    out = tmp_path / "out"
    with whole_folder(out) as folder:
        (folder / "model.safetensors").write_text("weights")

    def killed(file: Path) -> None:
        if is_written:
            file.write_text("half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_listed(out / "objectives.safetensors", killed)
    assert damage(out) == "objectives.safetensors"
    with whole_folder(out) as folder:
        (folder / "model.safetensors").write_text("new weights")
    assert sorted(file.name for file in out.iterdir()) == [".isoglot.json", "model.safetensors"]
    write_listed(out / "objectives.safetensors", lambda file: file.write_text("whole"))
    assert damage(out) is None


def test_a_file_may_be_left_out_of_the_list(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_text(tmp_path / "place" / name, name)
    exchange(tmp_path / "place", tmp_path / "out", unlisted="b")
    assert list((read_json(tmp_path / "out" / LIST) or {})["files"]) == ["a"]


def test_a_run_is_cleared_without_what_the_user_put_there(tmp_path: Path) -> None:
    out = tmp_path / "run"
    Record(out, {}, what="run").begin({"a": 1})
    for name in (".saving/checkpoint-3/half", "recipe.yaml", "runs/host/events.out.tfevents.1"):
        write_text(out / name, "ours")
    write(out / "checkpoint", config="ours")
    write(out / "corpus", data="theirs")
    write_text(out / "notes.md", "theirs")
    write_text(out / "checkpoint" / "notes.md", "theirs")
    clear(out)
    assert names(out) == ["checkpoint", "checkpoint/notes.md", "corpus", "corpus/data", "notes.md"]


def test_a_disk_that_is_read_only_is_named_by_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(method: Any) -> Any:
        def refused(self: Path, *given: Any, **named: Any) -> None:
            if ".partial" not in str(self):
                return method(self, *given, **named)
            raise OSError(errno.EROFS, "Read-only file system", str(self))

        return refused

    monkeypatch.setattr(Path, "mkdir", refusing(Path.mkdir))
    monkeypatch.setattr(Path, "unlink", refusing(Path.unlink))
    with (
        refused((ConfigurationError, DiskError), "out: ", "read-only") as caught,
        whole_folder(tmp_path / "out"),
    ):
        pass
    assert ".partial" not in str(caught.value)


def test_folder_that_a_killed_writer_hid_is_read_again(tmp_path: Path) -> None:
    """A writer that is killed between its two renames leaves no folder of the name."""
    folder, hidden_name = write(tmp_path / "model", a="old"), ".model.replaced.partial"
    folder.rename(tmp_path / hidden_name)
    assert recovered(folder) == folder and (folder / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    folder.rename(tmp_path / hidden_name)
    assert read_whole(folder, lambda place: (place / "a").read_text()) == "old"
    folder.rename(tmp_path / hidden_name)
    assert (write(folder, b="new") / "b").read_text() == "new"
    assert names(folder) == ["b"]
    assert recovered(tmp_path / "nothing") == tmp_path / "nothing", "what never was is not made"


def test_folder_that_a_killed_writer_hid_is_read_where_it_is_if_nothing_can_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "model", a="old")
    folder.rename(tmp_path / ".model.replaced.partial")

    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "read-only")

    monkeypatch.setattr(Path, "rename", refuse)
    assert (recovered(folder) / "a").read_text() == "old"


def test_a_folder_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    folder, readings = write(tmp_path / "model", a="old", b="old"), []

    def read(place: Path) -> list[str]:
        first = (place / "a").read_text()
        if not readings:
            write(folder, a="new", b="new")
        readings.append(first)
        return [first, (place / "b").read_text()]

    assert read_whole(folder, read) == ["new", "new"]
    assert readings == ["old", "new"]

    def fail(place: Path) -> None:
        readings.append("failed")
        raise ConfigurationError("damaged")

    with pytest.raises(ConfigurationError, match="damaged"):
        read_whole(folder, fail)
    assert readings.count("failed") == 1, "a folder that stays is not read again"


def test_read_that_begins_between_two_renames_of_a_writer_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was there when it was looked for, is missing while it is read, and comes back."""
    folder = write(tmp_path / "model", a="first")
    look, looks = listed.recovered, 0

    def recovered(path: Path) -> Path:
        nonlocal looks
        looks += 1
        found = look(path)
        if looks == 1:
            folder.rename(tmp_path / ".model.replaced.partial")
        return found

    monkeypatch.setattr(listed, "recovered", recovered)
    assert read_whole(folder, lambda place: (place / "a").read_text()) == "first"
    assert looks == 2
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "nowhere", lambda place: (place / "a").read_text())
    assert looks == 3, "a folder that nobody writes is not looked for again"


_WRITER = """
import sys
from pathlib import Path
from isoglot.runs.listed import whole_folder
for number in range(60):
    with whole_folder(sys.argv[1]) as folder:
        for name in "ab":
            (folder / name).write_text(f"{sys.argv[2]} {number}")
"""
_READER = """
import sys
from isoglot.runs.listed import read_whole
for _ in range(300):
    first, second = read_whole(sys.argv[1], lambda place: [(place / name).read_text() for name in "ab"])
    assert first == second, (first, second)
"""


@pytest.mark.slow
def test_processes_that_write_and_read_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", a="first", b="first")
    calls = [(_WRITER, "one"), (_WRITER, "two"), (_READER, "")]
    processes = [
        subprocess.Popen([sys.executable, "-c", code, folder, name], stderr=subprocess.PIPE, text=True)
        for code, name in calls
    ]
    said = [process.communicate(timeout=200)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert (folder / "a").read_text() == (folder / "b").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
