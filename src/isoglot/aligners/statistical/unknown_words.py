"""Text that a statistical model was not trained for: most of its words are unknown."""

import logging
from collections.abc import Sequence

from isoglot.aligners.statistical.methods import TranslationModel

_LOG = logging.getLogger(__name__)
_ENOUGH = 100_000
"""Words of a side after which no more are counted."""


class ForeignText:
    """Warns once for each side of a text of which a model knows less than half of the words so far."""

    def __init__(self, model: TranslationModel, *, lowercase: bool) -> None:
        self._known = {"source": model.known[0], "target": model.known[1]}
        self._lowercase = lowercase
        self._unknown, self._words = dict.fromkeys(self._known, 0), dict.fromkeys(self._known, 0)

    def look(self, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> None:
        """Look at the words of some pairs."""
        for side, sentences in (("source", source), ("target", target)):
            if self._words[side] >= _ENOUGH:
                continue
            words = [word.lower() if self._lowercase else word for words in sentences for word in words]
            self._unknown[side] += sum(word not in self._known[side] for word in words)
            self._words[side] += len(words)
            if 2 * self._unknown[side] > self._words[side]:
                _LOG.warning(
                    "%d of %d %s words are unknown to the model, and links of such words are guesses; use a model of "
                    "these languages, trained on text that is split into words and cased like this one",
                    self._unknown[side], self._words[side], side,
                )  # fmt: skip
                self._words[side] = _ENOUGH  # once
