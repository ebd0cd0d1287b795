"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links.

What computes them is imported when a pair scorer needs it: rules alone load no encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from isoglot.corpus.encode.unknown import UNLINKED, UnknownWords
from isoglot.mining.options import FilterRequest

if TYPE_CHECKING:
    from isoglot.mining.link_scores import LinkScorer
    from isoglot.mining.vector_scores import VectorScorer

SIMILARITIES, LINKS = ("cosine", "margin"), ("alignment", "source_coverage", "target_coverage")
"""Names of the scores of sentence vectors and of word links."""
Scores = dict[str, float] | None
"""The scores of a pair by name; None where a side has no word that an encoder knows, or a null vector."""


class PairScorer:
    """Scores windows of pairs by sentence vectors, word links, or both.

    Args:
        request: The encoder and the aligner; without an encoder there are no cosine and margin, without an aligner no
            alignment and coverage.

    Attributes:
        score_names: Names of the scores, in their order.
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
        self.score_names = (*(SIMILARITIES if self._vectors else ()), *(LINKS if self._links else ()))

    def __call__(
        self,
        pairs: Sequence[tuple[str, str]],
        labels: Sequence[str] | None = None,
        earlier: Sequence[tuple[str, str]] = (),
    ) -> list[Scores]:
        """Compute the scores of each pair of a window.

        ``labels``: The pairs as warnings call them, by default by number. ``earlier``: Pairs before these, which fill
        up a short window for the margin.
        """
        all_scores: list[Scores] = [{} for _ in pairs]
        labels = labels or [f"pair {number}" for number in range(1, len(pairs) + 1)]
        if not pairs:
            return all_scores
        scores_by_scorer: list[Sequence[Scores]] = []
        if self._vectors is not None:
            scores_by_scorer.append(self._vectors(pairs, labels, earlier))
        if self._links is not None:
            scores_by_scorer.append(self._links(pairs, labels))
        for scores_of_pairs in scores_by_scorer:
            for row, scores in enumerate(scores_of_pairs):
                # A pair that one scorer does not know has no score of the other one either.
                so_far = all_scores[row]
                all_scores[row] = None if so_far is None or scores is None else {**so_far, **scores}
        return all_scores

    def require_languages(self, languages: tuple[str, str]) -> None:
        """Refuse text of other languages than those of a statistical model.

        Raises:
            ConfigurationError: It was trained on others, and ``any_language`` is not set.
        """
        if self._links is not None:
            self._links.require_languages(languages)

    def take_unknown(self) -> dict[str, dict[str, Any]]:
        """Return the counts of unknown words since the last call, and count from 0 again.

        Key ``unlinked``: words without links; key ``left_out``: words left out of sentence vectors.
        """
        taken = {}
        if self._links is not None:
            taken["unlinked"] = asdict(self._links.unlinked)
            self._links.unlinked = UnknownWords(UNLINKED)
        if self._vectors is not None:
            taken["left_out"] = asdict(self._vectors.left_out)
            self._vectors.left_out = UnknownWords(self._vectors.left_out.effect)
        return taken


class UnknownOfPairs:
    """Counts the unknown words of all windows, and warns of them.

    Where the vocabularies of encoder and aligner lack the same words, one warning is enough.
    """

    def __init__(self) -> None:
        self._counts: dict[str, UnknownWords] = {}

    def add(self, taken: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the counts of a window, as :meth:`PairScorer.take_unknown` returns them."""
        for name, values in taken.items():
            self._counts.setdefault(name, UnknownWords(values["effect"])).join(UnknownWords(**values))

    def warn(self) -> None:
        """Warn of the unknown words, if there are any."""
        unlinked, left_out = self._counts.get("unlinked"), self._counts.get("left_out")
        if unlinked is not None:
            unlinked.warn()
        if left_out is None:
            return
        # The two differ in what happens to the words (`effect`), even if the words are the same.
        has_same_words = unlinked is not None and replace(left_out, effect=unlinked.effect) == unlinked
        if not has_same_words:
            left_out.warn()
