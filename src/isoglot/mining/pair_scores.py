"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from isoglot.aligners.embedding.aligner import UNLINKED, EmbeddingAligner
from isoglot.aligners.embedding.running_text import align_running
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.corpus.encode.words import split_words
from isoglot.errors import ConfigurationError
from isoglot.mining.options import FilterOptions, VectorOptions
from isoglot.mining.vectors import SentenceEncoder, sentence_encoder, unit_vectors
from isoglot.modules.neighbours import compared, nearest_both_ways
from isoglot.tasks.text_vectors import LEFT_OUT

SIMILARITIES, LINKS = ("cosine", "margin"), ("alignment", "source_coverage", "target_coverage")
"""Scores of sentence vectors and of word links."""
Scores = dict[str, float] | None
"""Scores by name; none where a side has no word that the encoder knows, or a null vector."""


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
        self._unlinked, self._left_out = UnknownWords(UNLINKED), UnknownWords(LEFT_OUT)
        self.names = (*(SIMILARITIES if self._encoder else ()), *(LINKS if aligner else ()))

    def __call__(
        self, pairs: Sequence[tuple[str, str]], numbers: Sequence[int] | None = None
    ) -> list[Scores]:
        """The scores of each pair of a window; ``numbers`` are those of the pairs, by default from 1."""
        found: list[dict[str, float]] = [{} for _ in pairs]
        numbers = range(1, len(pairs) + 1) if numbers is None else numbers
        unknown: set[int] = set()
        if self._encoder is not None and pairs:
            similarities = self._similarities(self._encoder, pairs, numbers)
            for row, (scores, *values) in enumerate(zip(found, *similarities, strict=True)):
                scores.update(zip(SIMILARITIES, values, strict=True))
                if math.isnan(values[0]):
                    unknown.add(row)
        if self._aligner is not None:

            def receive(number: int, words: Sequence[str], whole: bool) -> None:
                self._unlinked.add_pair(numbers[number - 1], words, whole)
                if whole:
                    unknown.add(number - 1)

            words = [(split_words(source), split_words(target)) for source, target in pairs]
            links = align_running(self._aligner, zip(pairs, words, strict=True), unknown=receive)
            for scores, sides, own in zip(found, words, links, strict=True):
                linked = (len({link[side] for link in own.links}) for side in (0, 1))
                shares = (count / max(1, len(side)) for count, side in zip(linked, sides, strict=True))
                scores.update(zip(LINKS, (0.0 if math.isnan(own.score) else own.score, *shares), strict=True))
        return [None if row in unknown else scores for row, scores in enumerate(found)]

    def warn(self) -> None:
        """Warn of the unknown words of all windows, once where both vocabularies lack the same."""
        self._unlinked.warn()
        if replace(self._left_out, effect=UNLINKED) != self._unlinked:
            self._left_out.warn()

    def _similarities(
        self, encoder: SentenceEncoder, pairs: Sequence[tuple[str, str]], numbers: Sequence[int]
    ) -> list[list[float]]:
        """Cosine and margin, not numbers for a pair with a null vector.

        A text that stands several times in a window is one neighbour, one with a null vector is none.
        """
        vectors, places, pool = [], [], self._options.pool
        for side in (0, 1):
            own = [pair[side] for pair in pairs]
            more = self._before[side][len(own) - pool :] if len(own) < pool else []
            number = {text: n for n, text in enumerate(dict.fromkeys([*own, *more]))}
            rows: dict[str, list[int]] = {}
            for pair_number, text in zip(numbers, own, strict=True):
                rows.setdefault(text, []).append(pair_number)
            found = unit_vectors(encoder, list(number), partial(self._count, rows))
            present = found.any(1)
            place = torch.where(present, present.cumsum(0) - 1, -1)
            places.append(place[[number[text] for text in own]])
            vectors.append(found[present])
            self._before[side][:] = [*more, *own][-pool:]
        (first, second), (x, y) = vectors, places
        values = torch.full((2, len(pairs)), torch.nan)
        both = (x >= 0) & (y >= 0)
        if bool(both.any()):
            forward, backward = nearest_both_ways(first, second, self._options.neighbours)
            x, y = x[both], y[both]
            means = forward.similarities.mean(1)[x], backward.similarities.mean(1)[y]
            cosine = (first[x] * second[y]).sum(1)
            values[:, both] = torch.stack([cosine, compared(cosine, *means, similarity="margin")])
        return values.tolist()

    def _count(
        self, numbers: Mapping[str, Sequence[int]], text: str, words: Sequence[str], whole: bool
    ) -> None:
        """Count unknown words of a text for each of its pairs; earlier windows counted theirs."""
        for number in numbers.get(text, ()):
            self._left_out.add_pair(number, words, whole)
