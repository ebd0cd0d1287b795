"""Views: how one example of a stream becomes one encoder input."""

from typing import Any

from isoglot.views.base import IGNORE_INDEX, View
from isoglot.views.code_switched_text import CodeSwitchedText
from isoglot.views.masked_pair import MaskedPair
from isoglot.views.masked_text import MaskedText
from isoglot.views.sentence_pair import SentencePairView

__all__ = [
    "IGNORE_INDEX",
    "VIEWS",
    "CodeSwitchedText",
    "MaskedPair",
    "MaskedText",
    "SentencePairView",
    "View",
]

VIEWS: dict[str, type[Any]] = {
    "code_switched_text": CodeSwitchedText,
    "masked_pair": MaskedPair,
    "masked_text": MaskedText,
    "sentence_pair": SentencePairView,
}
"""Views by the name that a recipe gives as ``type``."""
