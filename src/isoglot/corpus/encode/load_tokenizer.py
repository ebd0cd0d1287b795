"""Load a tokenizer: with transformers, fast and without remote code; or plain, without the library."""

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
"""Classes of the library that take ``tokenizer.json`` as it stands."""
_NAMES = ("cls_token", "sep_token", "pad_token", "unk_token")


def load_tokenizer(checkpoint: str | Path, **where: Any) -> PreTrainedTokenizerFast:
    """The fast tokenizer of a checkpoint."""
    from transformers import AutoTokenizer  # noqa: PLC0415 - seconds, which a plain tokenizer does without

    folder = checkpoint_folder(checkpoint, file="tokenizer")
    with reading(folder, "tokenizer.json"):
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder), use_fast=True, trust_remote_code=False, **where
        )
    require_offsets(tokenizer, checkpoint)
    return cast("PreTrainedTokenizerFast", tokenizer)


def require_offsets(tokenizer: Any, source: str | Path = "tokenizer") -> None:
    """Refuse a slow tokenizer, which does not say where in the text its pieces stand: words are found by that."""
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigurationError(
            f"{source}: {type(tokenizer).__name__} is a slow tokenizer, which does not say where in the text its "
            "pieces stand, but a fast one (tokenizer.json) is needed; give a checkpoint that has one, such as NLLB in "
            "place of M2M100, mT5 in place of ByT5, or XLM-R"
        )


class PlainTokenizer:
    """The contents of ``tokenizer.json``, and the ids of the special tokens in ``tokenizer_config.json``.

    It is what cutting text into pieces needs, loaded in a fraction of the library's time.
    """

    is_fast = True

    def __init__(self, backend: Tokenizer, config: Mapping[str, Any]) -> None:
        self.backend_tokenizer = backend
        tokens = [config.get(name) for name in _NAMES]  # a token's text stands alone or with its properties
        texts = [token.get("content") if isinstance(token, dict) else token for token in tokens]
        ids = [backend.token_to_id(text if isinstance(text, str) else "") for text in texts]
        self.cls_token_id, self.sep_token_id, self.pad_token_id, self.unk_token_id = ids

    def __len__(self) -> int:
        return int(self.backend_tokenizer.get_vocab_size(with_added_tokens=True))

    @classmethod
    def read(cls, backend: Tokenizer, config: str) -> PlainTokenizer | None:
        """A tokenizer with what ``tokenizer_config.json`` says; none where the library would make more of them."""
        settings = json.loads(config)
        if settings.get("tokenizer_class") not in _CLASSES:
            return None
        tokenizer = cls(backend, settings)
        return None if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None else tokenizer
