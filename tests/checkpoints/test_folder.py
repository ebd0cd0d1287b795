"""What is said of a checkpoint that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.checkpoints.folder import checkpoint_folder, checkpoints_of
from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError


def test_a_folder_of_runs_stands_for_its_checkpoints(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place in ("layer=10/checkpoint", "layer=4/checkpoint", "plain"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").write_text("{}")
    (tmp_path / "best").symlink_to(tmp_path / "layer=4")
    names = [Path(found).name for found in checkpoints_of(tmp_path)]
    assert names == ["best", "layer=10", "plain"], "layer=4 is listed once"
    assert not caplog.records
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "run.json").write_text("{}")
    assert len(checkpoints_of(tmp_path)) == 3
    assert "1 runs have no checkpoint and are left out" in caplog.text


def test_the_home_folder_of_an_unknown_user_does_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="~nosuchuser/x: does not exist"):
        checkpoint_folder("~nosuchuser/x")
    assert checkpoints_of("~nosuchuser/x") == ["~nosuchuser/x"]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError(
            "unable to mmap 302199472 bytes from file <model.safetensors>: Cannot allocate memory (12)"
        ),
    ],
)
def test_memory_that_runs_out_is_no_damaged_file(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)), reading(tmp_path, "model.safetensors"):
        raise error
    with pytest.raises(ConfigurationError, match="restore the file"), reading(tmp_path, "config.json"):
        raise RuntimeError("invalid header")


def test_a_link_to_a_folder_above_is_not_followed(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "seed-1").mkdir(parents=True)
        (tmp_path / name / "seed-1" / "config.json").write_text("{}")
    (tmp_path / "a" / "up").symlink_to("..")
    assert checkpoints_of(tmp_path) == [tmp_path / "a" / "seed-1", tmp_path / "b" / "seed-1"]
