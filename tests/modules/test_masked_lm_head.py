from __future__ import annotations

import copy

import pytest
import torch
from refusals import refused
from torch import nn
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertForMaskedLM,
    ElectraConfig,
    ElectraForMaskedLM,
    EsmConfig,
    EsmForMaskedLM,
    FunnelConfig,
    FunnelForMaskedLM,
    MPNetConfig,
    MPNetForMaskedLM,
    RemBertConfig,
    RemBertForMaskedLM,
    XLMConfig,
    XLMWithLMHeadModel,
)

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode, num_layers
from isoglot.modules.load import load_masked_lm
from isoglot.modules.masked_lm_head import MaskedLMHead, masked_lm_head, start_new_head

_SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}


def _own(model, inputs):
    with torch.no_grad():
        return model(**inputs).logits


def _ours(model, inputs):
    last = num_layers(model)
    with torch.no_grad():
        return masked_lm_head(model, check=True).logits(encode(model, inputs, layers=(last,))[last])


def test_logits_equal_the_models_own(family, build_model, tokens):
    model = build_model(family).eval()
    inputs = tokens(model)
    torch.testing.assert_close(_ours(model, inputs), _own(model, inputs), rtol=1e-5, atol=1e-5)


def test_the_head_is_the_models_own_parameters(family, build_model):
    model = build_model(family)
    head = masked_lm_head(model)
    mine = {id(p) for p in (*head.transform.parameters(), head.weight, head.bias)}
    assert mine <= {id(p) for p in model.parameters()}
    if family != "deberta-v2":
        assert head.weight is model.get_output_embeddings().weight
    assert head.weight is model.get_input_embeddings().weight  # tied


def test_holding_a_head_registers_nothing(build_model):
    class Owner(nn.Module):
        def __init__(self, model) -> None:
            super().__init__()
            self.head = masked_lm_head(model)

    assert not isinstance(masked_lm_head(build_model("bert")), nn.Module)
    assert list(Owner(build_model("bert")).parameters()) == []


def test_a_copy_starts_equal_and_trains_apart(family, build_model):
    model = build_model(family)
    head = masked_lm_head(model)
    twin = head.copied_transform()
    hidden = torch.randn(5, 16)
    torch.testing.assert_close(twin(hidden), head.transform(hidden))
    assert not {id(p) for p in twin.parameters()} & {id(p) for p in model.parameters()}
    before = copy.deepcopy(head.transform.state_dict())
    twin(hidden).sum().backward()
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.sub_(parameter.grad + 1)
    assert all(torch.equal(value, before[name]) for name, value in head.transform.state_dict().items())
    assert not torch.allclose(twin(hidden), head.transform(hidden))


@pytest.mark.parametrize(
    "model",
    [
        AlbertForMaskedLM(AlbertConfig(**_SMALL, embedding_size=8)),
        ElectraForMaskedLM(ElectraConfig(**_SMALL, embedding_size=8)),
        CamembertForMaskedLM(CamembertConfig(**_SMALL)),
        MPNetForMaskedLM(MPNetConfig(**_SMALL)),
        RemBertForMaskedLM(RemBertConfig(**_SMALL, input_embedding_size=8, output_embedding_size=24)),
        XLMWithLMHeadModel(XLMConfig(vocab_size=60, emb_dim=16, n_layers=2, n_heads=2)),
    ],
    ids=lambda m: type(m).__name__,
)
def test_relatives_are_found_by_their_parts(model, tokens):
    model.eval()
    inputs = tokens(model)
    torch.testing.assert_close(_ours(model, inputs), _own(model, inputs), rtol=1e-4, atol=1e-5)


def test_a_head_may_be_an_output_layer_alone(tokens):
    eurobert = pytest.importorskip("transformers.models.eurobert", reason="this transformers has no EuroBERT")
    model = eurobert.EuroBertForMaskedLM(eurobert.EuroBertConfig(**_SMALL, pad_token_id=0)).eval()
    inputs = tokens(model)
    torch.testing.assert_close(_ours(model, inputs), _own(model, inputs), rtol=1e-4, atol=1e-5)


def test_a_new_head_predicts_the_frequencies_of_the_pieces(family, build_model, tmp_path):
    build_model(family).base_model.save_pretrained(tmp_path)
    model = load_masked_lm({"path": tmp_path, "new_head": True})
    counts = torch.arange(50)  # fewer than there are rows
    loaded = {name: value.clone() for name, value in model.base_model.state_dict().items()}
    assert start_new_head(model, counts)
    assert all(torch.equal(value, loaded[name]) for name, value in model.base_model.state_dict().items())
    head = masked_lm_head(model, check=True)
    (dense,) = [part for part in head.transform.modules() if isinstance(part, nn.Linear)]
    hidden = torch.randn(3, 16)
    torch.testing.assert_close(dense(hidden), hidden)
    with torch.no_grad():
        head.weight.zero_()
    total = sum(i + 0.1 for i in range(50)) + 0.1 * 10
    expected = [((i if i < 50 else 0) + 0.1) / total for i in range(60)]
    torch.testing.assert_close(head.logits(hidden).softmax(1), torch.tensor([expected] * 3))


def test_a_head_that_was_loaded_stays(family, build_model, tmp_path):
    model = build_model(family)
    assert not start_new_head(model, torch.ones(60))
    model.save_pretrained(tmp_path)
    again = load_masked_lm({"path": tmp_path, "new_head": True})
    assert not start_new_head(again, torch.ones(60))
    for name, value in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value)


def test_a_head_with_another_formula_is_found_out():
    """ESM adds a bias outside of its output layer: the parts look like RoBERTa's and are not."""
    model = EsmForMaskedLM(EsmConfig(**_SMALL, pad_token_id=1, mask_token_id=4))
    with torch.no_grad():
        model.lm_head.bias += torch.arange(60.0)
    with refused(ConfigurationError, "EsmForMaskedLM", "logits"):
        masked_lm_head(model, check=True)


def test_models_without_a_masked_lm_head_are_an_error():
    with refused(ConfigurationError, "BertModel", "AutoModelForMaskedLM"):
        masked_lm_head(BertModel(BertConfig(**_SMALL)))
    funnel = FunnelForMaskedLM(
        FunnelConfig(vocab_size=60, d_model=16, n_head=2, d_head=8, d_inner=16, block_sizes=[1])
    )
    with refused(ConfigurationError, "FunnelForMaskedLM", "AutoModelForMaskedLM"):
        masked_lm_head(funnel)


def test_a_frozen_dataclass_keeps_its_parts():
    head = MaskedLMHead(nn.Identity(), nn.Parameter(torch.eye(3)), None)
    assert torch.equal(head.logits(torch.tensor([[1.0, 2.0, 3.0]])), torch.tensor([[1.0, 2.0, 3.0]]))
    with pytest.raises(AttributeError):
        head.bias = None
