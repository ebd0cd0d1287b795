"""A fast tokenizer without transformers: what cutting text into pieces needs, loaded in a fraction of the time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer

_CLASSES = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Classes of the library that take ``tokenizer.json`` as it stands."""
_NAMES = ("cls_token", "sep_token", "pad_token", "unk_token")


class PlainTokenizer:
    """The contents of ``tokenizer.json``, and the ids of the special tokens in ``tokenizer_config.json``."""

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
