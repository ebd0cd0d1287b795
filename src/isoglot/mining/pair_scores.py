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

    def __call__(
        self,
        pairs: Sequence[tuple[str, str]],
        names: Sequence[str] | None = None,
        earlier: Sequence[tuple[str, str]] = (),
    ) -> list[Scores]:
        """The scores of each pair of a window.

        ``names``: What warnings call the pairs, by default by number. ``earlier``: Pairs before these, which fill up a
        short window for the margin.
        """
        every: list[Scores] = [{} for _ in pairs]
        names = names or [f"pair {number}" for number in range(1, len(pairs) + 1)]
        if not pairs:
            return every
        found: list[Sequence[Scores]] = []
        if self._vectors is not None:
            found.append(self._vectors(pairs, names, earlier))
        if self._links is not None:
            found.append(self._links(pairs, names))
        for scores_of_pairs in found:
            for row, scores in enumerate(scores_of_pairs):
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

    def take_unknown(self) -> dict[str, dict[str, Any]]:
        """The unknown words since the last call, by their effect; they are counted from the start again."""
        taken = {}
        if self._links is not None:
            taken["unlinked"] = asdict(self._links.unlinked)
            self._links.unlinked = UnknownWords(UNLINKED)
        if self._vectors is not None:
            taken["left_out"] = asdict(self._vectors.left_out)
            self._vectors.left_out = UnknownWords(self._vectors.left_out.effect)
        return taken


class UnknownOfPairs:
    """Counts the unknown words of all windows, and warns once where both vocabularies lack the same."""

    def __init__(self) -> None:
        self._counts: dict[str, UnknownWords] = {}

    def add(self, taken: Mapping[str, Mapping[str, Any]]) -> None:
        """Add those of a window, as :meth:`PairScorer.take_unknown` gives them."""
        for name, values in taken.items():
            self._counts.setdefault(name, UnknownWords(values["effect"])).join(UnknownWords(**values))

    def warn(self) -> None:
        """Warn of the unknown words, if there are any."""
        unlinked, left_out = self._counts.get("unlinked"), self._counts.get("left_out")
        if unlinked is not None:
            unlinked.warn()
        if left_out is not None and (
            unlinked is None or replace(left_out, effect=unlinked.effect) != unlinked
        ):
            left_out.warn()
