"""Options of the verbs around encoders: `isoglot trim`, `isoglot export`, and the runs of `isoglot pretrain`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from isoglot.core.options import Options, Seed, one_or_more, option
from isoglot.runs.sweep import SweepRequest, checked_seeds


class TrimRequest(Options):
    """Options of `isoglot trim`: which pieces of an encoder's tokenizer are kept."""

    text: tuple[str, ...] = option(
        (),
        "Text to keep the pieces of: plain text, .tsv, .jsonl, compressed or not, or a folder of `isoglot prepare`.",
        metavar="FILE",
    )
    held_out: tuple[str, ...] = option(
        (), "Other text: report how many of its tokens are cut differently.", metavar="FILE"
    )
    _one_or_more = field_validator("text", "held_out", mode="before")(one_or_more)


class SentenceExport(Options):
    """Form of a sentence encoder for other libraries."""

    to: Literal["sentence-transformers", "onnx"] = option(..., "Library or format to write for.")
    layer: int = option(-1, "Layer of the hidden states; -1 is the last. Layers above it are left out.")
    pooling: Literal["mean", "cls"] = option(
        "mean", "mean over the text's pieces, special tokens left out; cls: the first position."
    )
    normalize: bool = option(True, "Scale each vector to length 1.")
    # At least 3: two special tokens and a piece.
    max_length: int = option(512, "Tokens of a text; longer texts are truncated.", ge=3)


class PretrainRequest(SweepRequest):
    """Options of the runs of a recipe: seeds, sweep, workers."""

    seed: tuple[Seed, ...] | None = option(
        None, "Seed in place of the recipe's; 1,2,3 for three runs.", commas=True, min_length=1
    )

    @field_validator("seed", mode="before")
    @classmethod
    def _one_or_several(cls, seed: Any) -> Any:
        return None if seed is None else checked_seeds(seed)
