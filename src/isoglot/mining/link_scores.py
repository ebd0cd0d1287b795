"""Scores of sentence pairs by word links: their mean value, and the share of each side's words that have one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.aligners.options import is_saved_model
from isoglot.corpus.encode.unknown import UNLINKED, UnknownWords
from isoglot.formats.sentence_pair import SentencePair

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from isoglot.aligners.embedding.aligner import EmbeddingAligner
    from isoglot.aligners.statistical.model import StatisticalAligner


class LinkScorer:
    """Scores pairs by the links of their words.

    Args:
        aligner: Links words, or the name of its encoder, or the folder of a saved statistical model.
        any_language: Whether a statistical model may be used for other languages than it was trained on.

    Attributes:
        unlinked: Words of all pairs that the encoder's vocabulary does not know.
    """

    def __init__(
        self, aligner: EmbeddingAligner | StatisticalAligner | str | Path, *, any_language: bool
    ) -> None:
        self._aligner = _loaded(aligner) if isinstance(aligner, str | Path) else aligner
        self._any_language = any_language
        self._foreign = self._aligner.foreign_text() if _is_statistical(self._aligner) else None
        self.unlinked = UnknownWords(UNLINKED)

    def __call__(
        self, pairs: Sequence[tuple[str, str]], names: Sequence[str]
    ) -> list[dict[str, float] | None]:
        """Alignment and coverage of each pair; none for a pair with a side of which no word is known."""
        unknown: set[int] = set()

        def receive(number: int, words: Sequence[str], whole: bool) -> None:
            self.unlinked.add(names[number - 1], words, whole)
            if whole:
                unknown.add(number - 1)

        linked_pairs: Iterator[SentencePair]
        if _is_statistical(self._aligner):
            mode = self._aligner.words or "whitespace"
            cut = (SentencePair(texts).cut(mode) for texts in pairs)
            linked_pairs = self._aligner.align_pairs(cut, unknown=self._foreign)
        else:
            from isoglot.aligners.embedding.running_text import align_running  # noqa: PLC0415 - loads torch

            cut = (SentencePair(texts).cut("unicode") for texts in pairs)
            linked_pairs = align_running(self._aligner, cut, unknown=receive)
        scores = []
        for pair in linked_pairs:
            source_words, target_words = (max(1, len(words)) for words in pair.words)
            scores.append(
                {
                    "alignment": 0.0 if math.isnan(pair.score) else pair.score,
                    "source_coverage": len({i for i, _ in pair.links}) / source_words,
                    "target_coverage": len({j for _, j in pair.links}) / target_words,
                }
            )
        # Only after the last pair are all unknown words counted.
        return [None if row in unknown else own for row, own in enumerate(scores)]

    def require_languages(self, languages: tuple[str, str]) -> None:
        """Refuse text of other languages than those of a statistical model.

        Raises:
            ConfigurationError: It was trained on others, and ``any_language`` is not set.
        """
        if _is_statistical(self._aligner) and not self._any_language:
            self._aligner.require_languages(languages)


def _is_statistical(
    aligner: EmbeddingAligner | StatisticalAligner,
) -> TypeIs[StatisticalAligner]:
    """Whether an aligner is a statistical model, without loading torch or numba to find out."""
    return hasattr(aligner, "foreign_text")


def _loaded(aligner: str | Path) -> EmbeddingAligner | StatisticalAligner:
    """The aligner of a name or folder."""
    if is_saved_model(aligner):
        from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads numba

        return StatisticalAligner.load(aligner)
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    return EmbeddingAligner(aligner)
