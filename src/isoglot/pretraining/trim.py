"""``isoglot trim``: an encoder without the pieces that given text does not use.

Source: Abdaoui et al. 2020, "Load What You Need"; Ushio et al. 2023, "Efficient Multilingual Language Model Compression
through Vocabulary Trimming".
"""

import copy
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForMaskedLM, PreTrainedConfig
from transformers.utils import SAFE_WEIGHTS_NAME

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.reading import reading
from isoglot.core.checks import given_texts, one_request, shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import Tabular
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.pieces import fast_backend
from isoglot.corpus.encode.trimming import (
    chosen_pieces,
    count_pieces,
    cut_differences,
    expected_pieces,
    trimmed_tokenizer,
)
from isoglot.corpus.manifest import InputFile, load_corpus
from isoglot.formats.line_files import LineFile, Meter, decode_lines
from isoglot.modules.checkpoint import quiet, weight_files
from isoglot.modules.load import masked_lm_config
from isoglot.pretraining.options import TrimRequest
from isoglot.runs.files import read_json, refuse_overwriting, whole_path, write_json
from isoglot.runs.fingerprint import files_of, key_of
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.json_lines import parse_json
from isoglot.runs.record import Record
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of
from isoglot.tasks.language_vectors import read_vectors, write_vectors
from isoglot.training.checkpoints import OBJECTIVES

_LEFT_BEHIND = (
    "model*.safetensors*", "objectives.safetensors", "*.bin", "*.pt", "*.h5", "*.msgpack", "*.ot", "*onnx*", "openvino",
    "vocab.*", "merges.txt", "*.model", "added_tokens.json", "checkpoint-*", "*.partial",
)  # fmt: skip
"""Files of a checkpoint's own folder that are not copied: they hold the whole vocabulary, are written again, or belong
to the training (``checkpoint-*``, ``*.partial``)."""
_POINTER = re.compile(r"(^|\.)(pointer\.(query|key)\.(weight|bias)|pointer_layer)$")
"""Tensors of ``objectives.safetensors`` that an aligner reads. Only these are copied: others may hold ids of pieces."""


@dataclass(frozen=True)
class TrimSummary(Tabular):
    """Sizes of an encoder before and after: tokenizer entries, and numbers in the weights.

    ``pieces``, ``parameters``: before and after, such as ``(250002, 40000)``.
    ``tenfold``: an estimate of the entries that ten times as much text would keep.
    ``held_out``: tokens of held-out text, and how many of them the new tokenizer cuts differently.
    ``skipped``: whether the folder was there already, made from the same encoder, text and options.
    """

    path: Path
    pieces: Sequence[int]
    parameters: Sequence[int]
    tenfold: int
    held_out: Sequence[int] | None
    skipped: bool


def trim(
    encoder: str | Path,
    out: str | Path,
    request: TrimRequest | None = None,
    *,
    texts: Iterable[str] | None = None,
    overwrite: bool = False,
    progress: AnyReporter = True,
    **options: Any,
) -> TrimSummary:
    """Write a copy of an encoder (with a masked-LM head or without) that has only the pieces that text uses.

    Special tokens and the characters seen are kept. The text is cut into the same pieces as before: unchanged, as
    words joined by spaces, and as entries of a dictionary. The hidden states of these pieces, and their masked-LM
    logits, are the same too. If the folder exists and was made from the same encoder and text with the same options,
    nothing is done.

    Args:
        encoder: Folder or hub name of an encoder.
        out: The folder to write.
        request: All options in one object, in place of ``**options``.
        texts: More text to keep the pieces of, such as a column of a data set.
        overwrite: Replace an encoder that was trimmed otherwise.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Options of :class:`isoglot.TrimRequest`: files whose pieces are kept (``text="en-de.tsv"``), and
            other files, of which the tokens are counted that the new tokenizer cuts differently
            (``held_out="dev.txt"``).

    Raises:
        ConfigurationError: No text, a checkpoint that cannot be read, or a folder that holds something else.
        InputError: Bad text, as ``file:line``.
    """
    if isinstance(texts, str | Path):
        raise ConfigurationError(
            f"texts must be a list of texts, got {shortened(texts)}; for a file pass text=FILE"
        )
    request = one_request(TrimRequest, request, options, whole_name="request")
    in_memory = None if texts is None else list(given_texts(texts, "texts"))
    if not request.text and not in_memory:
        raise ConfigurationError("no text; name the text whose pieces are kept: [[text='corpus.tsv']]")
    report = reporter_of(progress)
    source, files = checkpoint_folder(encoder), [*request.text, *request.held_out]
    refuse_overwriting(out, [encoder, *files])
    hashed = hash_checkpoint(source) if isinstance(source, Path) else None
    made_from = {
        "encoder": {"path": str(encoder), "hash": hashed},
        # Earlier releases had the options min_count (the least uses of a kept piece) and keep_pieces; with these values
        # their folders are recognised. The request stands last: should it have an option of one of these names again,
        # its value is recorded, and not the one that stands here.
        "options": {"min_count": 1, "keep_pieces": None, **request.model_dump(mode="json")},
        "inputs": [InputFile.of(path).recorded() for path in files],
    }
    if in_memory is not None:
        made_from["texts"] = key_of(in_memory)
    record = Record(out, made_from, what="trimmed encoder", overwrite=overwrite)
    manifest, is_new = record.make(lambda folder: _write(source, folder, request, in_memory or (), report))
    summary = {name: manifest.get(name) for name in ("pieces", "parameters", "tenfold", "held_out")}
    return TrimSummary(Path(out), **summary, skipped=not is_new)  # type: ignore[arg-type]


def _write(
    source: str | Path, folder: Path, request: TrimRequest, texts: Sequence[str], report: Reporter
) -> dict[str, Any]:
    """Write the trimmed encoder into a folder; return the values of its manifest.

    1. Count the pieces of the text, choose those that are kept, and make the smaller tokenizer.
    2. Copy the files of the checkpoint that do not depend on the vocabulary.
    3. Write the tokenizer, the weights of the kept pieces, and the configuration with the new ids of special tokens.
    """
    config, tokenizer, files = masked_lm_config(source), load_tokenizer(source), weight_files(source)
    if not files:
        raise ConfigurationError(
            f"{source}: holds no {SAFE_WEIGHTS_NAME}; convert the weights: "
            "AutoModelForMaskedLM.from_pretrained(...).save_pretrained(FOLDER)"
        )
    # Pieces that the configuration names (`pad_token_id: 0`) are kept even if no text has them.
    special_ids = {
        name: value
        for name, value in config.to_dict().items()
        if name.endswith("_token_id") and isinstance(value, int)
    }
    backend = fast_backend(tokenizer)
    usage = count_pieces(backend, chain(_texts(request.text, "count", report), texts))  # 1
    # The kept ids in ascending order: if piece 700 stands at index 30, its new id is 30.
    kept = chosen_pieces(backend, usage, always=special_ids.values())
    trimmed = trimmed_tokenizer(backend, kept)
    differences = None
    if request.held_out:
        differences = cut_differences(backend, trimmed, _texts(request.held_out, "held-out", report))
    if isinstance(source, Path):  # 2
        _copy_beside(source, folder, kept.tolist())
    with quiet():  # 3
        tokenizer.save_pretrained(str(folder))
    trimmed.save(str(folder / "tokenizer.json"))
    parameters = _save_weights(files, folder / SAFE_WEIGHTS_NAME, config, torch.from_numpy(kept))
    new_id = {int(old): new for new, old in enumerate(kept)}
    for name, value in special_ids.items():
        # An id that is no piece of the tokenizer is never used, and stays.
        setattr(config, name, new_id.get(value, value))
    config.vocab_size = len(kept)
    config.save_pretrained(str(folder))
    pieces = (backend.get_vocab_size(with_added_tokens=True), len(kept))
    # Ten times as much text would use some pieces for the first time. Each of them would be kept, because one use is
    # enough; all that is kept now, special tokens too, would stay.
    new_pieces = expected_pieces(usage, 10) - len(usage.used)
    tenfold = min(pieces[0], len(kept) + new_pieces)
    return {"pieces": pieces, "parameters": parameters, "tenfold": tenfold, "held_out": differences}


def _save_weights(
    files: Sequence[Path], out: Path, config: PreTrainedConfig, pieces: Tensor
) -> tuple[int, int]:
    """Write the weights of the kept pieces; return the numbers in all weights before and after.

    A tensor with the name ``embeddings.word_embeddings.weight`` loses rows; a tensor without an axis for the vocabulary
    is copied. Names in a file may have the encoder's prefix (``bert.``) or not.
    """
    axes, prefix = _vocabulary_axes(config)
    largest = int(pieces.max())
    before, weights = 0, {}
    for path in files:
        with reading(path.parent, path.name), safe_open(path, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - not a mapping
                tensor = tensors.get_tensor(name)
                before += tensor.numel()
                axis = axes.get(name.removeprefix(prefix))
                if axis is not None:
                    if tensor.shape[axis] <= largest:
                        raise ConfigurationError(
                            f"{path}: {name} has {tensor.shape[axis]} rows, and the tokenizer has an entry {largest}"
                        )
                    tensor = tensor.index_select(axis, pieces)
                weights[name] = tensor
    with whole_path(out) as temporary:
        save_file(weights, temporary, metadata={"format": "pt"})
    return before, sum(tensor.numel() for tensor in weights.values())


def _vocabulary_axes(config: PreTrainedConfig) -> tuple[dict[str, int], str]:
    """Find the axis of each tensor that the vocabulary's size decides, and the prefix of the encoder's names.

    Families name these tensors differently (word embeddings, rows and bias of a head). So the model is made twice
    without weights, with a vocabulary of ``n`` and of ``n + 1`` pieces, and the shapes are compared:
    ``embeddings.word_embeddings.weight`` is (n, 768) and (n + 1, 768), which gives axis 0.
    """
    shapes: list[dict[str, torch.Size]] = []
    for size in (config.vocab_size, config.vocab_size + 1):
        sized = copy.deepcopy(config)
        sized.vocab_size = size
        with torch.device("meta"), quiet():
            model = AutoModelForMaskedLM.from_config(sized)
        prefix = f"{model.base_model_prefix}."
        shapes.append(
            {name.removeprefix(prefix): tensor.shape for name, tensor in model.state_dict().items()}
        )
    axes: dict[str, int] = {}
    smaller, larger = shapes
    for name, shape in smaller.items():
        for axis, (size, larger_size) in enumerate(zip(shape, larger[name], strict=True)):
            if size != larger_size:
                axes[name] = axis
    return axes, prefix


def _copy_beside(source: Path, folder: Path, kept: Sequence[int]) -> None:
    """Copy the files beside the weights; files that depend on the ids of pieces are written for the ``kept`` ones.

    1. Files of the checkpoint's own folder, without those in ``_LEFT_BEHIND``, and its subfolders.
    2. The language embeddings, which evaluations read.
    3. ``objectives.safetensors``, with only the pointers that aligners read.
    4. The weights of tokens of sentence-transformers.
    """
    ignored = shutil.ignore_patterns(*_LEFT_BEHIND)  # 1
    shutil.copytree(
        source,
        folder,
        dirs_exist_ok=True,
        # The patterns are of the folder itself: sentence-transformers has folders with files of the same names.
        ignore=lambda at, names: ignored(at, names) if at == str(source) else [],
    )
    vectors = read_vectors(source)  # 2
    if vectors is not None:
        write_vectors(vectors, folder)
    objectives = source / OBJECTIVES  # 3
    if objectives.is_file():
        with reading(source, OBJECTIVES), safe_open(objectives, framework="pt") as tensors:
            names = [name for name in tensors.keys() if _POINTER.search(name)]  # noqa: SIM118
            pointers = {name: tensors.get_tensor(name) for name in names}
        if pointers:
            save_file(pointers, folder / OBJECTIVES)
    # 4. `vocab` of sentence-transformers' WordWeights lists the pieces in the order of their ids.
    for path in folder.glob("*/config.json"):
        settings = read_json(path) or {}
        pieces = settings.get("vocab")
        if "word_weights" in settings and isinstance(pieces, list) and len(pieces) > kept[-1]:
            write_json(path, {**settings, "vocab": [pieces[number] for number in kept]})


def _texts(paths: Iterable[str], label: str, report: Reporter) -> Iterator[str]:
    """Yield every text in files: cells of ``.tsv``, strings in ``.jsonl``, columns of corpora, otherwise lines."""
    paths = list(paths)
    meter: Meter = []  # the bytes that were read, added up for the bar
    total = sum(file.stat().st_size for path in paths for file in files_of(path))
    for path in paths:
        if Path(path).is_dir():
            for row in load_corpus(path):
                texts = {key: value for key, value in row.items() if not key.endswith(("language", "flags"))}
                yield from _strings(texts)
            continue
        suffixes = Path(path).suffixes
        with LineFile(path, meter) as file:
            for first, data in file.chunks():
                lines = decode_lines(data, path, first)
                if ".jsonl" in suffixes:
                    for number, line in enumerate(lines, first):
                        if line.strip():
                            yield from _strings(parse_json(line, path=path, line=number))
                elif ".tsv" in suffixes:
                    yield from (cell for line in lines for cell in line.split("\t"))
                else:
                    yield from lines
                report.progress(label, sum(meter), total)


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value. A list of strings is one text: ``["a", "house"]`` gives ``a house``."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(inner, str) for inner in value):
        yield " ".join(value)
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
