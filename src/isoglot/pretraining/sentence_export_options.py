"""What `isoglot export` writes."""

from typing import Literal

from isoglot.options import Options, option


class SentenceExport(Options):
    """Form of a sentence encoder for other libraries."""

    to: Literal["sentence-transformers", "onnx"] = option(..., "Library or format to write for.")
    layer: int = option(-1, "Layer of the hidden states; -1 is the last. Layers above it are left out.")
    pooling: Literal["mean", "cls"] = option(
        "mean", "mean over the text's pieces, special tokens left out; cls: the first position."
    )
    normalize: bool = option(True, "Scale each vector to length 1.")
    max_length: int = option(512, "Tokens of a text; longer texts are truncated.", ge=3)
