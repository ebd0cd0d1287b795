"""Word alignment: embedding-based and statistical aligners, symmetrisation, formats and scores.

The package is also its function :func:`align`: ``isoglot.align(["das", "ist"], ["this", "is"])`` links the words of two
sentences.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.align.api import AlignedPair


def align(
    source: str | Sequence[str],
    target: str | Sequence[str],
    *,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: Literal["whitespace", "unicode"] = "whitespace",
    tokenizer: PreTrainedTokenizerBase | None = None,
    **options: Any,
) -> AlignedPair:
    """Link the words of two sentences.

    The first call with a model loads it, later ones find it loaded (a checkpoint that has changed on disk is loaded
    again). For more than a few pairs use
    :meth:`isoglot.align.embedding.aligner.EmbeddingAligner.align_pairs`, which encodes them in batches.

    Args:
        source: A sentence as text, or its words.
        target: Its translation.
        model: Folder or hub name of an encoder, a loaded one, or the folder of a saved statistical aligner;
            :data:`isoglot.align.api.DEFAULT_MODEL` by default.
        method: One of :data:`isoglot.align.embedding.options.METHODS`, ``itermax`` by default; of a saved statistical
            aligner its own.
        words: How text is cut: ``whitespace`` for tokenised text, ``unicode`` for running text (Han, Kana, Thai and
            Khmer by character).
        tokenizer: Tokenizer of a loaded encoder.
        **options: Options of :class:`isoglot.align.embedding.options.EmbeddingOptions`, for example ``layer=8``; of a
            statistical aligner ``symmetrisation``.

    Returns:
        The links, their probabilities, and where the words stand in the text.

    Raises:
        ConfigurationError: An option or method that does not exist, or a model that cannot be loaded.

    Example:
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
        >>> pair = align("The river.", "Ta potamo.", words="unicode", **encoder)
        >>> pair.source_words, pair.source_spans
        (['The', 'river', '.'], [(0, 3), (4, 9), (9, 10)])
    """
    from isoglot.align.api import align_pair  # noqa: PLC0415 - torch is slow to import

    return align_pair(
        source, target, model=model, method=method, words=words, tokenizer=tokenizer, options=options
    )


class _CallablePackage(ModuleType):
    """Importing any module of the package binds ``isoglot.align`` to it, so a function of that name must be it too."""

    __call__ = staticmethod(align)


sys.modules[__name__].__class__ = _CallablePackage
