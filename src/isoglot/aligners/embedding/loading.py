"""Load the encoder, tokenizer and pointer network that an embedding aligner needs."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from safetensors import safe_open
from torch import nn

from isoglot.checkpoints.folder import checkpoint_folder, packed_path
from isoglot.checkpoints.packed_file import TOKENIZER_CONFIG, build_tokenizer, can_run, read_packed
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.load_tokenizer import PlainTokenizer, load_tokenizer, require_offsets
from isoglot.modules.allocator import return_free_memory
from isoglot.modules.devices import compute_dtype, resolve_device
from isoglot.modules.encoder import hidden_size, unwrapped
from isoglot.modules.packed_encoder import PackedEncoder
from isoglot.modules.pointer import Pointer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


_LOG = logging.getLogger(__name__)


# Making a model draws random weights before the saved ones are read; the user's generator stays as it was.
@torch.random.fork_rng(devices=[])
def load_for_aligning(
    model: PreTrainedModel | str | Path,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    dtype: str = "float32",
    device: str = "auto",
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load an encoder and its tokenizer as :func:`load_encoder` does, but run a packed aligner without transformers.

    It then takes a third of the memory. The two objects that are returned are not of the library's classes, but have
    all attributes that :mod:`isoglot.modules.encoder` and :func:`cut_words` read.
    """
    file = packed_path(model) if isinstance(model, str | Path) and tokenizer is None else None
    if file is not None:
        where = resolve_device(device)
        precision = compute_dtype(dtype, where)
        packed = read_packed(file)
        if can_run(packed):  # other packed encoders are unpacked and run by the library
            backend = build_tokenizer(file, packed)
            plain = PlainTokenizer.read(backend, packed.texts.get(TOKENIZER_CONFIG, "{}"))
            if plain is not None:
                return_free_memory()  # what reading the tokenizer's JSON took
                encoder = PackedEncoder(packed, source=file, dtype=precision).to(where)
                return cast("tuple[PreTrainedModel, PreTrainedTokenizerBase]", (encoder, plain))
    return load_encoder(model, tokenizer, dtype=dtype, device=device)


@torch.random.fork_rng(devices=[])
def load_encoder(
    model: PreTrainedModel | str | Path,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    dtype: str = "float32",
    device: str = "auto",
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load an encoder on its device and in its dtype, and its tokenizer.

    A model that is given as an object stays as it is. For another dtype or device it is copied; with ``auto`` it stays
    on its own device. Dropout is not turned off here, but while the encoder runs. Of an encoder-decoder (T5, mT5, BART,
    mBART, M2M100, NLLB) only the encoder comes back.
    """
    # Imported here, because they load transformers.
    from isoglot.modules.checkpoint import require_fitting  # noqa: PLC0415
    from isoglot.modules.encoder_half import encoder_half, load_encoder_half  # noqa: PLC0415

    if not isinstance(model, str | Path):
        model = unwrapped(model)
        if tokenizer is None:
            raise ConfigurationError("a model object needs its tokenizer too: tokenizer=...")
        require_offsets(tokenizer)
        model = encoder_half(model)
        require_fitting(tokenizer, model)
        _note_decoder(model)
        where = model.device if device == "auto" else resolve_device(device)
        precision = compute_dtype(dtype, where)
        if precision == model.dtype and torch.empty(0, device=where).device == model.device:
            return model, tokenizer
        return nn.Module.to(copy.deepcopy(model), where, precision), tokenizer
    where = resolve_device(device)
    if tokenizer is not None and packed_path(model) is not None:
        raise ConfigurationError(
            f"got a tokenizer, but {model} has its own; leave it out, or name another model"
        )
    checkpoint_folder(model)  # refuses a wrong path before anything is read
    tokenizer = load_tokenizer(model) if tokenizer is None else tokenizer
    require_offsets(tokenizer)
    loaded = load_encoder_half(model, compute_dtype(dtype, where))
    require_fitting(tokenizer, loaded, model)
    _note_decoder(loaded)
    return loaded.to(where), tokenizer  # type: ignore[arg-type]


def _note_decoder(model: PreTrainedModel) -> None:
    """Warn of a model whose states know only the text before them."""
    from transformers.models.auto import modeling_auto as families  # noqa: PLC0415 - loads transformers

    kind, is_decoder = model.config.model_type, getattr(model.config, "is_decoder", False)
    decoders, encoders = (
        families.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        families.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )
    if is_decoder or (kind in decoders and kind not in encoders):
        _LOG.warning(
            "%s is a decoder: the state of a piece knows only the text before it, which links and vectors suffer from; "
            "use an encoder such as XLM-R",
            kind,
        )


def load_pointer(source: PreTrainedModel | str | Path, model: PreTrainedModel) -> tuple[Pointer, int | None]:
    """Load the pointer network that training with ``denoising_word_alignment`` saved beside an encoder.

    Returns the network, and the layer that it was trained on, None if that was not recorded.
    """
    if not isinstance(source, str | Path):
        raise ConfigurationError("method pointer reads objectives.safetensors: give the checkpoint's folder")
    path = Path(checkpoint_folder(source)) / "objectives.safetensors"
    if not path.is_file():
        raise ConfigurationError(
            f"{path} does not exist; method pointer needs a checkpoint trained with denoising_word_alignment"
        )
    with safe_open(path, framework="pt") as tensors:
        names = [name for name in tensors.keys() if name.endswith("pointer.query.weight")]  # noqa: SIM118
        if len(names) != 1:
            raise ConfigurationError(
                f"{path}: {len(names)} pointer networks found; train with one denoising_word_alignment objective"
            )
        prefix = names[0].removesuffix("query.weight")
        pointer = Pointer(hidden_size(model))
        pointer.load_state_dict({name: tensors.get_tensor(prefix + name) for name in pointer.state_dict()})
        layer = prefix.removesuffix("pointer.") + "pointer_layer"
        trained_on = int(tensors.get_tensor(layer)) if layer in tensors.keys() else None  # noqa: SIM118
    return pointer.to(model.device).eval(), trained_on
