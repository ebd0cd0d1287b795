"""Scores of sentence pairs: by sentence vectors among the pairs of a window, and by word links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from isoglot.aligners.embedding.aligner import UNLINKED, EmbeddingAligner
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.options import is_saved_model
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.mining.options import FilterOptions, VectorOptions
from isoglot.mining.vectors import SentenceEncoder, sentence_encoder, unit_vectors
from isoglot.modules.neighbours import compared, nearest_both_ways
from isoglot.tasks.text_vectors import LEFT_OUT

if TYPE_CHECKING:
    from isoglot.aligners.statistical.model import StatisticalAligner

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
        aligner: EmbeddingAligner | StatisticalAligner | str | Path | None,
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
            aligner = _loaded(aligner)
        self._aligner = aligner
        self._unknown = (
            None if aligner is None or isinstance(aligner, EmbeddingAligner) else aligner.foreign_text()
        )
        self._encoder = None if model is None else sentence_encoder(model, vectors)
        self._before: tuple[list[str], list[str]] = [], []
        self._unlinked, self._left_out = UnknownWords(UNLINKED), UnknownWords(LEFT_OUT)
        self.names = (*(SIMILARITIES if self._encoder else ()), *(LINKS if aligner else ()))

    def __call__(self, pairs: Sequence[tuple[str, str]], names: Sequence[str] | None = None) -> list[Scores]:
        """The scores of each pair of a window; ``names`` are what warnings call the pairs, by default by number."""
        every: list[dict[str, float]] = [{} for _ in pairs]
        names = names or [f"pair {number}" for number in range(1, len(pairs) + 1)]
        unknown: set[int] = set()
        if self._encoder is not None and pairs:
            similarities = self._similarities(self._encoder, pairs, names)
            for row, (scores, *values) in enumerate(zip(every, *similarities, strict=True)):
                scores.update(zip(SIMILARITIES, values, strict=True))
                if math.isnan(values[0]):
                    unknown.add(row)
        if self._aligner is not None:

            def receive(number: int, words: Sequence[str], whole: bool) -> None:
                self._unlinked.add(names[number - 1], words, whole)
                if whole:
                    unknown.add(number - 1)

            linked_pairs: Iterator[SentencePair]
            if isinstance(self._aligner, EmbeddingAligner):
                cut = (SentencePair(texts).cut("unicode") for texts in pairs)
                linked_pairs = align_running(self._aligner, cut, unknown=receive)
            else:
                mode = self._aligner.words or "whitespace"
                cut = (SentencePair(texts).cut(mode) for texts in pairs)
                linked_pairs = self._aligner.align_pairs(cut, unknown=self._unknown)
            for scores, pair in zip(every, linked_pairs, strict=True):
                linked = (len({link[side] for link in pair.links}) for side in (0, 1))
                shares = (count / max(1, len(words)) for count, words in zip(linked, pair.words, strict=True))
                score = 0.0 if math.isnan(pair.score) else pair.score
                scores.update(zip(LINKS, (score, *shares), strict=True))
        return [None if row in unknown else scores for row, scores in enumerate(every)]

    def require_languages(self, languages: tuple[str, str]) -> None:
        """Refuse text of other languages than those of a statistical model.

        Raises:
            ConfigurationError: It was trained on others, and ``any_language`` is not set.
        """
        aligner = self._aligner
        if not (aligner is None or isinstance(aligner, EmbeddingAligner) or self._options.any_language):
            aligner.require_languages(languages)

    def warn(self) -> None:
        """Warn of the unknown words of all windows, once where both vocabularies lack the same."""
        self._unlinked.warn()
        if replace(self._left_out, effect=UNLINKED) != self._unlinked:
            self._left_out.warn()

    def _similarities(
        self, encoder: SentenceEncoder, pairs: Sequence[tuple[str, str]], names: Sequence[str]
    ) -> list[list[float]]:
        """Cosine and margin, not numbers for a pair with a null vector.

        A text that stands several times in a window is one neighbour, one with a null vector is none.
        """
        sides = []
        for side in (0, 1):
            texts = [pair[side] for pair in pairs]
            missing = self._options.pool - len(texts)  # in a short window, which earlier pairs fill up
            before = self._before[side][-missing:] if missing > 0 else []
            rows = {text: row for row, text in enumerate(dict.fromkeys([*texts, *before]))}
            where: dict[str, list[str]] = {}
            for name, text in zip(names, texts, strict=True):
                where.setdefault(text, []).append(name)

            def count(text: str, words: Sequence[str], whole: bool, where: Any = where) -> None:
                for name in where.get(text, ()):  # earlier windows counted theirs
                    self._left_out.add(name, words, whole)

            vectors = unit_vectors(encoder, list(rows), count)
            present = vectors.any(1)
            numbers = torch.where(present, present.cumsum(0) - 1, -1)
            sides.append((vectors[present], numbers[[rows[text] for text in texts]]))
            self._before[side][:] = [*before, *texts][-self._options.pool :]
        (first, x), (second, y) = sides
        values = torch.full((2, len(pairs)), torch.nan)
        both = (x >= 0) & (y >= 0)
        if bool(both.any()):
            forward, backward = nearest_both_ways(first, second, self._options.neighbours)
            x, y = x[both], y[both]
            means = forward.similarities.mean(1)[x], backward.similarities.mean(1)[y]
            cosine = (first[x] * second[y]).sum(1)
            values[:, both] = torch.stack([cosine, compared(cosine, *means, similarity="margin")])
        return values.tolist()


def _loaded(aligner: str | Path) -> EmbeddingAligner | StatisticalAligner:
    """The aligner of a name or folder."""
    if not is_saved_model(aligner):
        return EmbeddingAligner(aligner)
    from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads numba

    return StatisticalAligner.load(aligner)
