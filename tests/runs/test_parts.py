"""Finished parts beside an output: found again, refused for other rows, and gone when the output is whole."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.runs import parts as module
from isoglot.runs.parts import BlockResult, content_of, kept_parts
from isoglot.runs.pool import WorkPool

KINDS = {
    "double": "numbers",
    "text": "texts",
    "halves": "lists of numbers",
    "vector": "vectors",
}


def found_of(rows: list[int]) -> BlockResult:
    columns = {
        "double": [math.nan if row == 3 else 2 * row + 0.1 for row in rows],
        "text": [f"row {row}" for row in rows],
        "halves": [[row / 3] * row for row in rows],
        "vector": np.array([[row, -row] for row in rows], np.float32),
    }
    return BlockResult(columns, KINDS, {"first": rows[0]})


class Work:
    """Works on blocks, and is interrupted in front of one of them."""

    def __init__(self, stop: int | None = None) -> None:
        self.done: list[int] = []
        self.stop = stop

    def __call__(self, rows: list[int]) -> BlockResult:
        if rows[0] == self.stop:
            raise KeyboardInterrupt
        self.done.append(rows[0])
        return found_of(rows)


def run(out: Path, work: Work, *, rows: int = 10, setting: int = 1, resume: bool = False) -> list[Any]:
    """Write an output from blocks of two rows."""
    with kept_parts(out, lambda: {"setting": setting}, what="test run", resume=resume) as parts:
        blocks = ([n, n + 1] for n in range(0, rows, 2))
        seen = [
            (
                list(block),
                {name: np.array(v, object).tolist() for name, v in found.columns.items()},
                found.reports,
            )
            for block, found in parts.results(blocks, work, WorkPool(1), content_of)
        ]
        out.write_text("whole")
    return seen


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each block as soon as it is done."""
    monkeypatch.setattr(module, "SECONDS_OF_WORK", 0.0)


def test_a_stopped_run_goes_on_and_finds_the_same(tmp_path: Path, at_once: None, caplog: Any) -> None:
    expected = run(tmp_path / "whole.txt", Work())
    out, stopped = tmp_path / "out.txt", Work(stop=6)
    with pytest.raises(KeyboardInterrupt):
        run(out, stopped)
    folder = tmp_path / ".out.txt.parts"
    assert f"finished parts are kept in {folder}; the same command with resume=True goes on" in caplog.text
    assert json.loads((folder / "run.json").read_text())["setting"] == 1
    again = Work()
    assert repr(run(out, again, resume=True)) == repr(expected)  # NaN is not itself
    assert (stopped.done, again.done) == ([0, 2, 4], [6, 8])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt", "whole.txt"]


def test_parts_are_neither_deleted_nor_taken_unasked(tmp_path: Path, at_once: None) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(KeyboardInterrupt):
        run(out, Work(stop=6))
    with refused(ConfigurationError, "/.out.txt.parts: ", "resume=True"):
        run(out, Work())
    with refused(ConfigurationError, "/.out.txt.parts: ", "different: setting)"):
        run(out, Work(), setting=2, resume=True)
    with kept_parts(out, lambda: {"setting": 1}, what="test run", engine="ray") as parts:
        assert parts.read(0, content_of([0, 1])) is not None  # on a cluster the same command goes on


def test_changed_rows_are_noticed_in_their_block(tmp_path: Path, at_once: None) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(KeyboardInterrupt):
        run(out, Work(stop=6))

    def changed() -> Iterator[list[int]]:
        yield [0, 1]
        yield [2, 4]

    with kept_parts(out, lambda: {"setting": 1}, what="test run", resume=True) as parts:
        results = parts.results(changed(), Work(), WorkPool(1), content_of)
        next(results)
        with refused(ConfigurationError, "/.out.txt.parts: ", "input"):
            next(results)


def in_a_thread(work: Callable[[], object]) -> None:
    """Run as the reports of workers do, in a thread that goes on afterwards."""
    done, end = threading.Event(), threading.Event()

    def report() -> None:
        work()
        done.set()
        end.wait()

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    assert done.wait(60)


def test_the_folder_of_a_run_that_was_killed_before_its_first_part_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    folder = tmp_path / ".out.txt.parts"
    folder.mkdir()
    (folder / "run.json").write_text("{}", encoding="utf-8")
    run(out, Work())  # too short to write parts itself
    assert not folder.exists()


def test_parts_that_another_thread_keeps_are_unlocked_at_the_end(tmp_path: Path, at_once: None) -> None:
    out, folder = tmp_path / "out.txt", tmp_path / ".out.txt.parts"
    for resume in (False, True):  # a new folder, and one that an earlier run has left
        with (
            pytest.raises(KeyboardInterrupt),
            kept_parts(out, dict, what="test run", resume=resume) as parts,
        ):
            in_a_thread(partial(parts.write, int(resume), "hash", found_of([0, 1])))
            raise KeyboardInterrupt
        assert [path.name for path in tmp_path.iterdir()] == [folder.name], "the lock is gone"
    assert len(list(folder.glob("*.parquet"))) == 2
    # A run that was killed before it had written its first part: its folder is there, and nothing is in it to resume.
    for file in folder.glob("*.parquet"):
        file.unlink()
    with kept_parts(out, dict, what="test run") as parts:
        in_a_thread(partial(parts.write, 0, "hash", found_of([0, 1])))
        assert len(list(folder.glob("*.parquet"))) == 1
    assert list(tmp_path.iterdir()) == []


def test_short_work_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out.txt", Work(stop=6))
    assert list(tmp_path.iterdir()) == []


def test_blocks_wait_until_they_have_taken_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out.txt", Work(stop=8))
    files = sorted(p.name for p in (tmp_path / ".out.txt.parts").glob("*.parquet"))
    assert files == ["00000000-00000003.parquet", "00000003-00000004.parquet"]


def test_standard_output_keeps_nothing(tmp_path: Path) -> None:
    with (
        refused(ConfigurationError, "resume=True", "out="),
        kept_parts("-", dict, what="run", resume=True),
    ):
        pass
    with kept_parts("-", dict, what="run") as parts:
        assert not parts.is_kept


def test_a_part_is_whole_or_not_there(tmp_path: Path, at_once: None, monkeypatch: Any, caplog: Any) -> None:
    def half(table: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pyarrow.parquet.write_table", half)
    assert len(run(tmp_path / "out.txt", Work())) == 5  # the work goes on without parts
    assert "finished parts cannot be kept" in caplog.text
    assert [p.name for p in tmp_path.rglob("*.parquet")] == []


def test_a_failed_write_costs_neither_the_run_nor_earlier_parts(
    tmp_path: Path, at_once: None, monkeypatch: Any, caplog: Any
) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(KeyboardInterrupt):
        run(out, Work(stop=6))
    folder = tmp_path / ".out.txt.parts"
    (folder / "00000000-00000001.parquet").unlink()  # the second and third block are kept

    def full(table: object, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    again = Work()
    seen = run(out, again, resume=True)
    assert "finished parts cannot be kept" in caplog.text
    assert again.done == [0, 6, 8] and [rows for rows, *_ in seen] == [[n, n + 1] for n in range(0, 10, 2)]
    assert not folder.exists(), "the output is whole"


def test_keeping_one_block_without_a_folder_or_disk_does_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    with kept_parts("-", dict, what="run") as parts:
        parts.write(0, "a", found_of([0, 1]))
        assert parts.read(0, "a") is None

    def full(table: object, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with kept_parts(tmp_path / "out.txt", dict, what="run") as parts:
        for number in range(2):
            parts.write(number, "a", found_of([number]))
        assert [parts.read(number, "a") for number in range(2)] == [None, None]
