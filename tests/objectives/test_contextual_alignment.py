"""Cao et al.'s word distance and its anchor, against loops over links and words."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from isoglot.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.objectives.anchor import AnchorObjective
from isoglot.objectives.contextual_alignment import ContextualAlignmentObjective
from isoglot.testing import tiny_model


@pytest.fixture
def model():
    return tiny_model("bert").eval()


def make_batch(*, seed=0):
    """Two pairs; words are numbered from 1, special tokens and padding have 0."""
    generator = torch.Generator().manual_seed(seed)
    word_ids = {
        "query": torch.tensor([[0, 1, 2, 2, 3, 0], [0, 1, 1, 2, 0, 0]]),
        "key": torch.tensor([[0, 1, 1, 2, 3, 4, 0], [0, 1, 2, 3, 3, 0, 0]]),
    }
    lengths = {"query": [6, 5], "key": [7, 6]}
    view = {}
    for side, ids in word_ids.items():
        view[f"{side}_input_ids"] = torch.randint(5, 90, ids.shape, generator=generator)
        mask = torch.arange(ids.size(1))[None] < torch.tensor(lengths[side])[:, None]
        view[f"{side}_attention_mask"] = mask.long()
        view[f"{side}_word_ids"] = ids
    # First pair: word 1-1 (two key pieces), word 2-2, and word 3 with two words (not one-to-one).
    view["link_ids"] = torch.tensor(
        [
            [[1, 1], [1, 2], [2, 3], [3, 3], [4, 4], [4, 5]],
            [[3, 4], [-1, -1], [-1, -1], [-1, -1], [-1, -1], [-1, -1]],
        ]
    )
    view["query_is_pivot_mask"] = torch.tensor([1, 1])
    return {"sentences": view}


def linked_words(one_to_one):
    first = [(0, 1, 1), (0, 2, 2)] if one_to_one else [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 3, 4)]
    return [*first, (1, 2, 3)]


def vector(hidden, word_ids, row, word, pooling):
    positions = (word_ids[row] == word).nonzero().flatten()
    if pooling == "mean":
        return hidden[row, positions].mean(0)
    return hidden[row, positions[-1 if pooling == "last" else 0]]


@pytest.mark.parametrize("pooling", ["last", "first", "mean"])
@pytest.mark.parametrize("one_to_one", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_distance_equals_a_loop_over_links(model, pooling, one_to_one, reduction):
    batch = make_batch()
    objective = ContextualAlignmentObjective(
        model, pooling=pooling, one_to_one=one_to_one, reduction=reduction
    )
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    view = batch["sentences"]
    query, key = encodings.last("sentences", "query"), encodings.last("sentences", "key")
    pairs = [
        (
            vector(query, view["query_word_ids"], row, a, pooling),
            vector(key, view["key_word_ids"], row, b, pooling),
        )
        for row, a, b in linked_words(one_to_one)
    ]
    for row, (q_end, k_end) in enumerate([(5, 6), (4, 5)]):
        pairs += [(query[row, 0], key[row, 0]), (query[row, q_end], key[row, k_end])]
    reduce = torch.mean if reduction == "mean" else torch.sum
    expected = torch.stack([reduce((a - b) ** 2) for a, b in pairs]).sum()
    torch.testing.assert_close(output.total, expected, rtol=1e-5, atol=1e-5)
    assert int(output.count) == len(pairs) == int(objective.count(batch))
    assert encodings.forwards == 2


def test_equal_words_are_left_out(model):
    batch = make_batch()
    view = batch["sentences"]
    before = int(ContextualAlignmentObjective(model).count(batch))
    view["key_input_ids"][0, 3] = 50  # key word 2 of the first pair has one piece …
    view["query_input_ids"][0, 2:4] = 50  # … the query's two: not equal
    assert int(ContextualAlignmentObjective(model).count(batch)) == before
    view["query_input_ids"][1, 3], view["query_word_ids"][1] = 60, torch.tensor([0, 1, 1, 2, 0, 0])
    view["key_input_ids"][1, 3:5] = 60
    view["key_word_ids"][1] = torch.tensor([0, 1, 2, 3, 4, 0, 0])
    assert int(ContextualAlignmentObjective(model).count(batch)) == before - 1
    assert int(ContextualAlignmentObjective(model, drop_identical=False).count(batch)) == before


def test_without_links_and_specials_the_loss_is_zero_and_connected(model):
    batch = make_batch()
    batch["sentences"]["link_ids"] = torch.full((2, 1, 2), -1)
    output = ContextualAlignmentObjective(model, special_tokens=False)(Encodings(model, batch), batch)
    assert float(output.total.detach()) == 0.0
    assert int(output.count) == 0
    output.total.backward()


def test_padding_changes_nothing(model):
    batch = make_batch()
    wider = {
        key: nn.functional.pad(value, (0, 0, 0, 1), value=-1)
        if key == "link_ids"
        else (nn.functional.pad(value, (0, 3)) if value.dim() == 2 else value)
        for key, value in batch["sentences"].items()
    }
    for objective in (ContextualAlignmentObjective(model), AnchorObjective(model)):
        outputs = [objective(Encodings(model, b), b) for b in (batch, {"sentences": wider})]
        torch.testing.assert_close(outputs[0].total, outputs[1].total, rtol=1e-4, atol=1e-5)
        assert int(outputs[0].count) == int(outputs[1].count)


def test_anchor_is_zero_at_the_start_and_a_loop_later(model):
    batch = make_batch()
    objective = AnchorObjective(model)
    assert float(objective(Encodings(model, batch), batch).total.detach()) == pytest.approx(0.0, abs=1e-8)
    before = Encodings(model, batch).last("sentences", "query").detach()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    now, ids = encodings.last("sentences", "query"), batch["sentences"]["query_word_ids"]
    expected, words = torch.zeros(()), 0
    for row in range(2):
        for word in sorted(set(ids[row].tolist()) - {0}):
            difference = vector(now, ids, row, word, "last") - vector(before, ids, row, word, "last")
            expected = expected + (difference**2).mean()
            words += 1
    torch.testing.assert_close(output.total, expected, rtol=1e-4, atol=1e-5)
    assert int(output.count) == words == int(objective.count(batch))


def test_anchor_copy_is_frozen_saved_and_without_dropout(model):
    objective = AnchorObjective(model).train()
    assert not any(p.requires_grad for p in objective.parameters())
    assert not any(m.training for m in objective.initial.modules())
    assert any(k.startswith("initial.") for k in objective.state_dict())


def test_mistakes_are_named(model):
    batch = make_batch()
    with pytest.raises(ConfigurationError, match=r"key side .* holds another language than its pivot"):
        AnchorObjective(model, side="key")(Encodings(model, batch), batch)
    batch["sentences"]["query_is_pivot_mask"] = torch.tensor([1, 0])
    with pytest.raises(ConfigurationError, match=r"another language.*source_is_query"):
        AnchorObjective(model)(Encodings(model, batch), batch)
    batch["sentences"]["query_is_pivot_mask"] = torch.tensor([0, 0])  # order: target_is_query
    assert int(AnchorObjective(model, side="key")(Encodings(model, batch), batch).count) > 0
    del batch["sentences"]["link_ids"]
    with pytest.raises(ConfigurationError, match=r"no word links.*isoglot align"):
        ContextualAlignmentObjective(model)(Encodings(model, batch), batch)
    with pytest.raises(ConfigurationError, match="pooling: 'middle' given; known: first, last, mean"):
        ContextualAlignmentObjective(model, pooling="middle")
