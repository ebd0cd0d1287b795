"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links.

What computes them is imported when a pair scorer needs it: rules alone load no encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.errors import ConfigurationError
from isoglot.mining.options import FilterOptions, VectorOptions

if TYPE_CHECKING:
    from isoglot.aligners.aligner import Aligner
    from isoglot.mining.link_scores import LinkScorer
    from isoglot.mining.vector_scores import VectorScorer
    from isoglot.mining.vectors import SentenceEncoder

SIMILARITIES, LINKS = ("cosine", "margin"), ("alignment", "source_coverage", "target_coverage")
"""Scores of sentence vectors and of word links."""
Scores = dict[str, float] | None
"""Scores by name; none where a side has no word that the encoder knows, or a null vector."""


class PairScorer:
    """Scores windows of pairs by sentence vectors, word links, or both.

    Args:
        model: An encoder of sentences, or its name; without one there are no cosine and margin.
        aligner: Links words, or the name of its encoder, or the folder of a saved statistical model; without one there
            are no alignment and coverage.
        options: Thresholds; of the margin ``neighbours``, and the ``pool`` of pairs among which they are searched.
        vectors: How an encoder with a name makes vectors.

    Raises:
        ConfigurationError: A threshold of a score that nothing computes.
    """

    def __init__(
        self,
        model: str | Path | SentenceEncoder | None,
        aligner: Aligner | str | Path | None,
        options: FilterOptions | None = None,
        vectors: VectorOptions | None = None,
    ) -> None:
        options = options or FilterOptions()
        lacking = []
        if model is None and {*SIMILARITIES} & {*options.thresholds}:
            lacking.append(
                "min_cosine and min_margin compare sentence vectors, which need an encoder; add --model box, or another"
            )
        if aligner is None and {*LINKS} & {*options.thresholds}:
            lacking.append(
                "min_alignment and min_coverage need word links, but --aligner is none; leave it out"
            )
        if lacking:
            raise ConfigurationError(lacking)
        self._links: LinkScorer | None = None
        self._vectors: VectorScorer | None = None
        if aligner is not None:
            from isoglot.mining.link_scores import LinkScorer  # noqa: PLC0415 - loads torch

            self._links = LinkScorer(aligner, any_language=options.any_language)
        if model is not None:
            from isoglot.mining.vector_scores import VectorScorer  # noqa: PLC0415 - loads torch, transformers

            self._vectors = VectorScorer(model, options, vectors)
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
