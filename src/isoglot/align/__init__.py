"""Word alignment: embedding-based and statistical aligners, symmetrisation, formats and scores.

The package is also a function: ``isoglot.align(["das", "ist"], ["this", "is"])`` links the words of two sentences
(:func:`isoglot.align.api.align`).
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

__all__ = ["align"]


class _CallablePackage(ModuleType):
    """Importing any module of the package binds ``isoglot.align`` to it, so a function of that name must be it too."""

    def __call__(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str],
        *,
        model: str | Path | PreTrainedModel | None = None,
        method: str | None = None,
        words: Literal["unicode", "whitespace"] = "unicode",
        tokenizer: PreTrainedTokenizerBase | None = None,
        **options: Any,
    ) -> AlignedPair:
        """Link the words of two sentences; see :func:`isoglot.align.api.align`."""
        from isoglot.align import api  # noqa: PLC0415 - torch is slow to import

        return api.align(
            source, target, model=model, method=method, words=words, tokenizer=tokenizer, **options
        )


sys.modules[__name__].__class__ = _CallablePackage
align = sys.modules[__name__]
"""The package itself, which can be called."""
