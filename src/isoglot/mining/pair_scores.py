"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links.

What computes them is imported when a pair scorer needs it: rules alone load no encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.mining.options import FilterRequest

if TYPE_CHECKING:
    from isoglot.mining.link_scores import LinkScorer
    from isoglot.mining.vector_scores import VectorScorer

SIMILARITIES, LINKS = ("cosine", "margin"), ("alignment", "source_coverage", "target_coverage")
"""Scores of sentence vectors and of word links."""
Scores = dict[str, float] | None
"""Scores by name; none where a side has no word that the encoder knows, or a null vector."""


class PairScorer:
    """Scores windows of pairs by sentence vectors, word links, or both.

    Args:
        request: The encoder and the aligner; without an encoder there are no cosine and margin, without an aligner no
            alignment and coverage.
    """

    def __init__(self, request: FilterRequest) -> None:
        self._links: LinkScorer | None = None
        self._vectors: VectorScorer | None = None
        if request.aligner is not None:
            from isoglot.mining.link_scores import LinkScorer  # noqa: PLC0415 - loads torch

            self._links = LinkScorer(request.aligner, any_language=request.any_language)
        if request.model is not None:
            from isoglot.mining.vector_scores import VectorScorer  # noqa: PLC0415 - loads torch, transformers

            self._vectors = VectorScorer(request)
        self.names = (*(SIMILARITIES if self._vectors else ()), *(LINKS if self._links else ()))

    def __call__(self, pairs: Sequence[tuple[str, str]], names: Sequence[str] | None = None) -> list[Scores]:
        """The scores of each pair of a window; ``names`` are what warnings call the pairs, by default by number."""
        every: list[Scores] = [{} for _ in pairs]
        names = names or [f"pair {number}" for number in range(1, len(pairs) + 1)]
        for scorer in (self._vectors, self._links):
            if scorer is None or not pairs:
                continue
            for row, scores in enumerate(scorer(pairs, names)):
                known = every[row]
                every[row] = None if known is None or scores is None else {**known, **scores}
        return every

    def require_languages(self, languages: tuple[str, str]) -> None:
        """Refuse text of other languages than those of a statistical model.

        Raises:
            ConfigurationError: It was trained on others, and ``any_language`` is not set.
        """
        if self._links is not None:
            self._links.require_languages(languages)

    def warn(self) -> None:
        """Warn of the unknown words of all windows, once where both vocabularies lack the same."""
        unlinked = None if self._links is None else self._links.unlinked
        left_out = None if self._vectors is None else self._vectors.left_out
        if unlinked is not None:
            unlinked.warn()
        if left_out is not None and (
            unlinked is None or replace(left_out, effect=unlinked.effect) != unlinked
        ):
            left_out.warn()
