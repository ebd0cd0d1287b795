"""Cao et al.'s word distance and its anchor, against loops over links and words."""

from __future__ import annotations

import pytest
import torch
from refusals import refused
from torch import nn
from word_pairs import linked_sentences, word_vector

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.objectives.anchor import AnchorObjective
from isoglot.objectives.contextual_alignment import ContextualAlignmentObjective
from isoglot.testing import tiny_model


@pytest.fixture
def model():
    return tiny_model("bert").eval()


def linked_words(one_to_one):
    first = [(0, 1, 1), (0, 2, 2)] if one_to_one else [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 3, 4)]
    return [*first, (1, 2, 3)]


@pytest.mark.parametrize("pooling", ["last", "first", "mean"])
@pytest.mark.parametrize("one_to_one", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_distance_equals_a_loop_over_links(model, pooling, one_to_one, reduction):
    batch = linked_sentences()
    objective = ContextualAlignmentObjective(
        model, pooling=pooling, one_to_one=one_to_one, reduction=reduction
    )
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    view = batch["sentences"]
    query, key = encodings.last("sentences", "query"), encodings.last("sentences", "key")
    pairs = [
        (
            word_vector(query, view["query_word_ids"], row, a, pooling),
            word_vector(key, view["key_word_ids"], row, b, pooling),
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
    batch = linked_sentences()
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


def test_contextual_alignment_without_links_and_specials_is_zero_and_connected(model):
    batch = linked_sentences()
    batch["sentences"]["link_ids"] = torch.full((2, 1, 2), -1)
    output = ContextualAlignmentObjective(model, special_tokens=False)(Encodings(model, batch), batch)
    assert float(output.total.detach()) == 0.0
    assert int(output.count) == 0
    output.total.backward()


def test_padding_changes_nothing(model):
    batch = linked_sentences()
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


def test_mistakes_are_named(model):
    batch = linked_sentences()
    with refused(ConfigurationError, "anchor: the key side ", "'sentences'", "pivot", "`side: query`"):
        AnchorObjective(model, side="key")(Encodings(model, batch), batch)
    batch["sentences"]["query_is_pivot_mask"] = torch.tensor([1, 0])
    with refused(
        ConfigurationError, "anchor: the query side ", "'sentences'", "pivot", "`order: source_is_query`"
    ):
        AnchorObjective(model)(Encodings(model, batch), batch)
    batch["sentences"]["query_is_pivot_mask"] = torch.tensor([0, 0])  # order: target_is_query
    assert int(AnchorObjective(model, side="key")(Encodings(model, batch), batch).count) > 0
    del batch["sentences"]["link_ids"]
    with refused(ConfigurationError, "'sentences'", "word links", "isoglot align", "`kind: aligned`"):
        ContextualAlignmentObjective(model)(Encodings(model, batch), batch)
    with refused(ConfigurationError, "pooling: ", "'middle'", "first, last, mean"):
        ContextualAlignmentObjective(model, pooling="middle")
