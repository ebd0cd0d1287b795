from __future__ import annotations

import pytest
import torch

from isoglot.errors import ConfigurationError
from isoglot.losses import (
    DenoisingWordAlignment,
)


def test_queries_that_are_drawn_need_the_pair() -> None:
    loss = DenoisingWordAlignment(4, queries="all_aligned")
    side_ids = torch.tensor([[0, 1, 2, 0]])
    with pytest.raises(ConfigurationError, match="all_aligned needs input_ids"):
        loss(torch.randn(1, 4, 4), side_ids, torch.tensor([[[1, 2]]]))
