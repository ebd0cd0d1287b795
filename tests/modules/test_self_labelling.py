from __future__ import annotations

import pytest
import torch
from link_loops import link_sets
from pointer_world import make_batch

from isoglot.core.errors import ConfigurationError
from isoglot.modules.extraction import itermax_links, printed_links
from isoglot.modules.self_labelling import corpus_links, self_label


def test_the_sentence_that_stands_first_is_the_source_of_its_labels():
    """The released data hold each pair in both orders, and two Sinkhorn iterations are not symmetric."""
    batch, _, clean = make_batch(batch=12, seed=11)
    side_ids = batch["pair"]["side_ids"]
    swapped = torch.where(side_ids > 0, 3 - side_ids, 0)
    mixed = torch.where(torch.arange(12)[:, None] % 2 == 0, side_ids, swapped)
    sets, differing = link_sets(self_label(clean, mixed)), 0
    assert sets == link_sets(self_label(clean, side_ids)), (
        "the order in the row decides, not the side's number"
    )
    for b, found in enumerate(sets):
        first, second = ((side_ids[b] == side).nonzero().flatten() for side in (1, 2))
        if not len(second):
            assert not found
            continue
        scores = clean[b, first] @ clean[b, second].T
        kernel = scores.double().where(scores > 0, 1e-6)
        for _ in range(2):
            kernel = kernel / kernel.sum(0, keepdim=True)
            kernel = kernel / kernel.sum(1, keepdim=True)
        mask = torch.ones(1, *kernel.shape, dtype=torch.bool)
        expected = itermax_links(kernel[None], mask)[0].nonzero().tolist()
        assert found == {(int(first[i]), int(second[j])) for i, j in expected}
        rows = scores.double().where(scores > 0, 1e-6)
        for _ in range(2):
            rows = rows / rows.sum(1, keepdim=True)
            rows = rows / rows.sum(0, keepdim=True)
        differing += itermax_links(rows[None], mask)[0].nonzero().tolist() != expected
    assert differing, "the batch has a pair for which the order matters"


def test_labels_to_the_letter_are_eq_6_and_then_eq_9():
    """Rows before columns, and the plan whose columns were normalised last; then Eq. 7-9, see test_extraction."""
    batch, _, clean = make_batch(batch=12, seed=11)
    side_ids = batch["pair"]["side_ids"]
    found = link_sets(self_label(clean, side_ids, order="paper", filtering="printed"))
    usual = link_sets(self_label(clean, side_ids))
    for b, links in enumerate(found):
        first, second = ((side_ids[b] == side).nonzero().flatten() for side in (1, 2))
        plan = (clean[b, first] @ clean[b, second].T).double().clamp(min=1e-6)
        for _ in range(2):
            plan = plan / plan.sum(1, keepdim=True)
            plan = plan / plan.sum(0, keepdim=True)
        mask = torch.ones(1, *plan.shape, dtype=torch.bool)
        expected = printed_links(plan[None], mask)[0].nonzero().tolist() if len(second) else []
        assert links == {(int(first[i]), int(second[j])) for i, j in expected}
    assert found != usual


def test_a_link_past_the_input_is_refused():
    side_ids = torch.tensor([[0, 1, 1, 0, 2, 2, 2, 0]])
    with pytest.raises(ConfigurationError, match="links: position 12, but the inputs have 8 tokens"):
        corpus_links(torch.tensor([[[1, 12]]]), side_ids)


def test_the_last_of_several_links_counts():
    side_ids = torch.tensor([[0, 1, 1, 0, 2, 2, 2, 0]])
    links = corpus_links(torch.tensor([[[1, 4], [1, 6], [2, 6], [0, 5], [-1, -1]]]), side_ids)
    assert links.partners(8).tolist() == [[-1, 6, 6, -1, 1, -1, 2, -1]]
