from __future__ import annotations

import torch

from isoglot.losses import (
    SelfTraining,
    link_matrix,
)


def test_links_become_a_matrix_of_pieces() -> None:
    ids = torch.tensor([[[1, 2], [2, 0], [-1, -1]]])
    masks = torch.tensor([[False, True, True]]), torch.tensor([[False, True, True]])
    assert link_matrix(ids, *masks).nonzero().tolist() == [[0, 1, 2]], "position 0 is a special token"
    assert SelfTraining().items(link_matrix(ids, *masks)) == 1
