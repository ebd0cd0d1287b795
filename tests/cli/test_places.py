"""Outputs and inputs that cannot be written or read end in one line and exit code 2."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from cli_outcome import Isoglot

BITEXT = "ein Haus\ta house\nein Hund\ta dog\n"
COMMAND = [sys.executable, "-m", "isoglot.cli"]


@pytest.fixture
def bitext(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(BITEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("flag", ["--out", "--lexicon", "--save"])
def test_align_never_overwrites_its_input(isoglot: Isoglot, bitext: Path, flag: str) -> None:
    link = bitext.with_name("link.txt")
    link.symlink_to(bitext.name)
    for output in (bitext, link):
        result = isoglot("align", bitext, "-m", "fast_align", flag, output)
        assert result.returncode == 2 and "is also an input" in result.stderr
        assert bitext.read_text(encoding="utf-8") == BITEXT


def test_align_writes_through_a_link_and_keeps_a_device(isoglot: Isoglot, bitext: Path) -> None:
    real, link = bitext.with_name("real.txt"), bitext.with_name("link.txt")
    link.symlink_to(real.name)
    assert isoglot("align", bitext, "-m", "fast_align", "--out", link).returncode == 0
    assert link.is_symlink() and len(real.read_text().splitlines()) == 2
    device = bitext.with_name("device")
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_text("")
    except PermissionError:
        pytest.skip("only root makes a device")
    assert isoglot("align", bitext, "-m", "fast_align", "--out", device).returncode == 0
    assert device.is_char_device() and device.stat().st_rdev == os.makedev(1, 3)


def test_a_model_is_not_saved_over_something_else(isoglot: Isoglot, bitext: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").touch()
    result = isoglot("align", bitext, "-m", "fast_align", "--out", os.devnull, "--save", tmp_path / "thesis")
    assert result.returncode == 2 and "does not hold an alignment model" in result.stderr
    for _ in range(2):
        assert (
            isoglot(
                "align", bitext, "-m", "fast_align", "--out", os.devnull, "--save", tmp_path / "model"
            ).returncode
            == 0
        )


def test_prepare_refuses_a_folder_that_holds_its_input(isoglot: Isoglot, bitext: Path) -> None:
    made = ("--source-lang", "de", "--target-lang", "en", "--overwrite", "--out")
    result = isoglot("prepare", bitext, *made, bitext.parent)
    assert result.returncode == 2 and "holds the input" in result.stderr and bitext.exists()


def test_a_fifo_is_no_input_file(isoglot: Isoglot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.tsv")
    made = ("--source-lang", "de", "--target-lang", "en", "--out", tmp_path / "out")
    result = isoglot("prepare", tmp_path / "fifo.tsv", *made)
    assert (
        result.returncode == 2
        and "is not a regular file" in result.stderr
        and not (tmp_path / "out").exists()
    )


@pytest.mark.parametrize("place", ["/proc/out", "/proc/nowhere/out", "{file}/out", "{file}/deep/out"])
def test_places_that_cannot_be_made(isoglot: Isoglot, bitext: Path, place: str) -> None:
    out = place.format(file=bitext)
    languages = ("--source-lang", "de", "--target-lang", "en")
    for command in (
        ("align", bitext, "-m", "fast_align"),
        ("prepare", bitext, *languages),
        ("world", "--text", "10"),
    ):
        result = isoglot(*command, "--out", out)
        assert result.returncode == 2, command
        assert result.stderr.startswith("isoglot: ") and len(result.stderr.splitlines()) == 1, result.stderr


def test_evaluate_adds_no_rows_to_another_file(isoglot: Isoglot, tmp_path: Path, bitext: Path) -> None:
    result = isoglot(
        "evaluate", tmp_path, "--task", "tatoeba", "--languages", "de", "--data", tmp_path, "--out", bitext
    )
    assert result.returncode == 2 and "pairs.tsv:1" in result.stderr
    assert bitext.read_text(encoding="utf-8") == BITEXT


def test_standard_output_that_is_closed_or_full(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run(
        [*COMMAND, "recipes"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert closed.returncode == 2
    assert closed.stderr == "isoglot: standard output was closed before everything was written\n"
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*COMMAND, "recipes"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2 and "the disk is full" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.slow
def test_streams_that_are_closed_or_show_few_letters(tmp_path: Path, bitext: Path) -> None:
    def ended(shell: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        command = f"exec {sys.executable} -m isoglot.cli {shell}"
        return subprocess.run(
            ["/bin/sh", "-c", command],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **more},
        )

    closed = ended("recipes >&-")
    assert closed.returncode == 2 and closed.stderr == b"isoglot: standard output is closed\n"
    assert ended(f"align {bitext} -m fast_align -o links <&- >&- 2>&-").returncode == 0
    assert len((tmp_path / "links").read_text().splitlines()) == 2, "no other file had its number"
    other = bitext.with_name("other.tsv")
    other.write_text("一\tä\n", encoding="utf-8")
    shown = ended(f"align {other} -m fast_align --format words", PYTHONIOENCODING="latin-1")
    assert (shown.returncode, shown.stdout.decode()) == (0, "一|||ä\n"), "what is data is UTF-8"
    told = ended("align 一", PYTHONIOENCODING="latin-1")
    assert told.returncode == 2 and b"\\u4e00" in told.stderr and b"Traceback" not in told.stderr


@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "LOCAL_RANK"])
def test_an_environment_that_no_torchrun_set(
    isoglot: Isoglot, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "abc")
    done = isoglot("recipes")
    assert done.returncode == 2 and f"{name}=abc in the environment is not a number" in done.stderr


def test_a_name_that_is_not_utf8_is_used_or_refused_in_one_line(
    isoglot: Isoglot, bitext: Path, tmp_path: Path
) -> None:
    odd = bitext.rename(tmp_path / os.fsdecode(b"a\xff.tsv"))
    assert (
        isoglot("align", odd, "-m", "fast_align", "--out", tmp_path / os.fsdecode(b"o\xff")).returncode == 0
    )
    done = isoglot("prepare", odd, "--source-lang", "de", "--target-lang", "en", "--out", tmp_path / "made")
    assert done.returncode == 2 and "is not UTF-8" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_an_interruption_while_workers_start(tmp_path: Path, bitext: Path) -> None:
    """Twice, as an impatient user does and as `timeout` does."""
    # a shell starts background jobs with interrupts ignored, which children inherit
    listening = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from isoglot.cli import main\nmain()"
    )
    command = [sys.executable, "-c", listening, "prepare", str(bitext), "--processes", "2"]
    process = subprocess.Popen(
        [*command, "--source-lang", "de", "--target-lang", "en", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not psutil.Process(process.pid).children():
        time.sleep(0.005)
    for _ in range(2):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130) and "Traceback" not in said, said
    assert process.returncode == 0 or not (tmp_path / "out").exists()
