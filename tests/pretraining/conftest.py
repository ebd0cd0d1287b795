"""A small world with the data of every recipe, one per module that trains on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recipe_world import build_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in build_world(folder).items():
            patch.setenv(name, value)
        yield folder
