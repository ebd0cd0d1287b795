"""A BERT-like encoder that runs as it is packed, without the library: word embeddings become floats row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from isoglot.checkpoints.packed_file import BLOCK, EncoderShape, PackedFile, restored
from isoglot.core.errors import ConfigurationError
from isoglot.modules.finite import non_finite

_WORDS = "embeddings.word_embeddings.weight"


class PackedEmbedding(nn.Module):
    """A table of 4 or 8 bits a value; what a lookup gives is what the restored table would, bit for bit.

    **Shape**: (any) -> (any, hidden).
    """

    codes: Tensor
    scale: Tensor

    def __init__(self, codes: NDArray[Any], scale: NDArray[Any], *, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype, self.four_bits = dtype, str(codes.dtype) == "uint8"
        # As whole numbers, which no change of the module's dtype rounds.
        self.register_buffer("codes", torch.from_numpy(codes))
        self.register_buffer("scale", torch.from_numpy(scale.view("int16" if self.four_bits else "int32")))

    def forward(self, ids: Tensor) -> Tensor:
        """The rows of some ids."""
        codes, scale = nn.functional.embedding(ids, self.codes), nn.functional.embedding(ids, self.scale)
        if not self.four_bits:
            return (codes.float() * scale.view(torch.float32)).to(self.dtype)
        blocks = codes.unflatten(-1, (-1, BLOCK // 2))
        whole = torch.cat([blocks & 15, blocks >> 4], dim=-1).float().sub_(8.0)
        return whole.mul_(scale.view(torch.float16).float()[..., None]).flatten(-2).to(self.dtype)


class _Linear(nn.Linear):
    """Whose weights are about to be replaced, and need not be drawn."""

    def reset_parameters(self) -> None:
        """Leave the memory untouched."""


class _Layer(nn.Module):
    """A transformer layer with the tensor names of the library's."""

    def __init__(self, config: EncoderShape) -> None:
        super().__init__()
        size, inner, eps = config.hidden_size, config.intermediate_size, config.layer_norm_eps
        self.heads = config.num_attention_heads
        self.attention: Any = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: _Linear(size, size) for name in ("query", "key", "value")}),
                "output": _closing(size, size, eps),
            }
        )
        self.intermediate: Any = nn.ModuleDict({"dense": _Linear(size, inner)})
        self.output = _closing(inner, size, eps)

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (
            part(hidden_states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention["self"].values()
        )
        read = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = _closed(self.attention["output"], read.transpose(1, 2).flatten(2), hidden_states)
        return _closed(self.output, nn.functional.gelu(self.intermediate["dense"](states)), states)


def _closing(inputs: int, size: int, eps: float) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": _Linear(inputs, size), "LayerNorm": nn.LayerNorm(size, eps=eps)})


def _closed(parts: Any, inner: Tensor, states: Tensor) -> Tensor:
    closed: Tensor = parts["LayerNorm"](parts["dense"](inner) + states)
    return closed


class PackedEncoder(nn.Module):
    """The encoder of a packed file, with what :mod:`isoglot.modules.encoder` reads of the library's models.

    Its hidden states are those of the library's model of the unpacked folder. It has no gradients.

    Args:
        packed: What the file holds, checked.
        source: Name of the file in errors.
        dtype: What it computes in.

    Raises:
        ConfigurationError: Values that are not finite in this dtype.
    """

    def __init__(self, packed: PackedFile, *, source: Path, dtype: torch.dtype) -> None:
        super().__init__()
        self.config = shape = packed.shape
        padding = shape.pad_token_id if shape.model_type != "bert" else None  # where positions count from
        positions = nn.Embedding(shape.max_position_embeddings, shape.hidden_size, padding_idx=padding)
        self.embeddings: Any = nn.ModuleDict(
            {
                "position_embeddings": positions,
                "token_type_embeddings": nn.Embedding(shape.type_vocab_size, shape.hidden_size),
                "LayerNorm": nn.LayerNorm(shape.hidden_size, eps=shape.layer_norm_eps),
            }
        )
        self.encoder: Any = nn.ModuleDict(
            {"layer": nn.ModuleList(_Layer(shape) for _ in range(shape.num_hidden_layers))}
        )
        codes, scale = (
            packed.tensors[f"{_WORDS}.{part}"]
            for part in ("q4" if f"{_WORDS}.q4" in packed.tensors else "q8", "scale")
        )
        words = PackedEmbedding(codes, scale, dtype=dtype)
        rest = {name: values for name, values in packed.tensors.items() if not name.startswith(_WORDS)}
        loaded = {name: torch.from_numpy(values).to(dtype) for name, values in restored(rest)}
        self.load_state_dict(loaded, assign=True)
        self.embeddings["word_embeddings"] = words
        if wrong := non_finite(loaded.items()):
            raise ConfigurationError(f"{source}: NaN or infinite weights in {wrong[0]}; use an intact file")
        self.requires_grad_(requires_grad=False).eval()

    @property
    def base_model(self) -> PackedEncoder:
        """Itself, which has no head."""
        return self

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return cast(torch.dtype, self.embeddings["LayerNorm"].weight.dtype)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return cast(torch.device, self.embeddings["LayerNorm"].weight.device)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor]:
        """The states of the last layer.

        **Shape**: ids and mask (batch, length) -> (batch, length, hidden).
        """
        parts = self.embeddings
        words, padding = parts["word_embeddings"](input_ids), parts["position_embeddings"].padding_idx
        if padding is None:
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        else:  # counted from the padding id, which padding has
            real = input_ids.ne(padding)
            positions = real.cumsum(1) * real + padding
        states = words + parts["token_type_embeddings"].weight[0] + parts["position_embeddings"](positions)
        states = parts["LayerNorm"](states)
        mask = None
        if attention_mask is not None and not bool(attention_mask.all()):
            mask = attention_mask.bool()[:, None, None]
            mask = mask.expand(-1, -1, input_ids.shape[1], -1)
        for layer in self.encoder["layer"]:
            states = layer(states, mask)
        return (states,)
