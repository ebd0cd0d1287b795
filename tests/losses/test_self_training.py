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
    assert SelfTraining().count_items(link_matrix(ids, *masks)) == 1


def test_a_link_whose_probability_is_no_float_has_its_loss_and_gradient() -> None:
    query = torch.tensor([[[100.0, 0.0], [0.0, 1.0]]], requires_grad=True)
    key = torch.tensor([[[2.0, 0.0], [-2.0, 1.0]]], requires_grad=True)
    every = torch.ones(1, 2, dtype=torch.bool)
    masks, links = (every, every), torch.tensor([[[False, True], [False, False]]])
    found = SelfTraining(loss="likelihood").measure(query, key, *masks, links).total
    sides = [side.detach().double().requires_grad_() for side in (query, key)]
    scores = sides[0][0] @ sides[1][0].T  # the linked pieces score 400 less than the best
    expected = -scores.log_softmax(1)[0, 1] - scores.log_softmax(0)[0, 1]
    torch.testing.assert_close(found.double(), expected)
    for one, other in zip(
        torch.autograd.grad(found, (query, key)), torch.autograd.grad(expected, sides), strict=True
    ):
        torch.testing.assert_close(one.double(), other)


def test_the_threshold_in_use_is_an_option_that_can_be_given_again() -> None:
    dot, cosine = SelfTraining(), SelfTraining(compare="cosine")
    assert (dot.threshold, cosine.threshold) == (0.001, None)
    assert SelfTraining(compare="dot", threshold=dot.threshold).threshold == dot.threshold
    assert SelfTraining(compare="cosine", threshold=cosine.threshold).threshold is None


def test_links_of_padding_do_not_count() -> None:
    states, masks = torch.randn(1, 2, 4), (torch.tensor([[True, True]]), torch.tensor([[True, False]]))
    links = torch.tensor([[[True, True], [False, True]]])
    found = [
        SelfTraining(loss="likelihood").measure(states, states, *masks, own)
        for own in (links, links & masks[1][:, None])
    ]
    assert found[0].total == found[1].total and found[0].count == found[1].count
