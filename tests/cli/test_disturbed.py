"""Every verb that writes: on a full disk, and beside a second process with the same output."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_commands import VERBS, build_inputs, content, finished, start

from isoglot.results.rows import read

pytestmark = pytest.mark.slow

FILES = {"align": "links.out", "evaluate": "results.jsonl"}
SIZES = {
    "align": (0,),
    "evaluate": (0,),
    "world": (4, 16),
    "pretrain": (8, 96, 400),
    "finetune": (8, 96, 400),
}
"""Kilobytes of the small disk: each size fills up in another place of the verb."""


@pytest.fixture
def calls(tmp_path: Path, tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    return build_inputs(tmp_path, tiny_recipe)


def target(verb: str, folder: Path) -> Path:
    return folder / FILES.get(verb, "out")


@pytest.mark.parametrize("verb", VERBS)
def test_two_processes_with_one_output(calls: dict[str, list[str]], tmp_path: Path, verb: str) -> None:
    alone, shared = target(verb, tmp_path / "alone"), target(verb, tmp_path / "shared")
    assert finished(start([*calls[verb], "--out", str(alone)]))[0] == 0
    processes = [start([*calls[verb], "--out", str(shared)]) for _ in range(2)]
    ended = [finished(process) for process in processes]
    for code, said in ended:
        refused = verb in ("pretrain", "finetune") and "another process is working here" in said
        assert (code == 2 if refused else code == 0) and "Traceback" not in said, said
    assert 0 in [code for code, _ in ended]
    assert list(content(shared).values()) == list(content(alone).values())
    hidden = [p.name for p in shared.parent.rglob(".*") if p.suffix in (".lock", ".partial")]
    assert not hidden
    if verb == "evaluate":
        assert len(read(shared)) == len(read(alone))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place, mount = tmp_path / "disk", shutil.which("mount")
    place.mkdir()
    made = mount and subprocess.run([mount, "-t", "tmpfs", "tmpfs", place], capture_output=True, check=False)
    if not made or made.returncode:
        pytest.skip("only root mounts a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def resize(place: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", place], check=True)


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_one_line_and_the_call_succeeds_once_there_is_room(
    calls: dict[str, list[str]], tmp_path: Path, small_disk: Path, verb: str
) -> None:
    alone, out = target(verb, tmp_path / "alone"), target(verb, small_disk)
    assert finished(start([*calls[verb], "--out", str(alone)]))[0] == 0
    for size in SIZES.get(verb, (4,)):
        filler = small_disk / "filler"
        resize(small_disk, "4m")
        with filler.open("wb") as file:  # all but so many kilobytes
            file.write(b"x" * ((4096 - size) * 1024 - sum(p.stat().st_size for p in small_disk.rglob("*"))))
        code, said = finished(start([*calls[verb], "--out", str(out)]))
        filler.unlink()
        if code == 0 and size > 100:  # training went on without a checkpoint, and the rest had room
            assert (out / "manifest.json").exists()
            break
        lines = [line for line in said.splitlines() if line.startswith("isoglot: ")]
        assert code == 2 and len(lines) == 1 and re.search("the disk is full|free some space", lines[0]), said
        assert "Traceback" not in said
        assert not out.exists() or verb in ("pretrain", "finetune")
        assert not (out / "manifest.json").exists()
    resize(small_disk, "64m")
    code, said = finished(start([*calls[verb], "--out", str(out)]))
    assert code == 0, said
    assert list(content(out).values()) == list(content(alone).values())
