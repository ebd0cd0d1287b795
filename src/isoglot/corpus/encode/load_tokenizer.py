"""Load a tokenizer with transformers (fast, without remote code), or without transformers (plain)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokenizers import Tokenizer

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_CLASSES = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Classes of transformers that use ``tokenizer.json`` unchanged."""
_NAMES = ("cls_token", "sep_token", "pad_token", "unk_token")


def load_tokenizer(checkpoint: str | Path, **where: Any) -> PreTrainedTokenizerFast:
    """Load the fast tokenizer of a checkpoint; remote code is never run.

    ``where``: Arguments of ``from_pretrained`` that say where the checkpoint is, such as ``revision``.

    Example:
        >>> tokenizer = load_tokenizer("xlm-roberta-base")  # doctest: +SKIP
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - seconds, which a plain tokenizer does without

    folder = checkpoint_folder(checkpoint, file="tokenizer")
    with reading(folder, "tokenizer.json"):
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder), use_fast=True, trust_remote_code=False, **where
        )
    require_offsets(tokenizer, checkpoint)
    return cast("PreTrainedTokenizerFast", tokenizer)


def require_offsets(tokenizer: Any, source: str | Path = "tokenizer") -> None:
    """Refuse a slow tokenizer: it does not report the characters of its pieces, by which their words are found."""
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigurationError(
            f"{source}: {type(tokenizer).__name__} is a slow tokenizer, which does not say where in the text its "
            "pieces stand, but a fast one (tokenizer.json) is needed; give a checkpoint that has one, such as NLLB in "
            "place of M2M100, mT5 in place of ByT5, or XLM-R"
        )


class PlainTokenizer:
    """The contents of ``tokenizer.json``, and the ids of the special tokens in ``tokenizer_config.json``.

    Cutting text into pieces needs no more, and this loads in a fraction of the time that transformers takes.
    """

    is_fast = True

    def __init__(self, backend: Tokenizer, config: Mapping[str, Any]) -> None:
        self.backend_tokenizer = backend
        ids = []
        for name in _NAMES:
            token = config.get(name)
            # A token is its text alone, or an object of its text and properties.
            text = token.get("content") if isinstance(token, dict) else token
            ids.append(backend.token_to_id(text if isinstance(text, str) else ""))
        self.cls_token_id, self.sep_token_id, self.pad_token_id, self.unk_token_id = ids

    def __len__(self) -> int:
        return int(self.backend_tokenizer.get_vocab_size(with_added_tokens=True))

    @classmethod
    def read(cls, backend: Tokenizer, config: str) -> PlainTokenizer | None:
        """Make a tokenizer of ``tokenizer.json`` and the text of ``tokenizer_config.json``.

        Returns nothing for classes of tokenizers that transformers changes after it has read ``tokenizer.json``, and
        for tokenizers without ``cls`` and ``sep``.
        """
        settings = json.loads(config)
        if settings.get("tokenizer_class") not in _CLASSES:
            return None
        tokenizer = cls(backend, settings)
        return None if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None else tokenizer
