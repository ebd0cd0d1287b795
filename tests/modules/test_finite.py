from __future__ import annotations

import pytest
import torch
from refusals import refused

from isoglot.core.errors import IsoglotError
from isoglot.modules.finite import all_finite, non_finite, require_finite


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_one_value_is_found_wherever_it_is(dtype: torch.dtype, value: float) -> None:
    for place in range(6):
        values = torch.arange(6, dtype=dtype)
        assert all_finite(values)
        values[place] = value
        assert not all_finite(values.view(2, 3))
        with refused(IsoglotError, "states: NaN", 'precision="float32"'):
            require_finite(values, "states")


def test_no_values_and_whole_numbers_are_fine() -> None:
    assert (
        all_finite(torch.zeros(0))
        and all_finite(torch.arange(3))
        and all_finite(torch.ones(2, dtype=torch.bool))
    )
    assert non_finite([("a", torch.zeros(2)), ("b", torch.tensor([torch.nan]))]) == ["b"]
