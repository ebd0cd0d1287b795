from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import activation_checkpointing
import pytest
import torch
from refusals import refused
from transformers import AlbertConfig, AlbertForMaskedLM, XLMConfig, XLMWithLMHeadModel

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import (
    dropout_off,
    encode,
    encode_to_layer,
    hidden_size,
    input_embeddings,
    layer_modules,
    max_length,
    num_layers,
)


def test_layers_equal_the_librarys_hidden_states(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    own = model.base_model(**inputs, output_hidden_states=True).hidden_states
    ours = encode(model, inputs, layers=tuple(range(5)))
    for layer in range(5):
        torch.testing.assert_close(ours[layer], own[layer])
        torch.testing.assert_close(encode_to_layer(model, inputs, layer, training=False), own[layer].detach())
    assert num_layers(model) == 4
    assert hidden_size(model) == own[0].shape[-1]
    assert input_embeddings(model).num_embeddings == 60


def test_early_exit_runs_no_layer_above(family, build_model, tokens):
    model = build_model(family).eval()
    ran = []
    for number, layer in enumerate(layer_modules(model)):
        layer.register_forward_hook(lambda *_, number=number: ran.append(number))
    states = encode_to_layer(model, tokens(model), 2, training=False)
    assert ran == [0, 1]
    assert not states.requires_grad


def test_clean_encoding_has_no_dropout_and_restores_every_mode(family, build_model, tokens):
    model = build_model(family, **({} if family == "modernbert" else {"hidden_dropout_prob": 0.5})).train()
    layer_modules(model)[1].eval()
    before = [m.training for m in model.modules()]
    first, second = (encode_to_layer(model, tokens(model), 3, training=False) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert [m.training for m in model.modules()] == before
    if family != "modernbert":
        noisy = [encode_to_layer(model, tokens(model), 3, training=True) for _ in range(2)]
        assert not torch.equal(*noisy)


def test_modes_are_restored_after_an_error(build_model):
    model = build_model("bert").train()
    with pytest.raises(RuntimeError, match="boom"), dropout_off(model):
        raise RuntimeError("boom")
    assert all(m.training for m in model.modules())


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing_gives_the_same_states_and_gradients(family, reentrant, build_model, tokens):
    if reentrant and family.startswith("deberta"):
        pytest.skip(
            "the library's DeBERTa shares one graph among its layers, which reentrant checkpointing cannot do"
        )
    inputs = tokens(build_model(family))
    results = []
    for checkpointing in (False, True):
        zero = (
            {}
            if family == "modernbert"
            else {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        )
        model = build_model(family, **zero).train()
        if checkpointing:
            activation_checkpointing.enable(model, use_reentrant=reentrant)
        states = encode(model, inputs, layers=(2, 4))
        (states[2].pow(2).sum() + states[4].pow(2).sum()).backward()
        grads = {n: p.grad for n, p in model.base_model.named_parameters() if p.grad is not None}
        results.append((states[2].detach(), states[4].detach(), grads))
    for a, b in zip(results[0][:2], results[1][:2], strict=True):
        torch.testing.assert_close(a, b)
    assert results[0][2].keys() == results[1][2].keys()
    for name, grad in results[0][2].items():
        torch.testing.assert_close(grad, results[1][2][name], rtol=1e-4, atol=1e-4)


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("training", [pytest.param(False, marks=pytest.mark.slow), True])
def test_threads_share_an_encoder(family, training, build_model, tokens):
    """Each thread gets the layer it asked for of its own input, and afterwards every part has the mode it had."""
    model = build_model(family).train(training)
    inputs = [{name: row.roll(n, 1) for name, row in tokens(model).items()} for n in range(6)]
    calls = [(row, layer) for row in inputs for layer in range(5)]

    def states(call):
        return encode_to_layer(model, call[0], call[1], training=False)

    expected = [states(call) for call in calls]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(states, calls * 3))
    finally:
        sys.setswitchinterval(interval)
    assert all(torch.equal(own, other) for own, other in zip(found, expected * 3, strict=True))
    assert all(part.training == training and not part._forward_pre_hooks for part in model.modules())


def test_zero_language_embeddings_change_nothing_and_others_do(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    table = torch.nn.Embedding(3, input_embeddings(model).embedding_dim)
    languages = torch.randint(0, 3, inputs["input_ids"].shape, generator=torch.Generator().manual_seed(0))
    plain = encode(model, inputs, layers=(4,))[4]
    with_ids = {**inputs, "language_ids": languages}
    torch.testing.assert_close(encode(model, with_ids, layers=(4,))[4], plain)
    with torch.no_grad():
        table.weight[0] = 0
    marked = encode(model, {**inputs, "language_ids": languages * 0}, layers=(4,), language_embeddings=table)[
        4
    ]
    real = inputs["attention_mask"].bool()
    torch.testing.assert_close(marked[real], plain[real], rtol=1e-5, atol=1e-5)
    other = encode(model, with_ids, layers=(4,), language_embeddings=table)[4]
    assert (other - plain)[real].abs().max() > 1e-3
    other.sum().backward()
    assert table.weight.grad.abs().sum() > 0


def test_positions_are_zero_based_in_every_family(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    positions = torch.arange(inputs["input_ids"].shape[1]).expand_as(inputs["input_ids"])
    plain = encode(model, inputs, layers=(4,))[4]
    given = encode(model, {**inputs, "position_ids": positions}, layers=(4,))[4]
    real = inputs["attention_mask"].bool()
    torch.testing.assert_close(given[real], plain[real], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "deberta-v2-legacy", "modernbert"])
def test_reset_positions_reach_the_encoder(name, build_model, tokens):
    model = build_model(name).eval()
    inputs = tokens(model)
    reset = torch.arange(inputs["input_ids"].shape[1]).expand_as(inputs["input_ids"]).clone()
    reset[:, 4:] -= 4
    plain = encode(model, inputs, layers=(4,))[4]
    assert (encode(model, {**inputs, "position_ids": reset}, layers=(4,))[4] - plain).abs().max() > 1e-3


def test_segment_ids_are_left_out_where_there_are_none(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    segments = torch.ones_like(inputs["input_ids"])
    plain = encode(model, inputs, layers=(4,))[4]
    other = encode(model, {**inputs, "token_type_ids": segments}, layers=(4,))[4]
    assert torch.equal(plain, other) == (family not in ("bert", "deberta-v2-legacy"))


def test_inputs_beyond_the_position_table_are_an_error(build_model, tokens):
    model = build_model("roberta", max_position_embeddings=10)
    assert max_length(model) == 8
    encode(model, tokens(model, lengths=(8,)), layers=(4,))
    with refused(ConfigurationError, "9 tokens", "8 positions", "`encode: {max_length: 8}`"):
        encode(model, tokens(model, lengths=(9,)), layers=(4,))
    assert max_length(build_model("modernbert")) is None
    xlm = XLMConfig(vocab_size=60, emb_dim=16, n_layers=2, n_heads=2, max_position_embeddings=10)
    model = XLMWithLMHeadModel(xlm)
    assert max_length(model) == 10
    with refused(ConfigurationError, "11 tokens", "10 positions", "`encode: {max_length: 10}`"):
        encode(model, tokens(model, lengths=(11,)), layers=(2,))


def test_layers_count_from_the_end(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    found = encode(model, inputs, layers=(-1, 4, -3, 2))
    assert torch.equal(found[-1], found[4]) and torch.equal(found[-3], found[2])
    torch.testing.assert_close(encode_to_layer(model, inputs, -3, training=False), found[2])


@pytest.mark.parametrize("layer", [-6, 5])
def test_unknown_layers_are_an_error(build_model, tokens, layer):
    model = build_model("bert")
    with refused(ConfigurationError, f"layer: got {layer}, ", "0 (embeddings) to 4"):
        encode_to_layer(model, tokens(model), layer, training=False)


def test_encoders_without_a_layer_list_still_give_every_layer(tokens):
    config = AlbertConfig(
        vocab_size=60,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=8,
    )
    model = AlbertForMaskedLM(config).eval()
    assert layer_modules(model) is None
    inputs = tokens(model)
    own = model.base_model(**inputs, output_hidden_states=True).hidden_states
    for layer in range(4):
        torch.testing.assert_close(encode(model, inputs, layers=(layer,))[layer], own[layer])
        torch.testing.assert_close(encode_to_layer(model, inputs, layer, training=False), own[layer].detach())


def test_lists_of_layer_parts_are_not_taken_for_layers():
    model = XLMWithLMHeadModel(XLMConfig(vocab_size=60, emb_dim=16, n_layers=3, n_heads=2))
    assert layer_modules(model) is None


def test_no_layer_asked_for_gives_no_states(build_model, tokens):
    model = build_model("bert")
    assert encode(model, tokens(model), layers=()) == {}
