"""An encoder whose tokenizer has pieces of several Han characters."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from transformers import PreTrainedTokenizerFast


def with_pieces(encoder: Path, folder: Path, pieces: Sequence[str]) -> Path:
    """A copy of an encoder with a tokenizer of these pieces."""
    shutil.copytree(encoder, folder)
    tokenizer = Tokenizer(Unigram([("<unk>", 0.0), *((piece, -1.0) for piece in pieces)], 0))
    tokenizer.pre_tokenizer = Metaspace(prepend_scheme="always")
    special = dict.fromkeys(("unk_token", "pad_token", "cls_token", "sep_token"), "<unk>")
    own = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    for file in folder.glob("*token*"):
        file.unlink()
    own.save_pretrained(folder)
    return folder
