"""The statistical models behind one set of functions: what a method learns, and how it decodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from isoglot.align.alignment import LinkTable
from isoglot.align.statistical import hmm, hmm_training, ibm2
from isoglot.align.statistical.cooccurrence import DirectedBitext, DirectedTypes
from isoglot.align.statistical.posteriors import agreeing_links, best_links

__all__ = ["METHODS", "Decoded", "Direction", "Method", "Tables"]


class Tables(Protocol):
    """Probabilities on the types and generated words of one text; whatever else is needed to decode it comes along."""

    @property
    def translation(self) -> npt.NDArray[np.float64]:
        """p(generated word | given word) of each type."""

    @property
    def null(self) -> npt.NDArray[np.float64]:
        """p(generated word | null)."""


class Direction(Protocol):
    """What a method has learned about one direction."""

    def project(self, known: DirectedTypes, new: DirectedTypes) -> Tables:
        """Probabilities on another text's types, given those that were learned."""

    def arrays(self) -> dict[str, npt.NDArray[np.float64]]:
        """Everything as arrays, to be saved."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Links of a text.

    Args:
        forward: each target word's best source word, as (source, target).
        reverse: each source word's best target word, as (source, target).
        agreeing: links whose posteriors agree; ``None`` where they were not asked for.
        score: log probability of each target side given its source side, plus the other way round. Shape: (sentences).
    """

    forward: LinkTable
    reverse: LinkTable
    agreeing: LinkTable | None
    score: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Method:
    """One statistical model.

    Args:
        options: dataclass of its options.
        symmetrisation: what it is best decoded with.
        read: saved arrays and options to a direction.
        estimate: forward and reverse bitext, options, workers to both directions.
        decode: forward and reverse bitext, both directions' tables, options, workers and the threshold of the agreeing
            links (``None``: they are not wanted) to links.
    """

    options: type[Any]
    symmetrisation: str
    read: Callable[[Mapping[str, npt.NDArray[np.float64]], Any], Direction]
    estimate: Callable[[DirectedBitext, DirectedBitext, Any, int], tuple[Any, Any]]
    decode: Callable[[DirectedBitext, DirectedBitext, tuple[Any, Any], Any, int, float | None], Decoded]


def _estimate_fast_align(
    forward: DirectedBitext, reverse: DirectedBitext, options: ibm2.DiagonalOptions, workers: int
) -> tuple[ibm2.DiagonalDirection, ibm2.DiagonalDirection]:
    with ThreadPoolExecutor(workers) as pool:
        one, other = pool.map(lambda bitext: ibm2.estimate(bitext, options), (forward, reverse))
    return one, other


def _decode_fast_align(
    forward: DirectedBitext,
    reverse: DirectedBitext,
    tables: tuple[ibm2.DiagonalDirection, ibm2.DiagonalDirection],
    options: ibm2.DiagonalOptions,
    workers: int,
    threshold: float | None,
) -> Decoded:
    sides = (forward, reverse)
    agreeing = None
    with ThreadPoolExecutor(workers) as pool:
        (links, score), (mirrored, other) = pool.map(lambda b, t: ibm2.decode(b, t, options), sides, tables)
        if threshold is not None:
            parts = []
            for one_shard, other_shard in zip(forward.shards(), reverse.shards(), strict=True):
                shards = (one_shard, other_shard)
                ahead, back = pool.map(lambda b, t: ibm2.posteriors(b, t, options), shards, tables)
                parts.append(agreeing_links(*shards, (ahead, back), threshold=threshold))
            agreeing = LinkTable.merge(len(links), parts)
    return Decoded(links, mirrored.transpose(), agreeing, score + other)


def _decode_hmm(
    forward: DirectedBitext,
    reverse: DirectedBitext,
    tables: tuple[hmm.HmmTables, hmm.HmmTables],
    options: hmm.HmmOptions,
    workers: int,
    threshold: float | None,
) -> Decoded:
    count = len(forward.generated.offsets) - 1
    score = np.zeros(count)
    links, mirrored, agreeing = [], [], []
    with ThreadPoolExecutor(workers) as pool:
        for one, other in zip(forward.shards(), reverse.shards(), strict=True):
            ahead, back = pool.map(hmm.posteriors, (one, other), tables)
            links.append(best_links(one, ahead))
            mirrored.append(best_links(other, back))
            if threshold is not None:
                agreeing.append(agreeing_links(one, other, (ahead, back), threshold=threshold))
            score += ahead.scores + back.scores
    agreed = None if threshold is None else LinkTable.merge(count, agreeing)
    return Decoded(LinkTable.merge(count, links), LinkTable.merge(count, mirrored).transpose(), agreed, score)


METHODS: dict[str, Method] = {
    "fast_align": Method(
        ibm2.DiagonalOptions,
        "grow-diag-final-and",
        lambda arrays, _: ibm2.DiagonalDirection.from_arrays(arrays),
        _estimate_fast_align,
        _decode_fast_align,
    ),
    "hmm": Method(
        hmm.HmmOptions,
        "agreement",
        hmm.HmmDirection.from_arrays,
        hmm_training.estimate,
        _decode_hmm,
    ),
}
"""Method name to its functions."""
