"""Two processes do not work on one folder or file at the same time."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.runs.lock import locked, occupied

HOLD = """
import sys
from isoglot.runs.lock import locked, occupied
with {how}(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(path: Path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(how=how), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_lock_refuses_who_may_not_wait_and_is_freed_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    other = holder(path, "locked")
    with refused(ConfigurationError, "a.txt: ", "`out`"), locked(path, wait=False):
        pass
    other.kill()
    other.communicate()
    with locked(path, wait=False):
        assert [p.name for p in tmp_path.iterdir()] == [".a.txt.lock"]
    assert not list(tmp_path.iterdir())


def test_lock_says_that_it_waits_and_is_given(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.txt"
    other = holder(path, "locked")

    class End(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert "waiting for another process" in record.getMessage()
            assert other.stdin is not None
            other.stdin.write("\n")
            other.stdin.flush()

    logger, end = logging.getLogger("isoglot.runs.lock"), End()
    logger.addHandler(end)
    try:
        with locked(path):
            assert other.wait(timeout=30) == 0
    finally:
        logger.removeHandler(end)
        other.communicate(timeout=30)  # closes its pipes
    assert "waiting for another process" in caplog.text and not list(tmp_path.iterdir())


def test_a_place_without_files_is_not_waited_for() -> None:
    with refused(ConfigurationError, "/proc/out "), locked("/proc/out"):
        pass


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / ".a.lock").symlink_to(tmp_path / "theirs")
    with refused(ConfigurationError, "/.a.lock: ", "link"), locked(tmp_path / "a"):
        pass
    assert not (tmp_path / "theirs").exists()


def test_the_same_thread_enters_twice(tmp_path: Path) -> None:
    with locked(tmp_path / "a"), locked(tmp_path / "b" / ".." / "a", wait=False):
        assert [p.name for p in tmp_path.iterdir()] == [".a.lock"]
    assert not list(tmp_path.iterdir())


def test_a_folder_is_made_and_goes_if_it_stays_empty(tmp_path: Path) -> None:
    with occupied(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with occupied(tmp_path / "old"), occupied(tmp_path / "full"):
        (tmp_path / "full" / "a").touch()
    assert (tmp_path / "old").is_dir() and [p.name for p in (tmp_path / "full").iterdir()] == ["a"]


def test_an_output_called_run_is_named_itself(tmp_path: Path) -> None:
    other = holder(tmp_path / "run", "locked")
    with refused(ConfigurationError, "/run: ", "`out`"), locked(tmp_path / "run", wait=False):
        pass
    other.communicate("\n", timeout=30)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    other = holder(tmp_path / "run", "occupied")
    with (
        refused(ConfigurationError, "/run: ", "`out`"),
        occupied(tmp_path / "run"),
    ):
        pass
    other.communicate("\n", timeout=30)
    assert not (tmp_path / "run").exists()
