"""Scores of sentence pairs by sentence vectors: cosine and margin among the pairs of a window."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.mining.options import FilterRequest
from isoglot.mining.vectors import sentence_encoder, unit_vectors
from isoglot.modules.neighbours import compared, nearest_both_ways
from isoglot.tasks.text_vectors import LEFT_OUT


class VectorScorer:
    """Scores windows of pairs by the vectors of their sentences.

    Args:
        request: The encoder, and the number of ``neighbours`` of the margin.

    Attributes:
        left_out: Words of all windows that the encoder's vocabulary does not know.
    """

    def __init__(self, request: FilterRequest) -> None:
        self._encoder = sentence_encoder(request.model, request)
        self._request = request
        self.left_out = UnknownWords(LEFT_OUT)

    def __call__(
        self,
        pairs: Sequence[tuple[str, str]],
        labels: Sequence[str],
        earlier: Sequence[tuple[str, str]] = (),
    ) -> list[dict[str, float] | None]:
        """Compute cosine and margin of each pair; ``None`` for a pair with a null vector.

        A text that stands several times in a window is one neighbour; a text with a null vector is no neighbour.

        ``labels``: The pairs as warnings call them. ``earlier``: Pairs before these, which fill up a short window.
        """
        source_vectors, source_numbers = self._vectors_of_side(pairs, labels, earlier, 0)
        target_vectors, target_numbers = self._vectors_of_side(pairs, labels, earlier, 1)
        scores: list[dict[str, float] | None] = [None] * len(pairs)
        # The rows of the pairs with a vector on both sides.
        scored = torch.nonzero((source_numbers >= 0) & (target_numbers >= 0))[:, 0]
        if not len(scored):
            return scores
        forward, backward = nearest_both_ways(source_vectors, target_vectors, self._request.neighbours)
        source_numbers, target_numbers = source_numbers[scored], target_numbers[scored]
        cosines = (source_vectors[source_numbers] * target_vectors[target_numbers]).sum(1)
        source_means = forward.similarities.mean(1)[source_numbers]
        target_means = backward.similarities.mean(1)[target_numbers]
        # `compared` computes the margins: each cosine is divided by the mean of its two neighbour means.
        margins = compared(cosines, source_means, target_means, similarity="margin")
        for row, cosine, margin in zip(scored.tolist(), cosines.tolist(), margins.tolist(), strict=True):
            scores[row] = {"cosine": cosine, "margin": margin}
        return scores

    def _vectors_of_side(
        self,
        pairs: Sequence[tuple[str, str]],
        labels: Sequence[str],
        earlier: Sequence[tuple[str, str]],
        side: int,
    ) -> tuple[Tensor, Tensor]:
        """Encode each different text of a side once.

        Returns:
            The vectors that are not null; and for each pair the number of its vector among these, or −1 if its vector
            is null.
        """
        texts = [pair[side] for pair in pairs]
        earlier_texts = [pair[side] for pair in earlier]
        different = list(dict.fromkeys([*texts, *earlier_texts]))
        row_of_text = {text: row for row, text in enumerate(different)}
        labels_of_text: dict[str, list[str]] = {}
        for label, text in zip(labels, texts, strict=True):
            labels_of_text.setdefault(text, []).append(label)

        def count(text: str, words: Sequence[str], is_unknown: bool) -> None:
            # An earlier text has no label here: its words were counted in its own window.
            for label in labels_of_text.get(text, ()):
                self.left_out.add(label, words, is_unknown)

        vectors = unit_vectors(self._encoder, different, count)
        is_present = vectors.any(1)
        number_of_row = torch.where(is_present, is_present.cumsum(0) - 1, -1)
        rows = [row_of_text[text] for text in texts]
        return vectors[is_present], number_of_row[rows]
