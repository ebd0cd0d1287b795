"""The masked-LM head of any encoder, taken apart: a transform of hidden states, then a row per vocabulary entry.

    logits = transform(hidden) @ weightᵀ + bias

The loss needs the parts, because it never makes all logits at once (``vocabulary_loss.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.modules.checkpoint import new_weights
from isoglot.modules.encoder import dropout_off, encode, hidden_size, num_layers
from isoglot.modules.finite import require_finite

_SMOOTHING = 0.1
"""Added to the count of each vocabulary entry, so that no entry has the probability 0."""

_Parts = tuple[nn.Module, nn.Parameter, nn.Parameter | None]
"""The fields of a :class:`MaskedLMHead`: transform, output rows, and bias."""
_Finder = Callable[[Any], _Parts | None]


class HeadTransform(nn.Module):
    """The part of a masked-LM head before the vocabulary: dense, activation, normalisation.

    **Shape**: (N, hidden) → (N, h'), where h' is the width of the output rows.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        # Modules are registered by their number; an activation may be a plain function, which cannot be.
        self.parts = nn.ModuleDict()
        self.order: list[Any] = []  # the number of a module, or a function
        for number, layer in enumerate(layers):
            if isinstance(layer, nn.Module):
                self.parts[str(number)] = layer
                self.order.append(str(number))
            else:
                self.order.append(layer)

    def forward(self, hidden: Tensor) -> Tensor:
        """Transform hidden states into the vectors that are multiplied with the output rows."""
        for step in self.order:
            layer = self.parts[step] if isinstance(step, str) else step
            hidden = layer(hidden)
        return hidden


@dataclass(frozen=True)
class MaskedLMHead:
    """A model's masked-LM head, by reference: logits = transform(hidden) @ weightᵀ + bias.

    It is not a module, so that an objective that holds it does not save the model's weights as its own.
    """

    transform: nn.Module = field(repr=False)
    # Output rows (V, h'), in most models the word embedding table itself.
    weight: nn.Parameter = field(repr=False)
    bias: nn.Parameter | None = field(repr=False)

    def logits(self, hidden: Tensor) -> Tensor:
        """All logits of some positions: (N, hidden) → (N, V)."""
        return nn.functional.linear(self.transform(hidden), self.weight, self.bias)

    def copied_transform(self, *, share_norm: bool = False) -> nn.Module:
        """A copy of the transform (WEAM's second head); ``share_norm`` keeps the model's own LayerNorms in it."""
        # deepcopy keeps the objects that its memo names, instead of copying them.
        memo: dict[int, Any] = {}
        if share_norm:
            for part in self.transform.modules():
                if type(part).__name__.endswith("LayerNorm"):
                    memo[id(part)] = part
        return copy.deepcopy(self.transform, memo)


def masked_lm_head(model: PreTrainedModel, *, check: bool = False) -> MaskedLMHead:
    """Find a model's masked-LM head. This is cheap, so find it again at each step instead of keeping an old one.

    ``check``: also run the model on four tokens and compare the head's logits with the model's.
    """
    parts = None
    for find in _FAMILIES:
        with suppress(AttributeError):  # a model of another family does not have these attributes
            parts = find(model)
        if parts is not None:
            break
    if parts is None:
        raise _unknown_head(model, "its parts stand under names that no known family has")
    head = MaskedLMHead(*parts)
    if check:
        _compare(model, head)
    return head


@torch.no_grad()
def start_new_head(model: PreTrainedModel, counts: Tensor) -> bool:
    """Initialise a head that the checkpoint did not have, so that it predicts the frequencies of the pieces.

    1. The output bias becomes the log probability of each piece.
    2. Square layers of the transform become the identity, so that the encoder's states reach the output embeddings
       through activation and normalisation alone.
    3. The output embeddings stay unchanged.

    ``counts``: how often each piece occurs, (pieces,).

    Returns:
        Whether the head was new. A head that was loaded, even in part, stays unchanged.
    """
    head, names = masked_lm_head(model), new_weights(model)
    new = {id(weight) for name, weight in model.named_parameters(remove_duplicate=False) if name in names}
    weights = list(head.transform.parameters())
    if head.bias is not None:
        weights.append(head.bias)
    if not weights or not all(id(weight) in new for weight in weights):
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
    """``linear(GELU(W₁ h + b₁))``: WEAM's Eq. 3–4, where BERT's own head has a LayerNorm in the place of ``linear``.

    **Shape**: (N, hidden) → (N, hidden).
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.linear = nn.Linear(size, size)
        for layer in (self.dense, self.linear):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        # Identity plus noise: `dense` is random, and a second random map would hide the encoder's states further.
        with torch.no_grad():
            self.linear.weight += torch.eye(size)

    def forward(self, hidden: Tensor) -> Tensor:
        """Transform hidden states into the vectors that are multiplied with the embedding matrix."""
        out: Tensor = self.linear(nn.functional.gelu(self.dense(hidden)))
        return out

    def copy(self, *, share_linear: bool = False) -> LiteralTransform:
        """A copy with the same values (WEAM's second head); ``share_linear`` keeps this one's ``linear`` in it."""
        memo: dict[int, Any] = {id(self.linear): self.linear} if share_linear else {}
        return copy.deepcopy(self, memo)


_LITERAL: WeakKeyDictionary[PreTrainedModel, LiteralTransform] = WeakKeyDictionary()


def literal_transform(model: PreTrainedModel) -> LiteralTransform:
    """The one literal head of this model. It is not a part of the model, which ``transformers`` could not load then."""
    if model not in _LITERAL:
        _LITERAL[model] = LiteralTransform(hidden_size(model))
    return _LITERAL[model]


def _unknown_head(model: PreTrainedModel, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the masked-LM head of {type(model).__name__} cannot be used ({why}); use a model of the BERT, "
        "RoBERTa/XLM-R, DistilBERT, DeBERTa-v2 or ModernBERT families, loaded with AutoModelForMaskedLM"
    )


def _compare(model: PreTrainedModel, head: MaskedLMHead) -> None:
    """Refuse a head whose logits differ from the model's, by more than 1 % of the largest."""
    if head.weight.device.type == "meta":  # a model without weights has no logits
        return
    ids = torch.arange(4, device=head.weight.device)[None] % model.config.vocab_size
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    last = num_layers(model)
    with torch.no_grad(), dropout_off(model):
        expected = model(**inputs).logits[0].float()
        require_finite(expected, "logits of the masked-LM head")
        found = head.logits(encode(model, inputs, layers=(last,))[last][0])
    tolerance = 1e-2 * float(expected.abs().max())
    same_shape = expected.shape == found.shape
    if not same_shape or not torch.allclose(expected, found.float(), rtol=1e-2, atol=tolerance):
        raise _unknown_head(model, "the logits of the head found differ from the model's own")


def _parts(output: Any, *layers: Any) -> _Parts:
    """The parts of a head with an output layer and the layers in front of it."""
    return HeadTransform(*layers), output.weight, output.bias


def _predictions(head: Any) -> _Parts:
    """The parts of ALBERT's and RemBERT's head."""
    return _parts(head.decoder, head.dense, head.activation, head.LayerNorm)


def _deberta(model: Any) -> _Parts:
    """The parts of DeBERTa's original head, which has no output layer: it multiplies with the word embeddings."""
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
    # Funnel's output layer has that name too, but a decoder comes before it.
    lambda euro: _parts(euro.lm_head) if euro.base_model_prefix == "model" else None,
)
"""Readers of the parts, one per family; the first that finds its attributes wins.

They look at attributes and not at the name of the family, so that relatives (CamemBERT, MPNet, mmBERT) are found too.
"""
