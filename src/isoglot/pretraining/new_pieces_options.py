"""Options of new pieces for a language."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from isoglot.options import Count, Label, Options, option


class NewPiecesOptions(Options):
    """Pieces that a tokenizer gets for a language, and how their embeddings start."""

    language: Label = option(
        ..., "Language of the text in the recipe's streams that they are learnt from: ta."
    )
    count: Count = option(4000, "How many pieces to add.")
    init: Literal["mean", "focus", "lexicon", "random"] = option(
        "mean", "Start: mean of the old pieces that a new one is cut into, focus, lexicon, or random."
    )
    lexicon: str | None = option(
        None, "For lexicon: a stream of entries or word-aligned pairs whose target is in the language."
    )

    @model_validator(mode="after")
    def _has_its_lexicon(self) -> Self:
        if (self.init == "lexicon") != (self.lexicon is not None):
            raise ValueError("init: lexicon needs `lexicon: STREAM`; the other ways to start take none")
        return self
