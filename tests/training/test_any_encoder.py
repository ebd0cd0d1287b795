"""Every objective on every encoder family: half precision, exactly the parameters it should reach."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.modules.encodings import Encodings
from isoglot.objectives import OBJECTIVES
from isoglot.testing import FAMILIES, tiny_aligned, tiny_lexicon, tiny_model, tiny_tokenizer
from isoglot.training.collate import Collator
from isoglot.training.model import AlignmentModel
from isoglot.views import MaskedPair, SentencePairView

OPTIONS: dict[str, dict[str, Any]] = {
    "masked_lm": {"view": "pair"},
    "word_exchange": {"view": "pair"},
    "word_exchange:literal": {"view": "pair", "head": "literal", "unaligned": "literal", "many": "sum"},
    "sentence_contrast": {"view": "sentences", "queue_size": 16, "projection_size": 8},
    "sentence_contrast:xlco": {
        "view": "sentences",
        "layer": 2,
        "queue_size": 16,
        "mixup": True,
    },
    "in_batch_contrast": {"view": "sentences", "pooling": "mean"},
    "embedding_alignment": {"share": 1.0},
    "denoising_word_alignment": {"view": "pair", "label_layer": 2},
    "denoising_word_alignment:corpus": {"view": "pair", "labels": "corpus", "layer": 2},
    "contextual_alignment": {"view": "sentences"},
    "anchor": {"view": "sentences"},
    "self_training": {"view": "sentences", "layer": 1},
    "word_contrast": {"view": "sentences"},
    "sentence_distillation": {"view": "sentences", "project": True},
}
SIDES = {"pair": (None,), "sentences": ("query", "key")}
CASES = []
"""Every objective on one family and one objective on every family; the other combinations are slow tests."""
for _family in FAMILIES:
    for _name in OPTIONS:
        _marks = [] if _family == FAMILIES[0] or _name == "denoising_word_alignment" else [pytest.mark.slow]
        CASES.append(pytest.param(_family, _name, marks=_marks, id=f"{_family}-{_name}"))


@cache
def batch_of(family: str) -> dict[str, dict[str, Tensor]]:
    tokenizer = tiny_tokenizer(family)
    stream = encode_stream(tiny_aligned(6), tokenizer, options=EncodeOptions(max_length=128)).with_format(
        None
    )
    views: dict[str, Any] = {
        "pair": ("bitext", MaskedPair(tokenizer, probability=0.4)),
        "sentences": ("bitext", SentencePairView(tokenizer, order="source_is_query")),
    }
    collate = Collator(views, seed=3, pad_token_id=int(tokenizer.pad_token_id))
    return collate([{"position": i, "bitext": stream[i]} for i in range(len(stream))])


@cache
def teacher() -> str:
    """The folder of an encoder of another width, with a tokenizer of its own."""
    folder = tempfile.mkdtemp()
    tokenizer = tiny_tokenizer("bert", vocab_size=120)
    tiny_model("bert", tokenizer=tokenizer, hidden_size=16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build(family: str, name: str, **config: Any):
    tokenizer = tiny_tokenizer(family)
    model = tiny_model(family, tokenizer=tokenizer, **config).train()
    options = dict(OPTIONS[name])
    kind = name.partition(":")[0]
    if kind == "embedding_alignment":
        options |= {"tokenizer": tokenizer, "lexicon": tiny_lexicon()}
    if kind == "sentence_distillation":
        options |= {"tokenizer": tokenizer, "bitext": tiny_aligned(6), "teacher": teacher()}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return model, OBJECTIVES[kind](model, **options).train()


def test_every_objective_is_here() -> None:
    assert {name.partition(":")[0] for name in OPTIONS} == set(OBJECTIVES)


@contextmanager
def half_precision() -> Iterator[None]:
    """bfloat16 on any processor: torch's own attention kernel fails where AMX is found and AVX-512 is switched off."""
    with torch.autocast("cpu", dtype=torch.bfloat16), sdpa_kernel(SDPBackend.MATH):
        yield


@pytest.mark.fast_variants(8)
@pytest.mark.parametrize(("family", "name"), CASES)
def test_forward_and_backward_in_half_precision(family: str, name: str) -> None:
    model, objective = build(family, name)
    batch = batch_of(family)
    whole = AlignmentModel(model, {"objective": objective})
    with half_precision():
        outputs = whole(batch)
    loss = outputs["loss"]
    assert loss.dtype == torch.float32 and torch.isfinite(loss)
    assert outputs["counts"]["objective"] > 0
    loss.backward()
    gradients = [p.grad for p in whole.parameters() if p.grad is not None]
    assert gradients and all(torch.isfinite(g).all() for g in gradients)
    if name != "anchor":  # at its own start it is 0
        assert sum(g.abs().sum() for g in gradients) > 0
    with torch.no_grad():  # close to full precision
        torch.manual_seed(1)
        exact = objective.eval()(Encodings(model.eval(), batch), batch)
        with half_precision():
            half = objective(Encodings(model, batch), batch)
    if exact.count == half.count:  # self-labelled links may differ at a tie
        assert float(half.loss) == pytest.approx(float(exact.loss), rel=0.05, abs=0.05)


def reached(model: Any, total: Tensor) -> set[str]:
    model.zero_grad(set_to_none=True)
    total.backward()
    return {n for n, p in model.named_parameters() if p.grad is not None}


def below(model: Any, batch: Any, view: str, layer: int | None = None) -> set[str]:
    """The parameters that a view's states at a layer depend on."""
    encodings = Encodings(model, batch)
    states = [
        encodings.last(view, side) if layer is None else encodings.hidden(view, layer, side)
        for side in SIDES[view]
    ]
    return reached(model, torch.stack([s.square().sum() for s in states]).sum())


@pytest.mark.fast_variants(10)
@pytest.mark.parametrize(("family", "name"), CASES)
def test_gradients_reach_exactly_what_they_should(family: str, name: str) -> None:
    model, objective = build(family, name)
    batch = batch_of(family)
    whole = AlignmentModel(model, {"objective": objective})
    base = {f"{model.base_model_prefix}.{n}" for n, _ in model.base_model.named_parameters()}
    head = {n for n, _ in model.named_parameters()} - base
    embeddings = {n for n, p in model.named_parameters() if p is model.get_input_embeddings().weight}
    kind = name.partition(":")[0]
    view = OPTIONS[name].get("view", "pair")
    layer = getattr(objective, "layer", None)
    states = below(model, batch, view, None if layer in (None, 3) else layer)
    if name in ("sentence_contrast", "sentence_contrast:xlco"):
        encodings = Encodings(model, batch)  # the key side has its own encoder
        states = reached(model, encodings.hidden("sentences", objective.layer, "query").square().sum())
    expected = {
        "masked_lm": states | head,
        "word_exchange": states | embeddings,
        "embedding_alignment": embeddings,
    }.get(kind, states)
    assert reached(model, whole(batch)["loss"]) == expected
    own = {n for n, p in objective.named_parameters() if p.requires_grad}
    got = {n for n, p in objective.named_parameters() if p.grad is not None}
    assert got == own
    frozen = ("momentum", "initial")
    assert not any(n.startswith(frozen) for n in own)


def test_objectives_hold_no_parameter_of_the_encoder() -> None:
    for name in OPTIONS:
        model, objective = build("bert", name)
        mine = {id(p) for p in model.parameters()}
        assert not any(id(p) in mine for p in objective.parameters()), name


def test_an_objective_keeps_its_state_across_a_save() -> None:
    for name in OPTIONS:
        _, objective = build("bert", name)
        _, other = build("bert", name)
        for p in other.parameters():
            torch.nn.init.ones_(p)
        other.load_state_dict(objective.state_dict(), strict=True)
        state: dict[str, Tensor] = other.state_dict()
        assert all(torch.equal(state[k], v) for k, v in objective.state_dict().items()), name
