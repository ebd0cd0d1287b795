"""Write an aligner as one small file: weights of 4 and 8 bits, tokenizer, layer and method. Nothing here needs torch.

    checkpoint/ ──> pack ──> NAME.safetensors ──> unpack ──> folder/
    config.json              4- and 8-bit weights            config.json
    model.safetensors        and texts                       model.safetensors (float32)
    tokenizer.json                                           tokenizer.json

The file is a safetensors file. Each matrix is kept

* in 4 bits, if its values are blocks of 32 whole numbers from -8 to 7 times a float16. That is so for an encoder that
  was published in 4 bits and whose embeddings were not trained; not a bit of the values changes.
* otherwise in 8 bits: each row is whole numbers from -127 to 127 times a float32 of the row. A value moves by at most
  1/254 of the largest one in its row.

Everything else stays float32. Layers above the one that the aligner reads are left out, or kept in a second file,
NAME.sentences.safetensors: with them the encoder gives vectors of sentences. Another choice of layer and method in
NAME.aligner.json replaces the one in the file: a better choice does not need the weights again.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save, save_file

from isoglot.checkpoints.packed_file import (
    BLOCK,
    CONFIG,
    CONTINUES,
    FAMILIES,
    FORMAT,
    LARGEST_TOKENIZER,
    TEXTS,
    TOKENIZER,
    UPPER_FORMAT,
    EncoderShape,
    Floats,
    PackedFile,
    Tensors,
    build_tokenizer,
    choice_beside,
    encoder_shape,
    is_packed,
    read_packed,
    read_upper,
    restored,
    sentence_file,
)
from isoglot.checkpoints.reading import ALIGNER_FILE, reading
from isoglot.core.errors import ConfigurationError
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import read_json, whole_path
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.record import Record

_WEIGHTS = "model.safetensors"
_LENGTH = 8
"""Bytes at the start of a safetensors file that hold the length of the header; the length is a multiple of 8 too."""


def pack(
    checkpoint: Path, out: str | Path, *, sentences: Path | None = None, overwrite: bool = False
) -> Path:
    """Write the encoder in a checkpoint's folder, with its ``aligner.json``, as one file.

    If the file exists with this content, nothing is done. Another file, or files that lie beside it, are only replaced
    with ``overwrite``.

    ``sentences``: Folder of an encoder with the same embeddings and lower layers, whose upper layers give vectors of
    sentences; they are written beside ``out``.

    Raises:
        ConfigurationError: no choice of a layer beside the weights, a family whose layers are built otherwise, weights
            that are damaged or missing, a file of either name that is not a packed aligner or another one, or
            ``sentences`` with other lower layers.
    """
    file, upper = Path(out), sentence_file(out)
    for path, kind in ((file, FORMAT), (upper, UPPER_FORMAT)):
        if path.exists() and not is_packed(path, kind):
            raise ConfigurationError(f"{path} exists and is not a packed aligner; choose another [[out]]")
    texts, shape = _described(checkpoint)
    tokenizer = _compact_tokenizer(checkpoint)
    # Built once, so that a tokenizer that does not fit the encoder is refused here and not by every reader.
    build_tokenizer(checkpoint, PackedFile({TOKENIZER: tokenizer}, {}, shape))
    lower = dict(_encoder(checkpoint, shape, range(shape.num_hidden_layers)))
    tensors: Tensors = {TOKENIZER: np.frombuffer(zlib.compress(tokenizer.encode(), 9), np.uint8)}
    for name, values in lower.items():
        tensors |= quantised(name, values)
    contents = {file: _serialised(FORMAT, texts, tensors)}
    if sentences is not None:
        texts, tensors = _upper_layers(sentences, lower, shape, texts[CONFIG])
        continues = blake2b(contents[file], digest_size=16).hexdigest()
        contents[upper] = _serialised(UPPER_FORMAT, {**texts, CONTINUES: continues}, tensors)
    existing = [path for path in (file, upper, choice_beside(file)) if path.exists()]
    if existing and not overwrite:
        if existing == list(contents) and all(path.read_bytes() == data for path, data in contents.items()):
            return file
        raise ConfigurationError(
            f"{existing[0]}: belongs to another aligner than {checkpoint}; choose another [[out]], or add "
            "[[overwrite=True]]"
        )
    # When the block ends, files take their names in the reverse order of the loop: the aligner first, then the upper
    # layers that continue it. Files that belong to the old weights are deleted before.
    with ExitStack() as stack:
        for path, data in reversed(contents.items()):
            stack.enter_context(whole_path(path)).write_bytes(data)
        for path in existing:
            if path != file:
                path.unlink()
    return file


def _compact_tokenizer(checkpoint: Path) -> str:
    """Read ``tokenizer.json`` of a checkpoint as JSON without white space; refuse one that no reader would accept."""
    with reading(checkpoint, TOKENIZER):
        tokenizer = json.loads((checkpoint / TOKENIZER).read_text(encoding="utf-8"))
        text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode())
    if size > LARGEST_TOKENIZER:
        raise ConfigurationError(
            f"{checkpoint / TOKENIZER}: has more than {LARGEST_TOKENIZER:,} bytes; `isoglot trim` leaves out pieces "
            "that a text does not use"
        )
    return text


def _serialised(kind: str, texts: Mapping[str, str], tensors: Tensors) -> bytes:
    """Return the bytes of a safetensors file that depend on its content alone, so that equal files can be compared.

    The library writes the texts of the header in any order. Here the header is written again with sorted keys, and
    filled up with spaces to a multiple of 8 bytes, as the format asks for.
    """
    data = save(tensors, metadata={"format": kind, **texts})
    end_of_header = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    header = json.loads(data[_LENGTH:end_of_header])
    sorted_header = json.dumps(header, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    padded = sorted_header + b" " * (-len(sorted_header) % _LENGTH)
    return b"".join([len(padded).to_bytes(_LENGTH, "little"), padded, memoryview(data)[end_of_header:]])


def _described(checkpoint: Path) -> tuple[dict[str, str], EncoderShape]:
    """Return the texts of a checkpoint as they are packed, and the shape of the encoder without the layers left out.

    An aligner that reads layer 8 of 12 is packed as an encoder with 8 layers, whose last one it reads.
    """
    texts = {}
    for name in TEXTS:
        path = checkpoint / name
        with reading(checkpoint, name):
            if path.is_file():
                texts[name] = path.read_text(encoding="utf-8")
    config, choice = read_json(checkpoint / CONFIG), read_json(checkpoint / ALIGNER_FILE)
    if config is None or not isinstance(config.get("num_hidden_layers"), int):
        raise ConfigurationError(
            f"{checkpoint / CONFIG}: is not the configuration of an encoder; restore the file"
        )
    if choice is None or not isinstance(choice.get("layer"), int):
        raise ConfigurationError(
            f"{checkpoint}: has no {ALIGNER_FILE} with a layer; let `isoglot tune` choose one"
        )
    if config.get("model_type") not in FAMILIES:
        raise ConfigurationError(
            f"{checkpoint}: is a {config.get('model_type')!r} model, and {', '.join(FAMILIES)} can be packed"
        )
    if choice.get("method") == "pointer":
        raise ConfigurationError(
            f"{checkpoint}: method pointer reads weights that a packed file does not hold; let `isoglot tune` choose "
            "another"
        )
    layer, layers = choice["layer"], config["num_hidden_layers"]
    last = layer + layers + 1 if layer < 0 else layer
    if not 0 <= last <= layers:
        raise ConfigurationError(
            f"{checkpoint / ALIGNER_FILE}: layer: got {layer}, but this encoder has layers 0 (embeddings) to "
            f"{layers}; let `isoglot tune` choose one"
        )
    texts[CONFIG] = json.dumps({**config, "num_hidden_layers": last, "dtype": "float32"}, indent=2)
    texts[ALIGNER_FILE] = json.dumps({**choice, "layer": last})
    return texts, encoder_shape(checkpoint, texts[CONFIG])


def _upper_layers(
    folder: Path, lower: Mapping[str, Floats], shape: EncoderShape, text: str
) -> tuple[dict[str, str], Tensors]:
    """Return the configuration of a whole encoder, and the encoder's layers above those of the aligner, quantised.

    Args:
        folder: The encoder's checkpoint.
        lower: The aligner's tensors, which the encoder must share.
        shape: The aligner's shape.
        text: The aligner's ``config.json``, which becomes that of the whole encoder with another number of layers.
    """
    config, first = read_json(folder / CONFIG) or {}, shape.num_hidden_layers
    last = config.get("num_hidden_layers", 0)
    if config.get("model_type") != shape.model_type or not isinstance(last, int) or last <= first:
        raise ConfigurationError(
            f"{folder} is not a {shape.model_type} encoder of more than {first} layers; "
            "give one that continues the aligner"
        )
    below = dict(_encoder(folder, shape, range(first)))
    changed = [name for name, values in lower.items() if not np.array_equal(below[name], values)]
    if changed:
        raise ConfigurationError(
            f"{folder}: its {changed[0]} differs from the aligner's; train it with those layers frozen"
        )
    whole = shape.model_copy(update={"num_hidden_layers": last})
    tensors: Tensors = {}
    for name, values in _encoder(folder, whole, range(first, last)):
        if name not in lower:
            tensors |= quantised(name, values)
    return {CONFIG: json.dumps({**json.loads(text), "num_hidden_layers": last}, indent=2)}, tensors


def unpack(file: str | Path, out: str | Path, *, overwrite: bool | None = None, cached: bool = False) -> Path:
    """Write a packed file as a plain Hugging Face folder with float32 weights, upper layers included.

    If the folder was made from this file, nothing is done; another folder is only replaced with ``overwrite``.

    ``cached``: Whether the folder only saves time, as in :meth:`isoglot.runs.record.Record.make`.
    """

    def make(folder: Path) -> dict[str, Any]:
        packed = read_packed(file)
        build_tokenizer(file, packed)
        texts, tensors = packed.texts, packed.tensors
        if sentence_file(file).is_file():
            texts[CONFIG], above = read_upper(file, packed)
            tensors |= above
        for name in (*TEXTS, TOKENIZER):  # no other name in the file becomes a path
            if name in texts:
                (folder / name).write_text(texts[name], encoding="utf-8")
        with whole_path(folder / _WEIGHTS) as weights:
            save_file(dict(restored(tensors)), weights, metadata={"format": "pt"})
        return {}

    record = Record(out, _fingerprints(file), what="unpacked aligner", overwrite=overwrite)
    record.make(make, cached=cached)
    return Path(out)


def unpacked(file: Path) -> Path:
    """Return the folder of the cache with the content of a packed file; write it if it is missing or was changed."""
    first, *more = _fingerprints(file).values()
    name = "-".join([first[:16], *(hashed[:8] for hashed in more)])
    return unpack(file, cache_folder() / "aligners" / name, cached=True)


def _fingerprints(file: str | Path) -> dict[str, str]:
    """Hash a packed file and the files beside it that belong to it."""
    if not Path(file).is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    beside = {"sentences": sentence_file(file), "choice": choice_beside(file)}
    hashes = {name: fingerprint(path) for name, path in beside.items() if path.is_file()}
    return {"packed": fingerprint(file), **hashes}


def quantised(name: str, values: Floats) -> dict[str, NDArray[Any]]:
    """Return a tensor as the file holds it: ``NAME.q4`` or ``NAME.q8`` with ``NAME.scale``, or unchanged.

    A row 1.0, -0.5 has the scale 1/127 and the whole numbers 127, -64.
    """
    if values.ndim != 2:  # biases and the weights of norms
        return {name: values}
    in_four_bits = _in_four_bits(values)
    if in_four_bits is not None:
        nibbles, scales = in_four_bits
        return {f"{name}.q4": nibbles, f"{name}.scale": scales}
    scale = np.abs(values).max(axis=1, keepdims=True) / np.float32(127)
    # A row of zeros has scale 0, and is divided by 1 instead.
    whole = np.rint(values / np.where(scale > 0, scale, 1)).astype(np.int8)
    return {f"{name}.q8": whole, f"{name}.scale": scale.astype(np.float32)}


def _in_four_bits(values: Floats) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return nibbles and scales that give exactly these values, ``None`` if there are none.

    Each block of 32 values is whole numbers from -8 to 7 times one scale. The scale is not known, but the largest value
    of the block is one of the whole numbers times the scale: each is tried, -8 first, and a scale is right if it gives
    every value of the block exactly.

    The values of a block are packed two to a byte: byte j holds value j (low half) and value j + 16 (high half), each
    plus 8.
    """
    rows, columns = values.shape
    if columns % BLOCK:
        return None
    blocks = values.reshape(-1, BLOCK)
    largest = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(axis=1)]
    whole, scales = np.zeros(blocks.shape, np.int8), np.zeros(len(blocks), np.float16)
    remaining = np.flatnonzero(largest)  # blocks without a scale yet; a block of zeros needs none
    for multiple in sorted(range(-8, 8), key=lambda k: (-abs(k), k)):  # -8, -7, 7, -6, 6, ...
        if not multiple or not len(remaining):
            continue
        # Beyond the range of float16 a scale becomes infinite or 0, and fits nothing.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scale = (largest[remaining] / np.float32(multiple)).astype(np.float16)
            as_float32 = scale.astype(np.float32)[:, None]
            numbers = np.rint(blocks[remaining] / as_float32)
            is_exact = numbers * as_float32 == blocks[remaining]
            fits = (is_exact & (numbers >= -8) & (numbers <= 7)).all(axis=1)
        whole[remaining[fits]] = numbers[fits].astype(np.int8)
        scales[remaining[fits]] = scale[fits]
        remaining = remaining[~fits]
    if len(remaining):
        return None
    nibbles = (whole + 8).astype(np.uint8)
    packed = nibbles[:, : BLOCK // 2] | nibbles[:, BLOCK // 2 :] << 4
    return packed.reshape(rows, columns // 2), scales.reshape(rows, -1)


def _encoder(checkpoint: Path, shape: EncoderShape, layers: range) -> Iterable[tuple[str, Floats]]:
    """Read the tensors of the embeddings and of some layers, with their names in the encoder alone.

    ``bert.encoder.layer.0.output.dense.weight`` of a model with a head is ``encoder.layer.0.output.dense.weight``.
    """
    prefix = f"{'bert' if shape.model_type == 'bert' else 'roberta'}."
    with reading(checkpoint, _WEIGHTS), safe_open(checkpoint / _WEIGHTS, framework="np") as tensors:
        names = {name.removeprefix(prefix): name for name in tensors.keys()}  # noqa: SIM118
        # A configuration may promise millions of layers. A file with n tensors has fewer than n + 1.
        stop = min(layers.stop, layers.start + len(names) + 1)
        for bare, size in sorted(shape.tensors(range(layers.start, stop), embeddings=True).items()):
            if bare not in names:
                raise ConfigurationError(
                    f"{checkpoint / _WEIGHTS}: has no weights {bare}; use an intact file"
                )
            values = tensors.get_tensor(names[bare]).astype(np.float32)
            if values.shape != size:
                raise ConfigurationError(
                    f"{checkpoint / _WEIGHTS}: {bare} has shape {values.shape}, but config.json says {size}; use an "
                    "intact file"
                )
            if not np.isfinite(values).all():
                raise ConfigurationError(
                    f"{checkpoint}: NaN or infinite weights in {bare}; use an intact file"
                )
            yield bare, values
