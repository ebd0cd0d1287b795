from __future__ import annotations

import activation_checkpointing
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.modules.document_mask import document_mask, restarted_positions
from isoglot.modules.encoder import encode


def _pack(model, lengths, padding=3, seed=0):
    """The same sequences once as rows of their own, once in one row with padding at its end."""
    generator = torch.Generator().manual_seed(seed)
    pieces = [torch.randint(5, 60, (n,), generator=generator) for n in lengths]
    ids = torch.cat([*pieces, torch.full((padding,), model.config.pad_token_id)])
    documents = torch.cat(
        [torch.full((n,), i + 1) for i, n in enumerate(lengths)] + [torch.zeros(padding).long()]
    )
    return pieces, {
        "input_ids": ids[None],
        "document_ids": documents[None],
        "attention_mask": (documents > 0)[None].long(),
    }


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("with_positions", [True, False])
def test_packed_equals_separate(family, attention, with_positions, build_model):
    model = build_model(family, attention=attention).eval()
    lengths = (7, 12, 1, 9)
    pieces, packed = _pack(model, lengths)
    if with_positions:
        packed["position_ids"] = restarted_positions(packed["document_ids"])
    states = encode(model, packed, layers=(1, 4))
    start = 0
    for piece in pieces:
        alone = encode(
            model, {"input_ids": piece[None], "attention_mask": torch.ones_like(piece[None])}, layers=(1, 4)
        )
        for layer in (1, 4):
            torch.testing.assert_close(
                states[layer][0, start : start + len(piece)], alone[layer][0], rtol=0, atol=1e-5
            )
        start += len(piece)
    assert all(torch.isfinite(s).all() for s in states.values())


def test_packed_gradients_equal_separate(family, build_model):
    model = build_model(family).eval()
    pieces, packed = _pack(model, (6, 9))
    real = packed["attention_mask"].bool()
    weights = torch.randn(15, 16, generator=torch.Generator().manual_seed(1))
    parameters = [p for n, p in model.base_model.named_parameters() if "pooler" not in n]
    together = torch.autograd.grad((encode(model, packed, layers=(4,))[4][real] * weights).sum(), parameters)
    rows = [
        encode(model, {"input_ids": p[None], "attention_mask": torch.ones_like(p[None])}, layers=(4,))[4][0]
        for p in pieces
    ]
    apart = torch.autograd.grad((torch.cat(rows) * weights).sum(), parameters)
    for a, b in zip(together, apart, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_packed_rows_leak_without_document_ids(build_model):
    """The trap itself: restarted positions alone do not keep documents apart."""
    model = build_model("xlm-roberta").eval()
    pieces, packed = _pack(model, (7, 12))
    packed["position_ids"] = restarted_positions(packed.pop("document_ids"))
    states = encode(model, packed, layers=(4,))[4]
    alone = encode(model, {"input_ids": pieces[0][None]}, layers=(4,))[4]
    assert (states[0, :7] - alone[0]).abs().max() > 1e-3


def test_packed_rows_equal_separate_under_checkpointing(family, build_model):
    zero = {} if family == "modernbert" else {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    grads = []
    for checkpointing in (False, True):
        model = build_model(family, **zero).train()
        if checkpointing:
            activation_checkpointing.enable(model)
        _, packed = _pack(model, (6, 9))
        encode(model, packed, layers=(4,))[4][:, :15].pow(3).sum().backward()
        grads.append(model.get_input_embeddings().weight.grad)
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model_type": "longformer"}, "'longformer' encoder"),
        ({"_attn_implementation": "flash_attention_2"}, "needs? a dense mask"),
        ({"conv_kernel_size": 3}, "convolution"),
    ],
)
def test_packed_rows_that_cannot_be_right_are_an_error(build_model, change, text, monkeypatch):
    model = build_model("bert")
    _, packed = _pack(model, (4, 5))
    for key, value in change.items():
        owner = type(model.config) if key == "_attn_implementation" else model.config
        monkeypatch.setattr(owner, key, value, raising=False)
    with pytest.raises(ConfigurationError, match=text):
        encode(model, packed, layers=(4,))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 3))
def test_mask_and_positions_equal_their_definition(lengths, padding):
    documents = [i + 1 for i, n in enumerate(lengths) for _ in range(n)] + [0] * padding
    mask = document_mask(torch.tensor([documents]))[0, 0]
    for q, a in enumerate(documents):
        for k, b in enumerate(documents):
            assert bool(mask[q, k]) == ((a == b and b > 0) or q == k)
    positions = [p for n in (*lengths, padding) for p in range(n)]
    assert restarted_positions(torch.tensor([documents])).tolist() == [positions]


def test_inner_padding_is_read_by_nobody():
    mask = document_mask(torch.tensor([[1, 1, 1, 2]]), torch.tensor([[1, 0, 1, 1]]))[0, 0]
    assert mask[:, 1].tolist() == [False, True, False, False]
