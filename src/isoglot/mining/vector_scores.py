"""Scores of sentence pairs by sentence vectors: cosine and margin among the pairs of a window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.mining.options import FilterRequest
from isoglot.mining.vectors import sentence_encoder, unit_vectors
from isoglot.modules.neighbours import compared, nearest_both_ways
from isoglot.tasks.text_vectors import LEFT_OUT


class VectorScorer:
    """Scores windows of pairs by the vectors of their sentences.

    Args:
        request: The encoder, and of the margin the number of ``neighbours``.

    Attributes:
        left_out: Words of all windows that the encoder's vocabulary does not know.
    """

    def __init__(self, request: FilterRequest) -> None:
        self._encoder = sentence_encoder(request.model, request)
        self._options = request
        self.left_out = UnknownWords(LEFT_OUT)

    def __call__(
        self,
        pairs: Sequence[tuple[str, str]],
        names: Sequence[str],
        earlier: Sequence[tuple[str, str]] = (),
    ) -> list[dict[str, float] | None]:
        """Cosine and margin of each pair; ``None`` for a pair with a null vector.

        A text that stands several times in a window is one neighbour; a text with a null vector is no neighbour.

        ``names``: What warnings call the pairs. ``earlier``: Pairs before these, which fill up a short window.
        """
        sides = []  # of each side the vectors of its different texts, and the number of each pair's vector, or −1
        for side in (0, 1):
            texts = [pair[side] for pair in pairs]
            before = [pair[side] for pair in earlier]
            rows = {text: row for row, text in enumerate(dict.fromkeys([*texts, *before]))}
            where: dict[str, list[str]] = {}
            for name, text in zip(names, texts, strict=True):
                where.setdefault(text, []).append(name)

            def count(text: str, words: Sequence[str], whole: bool, where: Any = where) -> None:
                for name in where.get(text, ()):  # earlier windows counted theirs
                    self.left_out.add(name, words, whole)

            vectors = unit_vectors(self._encoder, list(rows), count)
            present = vectors.any(1)
            numbers = torch.where(present, present.cumsum(0) - 1, -1)
            sides.append((vectors[present], numbers[[rows[text] for text in texts]]))
        (first, x), (second, y) = sides
        values = torch.full((2, len(pairs)), torch.nan)
        both = (x >= 0) & (y >= 0)
        if bool(both.any()):
            forward, backward = nearest_both_ways(first, second, self._options.neighbours)
            x, y = x[both], y[both]
            means = forward.similarities.mean(1)[x], backward.similarities.mean(1)[y]
            cosine = (first[x] * second[y]).sum(1)
            values[:, both] = torch.stack([cosine, compared(cosine, *means, similarity="margin")])
        scores: list[dict[str, float] | None] = []
        for cosine_of_pair, margin in zip(*values.tolist(), strict=True):
            known = not math.isnan(cosine_of_pair)
            scores.append({"cosine": cosine_of_pair, "margin": margin} if known else None)
        return scores
