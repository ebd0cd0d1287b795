"""The one way a tokenizer is loaded: a fast one, complete, without remote code."""

from pathlib import Path
from typing import Any, cast

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.reading import reading
from isoglot.errors import ConfigurationError


def load_tokenizer(checkpoint: str | Path, **where: Any) -> PreTrainedTokenizerFast:
    """The fast tokenizer of a checkpoint."""
    folder = checkpoint_folder(checkpoint, file="tokenizer")
    with reading(folder, "tokenizer.json"):
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder), use_fast=True, trust_remote_code=False, **where
        )
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"{checkpoint}: {type(tokenizer).__name__} is a slow tokenizer, but a fast one (tokenizer.json) is needed"
        )
    return cast(PreTrainedTokenizerFast, tokenizer)
