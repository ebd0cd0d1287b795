"""The masked-LM head of any encoder, taken apart: what is done to a hidden state, then one row a vocabulary entry."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.modules.checkpoint import new_weights
from isoglot.modules.encoder import dropout_off, encode, hidden_size, num_layers
from isoglot.modules.finite import require_finite

_SMOOTHING = 0.1
"""Added to the count of each vocabulary entry."""

_Parts = tuple[nn.Module, nn.Parameter, nn.Parameter | None]
_Finder = Callable[[Any], _Parts | None]


class HeadTransform(nn.Module):
    """The part of a masked-LM head before the vocabulary: dense, activation, normalisation.

    **Shape**: (N, hidden) → (N, h'), where h' is the width of the output rows.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.order = [layer if not isinstance(layer, nn.Module) else str(i) for i, layer in enumerate(layers)]
        self.parts = nn.ModuleDict({str(i): x for i, x in enumerate(layers) if isinstance(x, nn.Module)})

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states to what the output rows are multiplied with."""
        for step in self.order:
            hidden = self.parts[step](hidden) if isinstance(step, str) else step(hidden)
        return hidden


@dataclass(frozen=True)
class MaskedLMHead:
    """A model's masked-LM head by reference, and so no module: logits = transform(hidden) @ weightᵀ + bias."""

    transform: nn.Module = field(repr=False)
    # output rows (V, h'), in most models the word embedding table itself
    weight: nn.Parameter = field(repr=False)
    bias: nn.Parameter | None = field(repr=False)

    def logits(self, hidden: Tensor) -> Tensor:
        """All logits of some positions: (N, hidden) → (N, V)."""
        return nn.functional.linear(self.transform(hidden), self.weight, self.bias)

    def copy(self, *, share_norm: bool = False) -> nn.Module:
        """A copy of the transform (WEAM's second head); ``share_norm`` keeps the model's own LayerNorms in it."""
        shared = {
            id(part): part
            for part in self.transform.modules()
            if share_norm and type(part).__name__.endswith("LayerNorm")
        }
        return copy.deepcopy(self.transform, cast("dict[int, Any]", shared))


def masked_lm_head(model: PreTrainedModel, *, check: bool = False) -> MaskedLMHead:
    """A model's masked-LM head, cheap to find: read it anew each step, so that it is never stale.

    ``check``: also run the model on four tokens and compare the head's logits with its own.
    """
    parts = None
    for find in _FAMILIES:
        with suppress(AttributeError):
            parts = parts or find(model)
    if parts is None:
        raise _unknown_head(model, "its parts stand under names that no known family has")
    head = MaskedLMHead(*parts)
    if check:
        _compare(model, head)
    return head


@torch.no_grad()
def start_new_head(model: PreTrainedModel, counts: Tensor) -> bool:
    """Start a head that the checkpoint did not have where a language model starts: at the pieces' frequencies.

    The output bias becomes the log probability of each piece (``counts``); the transform's square layers become the
    identity, so that the output embeddings meet the encoder's own states. The output embeddings, and a head that was
    loaded, stay as they are: then the result is false.
    """
    head, new = masked_lm_head(model), new_weights(model)
    new_parameters = {
        id(parameter) for name, parameter in model.named_parameters(remove_duplicate=False) if name in new
    }
    parameters = [*head.transform.parameters(), *([] if head.bias is None else [head.bias])]
    if not parameters or not all(id(parameter) in new_parameters for parameter in parameters):
        return False
    for layer in head.transform.modules():
        if isinstance(layer, nn.Linear) and layer.in_features == layer.out_features:
            nn.init.eye_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    if head.bias is not None:
        smoothed = torch.full(head.bias.shape, _SMOOTHING, dtype=torch.float64)
        smoothed[: len(counts)] += counts.double()
        head.bias.copy_((smoothed / smoothed.sum()).log())
    return True


class LiteralTransform(nn.Module):
    """``linear(GELU(W h + b))``: Eq. 3–4 of WEAM, where BERT's own head has a LayerNorm in the place of ``linear``.

    **Shape**: (N, hidden) → (N, hidden).
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.linear = nn.Linear(size, size)
        for layer in (self.dense, self.linear):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        # A random linear would hide the encoder's states from the tied embeddings at first.
        with torch.no_grad():
            self.linear.weight += torch.eye(size)

    def forward(self, hidden: Tensor) -> Tensor:
        """The states that are multiplied with the embedding matrix."""
        out: Tensor = self.linear(nn.functional.gelu(self.dense(hidden)))
        return out

    def copy(self, *, share_linear: bool = False) -> LiteralTransform:
        """A copy with the same values (WEAM's second head); ``share_linear`` keeps this one's ``linear`` in it."""
        shared: dict[int, Any] = {id(self.linear): self.linear} if share_linear else {}
        return copy.deepcopy(self, shared)


_LITERAL: WeakKeyDictionary[PreTrainedModel, LiteralTransform] = WeakKeyDictionary()


def literal_transform(model: PreTrainedModel) -> LiteralTransform:
    """The one literal head of this model; no part of it, which plain ``transformers`` then could not load."""
    if model not in _LITERAL:
        _LITERAL[model] = LiteralTransform(hidden_size(model))
    return _LITERAL[model]


def _unknown_head(model: PreTrainedModel, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the masked-LM head of {type(model).__name__} cannot be used ({why}); use a model of the BERT, "
        "RoBERTa/XLM-R, DistilBERT, DeBERTa-v2 or ModernBERT families, loaded with AutoModelForMaskedLM"
    )


def _compare(model: PreTrainedModel, head: MaskedLMHead) -> None:
    """Raise unless the head's logits are the model's own."""
    if head.weight.device.type == "meta":
        return
    ids = torch.arange(4, device=head.weight.device)[None] % model.config.vocab_size
    inputs, last = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, num_layers(model)
    with torch.no_grad(), dropout_off(model):
        expected = model(**inputs).logits[0].float()
        require_finite(expected, "logits of the masked-LM head")
        ours = head.logits(encode(model, inputs, layers=(last,))[last][0])
    if expected.shape != ours.shape or not torch.allclose(
        expected, ours.float(), rtol=1e-2, atol=1e-2 * float(expected.abs().max())
    ):
        raise _unknown_head(model, "the logits of the head found differ from the model's own")


def _parts(output: Any, *layers: Any) -> _Parts:
    """The output layer and what stands before it."""
    return HeadTransform(*layers), output.weight, output.bias


def _predictions(head: Any) -> _Parts:
    return _parts(head.decoder, head.dense, head.activation, head.LayerNorm)


def _deberta(model: Any) -> _Parts:
    head = model.lm_predictions.lm_head
    transform = HeadTransform(head.dense, head.transform_act_fn, head.LayerNorm)
    return transform, model.get_input_embeddings().weight, head.bias


_FAMILIES: tuple[_Finder, ...] = (
    lambda bert: _parts(bert.cls.predictions.decoder, bert.cls.predictions.transform),
    lambda roberta: _parts(
        roberta.lm_head.decoder, roberta.lm_head.dense, nn.functional.gelu, roberta.lm_head.layer_norm
    ),
    lambda distil: _parts(
        distil.vocab_projector, distil.vocab_transform, distil.activation, distil.vocab_layer_norm
    ),
    _deberta,
    lambda albert: _predictions(albert.predictions),
    lambda modern: _parts(modern.decoder, modern.head),
    lambda electra: _parts(electra.generator_lm_head, electra.generator_predictions),
    lambda rembert: _predictions(rembert.cls.predictions),
    lambda xlm: _parts(xlm.pred_layer.proj),
    # of Funnel, whose layer has that name too, a decoder comes before it
    lambda euro: _parts(euro.lm_head) if euro.base_model_prefix == "model" else None,
)
"""Each reads the parts of its family, so that relatives (CamemBERT, MPNet, mmBERT) are found too."""
