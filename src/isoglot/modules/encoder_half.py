"""Take the encoder out of an encoder-decoder: T5, mT5, BART, mBART, M2M100 and NLLB.

Only the encoder reads a whole sentence. The states of a decoder depend on the text before them alone; an aligner would
give links from such states too, and no error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import torch

from isoglot.core.errors import ConfigurationError
from isoglot.modules.checkpoint import load_checkpoint, load_config

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedConfig, PreTrainedModel

HALVES = ("bart", "m2m_100", "mbart", "mt5", "t5", "umt5")
"""Families of encoder-decoders whose encoder is used (tested); NLLB's checkpoints are of family ``m2m_100``."""
WITHOUT_CLASS = ("bart", "m2m_100", "mbart")
"""Families in :data:`HALVES` that ``AutoModelForTextEncoding`` has no encoder class for."""


def encoder_half(model: PreTrainedModel) -> PreTrainedModel:
    """Take the encoder of an encoder-decoder; return any other model, such as an encoder alone, unchanged."""
    if not _is_encoder_decoder(model.config) or not hasattr(model.base_model, "decoder"):
        return model
    _require_known(model.config, type(model).__name__)
    return cast("PreTrainedModel", model.get_encoder())


def load_encoder_half(path: str | Path, dtype: torch.dtype) -> PreTrainedModel:
    """Load the encoder of a checkpoint, without a head or a decoder, by :func:`load_checkpoint`."""
    from transformers import AutoModel  # noqa: PLC0415 - loads the library

    config = load_config(path)
    # The configuration of a T5EncoderModel says that it is no encoder-decoder, so the family is looked at too.
    if not _is_encoder_decoder(config) and config.model_type not in HALVES:
        return load_checkpoint(AutoModel, path, config=config, new_head=True, dtype=dtype)
    _require_known(config, str(path))
    return encoder_half(load_checkpoint(_class_of(config), path, config=config, new_head=True, dtype=dtype))


def _class_of(config: PreTrainedConfig) -> Any:
    """The class to load an encoder-decoder with: the encoder's if the family has one, else that of the whole model.

    1. T5, mT5 and umT5 have an encoder of their own (``T5EncoderModel``), for whole checkpoints as well.
    2. Of other families a checkpoint can be saved from the encoder's class: SONAR is an ``M2M100Encoder``.
    3. Any other checkpoint is loaded whole, and the decoder is dropped after that.
    """
    from transformers import AutoModel, AutoModelForTextEncoding  # noqa: PLC0415 - loads the library
    from transformers.models.auto.modeling_auto import MODEL_MAPPING  # noqa: PLC0415

    if config.model_type not in WITHOUT_CLASS:
        return AutoModelForTextEncoding
    saved_from = next(iter(config.architectures or ()), "")
    if not saved_from.endswith("Encoder"):
        return AutoModel
    module = sys.modules[MODEL_MAPPING[type(config)].__module__]
    return getattr(module, saved_from, AutoModel)


def _is_encoder_decoder(config: PreTrainedConfig) -> bool:
    """Whether a configuration is that of an encoder-decoder."""
    return bool(getattr(config, "is_encoder_decoder", False))


def _require_known(config: PreTrainedConfig, source: str) -> None:
    """Refuse an encoder-decoder whose family is not in :data:`HALVES`; the message begins with ``source``."""
    if config.model_type not in HALVES:
        raise ConfigurationError(
            f"{source}: is an encoder-decoder of family {config.model_type!r}, whose encoder is not read; use one of "
            f"the families {', '.join(HALVES)} (NLLB is m2m_100), or an encoder such as XLM-R"
        )
