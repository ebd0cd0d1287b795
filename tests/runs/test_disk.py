"""A full disk is recognised however a library words it."""

from __future__ import annotations

import errno
import gc
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from refusals import refused
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from isoglot.core.errors import ConfigurationError, DiskError
from isoglot.corpus.open_corpus import Spool
from isoglot.results.rows import Result, append
from isoglot.runs.disk import disk_problem
from isoglot.runs.files import whole_file, whole_path


def test_disk_errors_that_count_as_full_or_broken() -> None:
    assert disk_problem(OSError(errno.ENOSPC, "x")) == "the disk is full"
    assert disk_problem(OSError(errno.EIO, "x")) == "the disk reports an input/output error"
    assert disk_problem(RuntimeError("PytorchStreamWriter failed writing file data/3: file write failed"))
    wrapped = RuntimeError("saving failed")
    wrapped.__cause__ = OSError(errno.EDQUOT, "quota")
    assert disk_problem(wrapped) == "your disk quota is used up"
    assert disk_problem(OSError(errno.EACCES, "x")) is None
    for text in ("I/O error: whatever (os error 27)", "[Errno 27] Error writing bytes", "x: (errno: 27)"):
        assert "ulimit -f" in str(disk_problem(RuntimeError(text)))
    assert disk_problem(RuntimeError("size mismatch")) is None
    assert disk_problem(ConfigurationError("the file says: No space left on device")) is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB, where this process may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("only root mounts a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def _texts(path: Path) -> None:
    path.write_text("x" * 2_000_000)


def _tokenizer(path: Path) -> None:
    Tokenizer(WordLevel({f"word-{n}": n for n in range(60_000)}, unk_token="word-0")).save(str(path))


WRITERS: dict[str, Callable[[Path], object]] = {
    "text": _texts,
    "torch": lambda path: torch.save(torch.ones(500_000), path),
    "safetensors": lambda path: save_file({"a": torch.ones(500_000)}, path),
    "safetensors.numpy": lambda path: save_numpy({"a": np.ones(500_000)}, path),
    "parquet": lambda path: pq.write_table(pa.table({"a": np.random.default_rng(1).random(200_000)}), path),
    "numpy": lambda path: np.ones(500_000).tofile(path),
    "tokenizers": _tokenizer,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_on_a_full_disk_ends_in_one_line(small_disk: Path, writer: str) -> None:
    path = small_disk / "out"
    with (
        refused(DiskError, "small/out: ", "TMPDIR=FOLDER"),
        whole_path(path) as p,
    ):
        WRITERS[writer](p)
    assert not list(small_disk.iterdir())


def test_results_are_added_whole_or_not_at_all(small_disk: Path) -> None:
    path = small_disk / "results.jsonl"
    row = Result(run="r", task="t", language="de", metric="m", value=1.0, examples=1)
    append(path, [row])
    with refused(DiskError, "small/results.jsonl: ", "TMPDIR=FOLDER"):
        append(path, [row] * 5_000)
    assert path.read_text() == row.model_dump_json() + "\n"
    path.unlink()


def test_temporary_items_on_a_full_disk_are_one_error(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    with refused(DiskError, "/small: ", "TMPDIR=FOLDER"):
        Spool("x" * 1000 for _ in range(1000))
    gc.collect()  # a second failure would be an unraisable one, which is an error in these tests
    whole_file_of = tmp_path / "out"
    with pytest.raises(DiskError, match=r"another disk, and run again"), whole_file(whole_file_of):
        raise OSError(errno.ENOSPC, "x")


def test_errors_of_another_kind_pass(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="something else"), whole_file(tmp_path / "a"):
        raise ValueError("something else")
