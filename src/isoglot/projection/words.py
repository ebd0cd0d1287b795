"""How running text is cut into the words that carry labels."""

from __future__ import annotations

from isoglot.aligners.options import Encoder
from isoglot.aligners.pieces import Cut, load_cut
from isoglot.corpus.encode.words import has_unspaced, joined_spans, word_spans
from isoglot.projection.options import ProjectRequest
from isoglot.projection.rule import Words


class WordCutter:
    """Cuts text as ``--words`` says; Chinese, Japanese, Thai and the like as the encoder's tokenizer does.

    Their single characters are joined where the tokenizer has a longer piece: pieces are closer to words, and an
    encoder links them better. Links from a file and statistical aligners have no tokenizer, and get the characters.
    """

    def __init__(self, request: ProjectRequest) -> None:
        self.mode = request.words
        self.model = request.links.model if isinstance(request.links, Encoder) else None
        self._pieces: Cut | None = None

    def __call__(self, text: str) -> list[Words]:
        """Characters ``[start, end)`` of each word."""
        spans = word_spans(text, mode=self.mode)
        if self.model is None or self.mode != "unicode" or not has_unspaced(text):
            return spans
        if self._pieces is None:  # loads transformers, which other text does without
            self._pieces = load_cut(self.model)
        return joined_spans(text, spans, self._pieces(text)[1])
