from __future__ import annotations

import activation_checkpointing
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import input_embeddings, layer_modules
from isoglot.modules.encodings import Encodings
from isoglot.modules.masked_lm_head import masked_lm_head
from isoglot.modules.vocabulary_loss import vocabulary_loss
from isoglot.testing import FAMILIES, tiny_model


@pytest.fixture
def batch(build_model, tokens):
    model = build_model("bert", hidden_dropout_prob=0.4).train()
    masked = tokens(model)
    view = {**masked, "original_ids": masked["input_ids"], "labels": masked["input_ids"]}
    view["input_ids"] = torch.where(masked["input_ids"] % 3 == 0, 4, masked["input_ids"])
    sides = {f"query_{k}": v for k, v in tokens(model, seed=1).items()}
    sides |= {f"key_{k}": v for k, v in tokens(model, seed=2).items()}
    return model, {"pair": view, "sentences": sides}


def test_readers_of_one_view_share_one_forward(batch):
    encodings = Encodings(*batch)
    first = encodings.last("pair")
    assert encodings.last("pair") is first
    inner = encodings.hidden("pair", 2)
    assert inner.requires_grad
    torch.testing.assert_close(encodings.layer("pair", 2, clean=False), inner.detach(), rtol=0, atol=0)
    assert encodings.forwards == 1


def test_an_inner_layer_read_first_brings_the_last_one_with_it(batch):
    encodings = Encodings(*batch)
    inner = encodings.hidden("pair", 1)
    last = encodings.last("pair")
    assert encodings.forwards == 1
    (gradient,) = torch.autograd.grad(last.sum(), inner)  # the same graph
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize("checkpointed", [False, True])
def test_layers_above_the_top_are_not_run(batch, checkpointed):
    model, views = batch
    if checkpointed:
        activation_checkpointing.enable(model)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    ran: list[int] = []
    for number, layer in enumerate(layer_modules(model)):
        layer.register_forward_hook(lambda *_, number=number: ran.append(number))
    gradients = []
    for top in (None, 2):
        states = Encodings(model, views, top=top).hidden("pair", 2)
        model.zero_grad()
        states.square().sum().backward()
        gradients.append({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
    assert ran[:4] == [0, 1, 2, 3] and 3 not in ran[4:] and 2 not in ran[4:]
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient)
    assert Encodings(model, views, top=2).last("pair").shape == states.shape, (
        "a wrong promise costs time alone"
    )


def test_a_layer_read_without_gradient_never_stands_in_for_one_with(batch):
    encodings = Encodings(*batch)
    assert not encodings.layer("pair", 4, clean=False).requires_grad
    assert encodings.last("pair").requires_grad


def test_a_layer_counted_from_the_end_is_the_same_layer(batch):
    encodings = Encodings(*batch)
    last = encodings.last("pair")
    assert torch.equal(encodings.layer("pair", -1, clean=False), last.detach())
    assert torch.equal(encodings.layer("pair", -1, clean=True), encodings.layer("pair", 4, clean=True))
    assert encodings.forwards == 2


def test_clean_layers_see_the_unmasked_ids_without_dropout(batch):
    model, views = batch
    encodings = Encodings(model, views)
    clean = encodings.layer("pair", 2, clean=True)
    encodings.layer("pair", 2, clean=True)
    assert encodings.forwards == 1
    assert model.training
    model.eval()
    inputs = {"input_ids": views["pair"]["original_ids"], "attention_mask": views["pair"]["attention_mask"]}
    torch.testing.assert_close(
        clean, model.base_model(**inputs, output_hidden_states=True).hidden_states[2].detach()
    )


def test_sides_are_inputs_of_their_own(batch):
    model, views = batch
    model.eval()
    encodings = Encodings(model, views)
    for side in ("query", "key"):
        ids, mask = views["sentences"][f"{side}_input_ids"], views["sentences"][f"{side}_attention_mask"]
        own = model.base_model(input_ids=ids, attention_mask=mask)[0]
        torch.testing.assert_close(encodings.last("sentences", side), own)
    assert encodings.forwards == 2
    with refused(KeyError, "'sentences'", "input_ids", "'key_input_ids'"):
        encodings.last("sentences")


def test_encodings_without_gradient_keep_only_the_layers_asked_for(batch):
    encodings = Encodings(*batch)
    with torch.no_grad():
        encodings.last("pair")
    assert len(encodings._cache) == 1


@pytest.mark.slow
def test_a_compiled_encoder_runs_compiled_unless_an_inner_layer_is_read(batch):
    model, views = batch
    calls = []

    def backend(graph, _):
        calls.append(graph)
        return graph.forward

    model.base_model.compile(backend=backend)
    encodings = Encodings(model, views)
    assert encodings.last("pair").requires_grad
    assert calls
    compiled = len(calls)
    assert encodings.hidden("pair", 2).requires_grad
    assert not encodings.layer("pair", 1, clean=True).requires_grad
    assert encodings.forwards == 3
    assert len(calls) == compiled


@pytest.mark.parametrize("family", FAMILIES)
def test_every_encoder_gives_no_rows_for_none(family: str) -> None:
    model = tiny_model(family)
    encodings = Encodings(model, {"text": {"input_ids": torch.zeros(0, 7, dtype=torch.int64)}})
    assert encodings.last("text").shape == (0, 7, model.config.hidden_size)
    assert encodings.layer("text", 1, clean=True).shape == (0, 7, model.config.hidden_size)


def gradients_of(loss, parameter):
    """How many gradients autograd sums for a parameter."""
    seen, nodes, found = set(), [loss.grad_fn], 0
    while nodes:
        for node, _ in nodes.pop().next_functions:
            found += getattr(node, "variable", None) is parameter
            if node is not None and node not in seen:
                seen.add(node)
                nodes.append(node)
    return found


def test_the_encoders_input_and_the_output_layer_make_one_gradient(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    inputs["attention_mask"][2, 5] = 1  # padding that is read all the same
    labels = inputs["input_ids"].flatten()
    head, encodings = masked_lm_head(model), Encodings(model, {"pair": inputs})
    states = head.transform(encodings.last("pair").flatten(0, 1))
    ours, _ = vocabulary_loss(states, labels, encodings.table(head.weight), head.bias)
    plain = F.cross_entropy(model(**inputs).logits.flatten(0, 1), labels, reduction="sum")
    table = input_embeddings(model).weight
    assert gradients_of(ours, table) == 1 < gradients_of(plain, table)
    parameters = [p for p in model.parameters() if p.requires_grad]
    for a, b in zip(
        torch.autograd.grad(ours, parameters, allow_unused=True),
        torch.autograd.grad(plain, parameters, allow_unused=True),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_embeddings_that_do_more_than_look_up_are_left_alone(build_model, tokens):
    class Scaled(torch.nn.Embedding):
        def forward(self, ids):
            return 3.0 * super().forward(ids)

    model = build_model("bert").eval()
    scaled = Scaled(*input_embeddings(model).weight.shape, padding_idx=0)
    model.set_input_embeddings(scaled)
    inputs = tokens(model)
    ours = Encodings(model, {"pair": inputs}).last("pair")
    plain = model.base_model(**inputs)[0]
    torch.testing.assert_close(ours, plain)
    grads = [torch.autograd.grad(x.square().sum(), scaled.weight)[0] for x in (ours, plain)]
    torch.testing.assert_close(*grads)


def test_a_layer_that_is_not_there_is_the_one_that_is_named(batch):
    encodings = Encodings(*batch)
    with refused(ConfigurationError, "layer: got 99, ", "0 (embeddings) to 4"):
        encodings.hidden("pair", 99)
    torch.testing.assert_close(encodings.hidden("pair", -1), encodings.last("pair"), rtol=0, atol=0)
    assert encodings.forwards == 1
