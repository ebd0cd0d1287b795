"""A BERT-like encoder that runs from a packed file, without ``transformers``.

The word embeddings, most of the file, stay in memory as packed: only the rows of an input are turned into floats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from isoglot.checkpoints.packed_file import EncoderShape, PackedFile
from isoglot.checkpoints.stored_weights import BLOCK, packed_matrix, restored
from isoglot.core.errors import ConfigurationError
from isoglot.modules.finite import non_finite

_WORDS = "embeddings.word_embeddings.weight"


class PackedEmbedding(nn.Module):
    """A table of embeddings of 4 or 8 bits per value; a lookup gives bit for bit the rows of the unpacked table.

    ``isoglot.checkpoints.stored_weights`` writes the codes and scales, and unpacks whole tables.

    8 bits: value = code · scale of the row. 4 bits: value = (code − 8) · scale of the block, and two codes in a byte:
    byte k of a block holds the code of value k in its low half, and that of value k + BLOCK / 2 in its high half.

    **Shape**: (any) -> (any, hidden).
    """

    codes: Tensor  # (V, hidden) int8, or (V, hidden / 2) uint8
    scale: Tensor  # one per row, or one per block of a row

    def __init__(self, codes: NDArray[Any], scale: NDArray[Any], *, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype, self.four_bits = dtype, str(codes.dtype) == "uint8"
        # The scale's bits as whole numbers: a change of the module's dtype rounds only floats.
        self.register_buffer("codes", torch.from_numpy(codes))
        self.register_buffer("scale", torch.from_numpy(scale.view("int16" if self.four_bits else "int32")))

    def forward(self, ids: Tensor) -> Tensor:
        """Look up the rows of some ids, as floats."""
        codes, scale = nn.functional.embedding(ids, self.codes), nn.functional.embedding(ids, self.scale)
        if not self.four_bits:
            return (codes.float() * scale.view(torch.float32)).to(self.dtype)
        bytes_of_blocks = codes.unflatten(-1, (-1, BLOCK // 2))
        low, high = bytes_of_blocks & 15, bytes_of_blocks >> 4
        values = torch.cat([low, high], dim=-1).float().sub_(8.0)
        scale_of_blocks = scale.view(torch.float16).float()[..., None]
        return values.mul_(scale_of_blocks).flatten(-2).to(self.dtype)


class _Linear(nn.Linear):
    """A linear layer without initial weights, which are about to be replaced."""

    def reset_parameters(self) -> None:
        """Leave the memory untouched."""


class _Layer(nn.Module):
    """A transformer layer of BERT, with the library's names of tensors."""

    def __init__(self, config: EncoderShape) -> None:
        super().__init__()
        size, inner, eps = config.hidden_size, config.intermediate_size, config.layer_norm_eps
        self.heads = config.num_attention_heads
        self.attention: Any = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: _Linear(size, size) for name in ("query", "key", "value")}),
                "output": _add_and_norm_parts(size, size, eps),
            }
        )
        self.intermediate: Any = nn.ModuleDict({"dense": _Linear(size, inner)})
        self.output = _add_and_norm_parts(inner, size, eps)

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> Tensor:
        # Attention: (batch, length, hidden) -> (batch, heads, length, hidden / heads), and back.
        query, key, value = (
            part(hidden_states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention["self"].values()
        )
        read = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = _add_and_norm(self.attention["output"], read.transpose(1, 2).flatten(2), hidden_states)
        # Feed-forward.
        inner = nn.functional.gelu(self.intermediate["dense"](states))
        return _add_and_norm(self.output, inner, states)


def _add_and_norm_parts(inputs: int, size: int, eps: float) -> nn.ModuleDict:
    """Make the end of each half of a layer (attention, feed-forward): a linear map, and the norm of a sum."""
    return nn.ModuleDict({"dense": _Linear(inputs, size), "LayerNorm": nn.LayerNorm(size, eps=eps)})


def _add_and_norm(parts: Any, inner: Tensor, states: Tensor) -> Tensor:
    """End a half of a layer: map its ``inner`` result, add the ``states`` that came into the half, and normalise."""
    normed: Tensor = parts["LayerNorm"](parts["dense"](inner) + states)
    return normed


class PackedEncoder(nn.Module):
    """The encoder of a packed file, with the attributes of a model that :func:`~isoglot.modules.encoder.encode` reads.

    It takes ids and masks, one sequence per row: no packed rows and no language embeddings. The hidden states are those
    of the library's model of the unpacked folder. There are no gradients.

    Args:
        packed: Content of the file, checked.
        source: Name of the file in errors.
        dtype: Type of the computation and the states.

    Raises:
        ConfigurationError: values are not finite in this dtype.
    """

    def __init__(self, packed: PackedFile, *, source: Path, dtype: torch.dtype) -> None:
        super().__init__()
        self.config = shape = packed.shape
        # BERT's positions count from 0; RoBERTa's from padding id + 1, and padding has the padding id.
        padding = shape.pad_token_id if shape.model_type != "bert" else None
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
        # The word embeddings stay packed; all other tensors are unpacked now. The table joins last, as the names of its
        # buffers are not in the file.
        codes, scale = packed_matrix(_WORDS, packed.tensors)
        words = PackedEmbedding(codes, scale, dtype=dtype)
        others = {name: values for name, values in packed.tensors.items() if not name.startswith(_WORDS)}
        loaded = {name: torch.from_numpy(values).to(dtype) for name, values in restored(others)}
        self.load_state_dict(loaded, assign=True)
        self.embeddings["word_embeddings"] = words
        if wrong := non_finite(loaded.items()):
            raise ConfigurationError(f"{source}: NaN or infinite weights in {wrong[0]}; use an intact file")
        self.requires_grad_(requires_grad=False).eval()

    @property
    def base_model(self) -> PackedEncoder:
        """The encoder itself, which has no head."""
        return self

    @property
    def dtype(self) -> torch.dtype:
        """Type of the computation and the states."""
        return cast(torch.dtype, self.embeddings["LayerNorm"].weight.dtype)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return cast(torch.device, self.embeddings["LayerNorm"].weight.device)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor]:
        """The states of the last layer.

        **Shape**: ids and mask (batch, length) -> (batch, length, hidden).

        Raises:
            ConfigurationError: a mask of several axes, which keeps packed sequences apart.
        """
        if attention_mask is not None and attention_mask.dim() != 2:
            raise ConfigurationError(
                "an encoder in a packed file reads one sequence per row, got document_ids; unpack the file, or give "
                "each sequence a row of its own"
            )
        parts = self.embeddings
        words = parts["word_embeddings"](input_ids)
        padding = parts["position_embeddings"].padding_idx
        if padding is None:
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        else:
            real = input_ids.ne(padding)
            positions = real.cumsum(1) * real + padding
        states = words + parts["token_type_embeddings"].weight[0] + parts["position_embeddings"](positions)
        states = parts["LayerNorm"](states)
        # A batch without padding needs no mask: (batch, 1, length, length), true where a token may be read.
        mask = None
        if attention_mask is not None and not bool(attention_mask.all()):
            mask = attention_mask.bool()[:, None, None]
            mask = mask.expand(-1, -1, input_ids.shape[1], -1)
        for layer in self.encoder["layer"]:
            states = layer(states, mask)
        return (states,)
