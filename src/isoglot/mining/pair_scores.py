"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.running_text import align_running
from isoglot.corpus.encode.words import split_words
from isoglot.errors import ConfigurationError
from isoglot.mining.options import FilterOptions, VectorOptions
from isoglot.mining.vectors import SentenceEncoder, sentence_encoder, unit_vectors
from isoglot.modules.neighbours import compared, nearest_both_ways

SIMILARITIES, LINKS = ("cosine", "margin"), ("alignment", "source_coverage", "target_coverage")
"""Scores of sentence vectors and of word links."""


class PairScorer:
    """Scores windows of pairs by sentence vectors, word links, or both.

    Args:
        model: An encoder of sentences, or its name; without one there are no cosine and margin.
        aligner: Links words, or the name of its encoder; without one there are no alignment and coverage.
        options: Thresholds; of the margin ``neighbours``, and the ``pool`` of pairs among which they are searched.
        vectors: How an encoder with a name makes vectors.

    Raises:
        ConfigurationError: A threshold of a score that nothing computes.
    """

    def __init__(
        self,
        model: str | Path | SentenceEncoder | None,
        aligner: EmbeddingAligner | str | Path | None,
        options: FilterOptions | None = None,
        vectors: VectorOptions | None = None,
    ) -> None:
        self._options = options or FilterOptions()
        lacking = []
        if model is None and {*SIMILARITIES} & {*self._options.thresholds}:
            lacking.append(
                "min_cosine and min_margin compare sentence vectors, which need an encoder; add --model box, or another"
            )
        if aligner is None and {*LINKS} & {*self._options.thresholds}:
            lacking.append(
                "min_alignment and min_coverage need word links, but --aligner is none; leave it out"
            )
        if lacking:
            raise ConfigurationError(lacking)
        if isinstance(aligner, str | Path):
            aligner = EmbeddingAligner(aligner)
        self._aligner = aligner
        self._encoder = None if model is None else sentence_encoder(model, vectors)
        self._before: tuple[list[str], list[str]] = [], []
        self.names = (*(SIMILARITIES if self._encoder else ()), *(LINKS if aligner else ()))

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """The scores of each pair of a window."""
        found: list[dict[str, float]] = [{} for _ in pairs]
        if self._encoder is not None and pairs:
            for scores, *values in zip(found, *self._similarities(self._encoder, pairs), strict=True):
                scores.update(zip(SIMILARITIES, values, strict=True))
        if self._aligner is not None:
            words = [(split_words(source), split_words(target)) for source, target in pairs]
            links = align_running(self._aligner, zip(pairs, words, strict=True))
            for scores, sides, own in zip(found, words, links, strict=True):
                linked = (len({link[side] for link in own.links}) for side in (0, 1))
                shares = (count / max(1, len(side)) for count, side in zip(linked, sides, strict=True))
                scores.update(zip(LINKS, (0.0 if math.isnan(own.score) else own.score, *shares), strict=True))
        return found

    def _similarities(self, encoder: SentenceEncoder, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Cosine and margin. A text that stands several times in a window is one neighbour."""
        vectors, places, pool = [], [], self._options.pool
        for side in (0, 1):
            own = [pair[side] for pair in pairs]
            more = self._before[side][len(own) - pool :] if len(own) < pool else []
            number = {text: n for n, text in enumerate(dict.fromkeys([*own, *more]))}
            places.append(torch.tensor([number[text] for text in own]))
            vectors.append(unit_vectors(encoder, list(number)))
            self._before[side][:] = [*more, *own][-pool:]
        (first, second), (x, y) = vectors, places
        forward, backward = nearest_both_ways(first, second, self._options.neighbours)
        means = forward.similarities.mean(1)[x], backward.similarities.mean(1)[y]
        cosine = (first[x] * second[y]).sum(1)
        return [cosine.tolist(), compared(cosine, *means, similarity="margin").tolist()]
