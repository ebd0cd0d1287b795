"""What is said of a checkpoint that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError


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
