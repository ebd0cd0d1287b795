"""An aligner in one small file: weights of 4 and 8 bits, tokenizer, layer and method. Nothing here needs torch.

The file is a safetensors file. Each matrix is kept

* in 4 bits, where its values are blocks of 32 whole numbers from -8 to 7 times a float16 (an encoder that was
  published so, whose embeddings training left alone): not a bit of them changes;
* else in 8 bits, each row whole numbers from -127 to 127 times its own float32: a value moves by at most 1/254 of its
  row's largest.

Everything else stays float32. Layers above the one that the aligner reads are left out, or kept in a second file beside
it, NAME.sentences.safetensors: with them the encoder gives vectors of sentences. A choice of layer and method
beside it, NAME.aligner.json, takes the place of the one in it: a better one does not need the weights again.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from isoglot.checks import shortened
from isoglot.errors import ConfigurationError
from isoglot.runs.cache import cache_folder
from isoglot.runs.checkpoint import ALIGNER_FILE, reading
from isoglot.runs.files import read_json, whole_path
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.folder import make_once

Floats = NDArray[np.float32]
_Content = tuple[str, dict[str, str], dict[str, NDArray[Any]]]
"""Format, texts and tensors of a file."""
FORMAT, _UPPER_FORMAT = "isoglot-packed-1", "isoglot-packed-sentences-1"
BLOCK = 32
"""Values of a block of 4 bits."""
FAMILIES = ("bert", "roberta", "xlm-roberta")
"""Whose layers ``encoder.layer.N`` each end in the states that are compared, so that those above can be left out."""
_TEXTS = ("config.json", "tokenizer_config.json", ALIGNER_FILE, "README.md")
"""Files that go along where they are there: the model card has licence notices."""
TOKENIZER, _WEIGHTS = "tokenizer.json", "model.safetensors"
_METADATA = {FORMAT: {*_TEXTS}, _UPPER_FORMAT: {"config.json", "continues"}}
"""Texts of each format. They become files of these names when a file is unpacked; no other name does."""
_MANIFEST = "unpacked.json"
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def pack(
    checkpoint: Path, out: str | Path, *, sentences: Path | None = None, overwrite: bool = False
) -> Path:
    """Write the encoder in a checkpoint's folder, with its ``aligner.json``, as one file.

    Nothing is done where that file is there already; another one, or what lies beside it, is replaced with
    ``overwrite`` alone.

    ``sentences``: folder of an encoder with the same embeddings and lower layers, whose upper layers give vectors of
    sentences; they are written beside ``out``.

    Raises:
        ConfigurationError: no choice of a layer beside the weights, a family whose layers are built otherwise, weights
            that are damaged or missing, a file of either name that is not a packed aligner or another one, or
            ``sentences`` with other lower layers.
    """
    file, upper = Path(out), sentence_file(out)
    for place, kind in ((file, FORMAT), (upper, _UPPER_FORMAT)):
        if place.exists() and not is_packed(place, kind):
            raise ConfigurationError(f"{place} exists and is not a packed aligner; choose another --out")
    texts, family, last = _described(checkpoint)
    with reading(checkpoint, TOKENIZER):
        tokenizer = json.loads((checkpoint / TOKENIZER).read_text(encoding="utf-8"))
    dense = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    tensors = {TOKENIZER: np.frombuffer(zlib.compress(dense.encode(), 9), np.uint8)}
    contents: dict[Path, _Content] = {file: (FORMAT, texts, tensors)}
    lower = dict(_encoder(checkpoint, family, range(last)))
    if sentences is not None:
        contents[upper] = _upper_layers(sentences, lower, texts["config.json"])
    for name, values in lower.items():
        tensors.update(quantised(name, values))
    held = [place for place in (file, upper, choice_beside(file)) if place.exists()]
    if held and not overwrite:
        if held == list(contents) and all(_holds(p, file, content) for p, content in contents.items()):
            return file
        raise ConfigurationError(
            f"{held[0]}: belongs to another aligner than {checkpoint}; choose another --out, or add --overwrite"
        )
    for place, (kind, about, kept) in contents.items():
        continues = {} if place == file else {"continues": _content(file)}
        with whole_path(place) as temporary:
            save_file(kept, temporary, metadata={"format": kind, **about, **continues})
    for place in held:
        if place not in contents:  # it belongs to what stood there before
            place.unlink()
    return file


def _described(checkpoint: Path) -> tuple[dict[str, str], str, int]:
    """The texts of a checkpoint as they are packed, its family, and the last layer that is."""
    texts = {
        name: path.read_text(encoding="utf-8") for name in _TEXTS if (path := checkpoint / name).is_file()
    }
    config, choice = read_json(checkpoint / "config.json"), read_json(checkpoint / ALIGNER_FILE)
    if config is None or not isinstance(config.get("num_hidden_layers"), int):
        raise ConfigurationError(
            f"{checkpoint / 'config.json'}: is not the configuration of an encoder; restore the file"
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
    texts["config.json"] = json.dumps({**config, "num_hidden_layers": last, "dtype": "float32"}, indent=2)
    texts[ALIGNER_FILE] = json.dumps({**choice, "layer": last})
    return texts, config["model_type"], last


def _holds(place: Path, file: Path, content: _Content) -> bool:
    """Whether a file, ``file`` itself or what lies beside it, is what packing would write."""
    kind, about, tensors = content
    texts, kept = _read(place, kind)
    if place != file and texts.pop("continues", "") != _content(file):
        return False
    same = texts == about and kept.keys() == tensors.keys()
    return same and all(np.array_equal(values, tensors[name]) for name, values in kept.items())


def sentence_file(file: str | Path) -> Path:
    """Where the upper layers of a packed file are kept, if it has any."""
    return _beside(file, ".sentences.safetensors")


def choice_beside(file: str | Path) -> Path:
    """Where the layer and method of a packed file are kept if they are not those in it."""
    return _beside(file, ".aligner.json")


def _beside(file: str | Path, ending: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}{ending}")


def _upper_layers(folder: Path, lower: Mapping[str, Floats], config: str) -> _Content:
    """The configuration of a whole encoder, and its layers above some as they are kept."""
    own, whole = json.loads(config), read_json(folder / "config.json") or {}
    first, last = own["num_hidden_layers"], whole.get("num_hidden_layers", 0)
    if whole.get("model_type") != own["model_type"] or last <= first:
        raise ConfigurationError(
            f"{folder} is not a {own['model_type']} encoder of more than {first} layers; "
            "give one that continues the aligner"
        )
    below = dict(_encoder(folder, own["model_type"], range(first)))
    other = [name for name in lower if name not in below or not np.array_equal(below[name], lower[name])]
    if other:
        raise ConfigurationError(
            f"{folder}: its {other[0]} differs from the aligner's; train it with those layers frozen"
        )
    kept: dict[str, NDArray[Any]] = {}
    for name, values in _encoder(folder, own["model_type"], range(first, last)):
        if name not in lower:
            kept |= quantised(name, values)
    return _UPPER_FORMAT, {"config.json": json.dumps({**own, "num_hidden_layers": last}, indent=2)}, kept


def unpack(file: str | Path, out: str | Path, *, overwrite: bool | None = None) -> Path:
    """Write what a packed file holds as a plain Hugging Face folder of float32 weights, upper layers included.

    Nothing is done where that folder is there already; another one is replaced with ``overwrite`` alone.
    """
    content, upper = _content(file), sentence_file(file)

    def make(folder: Path) -> dict[str, Any]:
        texts, tensors = read_packed(file)
        if upper.is_file():
            about, above = _read(upper, _UPPER_FORMAT)
            if about["continues"] != content:
                raise ConfigurationError(
                    f"{upper} continues another file than {file}; remove it, or pack both again"
                )
            texts["config.json"] = about["config.json"]
            tensors |= above
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        save_file(dict(restored(tensors)), folder / _WEIGHTS, metadata={"format": "pt"})
        return {}

    make_once(out, _fingerprints(file), make, what="unpacked aligner", overwrite=overwrite, name=_MANIFEST)
    return Path(out)


def unpacked(file: Path) -> Path:
    """The folder in the cache that holds what a packed file holds; made where it is missing."""
    first, *more = _fingerprints(file).values()
    return unpack(file, cache_folder() / "aligners" / "-".join([first[:16], *(one[:8] for one in more)]))


def _fingerprints(file: str | Path) -> dict[str, str]:
    """Hashes of a packed file and of what stands beside it."""
    more = {"sentences": sentence_file(file), "choice": choice_beside(file)}
    found = {name: fingerprint(place) for name, place in more.items() if place.is_file()}
    return {"packed": _content(file), **found}


def _content(file: str | Path) -> str:
    if not Path(file).is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    return fingerprint(file)


def is_packed(file: Path, kind: str = FORMAT) -> bool:
    """Whether a file is a packed aligner, complete or not."""
    try:
        with safe_open(file, framework="np") as tensors:
            return (tensors.metadata() or {}).get("format") == kind
    except (SafetensorError, OSError):
        return False


def quantised(name: str, values: Floats) -> dict[str, NDArray[Any]]:
    """A tensor as it is kept: ``NAME.q4`` or ``NAME.q8`` with ``NAME.scale``, or itself."""
    if values.ndim != 2:
        return {name: values}
    if (exact := _in_four_bits(values)) is not None:
        return {f"{name}.q4": exact[0], f"{name}.scale": exact[1]}
    scale = np.abs(values).max(axis=1, keepdims=True) / np.float32(127)
    whole = np.rint(values / np.where(scale > 0, scale, 1)).astype(np.int8)
    return {f"{name}.q8": whole, f"{name}.scale": scale.astype(np.float32)}


def restored(tensors: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Floats]]:
    """The tensors of :func:`quantised` as float32, with their names, one after another."""
    for key, kept in tensors.items():
        name = key.removesuffix(".q4").removesuffix(".q8")
        if key.endswith(".q8"):
            yield name, kept.astype(np.float32) * tensors[f"{name}.scale"]
        elif key.endswith(".q4"):
            rows, half = kept.shape
            blocks = kept.reshape(rows, -1, BLOCK // 2)
            whole = np.concatenate([blocks & 15, blocks >> 4], axis=2).astype(np.float32)
            whole -= 8
            whole *= tensors[f"{name}.scale"].astype(np.float32)[:, :, None]
            yield name, whole.reshape(rows, 2 * half)
        elif not key.endswith(".scale"):
            yield name, kept


def _in_four_bits(values: Floats) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Nibbles and scales that give exactly these values, if there are any.

    Byte j of a block holds value j (low) and j + 16 (high), each plus 8.
    """
    rows, columns = values.shape
    if columns % BLOCK:
        return None
    blocks = values.reshape(-1, BLOCK)
    largest = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(axis=1)]
    whole, scales = np.zeros(blocks.shape, np.int8), np.zeros(len(blocks), np.float16)
    left = np.flatnonzero(largest)
    for multiple in sorted(range(-8, 8), key=lambda k: (-abs(k), k)):
        if not multiple or not len(left):
            continue
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scale = (largest[left] / np.float32(multiple)).astype(np.float16)
            wide = scale.astype(np.float32)[:, None]
            found = np.rint(blocks[left] / wide)
            fits = ((found * wide == blocks[left]) & (found >= -8) & (found <= 7)).all(axis=1)
        whole[left[fits]], scales[left[fits]] = found[fits].astype(np.int8), scale[fits]
        left = left[~fits]
    if len(left):
        return None
    nibbles = (whole + 8).astype(np.uint8)
    packed = nibbles[:, : BLOCK // 2] | nibbles[:, BLOCK // 2 :] << 4
    return packed.reshape(rows, columns // 2), scales.reshape(rows, -1)


def _encoder(checkpoint: Path, family: str, numbers: range) -> Iterable[tuple[str, Floats]]:
    """The tensors of embeddings and of some layers, by their names in the encoder alone."""
    prefix = f"{'bert' if family == 'bert' else 'roberta'}."
    found = set[int | None]()
    with reading(checkpoint, _WEIGHTS), safe_open(checkpoint / _WEIGHTS, framework="np") as tensors:
        for name in sorted(tensors.keys()):
            bare = name.removeprefix(prefix)
            layer = _LAYER.match(bare)
            read = int(layer[1]) in numbers if layer else bare.startswith("embeddings.")
            if read and not bare.endswith(("position_ids", "token_type_ids")):
                values = tensors.get_tensor(name).astype(np.float32)
                if not np.isfinite(values).all():
                    raise ConfigurationError(
                        f"{checkpoint}: NaN or infinite weights in {bare}; use an intact file"
                    )
                found.add(int(layer[1]) if layer else None)
                yield bare, values
    if missing := [number for number in (None, *numbers) if number not in found]:
        what = "embeddings" if missing[0] is None else f"layer {missing[0] + 1}"
        raise ConfigurationError(f"{checkpoint / _WEIGHTS}: has no weights of {what}; use an intact file")


def read_packed(
    file: str | Path, *, texts_alone: bool = False
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """The texts of a packed file by name, ``tokenizer.json`` among them, and its tensors as they are kept.

    ``texts_alone``: Leave out the tensors and the tokenizer.
    """
    texts, kept = _read(Path(file), FORMAT, texts_alone=texts_alone)
    if (choice := choice_beside(file)).is_file():
        texts[ALIGNER_FILE] = choice.read_text(encoding="utf-8")
    if not texts_alone:
        try:
            texts[TOKENIZER] = zlib.decompress(kept.pop(TOKENIZER).tobytes()).decode()
        except (KeyError, zlib.error) as error:
            raise ConfigurationError(f"{file}: cannot be read as a packed aligner ({error})") from error
    return texts, kept


def _read(
    file: Path, kind: str, *, texts_alone: bool = False
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    try:
        with safe_open(file, framework="np") as tensors:
            texts = tensors.metadata() or {}
            if texts.pop("format", None) == kind:
                if unknown := sorted(texts.keys() - _METADATA[kind]):
                    raise ConfigurationError(
                        f"{file}: cannot be read as a packed aligner (unknown text {shortened(unknown[0])}); "
                        "only texts that `isoglot pack` writes are taken"
                    )
                names = [] if texts_alone else tensors.keys()
                return texts, {name: tensors.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ConfigurationError(f"{file}: cannot be read as a packed aligner ({error})") from error
    raise ConfigurationError(
        f"{file} is not a packed aligner; make one with `isoglot pack CHECKPOINT --out {file}`"
    )
