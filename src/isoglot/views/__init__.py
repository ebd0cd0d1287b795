"""Views: one example of a stream goes in, one encoder input comes out.

    example (ids, word ids, links) ──> Instance: ids with special tokens ──masking──> arrays by key ──> tensors
                                       (instance.py)                     (masking.py)

A view draws what is random in an input, such as which tokens are masked, from the generator that it receives, so an
example at one position of a run always gives the same input.

Read ``base.py`` first, which defines a view, then ``masked_text.py`` (MLM), the simplest. The other views are
``masked_pair.py`` (TLM, WEAM), ``sentence_pair.py`` (two inputs, for sentence contrast) and ``code_switched_text.py``
(DICT-MLM, with the synonyms of ``lexicon.py``).

- *piece*: a token of the text; *special token*: one that the tokenizer adds, such as [CLS]. A *token* is either.
- *side*: ``source`` or ``target`` of a sentence pair; the *query* and the *key*, or the *first* and the *second*
  sentence, are the same two in the order of this example, which the *coin* decides.
- *candidate*: a token that may be selected: neither padding nor special, unless a view overrides
  ``MaskingOptions.may_be_selected``.
- *selected*: chosen to be predicted; it is then masked, exchanged for a random token, or kept.
- *switched*: a selected token that is tied to its synonym (``code_switched_text.py``); if it has one, it is *replaced*:
  the synonym stands in its place in the input or in the labels, as the option ``mode`` says.
- *text*: a row of a monolingual corpus, which may be a sentence or longer. An example of a *text stream* is one text,
  or a packed block; an example of a *bitext stream* is a sentence pair.
- *packed*: a block of several texts, or of many sentence pairs, that holds its special tokens already. Isolated texts
  are numbered by the column ``document_ids``; in a block of other texts nothing says where a text ends.
- *batch key*: a name in the dictionary that a view returns, such as ``input_ids``; a lone *key* is the sentence. In
  the name ``source_key_ids`` alone, *key* means a hash, that of the pivot sentence's pieces.
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
