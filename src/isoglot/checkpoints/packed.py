"""Pack an aligner into one small file, and unpack it again. Nothing here needs torch.

A packed aligner is a safetensors file with the encoder's weights in 4 or 8 bits, the tokenizer, and the layer and
method by which the encoder aligns words. ``stored_weights.py`` stores the weights and lists the names of their tensors:

* A matrix is in 4 bits if its values are blocks of 32 whole numbers from -8 to 7 times a float16: not a bit of them
  changes. The embeddings of an encoder that was published in 4 bits are such blocks, unless training changed them.
* Any other matrix is in 8 bits: each row is whole numbers from -127 to 127 times one float32. A value moves by at most
  1/254 of the largest value of its row.
* Biases and norms stay float32.

Two more files may stand beside NAME.safetensors:

* NAME.sentences.safetensors has the layers above the one that the aligner reads. With them the encoder gives vectors of
  sentences; without this file the layers are left out.
* NAME.aligner.json has another layer and method, which are used in place of those inside the packed file: a better
  choice can be published without the weights.

A change of the format is one of two:

* A new name, such as ``NAME.f16`` for a matrix in float16: the number in ``FORMAT`` stays. Earlier releases refuse such
  a file by the unknown name, and the reader here must take files without it.
* Another meaning of a name, such as ``NAME.scale`` with a value for each column in place of each row: the number is
  raised. Then ``is_packed`` and ``packed_file._read``, which compare the number, must take the old one too: the
  packaged aligner has it.

Users call ``isoglot.pack`` (``aligners/embedding/packing.py``), which finds the checkpoint of a run and calls
:func:`pack` here. ``cli/pretraining.py`` has the flags of the command. A new option goes through all three.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save, save_file

from isoglot.checkpoints.packed_file import (
    CONFIG,
    CONTINUES,
    FAMILIES,
    FORMAT,
    LARGEST_TOKENIZER,
    TEXTS,
    TOKENIZER,
    UPPER_FORMAT,
    EncoderShape,
    PackedFile,
    build_tokenizer,
    choice_beside,
    encoder_shape,
    is_packed,
    read_packed,
    read_upper,
    upper_layers_file,
)
from isoglot.checkpoints.reading import ALIGNER_FILE, reading
from isoglot.checkpoints.stored_weights import Floats, Tensors, quantised, restored, unusable
from isoglot.core.errors import ConfigurationError
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import read_json, whole_path
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.record import Record

_WEIGHTS = "model.safetensors"
_LENGTH = 8
"""A safetensors file begins with the length of its header in 8 bytes; that length is a multiple of 8, too."""


def pack(
    checkpoint: Path, out: str | Path, *, sentences: Path | None = None, overwrite: bool = False
) -> Path:
    """Write the encoder in a checkpoint's folder, with its ``aligner.json``, as one file.

    If the same files exist already, byte for byte, and no others beside them, nothing is written. A file that another
    release of isoglot packed otherwise from the same checkpoint counts as another aligner.

    Args:
        checkpoint: Folder of the encoder.
        out: The file to write.
        sentences: Folder of an encoder with the same embeddings and lower layers, whose upper layers give vectors of
            sentences; these layers are written into a second file beside ``out``.
        overwrite: Replace another packed aligner, and the files that stand beside it.

    Raises:
        ConfigurationError: ``aligner.json`` is missing; the encoder's family cannot be packed; weights are damaged or
            missing; a file with the name of ``out``, or of the second file, is something else than a packed aligner, or
            another one; or ``sentences`` has other lower layers.

    Example:
        >>> pack(Path("runs/mine/checkpoint"), "mine.safetensors")  # doctest: +SKIP
        PosixPath('mine.safetensors')
    """
    # Look at what exists first: a file that is not a packed aligner is never replaced, even with `overwrite`.
    file, upper = Path(out), upper_layers_file(out)
    for path, kind in ((file, FORMAT), (upper, UPPER_FORMAT)):
        if path.exists() and not is_packed(path, kind):
            raise ConfigurationError(f"{path} exists and is not a packed aligner; choose another [[out]]")

    # The texts: configuration, choice of a layer, and the tokenizer without white space.
    texts, shape = _packed_texts(checkpoint)
    with reading(checkpoint, TOKENIZER):
        tokenizer = json.loads((checkpoint / TOKENIZER).read_text(encoding="utf-8"))
        tokenizer = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
        size = len(tokenizer.encode())
    if size > LARGEST_TOKENIZER:
        raise ConfigurationError(
            f"{checkpoint / TOKENIZER}: has more than {LARGEST_TOKENIZER:,} bytes; `isoglot trim` leaves out pieces "
            "that a text does not use"
        )
    # Refuse a tokenizer with ids that the encoder has no word embeddings for.
    build_tokenizer(checkpoint, PackedFile({TOKENIZER: tokenizer}, {}, shape))

    # The contents of both files, in memory: they are compared with the files that exist before anything is written.
    # The aligner has the embeddings and the layers up to the one that it reads.
    aligner_tensors = dict(_encoder(checkpoint, shape, range(shape.num_hidden_layers)))
    tensors: Tensors = {TOKENIZER: np.frombuffer(zlib.compress(tokenizer.encode(), 9), np.uint8)}
    for name, values in aligner_tensors.items():
        tensors |= _stored(checkpoint, name, values)
    contents = {file: _serialised(FORMAT, texts, tensors)}
    if sentences is not None:
        upper_texts, upper_tensors = _upper_layers(sentences, aligner_tensors, shape, texts[CONFIG])
        # What `fingerprint(file)` gives once the file is written; `read_upper` compares them.
        continues = blake2b(contents[file], digest_size=16).hexdigest()
        contents[upper] = _serialised(UPPER_FORMAT, {**upper_texts, CONTINUES: continues}, upper_tensors)
    existing = [path for path in (file, upper, choice_beside(file)) if path.exists()]
    if existing and not overwrite:
        # One file more or less is another aligner: a choice beside the file changes how it aligns.
        has_same_files = set(existing) == set(contents)
        if has_same_files and all(path.read_bytes() == data for path, data in contents.items()):
            return file
        raise ConfigurationError(
            f"{existing[0]}: belongs to another aligner than {checkpoint}; choose another [[out]], or add "
            "[[overwrite=True]]"
        )

    # 1. The files are written under temporary names.
    # 2. Files beside an old aligner are deleted. So they never stand beside new weights, even if the process is killed.
    # 3. The stack renames what was written: first the aligner, then the upper layers that continue it. It closes last
    #    what was opened first, so the upper layers are opened first.
    with ExitStack() as stack:
        for path, data in reversed(contents.items()):
            stack.enter_context(whole_path(path)).write_bytes(data)
        for path in existing:
            if path != file:
                path.unlink()
    return file


def _serialised(kind: str, texts: Mapping[str, str], tensors: Tensors) -> bytes:
    """Return the bytes of a safetensors file, the same bytes whenever the content is the same.

    The library writes the texts in any order, so the header (JSON after its length in 8 bytes) is written again, with
    sorted keys, and filled up with spaces to a multiple of 8 bytes, as the format wants it. The tensors follow
    unchanged: their places in the header count from its end.
    """
    data = save(tensors, metadata={"format": kind, **texts})
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    header = json.dumps(
        json.loads(data[_LENGTH:end]), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    padded = header.encode() + b" " * (-len(header.encode()) % _LENGTH)
    return b"".join([len(padded).to_bytes(_LENGTH, "little"), padded, memoryview(data)[end:]])


def _packed_texts(checkpoint: Path) -> tuple[dict[str, str], EncoderShape]:
    """Return the texts of a checkpoint as they are packed, and the shape of the encoder that is packed.

    The packed encoder ends with the layer that the aligner reads. With 12 layers and ``{"layer": 8}`` in
    ``aligner.json``, ``config.json`` is packed with ``"num_hidden_layers": 8``; ``{"layer": -1}``, which counts from
    the end, is packed as ``{"layer": 12}``.
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
    layer, layer_count = choice["layer"], config["num_hidden_layers"]
    # States are numbered from 0, the embeddings, to `layer_count`; -1 is the last of these `layer_count + 1`.
    from_start = layer + layer_count + 1 if layer < 0 else layer
    if not 0 <= from_start <= layer_count:
        raise ConfigurationError(
            f"{checkpoint / ALIGNER_FILE}: layer: got {layer}, but this encoder has layers 0 (embeddings) to "
            f"{layer_count}; let `isoglot tune` choose one"
        )
    texts[CONFIG] = json.dumps({**config, "num_hidden_layers": from_start, "dtype": "float32"}, indent=2)
    texts[ALIGNER_FILE] = json.dumps({**choice, "layer": from_start})
    return texts, encoder_shape(checkpoint, texts[CONFIG])


def _upper_layers(
    folder: Path, aligner_tensors: Mapping[str, Floats], shape: EncoderShape, text: str
) -> tuple[dict[str, str], Tensors]:
    """Return ``config.json`` of a whole encoder as a text to pack, and its quantised layers above the aligner's.

    Args:
        folder: The whole encoder.
        aligner_tensors: The aligner's embeddings and layers; the whole encoder's tensors of these names must be equal.
        shape: The shape of the aligner's encoder.
        text: ``config.json`` of the aligner's encoder. The whole encoder is packed with the same one and more layers.
    """
    config = read_json(folder / CONFIG) or {}
    # Layers count from 0, so the first upper layer has the number of the aligner's layers as its own.
    first_upper = shape.num_hidden_layers
    layer_count = config.get("num_hidden_layers", 0)
    has_upper = isinstance(layer_count, int) and layer_count > first_upper
    if config.get("model_type") != shape.model_type or not has_upper:
        raise ConfigurationError(
            f"{folder} is not a {shape.model_type} encoder of more than {first_upper} layers; "
            "give one that continues the aligner"
        )
    below = dict(_encoder(folder, shape, range(first_upper)))
    for name, values in aligner_tensors.items():
        if not np.array_equal(below[name], values):
            raise ConfigurationError(
                f"{folder}: its {name} differs from the aligner's; train it with those layers frozen"
            )
    whole = shape.model_copy(update={"num_hidden_layers": layer_count})
    tensors: Tensors = {}
    for name, values in _encoder(folder, whole, range(first_upper, layer_count)):
        # `_encoder` yields the embeddings too, which are in the aligner's file.
        if name not in aligner_tensors:
            tensors |= _stored(folder, name, values)
    whole_config = {**json.loads(text), "num_hidden_layers": layer_count}
    return {CONFIG: json.dumps(whole_config, indent=2)}, tensors


def _stored(folder: Path, name: str, values: Floats) -> Tensors:
    """Return a tensor as it is packed; refuse one whose packed values could not be read again.

    ``folder``: The checkpoint that the message names.
    """
    stored = quantised(name, values)
    if unusable(stored):
        raise ConfigurationError(
            f"{folder / _WEIGHTS}: weights in {name} are too large to be packed; use an intact file"
        )
    return stored


def unpack(file: str | Path, out: str | Path, *, overwrite: bool | None = None, cached: bool = False) -> Path:
    """Write a packed aligner as a plain Hugging Face folder of float32 weights, with the upper layers if it has them.

    If the folder exists already and was made from the same files, nothing is written.

    Args:
        file: The packed aligner.
        out: The folder to write.
        overwrite: Replace a folder that was made from other files. False refuses such a folder, and the message offers
            this option; None refuses it without the offer, for callers whose users have no such option.
        cached: The folder only saves time: it is made again if its files were changed since.
    """

    def make(folder: Path) -> dict[str, Any]:
        packed = read_packed(file)
        build_tokenizer(file, packed)
        texts, tensors = packed.texts, packed.tensors
        if upper_layers_file(file).is_file():
            texts[CONFIG], upper_tensors = read_upper(file, packed)
            tensors |= upper_tensors
        # Only known names become paths: a file may come from anywhere, with `../x` as the name of a text.
        for name in (*TEXTS, TOKENIZER):
            if name in texts:
                (folder / name).write_text(texts[name], encoding="utf-8")
        with whole_path(folder / _WEIGHTS) as weights:
            save_file(dict(restored(tensors)), weights, metadata={"format": "pt"})
        return {}

    record = Record(out, _fingerprints(file), what="unpacked aligner", overwrite=overwrite)
    record.make(make, cached=cached)
    return Path(out)


def unpacked(file: Path) -> Path:
    """Unpack a packed aligner into the cache, unless it is there already and unchanged; return the folder.

    The folder is called by the hashes of the packed file and of the files beside it, such as
    ``0123456789abcdef-01234567``.
    """
    hashes = _fingerprints(file)
    hash_of_packed = hashes.pop("packed")
    name = "-".join([hash_of_packed[:16], *(hashed[:8] for hashed in hashes.values())])
    return unpack(file, cache_folder() / "aligners" / name, cached=True)


def _fingerprints(file: str | Path) -> dict[str, str]:
    """Hash a packed file (``packed``) and the files beside it, if they exist (``sentences``, ``choice``)."""
    if not Path(file).is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    beside = {"sentences": upper_layers_file(file), "choice": choice_beside(file)}
    hashes = {name: fingerprint(path) for name, path in beside.items() if path.is_file()}
    return {"packed": fingerprint(file), **hashes}


def _encoder(checkpoint: Path, shape: EncoderShape, layers: range) -> Iterable[tuple[str, Floats]]:
    """Read the tensors of the embeddings and of some layers from ``model.safetensors``, as float32.

    Their names are those in the encoder alone: ``bert.encoder.layer.0.…`` of a model with a head is
    ``encoder.layer.0.…``.

    Raises:
        ConfigurationError: A tensor is missing, has another shape than the configuration says, or holds NaN.
    """
    prefix = f"{'bert' if shape.model_type == 'bert' else 'roberta'}."
    with reading(checkpoint, _WEIGHTS), safe_open(checkpoint / _WEIGHTS, framework="np") as tensors:
        names = {name.removeprefix(prefix): name for name in tensors.keys()}  # noqa: SIM118
        # A broken configuration may promise billions of layers, too many to list their tensors. The file cannot hold
        # more layers than it has tensors. So a list of one layer more is enough to find the first missing tensor.
        stop = min(layers.stop, layers.start + len(names) + 1)
        for bare, size in sorted(shape.tensors(range(layers.start, stop), embeddings=True).items()):
            if bare not in names:
                raise ConfigurationError(
                    f"{checkpoint / _WEIGHTS}: has no weights {bare}; use an intact file"
                )
            values = tensors.get_tensor(names[bare]).astype(np.float32)
            if values.shape != size:
                raise ConfigurationError(
                    f"{checkpoint / _WEIGHTS}: {bare} has shape {values.shape}, and {size} is needed; use an "
                    "intact file"
                )
            if not np.isfinite(values).all():
                raise ConfigurationError(
                    f"{checkpoint}: NaN or infinite weights in {bare}; use an intact file"
                )
            yield bare, values
