"""WEAM's cross-lingual prediction against its equations, written with loops and a full matrix."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from refusals import refused
from torch import nn
from word_exchange_loops import linked_pairs, swapped_states

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.modules.masked_lm_head import masked_lm_head
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.objectives.word_exchange import WordExchangeObjective
from isoglot.testing import tiny_model
from isoglot.training.model import AlignmentModel


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert").eval()


@pytest.mark.parametrize("head", ["bert", "literal"])
@pytest.mark.parametrize("many", ["sum", "mean"])
def test_loss_equals_the_equations(model, head, many):
    torch.manual_seed(0)
    objective = WordExchangeObjective(model, head=head, many=many, init="normal", divide_by="linked")
    batch = linked_pairs(model)
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    states, items = swapped_states(encodings.last("pair"), batch, many, "exclude")
    table = model.get_input_embeddings().weight
    total = torch.zeros(())
    for state, item in zip(states, items, strict=True):
        moved = objective.exchange_dense(state)
        if head == "bert":
            copy = objective.transform
            logits = copy(moved[None])[0] @ table.T + objective.bias
        else:
            gelu = nn.functional.gelu(objective.transform.dense(moved))
            logits = objective.transform.linear(gelu) @ table.T
        total = total - torch.log_softmax(logits, -1)[batch["pair"]["labels"].flatten()[item]]
    assert int(output.count) == len(items) > 0
    torch.testing.assert_close(output.total, total, rtol=1e-4, atol=1e-4)
    assert int(objective.count(batch)) == len(items)


@pytest.mark.parametrize(("divide_by", "items"), [("masked", 8), ("linked", 4)])
def test_word_exchange_divides_both_losses_by_the_masked_tokens(model, divide_by, items):
    """Eq. 10: L_cp = −(1/M) Σ log p, with M that of L_mp; golden: uniform predictions, M = 8, four of them linked."""
    labels = torch.full((2, 9), -100)
    labels[0, 1:6], labels[1, 2:5] = 7, 9
    links = torch.tensor([[[1, 7], [2, 8]], [[3, 6], [4, 6]]])
    ids = torch.full((2, 9), 5)
    batch = {
        "pair": {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "labels": labels,
            "link_ids": links,
        }
    }
    uniform = copy.deepcopy(model)
    with torch.no_grad():
        uniform.get_input_embeddings().weight.zero_()
        uniform.cls.predictions.bias.zero_()
    vocabulary = uniform.config.vocab_size
    losses = {
        "masked_lm": MaskedLMObjective(uniform),
        "word_exchange": WordExchangeObjective(uniform, divide_by=divide_by),
    }
    combined = AlignmentModel(uniform, losses, {"word_exchange": 0.5})
    outputs = combined(batch, counts=combined.step_counts([batch], lambda local: local))
    assert int(outputs["counts"]["masked_lm"]) == 8
    assert int(outputs["counts"]["word_exchange"]) == int(losses["word_exchange"].count(batch)) == items
    naive = sum(
        math.log(vocabulary)
        * (1 / 8 + (0.5 / items if any(p in link for link in links[b].tolist()) else 0.0))
        for b in range(2)
        for p in range(9)
        if labels[b, p] >= 0
    )
    golden = math.log(vocabulary) * (1 + 0.5 * 4 / items)
    assert (
        float(outputs["loss"].detach()) == pytest.approx(naive, rel=1e-5) == pytest.approx(golden, rel=1e-5)
    )


def test_the_sum_over_all_tokens_has_one_divisor(model):
    with refused(
        ConfigurationError, "word_exchange: unaligned=literal ", "divide_by=linked ", "divide_by: masked"
    ):
        WordExchangeObjective(model, unaligned="literal", divide_by="linked")


def test_starts_as_swap_and_predict(model):
    """With W2 the identity and a copied head, the first prediction is the model's own head on the other word."""
    objective = WordExchangeObjective(model)
    hidden = torch.randn(4, 32)
    head = masked_lm_head(model)
    torch.testing.assert_close(objective.transform(objective.exchange_dense(hidden)), head.transform(hidden))
    prediction = MaskedLMObjective(model, head="literal")
    for share_linear in (False, True):
        objective = WordExchangeObjective(model, head="literal", share_linear=share_linear)
        assert torch.equal(
            objective.transform(objective.exchange_dense(hidden)), prediction.transform(hidden)
        )
        assert objective.transform.dense.weight is not prediction.transform.dense.weight


def test_word_exchange_without_links_is_zero_and_connected(model):
    batch = linked_pairs(model)
    batch["pair"]["link_ids"] = torch.full((3, 1, 2), -1)
    objective = WordExchangeObjective(model)
    output = objective(Encodings(model, batch), batch)
    assert output.total.item() == 0.0
    assert int(output.count) == int((batch["pair"]["labels"] >= 0).sum()) > 0
    output.total.backward()
    assert objective.exchange_dense.weight.grad is not None
    assert float(objective.exchange_dense.weight.grad.abs().sum()) == 0.0


def test_swapping_the_sides_of_the_links_changes_nothing(model):
    batch = linked_pairs(model)
    objective = WordExchangeObjective(model)
    before = objective(Encodings(model, batch), batch)
    batch["pair"]["link_ids"] = batch["pair"]["link_ids"].flip(-1)
    after = objective(Encodings(model, batch), batch)
    torch.testing.assert_close(before.total, after.total)


def test_padding_and_batch_split_change_nothing(model):
    batch = linked_pairs(model)
    objective = WordExchangeObjective(model)
    whole = objective(Encodings(model, batch), batch)
    parts = []
    for row in range(3):
        part = {"pair": {k: v[row : row + 1] for k, v in batch["pair"].items()}}
        padded = {
            "input_ids": nn.functional.pad(part["pair"]["input_ids"], (0, 4)),
            "attention_mask": nn.functional.pad(part["pair"]["attention_mask"], (0, 4)),
            "labels": nn.functional.pad(part["pair"]["labels"], (0, 4), value=-100),
            "link_ids": nn.functional.pad(part["pair"]["link_ids"], (0, 0, 0, 2), value=-1),
        }
        parts.append(objective(Encodings(model, {"pair": padded}), {"pair": padded}))
    assert int(whole.count) == sum(int(p.count) for p in parts)
    torch.testing.assert_close(whole.total, torch.stack([p.total for p in parts]).sum(), rtol=1e-4, atol=1e-4)


def test_literal_unaligned_counts_every_masked_token(model):
    batch = linked_pairs(model)
    objective = WordExchangeObjective(model, unaligned="literal")
    output = objective(Encodings(model, batch), batch)
    assert int(output.count) == int((batch["pair"]["labels"] != -100).sum()) == int(objective.count(batch))


def test_gradients_reach_encoder_embeddings_and_own_head(model):
    batch = linked_pairs(model)
    objective = WordExchangeObjective(model)
    model.zero_grad()
    objective(Encodings(model, batch), batch).loss.backward()
    assert all(float(p.grad.abs().sum()) > 0 for p in objective.parameters())
    assert float(model.get_input_embeddings().weight.grad.abs().sum()) > 0
    # The multilingual prediction's own transform is another module: nothing reaches it.
    assert model.cls.predictions.transform.dense.weight.grad is None
    model.zero_grad()


def test_shared_linear_is_one_module(model):
    one = WordExchangeObjective(model, head="literal", share_linear=True)
    two = WordExchangeObjective(model, head="literal", share_linear=True)
    assert one.transform.linear is two.transform.linear
    assert one.transform.dense is not two.transform.dense
    assert WordExchangeObjective(model, head="literal").transform.linear is not one.transform.linear


def test_the_literal_linear_is_that_of_the_multilingual_prediction(model):
    batch = linked_pairs(model)
    prediction = MaskedLMObjective(model, head="literal")
    shared = WordExchangeObjective(model, head="literal", share_linear=True)
    apart = WordExchangeObjective(model, head="literal")
    for exchanged, reaches in ((shared, True), (apart, False)):
        prediction.zero_grad()
        exchanged(Encodings(model, batch), batch).loss.backward()
        grad = prediction.transform.linear.weight.grad
        assert (grad is not None and float(grad.abs().sum()) > 0) == reaches
        assert prediction.transform.dense.weight.grad is None
    model.zero_grad()


@pytest.mark.parametrize("unaligned", ["exclude", "literal"])
def test_the_aligned_metric_is_the_share_of_masked_tokens_with_a_link(model, unaligned):
    batch = linked_pairs(model)
    output = WordExchangeObjective(model, unaligned=unaligned)(Encodings(model, batch), batch)
    labels, links = batch["pair"]["labels"], batch["pair"]["link_ids"]
    linked = {(b, int(p)) for b in range(3) for p in links[b].flatten() if p >= 0 and labels[b, p] >= 0}
    assert 0 < len(linked) < int((labels >= 0).sum())
    torch.testing.assert_close(
        output.metrics["aligned"], torch.tensor(len(linked) / int((labels >= 0).sum()))
    )


def test_a_view_without_links_is_a_clear_error(model):
    batch = linked_pairs(model, links=False)
    with refused(ConfigurationError, "'pair'", "word links", "isoglot align", "`kind: aligned`"):
        WordExchangeObjective(model)(Encodings(model, batch), batch)
    with refused(ConfigurationError, "many: ", "'most'", "mean, one_to_one, sum"):
        WordExchangeObjective(model, many="most")
