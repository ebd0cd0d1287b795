"""Where links are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isoglot.aligners.files.output import write_lines
from isoglot.errors import ConfigurationError


def test_a_folder_in_place_of_the_file_is_told_before_the_work(tmp_path: Path) -> None:
    began = False

    def work() -> Iterator[Any]:
        nonlocal began
        began = True
        yield from ()

    with pytest.raises(ConfigurationError, match=r"is a folder.*name a file"):
        write_lines(work(), tmp_path, name="pharaoh", base=0, reverse=False)
    assert not began and not list(tmp_path.iterdir())
