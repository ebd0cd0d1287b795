"""How the weights of an encoder are stored in a packed file, and how they are read again.

A matrix is stored in 4 bits if that changes nothing, else in 8 bits; biases and norms, which are no matrices, stay as
they are. The name of the tensor in the file says which:

========================  =====================  =======================================================
tensor in the file        dtype, shape           content
========================  =====================  =======================================================
``NAME``                  F32, (n,)              a bias or norm, unchanged
``NAME.q4``               U8, (n, m / 2)         whole numbers from -8 to 7, plus 8; two in a byte
``NAME.scale`` beside it  F16, (n, m / 32)       what they are multiplied by, one for 32 values of a row
``NAME.q8``               I8, (n, m)             whole numbers from -127 to 127
``NAME.scale`` beside it  F32, (n, 1)            what they are multiplied by, one for each row
========================  =====================  =======================================================

No other file knows these names. A new way to store a matrix needs a change in each of the four functions here:
:func:`quantised` writes, :func:`stored_headers` says what a file must have, :func:`restored` makes float32, and
:func:`packed_matrix` gives ``isoglot.modules.packed_encoder`` the word embeddings as they are stored. The encoder keeps
them so in memory, and its ``PackedEmbedding`` makes floats of single rows, so it has to know the new way too.

Each matrix is stored by itself: some matrices of a file may have 4 bits and others 8, and likewise in the file of upper
layers, whatever the aligner's file has.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[Any]]
Header = tuple[str, tuple[int, ...]]
"""Dtype and shape of a tensor as safetensors names them: ``("F32", (384,))``."""
BLOCK = 32
"""Number of 4-bit values that share one scale."""
_LARGEST = np.finfo(np.float32).max / 128
"""Maximum of stored floats: biases, norms and scales.

So a scale times any 8-bit number is finite in float32, also times -128. :func:`quantised` never writes -128, but a file
from elsewhere may have it.
"""


def quantised(name: str, values: Floats) -> dict[str, NDArray[Any]]:
    """Return a tensor as it is stored, by name; :func:`restored` undoes it.

    1. Biases and norms, which are no matrices, are stored unchanged: ``{NAME: values}``.
    2. A matrix that fits into 4 bits exactly: ``{NAME.q4: nibbles, NAME.scale: scales}``.
    3. Any other matrix in 8 bits: ``[[0.5, -1.27]]`` is ``{NAME.q8: [[50, -127]], NAME.scale: [[0.01]]}``.
    """
    if values.ndim != 2:  # 1
        return {name: values}
    exact = _in_four_bits(values)
    if exact is not None:  # 2
        nibbles, scales = exact
        return {f"{name}.q4": nibbles, f"{name}.scale": scales}
    # 3: one scale for each row, so that the value farthest from 0 becomes 127 or -127.
    scale = np.abs(values).max(axis=1, keepdims=True) / np.float32(127)
    # A row of zeros stays zeros.
    whole_numbers = np.rint(values / np.where(scale > 0, scale, 1))
    # Near the smallest number of float32 the scale is rounded down so far that a quotient may be 190.
    whole_numbers = np.clip(whole_numbers, -127, 127).astype(np.int8)
    return {f"{name}.q8": whole_numbers, f"{name}.scale": scale.astype(np.float32)}


def _in_four_bits(values: Floats) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Find packed nibbles (two in a byte) and scales that give exactly these values; ``None`` if a block has none.

    A block is 32 neighbouring values of a row. It fits if every value is a whole number from -8 to 7 times one float16,
    the scale. The scale is not known, but the value farthest from 0 is -8, -7, ..., -1, 1, ..., or 7 times the scale.
    If that value is -0.8:

    1. Try these multiples from the farthest from 0 to the nearest: -8, -7, 7, -6, 6, ... The order is fixed, so that
       every machine finds the same scale if several fit.
    2. The value divided by the multiple, rounded to float16, is the scale to try: -0.8 / -8 = 0.1, then -0.8 / -7 =
       0.114, then -0.8 / 7 = -0.114 (a scale may be negative), ...
    3. A block whose every value is exactly a whole number of such scales is done; the others try the next multiple.

    Nibbles are stored as llama.cpp's Q4_0 has them: byte j of a block holds value j in its low and value j + 16 in its
    high four bits, each plus 8.
    """
    rows, columns = values.shape
    if columns % BLOCK:
        return None
    blocks = values.reshape(-1, BLOCK)
    # The value of each block that is farthest from 0, with its sign.
    farthest = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(axis=1)]
    whole_numbers, scales = np.zeros(blocks.shape, np.int8), np.zeros(len(blocks), np.float16)
    open_blocks = np.flatnonzero(farthest)  # a block of zeros fits already, with the scale 0
    for multiple in sorted(range(-8, 8), key=lambda k: (-abs(k), k)):  # 1
        if multiple == 0 or not len(open_blocks):
            continue
        # A scale may overflow to infinity or underflow to 0; then no value is equal, and the block does not fit.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scale = (farthest[open_blocks] / np.float32(multiple)).astype(np.float16)  # 2
            wide = scale.astype(np.float32)[:, None]
            numbers = np.rint(blocks[open_blocks] / wide)
            is_exact = (numbers * wide == blocks[open_blocks]) & (numbers >= -8) & (numbers <= 7)
            fits = is_exact.all(axis=1)
        done = open_blocks[fits]  # 3
        whole_numbers[done], scales[done] = numbers[fits].astype(np.int8), scale[fits]
        open_blocks = open_blocks[~fits]
    if len(open_blocks):
        return None
    shifted = (whole_numbers + 8).astype(np.uint8)
    low, high = shifted[:, : BLOCK // 2], shifted[:, BLOCK // 2 :]
    packed = low | high << 4
    return packed.reshape(rows, columns // 2), scales.reshape(rows, -1)


def restored(tensors: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Floats]]:
    """Make float32 of the tensors of :func:`quantised`, one after another, with their names.

    ``{NAME.q8: [[50, -127]], NAME.scale: [[0.01]]}`` gives ``NAME`` and ``[[0.5, -1.27]]``.
    """
    for key, values in tensors.items():
        name = key.removesuffix(".q4").removesuffix(".q8")
        if key.endswith(".q8"):
            yield name, values.astype(np.float32) * tensors[f"{name}.scale"]
        elif key.endswith(".q4"):
            # A byte is two numbers, each plus 8: those of places j (low) and j + 16 (high) of a block of 32.
            rows, half = values.shape
            blocks = values.reshape(rows, -1, BLOCK // 2)
            whole = np.concatenate([blocks & 15, blocks >> 4], axis=2).astype(np.float32)
            whole -= 8
            whole *= tensors[f"{name}.scale"].astype(np.float32)[:, :, None]
            yield name, whole.reshape(rows, 2 * half)
        elif not key.endswith(".scale"):  # a bias or norm, stored unchanged
            yield name, values


def stored_headers(name: str, size: tuple[int, ...], names: Container[str]) -> dict[str, Header]:
    """Return which tensors a file must have for one tensor of an encoder, with dtypes and shapes.

    ``name``, ``size``: Name and shape of the tensor of the encoder. ``names``: Names of all tensors in the file.
    """
    if len(size) == 1:
        return {name: ("F32", size)}
    rows, columns = size
    # Rows that cannot be divided into blocks are never in 4 bits; a `.q4` of them is refused as an unknown tensor.
    if f"{name}.q4" in names and columns % BLOCK == 0:
        return {
            f"{name}.q4": ("U8", (rows, columns // 2)),
            f"{name}.scale": ("F16", (rows, columns // BLOCK)),
        }
    return {f"{name}.q8": ("I8", size), f"{name}.scale": ("F32", (rows, 1))}


def packed_matrix(name: str, tensors: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the whole numbers of a matrix and their scales as they are stored: uint8 in 4 bits, int8 in 8 bits."""
    bits = "q4" if f"{name}.q4" in tensors else "q8"
    return tensors[f"{name}.{bits}"], tensors[f"{name}.scale"]


def unusable(tensors: Mapping[str, NDArray[Any]]) -> str | None:
    """Name a stored tensor with NaN, or with values that are infinite or become so when they are restored."""
    for name, values in tensors.items():
        if values.dtype.kind == "f" and not (np.abs(values) <= _LARGEST).all():
            return name
    return None
