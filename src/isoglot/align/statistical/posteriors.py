"""From posterior link probabilities to links: each direction's best word, or a threshold on both directions' mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.align.alignment import LinkTable
from isoglot.align.statistical.cooccurrence import DirectedBitext
from isoglot.align.statistical.layout import Chunk, mirror, row_entries

__all__ = ["DirectionPosteriors", "agreeing_links", "best_links"]


@dataclass(frozen=True, slots=True)
class DirectionPosteriors:
    """Posteriors of a whole text in the layout of one direction.

    Args:
        links: p(a_j = i | sentence pair). Shape: (entries).
        null: p(a_j = null | sentence pair). Shape: (rows).
        scores: log probability of each sentence's generated side. Shape: (sentences).
    """

    links: npt.NDArray[np.float32]
    null: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, bitext: DirectedBitext) -> DirectionPosteriors:
        """Room for the posteriors of a text."""
        return cls(
            np.empty(len(bitext.entry_type), np.float32),
            np.empty(bitext.tokens, np.float32),
            np.zeros(len(bitext.generated.offsets) - 1),
        )

    def put(
        self,
        chunk: Chunk,
        links: npt.NDArray[np.floating],
        null: npt.NDArray[np.floating],
        log_scale: npt.NDArray[np.floating],
    ) -> None:
        """Fill in a chunk. Shapes: (rows, width), (rows), (rows)."""
        self.links[chunk.entries] = links.ravel()
        self.null[chunk.first_row : chunk.first_row + chunk.rows] = null
        self.scores[chunk.sentences] += np.bincount(chunk.member, log_scale, len(chunk.sentences))


def best_links(bitext: DirectedBitext, posteriors: DirectionPosteriors) -> LinkTable:
    """Each generated word's most probable given word, unless null is at least as probable; as (given, generated)."""
    found = []
    for chunk in bitext.layout:
        matrix = posteriors.links[chunk.entries].reshape(chunk.rows, chunk.width)
        best = matrix.argmax(axis=1)
        top = matrix[np.arange(chunk.rows), best]
        kept = top > posteriors.null[chunk.first_row : chunk.first_row + chunk.rows]
        found.append((chunk.sentences[chunk.member[kept]], best[kept], chunk.position[kept], top[kept]))
    return _table(bitext, found)


def agreeing_links(
    forward: DirectedBitext,
    reverse: DirectedBitext,
    posteriors: tuple[DirectionPosteriors, DirectionPosteriors],
    *,
    threshold: float,
) -> LinkTable:
    """Links whose geometric mean of both directions' posteriors is at least a threshold, as (source, target).

    A word may have several links or none, which one direction's best links cannot both express.

    Source: Liang, Taskar & Klein 2006 (*Alignment by agreement*), §4, posterior decoding.
    """
    ahead, back = posteriors
    rows = row_entries(forward.layout, forward.generated)
    found = []
    for chunk in reverse.layout:
        place = mirror(chunk, rows, reverse.given)
        own = back.links[chunk.entries].reshape(place.shape)
        mean = np.sqrt(own * ahead.links[place])
        row, target = np.nonzero(mean >= threshold)
        found.append((chunk.sentences[chunk.member[row]], chunk.position[row], target, mean[row, target]))
    return _table(forward, found)


def _table(bitext: DirectedBitext, found: Sequence[tuple[npt.NDArray[Any], ...]]) -> LinkTable:
    none = np.empty(0, np.int64)
    sentence, given, generated, probability = (
        np.concatenate(column)
        for column in zip((none, none, none, np.empty(0, np.float32)), *found, strict=True)
    )
    count = len(bitext.generated.offsets) - 1
    return LinkTable.build(count, sentence, given, generated, np.minimum(probability, 1.0))
