from __future__ import annotations

from typing import Any

import pytest
import torch
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.modules.load import load_masked_lm
from isoglot.objectives.masked_lm import MaskedLMObjective

FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {},
    "xlm-roberta": {},
    "distilbert": {},
    "deberta-v2": {"legacy": False},
    "deberta-v2 legacy": {"legacy": True},
    "modernbert": {"local_attention": 6},
}


def _model(family):
    sizes = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    spec = {"architecture": family.split()[0], **sizes, "intermediate_size": 24, **FAMILIES[family]}
    model = load_masked_lm(spec, seed=1).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)) * 0.2)
    return model


def _view(model, masked=0.3):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 60, (4, 11), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    ids[1, 6:] = model.config.pad_token_id
    chosen = (torch.rand(ids.shape, generator=generator) < masked) & mask.bool()
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.where(chosen, ids, -100)}


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradients_equal_the_librarys_full_logits(family):
    model = _model(family)
    view = _view(model)
    model(**view).loss.backward()
    wanted = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    own = model(**view)
    model.zero_grad()
    output = MaskedLMObjective(model)(Encodings(model, {"pair": view}), {"pair": view})
    torch.testing.assert_close(output.loss, own.loss, rtol=1e-5, atol=1e-5)
    rows = view["labels"] != -100
    assert int(output.count) == int(rows.sum())
    accuracy = (own.logits[rows].argmax(-1) == view["labels"][rows]).float().mean()
    torch.testing.assert_close(output.metrics["accuracy"], accuracy)
    output.loss.backward()
    got = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert got.keys() == wanted.keys()
    for name, grad in wanted.items():
        torch.testing.assert_close(got[name], grad, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_masked_lm_of_nothing_masked_is_zero_connected_to_the_encoder_and_head(family):
    model = _model(family)
    view = _view(model, masked=0.0)
    objective = MaskedLMObjective(model, view="text")
    output = objective(Encodings(model, {"text": view}), {"text": view})
    assert output.loss.item() == 0.0
    assert int(objective.count({"text": view})) == 0
    output.total.backward()
    trained = {n for n, p in model.named_parameters() if p.grad is not None}
    full = _view(model)
    model.zero_grad()
    objective(Encodings(model, {"text": full}), {"text": full}).total.backward()
    assert trained == {n for n, p in model.named_parameters() if p.grad is not None}


def test_the_count_is_known_before_the_forward():
    model = _model("bert")
    view = _view(model)
    assert int(MaskedLMObjective(model).count({"pair": view})) == int((view["labels"] != -100).sum())


def test_the_objective_owns_no_parameter_of_the_model():
    assert list(MaskedLMObjective(_model("bert")).parameters()) == []


def test_two_objectives_on_one_view_share_its_forward():
    model = _model("bert")
    batch = {"pair": _view(model)}
    encodings = Encodings(model, batch)
    total = sum(MaskedLMObjective(model)(encodings, batch).total for _ in range(2))
    assert encodings.forwards == 1
    total.backward()
    twice = model.get_input_embeddings().weight.grad.clone()
    model.zero_grad()
    MaskedLMObjective(model)(Encodings(model, batch), batch).total.backward()
    torch.testing.assert_close(twice, 2 * model.get_input_embeddings().weight.grad, rtol=1e-4, atol=1e-4)


def test_a_view_without_labels_is_an_error():
    model = _model("bert")
    batch = {"sentences": {"query_input_ids": torch.ones(1, 3)}}
    for view, text in (("pair", "nothing"), ("sentences", "query_input_ids")):
        with pytest.raises(ConfigurationError, match=f"view '{view}' has {text}, labels is needed; point"):
            MaskedLMObjective(model, view=view)(Encodings(model, batch), batch)


def test_literal_head_is_the_equations_and_leaves_the_models_own_alone():
    model = _model("bert")
    view = _view(model)
    objective = MaskedLMObjective(model, head="literal")
    output = objective(Encodings(model, {"pair": view}), {"pair": view})
    hidden = model.bert(view["input_ids"], attention_mask=view["attention_mask"]).last_hidden_state
    own, wanted = objective.transform, []
    for b, i in (view["labels"] != -100).nonzero().tolist():
        inner = torch.nn.functional.gelu(own.dense.weight @ hidden[b, i] + own.dense.bias)
        logits = model.get_input_embeddings().weight @ (own.linear.weight @ inner + own.linear.bias)
        wanted.append(logits.logsumexp(0) - logits[view["labels"][b, i]])
    torch.testing.assert_close(output.total, torch.stack(wanted).sum(), rtol=1e-5, atol=1e-4)
    output.loss.backward()
    assert all(float(p.grad.abs().sum()) > 0 for p in objective.parameters())
    assert model.cls.predictions.transform.dense.weight.grad is None
    assert {"transform.linear.weight", "transform.dense.bias"} <= objective.state_dict().keys()
    assert not MaskedLMObjective(model).state_dict()
    with refused(ConfigurationError, "head: ", "'bert'", "literal, model"):
        MaskedLMObjective(model, head="bert")
