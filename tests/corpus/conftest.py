"""Chunks so small that a short file has many."""

from __future__ import annotations

import pytest

from isoglot.formats.line_files import LineFile


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of ten lines."""
    monkeypatch.setattr(LineFile.take, "__defaults__", (10, 1 << 20))
