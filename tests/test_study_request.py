"""Cells and the part of the encoders are told apart, and one part is selected at most."""

from __future__ import annotations

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.study_request import part_and_cells


def test_texts_of_only_are_a_part_and_patterns() -> None:
    assert part_and_cells([]) == ((1, 1), [])
    assert part_and_cells(["2/8", "XLM*:pos.*"]) == ((2, 8), ["XLM*:pos.*"])


@pytest.mark.parametrize("texts", [["2/8", "3/8"], ["1/1", "2/8"]])
def test_a_second_part_is_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="another part is selected already"):
        part_and_cells(texts)
