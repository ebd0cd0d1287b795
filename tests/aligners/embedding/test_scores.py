from __future__ import annotations

import itertools

import pytest
import torch
from sentence_pairs import pairs_of

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.scores import Side, by_adjacent, score_links, word_weights
from isoglot.modules.extraction import adjacent_probabilities, adjacent_weights, pair_mask
from isoglot.modules.self_labelling import self_label
from isoglot.testing import tiny_model, tiny_tokenizer


def test_itermax_of_dot_products_takes_none_that_is_negative():
    similarity = torch.tensor([[5.0, -1.0, -1.0], [-1.0, 4.0, -2.0], [-3.0, -2.0, -1.0]])
    options = EmbeddingOptions.build(method="itermax", compare="dot")
    mask = torch.ones(1, 3, dtype=torch.bool)
    words = torch.arange(3)[None]
    sides = Side(similarity[None], mask, words), Side(torch.eye(3)[None], mask, words)
    links, probability = score_links(options, *sides, pair_mask(mask, mask))
    assert links[0].nonzero().tolist() == [
        [0, 0],
        [1, 1],
        [2, 2],
    ]  # discounted as it is, (0, 2) would bar (2, 2)
    assert (probability[0] > 0).all()


def test_word_weights_add_up_over_the_other_words_pieces_and_are_averaged_over_the_own():
    generator = torch.Generator().manual_seed(3)
    forward, backward = torch.rand(2, 2, 5, 4, generator=generator) / 20  # of no more than 1 in all
    source = torch.tensor([[0, 0, 1, 3, -1], [0, 1, 1, 1, 2]])  # word 2 of the first has no piece
    target = torch.tensor([[0, 1, 1, -1], [2, 2, 0, 1]])
    found = word_weights(forward, backward, source, target)
    for b in range(2):
        for i in range(5):
            for j in range(4):
                w, v = source[b, i].item(), target[b, j].item()
                own = [k for k in range(5) if source[b, k] == w and w >= 0]
                other = [k for k in range(4) if target[b, k] == v and v >= 0]
                cells = [(k, m) for k in own for m in other]
                for matrix, result, count in (
                    (forward, found[0], len(own)),
                    (backward, found[1], len(other)),
                ):
                    naive = sum(matrix[b, k, m].item() for k, m in cells) / max(1, count)
                    assert result[b, i, j].item() == pytest.approx(naive, rel=1e-5)


def test_neighbours_are_words_and_not_pieces():
    generator = torch.Generator().manual_seed(5)
    source = torch.tensor([[0, 0, 1, 3, 3, -1], [-1, 2, -1, 2, 4, -1], [-1, -1, -1, -1, -1, -1]])
    target = torch.tensor([[0, 1, 1, -1, -1], [0, 1, 2, 2, 5], [0, 0, 1, -1, -1]])
    weights = torch.rand(2, 3, 6, 5, generator=generator)
    pieces = word_weights(weights[0] / 20, weights[1] / 20, source, target)
    found = by_adjacent(*pieces, source, target, bonus=2.0)
    for b in range(2):
        rows, columns = (sorted(set(words[b].tolist()) - {-1}) for words in (source, target))
        first = [
            [words[b].tolist().index(w) for w in own] for words, own in ((source, rows), (target, columns))
        ]
        forward, backward = (matrix[b][first[0]][:, first[1]] for matrix in pieces)
        forward = adjacent_weights(forward[None])[0]
        backward = adjacent_weights(backward.T[None])[0].T
        probability = adjacent_probabilities((forward * backward).sqrt()[None], 2.0)[0]
        for matrix, own in zip(found, (forward, backward, probability), strict=True):
            for i, w in enumerate(source[b].tolist()):
                for j, v in enumerate(target[b].tolist()):
                    expected = own[rows.index(w), columns.index(v)].item() if min(w, v) >= 0 else 0.0
                    assert matrix[b, i, j].item() == pytest.approx(expected, rel=1e-5)
    assert all(not matrix[2].any() for matrix in found)  # a side without words


def test_optimal_transport_without_a_floor():
    """Links of the released aligner: rows of π and columns of ξ, made of dot products of either sign."""
    model, tokenizer, pairs = tiny_model("bert").double(), tiny_tokenizer("bert"), pairs_of(30)
    aligner = EmbeddingAligner(
        model, tokenizer=tokenizer, method="ot", encode="separate", epsilon=None, layer=1
    )
    differing = 0
    for (source, target), found in zip(pairs, aligner.align_pairs(pairs), strict=True):
        states, owners = [], []
        for words in (source, target):
            cut = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
            ids = [tokenizer.cls_token_id, *itertools.chain(*cut), tokenizer.sep_token_id]
            with torch.no_grad():
                output = model.base_model(torch.tensor([ids]), output_hidden_states=True)
            states.append(output.hidden_states[1][0, 1:-1])
            owners.append([number for number, pieces in enumerate(cut) for _ in pieces])
        plan = scores = states[0] @ states[1].T
        for _ in range(2):
            columns = plan / plan.sum(0, keepdim=True)
            plan = columns / columns.sum(1, keepdim=True)
        links = {(i, j) for i, j in enumerate(plan.argmax(1).tolist())}
        links &= {(i, j) for j, i in enumerate(columns.argmax(0).tolist())}
        assert found.links == sorted({(owners[0][i], owners[1][j]) for i, j in links})
        assert all(0 <= p <= 1 for p in found.probabilities)
        differing += bool((scores < 0).any())
    assert differing


@pytest.mark.parametrize("order", ["official", "paper"])
@pytest.mark.parametrize("links", ["itermax", "printed", "intersection"])
def test_optimal_transport_reads_the_plan_that_self_labelling_reads(order, links):
    """Both orders of the normalisations: the plan is the matrix of the last half-step."""
    generator = torch.Generator().manual_seed(4)
    states = torch.randn(20, 13, 6, generator=generator)
    side_ids = torch.tensor([0, *[1] * 5, 0, *[2] * 5, 0]).expand(20, -1)
    options = EmbeddingOptions.build(method="ot", order=order, links=links)
    mask = torch.ones(20, 5, dtype=torch.bool)
    words = torch.arange(5).expand(20, 5)
    sides = Side(states[:, 1:6], mask, words), Side(states[:, 7:12], mask, words)
    found, _ = score_links(options, *sides, pair_mask(mask, mask))
    rows, source, target = found.nonzero(as_tuple=True)
    own = self_label(states, side_ids, order=order, filtering=links).tensors()
    assert torch.equal(torch.stack(own), torch.stack([rows, 1 + source, 7 + target]))
