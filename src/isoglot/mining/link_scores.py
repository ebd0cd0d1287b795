"""Scores of sentence pairs by word links: the mean value of the links, and the share of each side's linked words."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path

from isoglot.aligners.aligner import Aligner, Use, require_languages
from isoglot.aligners.load_aligner import aligner_request, loaded
from isoglot.corpus.encode.unknown import UNLINKED, UnknownWords
from isoglot.formats.sentence_pair import SentencePair

_LOG = logging.getLogger(__name__)


class LinkScorer:
    """Scores pairs by the links of their words.

    Args:
        aligner: An aligner, the folder or hub name of an encoder, or the folder of a saved statistical model.
        any_language: Use the aligner for other languages than its own, too.

    Attributes:
        unlinked: Words of all pairs that an encoder's vocabulary does not know.
    """

    def __init__(self, aligner: Aligner | str | Path, *, any_language: bool) -> None:
        use = Use(warn=self._warn, unknown=self._receive)
        self._aligner = loaded(aligner_request(model=aligner), use)
        self._any_language = any_language
        self.unlinked = UnknownWords(UNLINKED)
        self._labels: Sequence[str] = ()  # of the pairs that are scored now
        self._unknown_rows: set[int] = set()  # pairs scored now, with a side of which no word is known

    def __call__(
        self, pairs: Sequence[tuple[str, str]], labels: Sequence[str]
    ) -> list[dict[str, float] | None]:
        """Compute alignment and coverage of each pair; None for a pair with a side of which no word is known.

        ``labels``: The pairs as warnings call them.
        """
        self._labels, self._unknown_rows = labels, set()
        scores = []
        for pair in self._aligner.align(SentencePair(texts) for texts in pairs):
            source_count, target_count = (max(1, len(words)) for words in pair.words)
            scores.append(
                {
                    "alignment": 0.0 if math.isnan(pair.score) else pair.score,
                    "source_coverage": len({i for i, _ in pair.links}) / source_count,
                    "target_coverage": len({j for _, j in pair.links}) / target_count,
                }
            )
        # The aligner works ahead, so a pair is known to be unknown only when all have been aligned.
        return [
            None if row in self._unknown_rows else scores_of_pair for row, scores_of_pair in enumerate(scores)
        ]

    def _warn(self, number: int, problem: str) -> None:
        """Warn of the pair of this number among those that are scored now, by its label."""
        _LOG.warning("%s: %s", self._labels[number - 1], problem)

    def _receive(self, number: int, words: Sequence[str], is_unknown: bool) -> None:
        """Count unknown words of the pair of this number; ``is_unknown``: No word of a side is known."""
        self.unlinked.add(self._labels[number - 1], words, is_unknown)
        if is_unknown:
            self._unknown_rows.add(number - 1)

    def require_languages(self, languages: tuple[str, str]) -> None:
        """Refuse text of other languages than those of the aligner.

        Raises:
            ConfigurationError: The aligner is for others, and ``any_language`` is not set.
        """
        if not self._any_language:
            require_languages(self._aligner, languages)
