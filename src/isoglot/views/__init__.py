"""Views: one example of a stream goes in, one encoder input comes out.

A view draws what is random in an input, such as which tokens are masked, from the generator that it is given, so an
example at one position of a run always gives the same input.

Open ``base.py`` first: what a view is. ``masked_text.py`` (MLM), ``masked_pair.py`` (TLM, WEAM), ``sentence_pair.py``
(two inputs, for sentence contrast) and ``code_switched_text.py`` (DICT-MLM) are the views of recipes; ``masking.py``
chooses and replaces tokens for all of them, ``instance.py`` is an input before it is masked.
"""

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
