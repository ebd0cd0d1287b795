"""The statistical models behind one set of functions: what a method learns, and how it decodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical import diagonal, hmm, hmm_training, ibm2, markov
from isoglot.align.statistical.bitext import Side, Vocabularies, locate_words
from isoglot.align.statistical.decoding import BestWords, Decoded, agreeing
from isoglot.align.statistical.options import DiagonalOptions, HmmOptions
from isoglot.align.statistical.pair_table import PairTable
from isoglot.options import Options

Words = npt.NDArray[np.int32]
T = TypeVar("T")


class Direction(Protocol):
    """What a method has learned about one direction."""

    @property
    def table(self) -> PairTable:
        """The word pairs that it knows."""

    def probabilities(self, given: Words, generated: Words) -> npt.NDArray[np.float64]:
        """p(generated | given) of known pairs."""

    def arrays(self, given: Words, generated: Words) -> dict[str, npt.NDArray[np.float64]]:
        """Everything as arrays, with what belongs to these pairs in their order, to be saved."""


@dataclass(frozen=True, slots=True)
class Method:
    """One statistical model."""

    options: type[Options]  # model of its options
    symmetrisation: str  # what it is best decoded with
    # saved arrays, vocabularies, pairs and options to a direction
    read: Callable[[Mapping[str, npt.NDArray[np.float64]], Vocabularies, tuple[Words, Words], Any], Direction]
    # source and target side, options, workers to both directions
    estimate: Callable[[Side, Side, Any, int], tuple[Any, ...]]
    # a text's sides, the vocabularies of the model, both directions, options, workers and the threshold of
    # the agreeing links (``None``: they are not wanted)
    decode: Callable[[Side, Side, Vocabularies, tuple[Any, Any], Any, int, float | None], Decoded]
    # sides, options and workers to the best words by a model that is forgotten; ``None`` where that saves no
    # memory
    align: Callable[[Side, Side, Any, int], tuple[BestWords, ...]] | None = None


def _estimate_fast_align(
    source: Side, target: Side, options: DiagonalOptions, workers: int
) -> tuple[ibm2.DiagonalDirection, ...]:
    return _both_directions(source, target, options, workers, lambda *found: found[-1])


def _align_fast_align(
    source: Side, target: Side, options: DiagonalOptions, workers: int
) -> tuple[BestWords, ...]:
    return _both_directions(source, target, options, workers, _best)


def _both_directions(
    source: Side,
    target: Side,
    options: DiagonalOptions,
    workers: int,
    then: Callable[[Side, Side, DiagonalOptions, ibm2.DiagonalDirection], T],
) -> tuple[T, ...]:
    """What ``then`` makes of the trained forward and reverse model; large ones are trained one at a time."""
    forward = [PairTable.of(source, target)]

    def run(reverse: bool) -> T:
        given, generated = (target, source) if reverse else (source, target)
        table = PairTable.of(given, generated) if reverse else forward.pop()
        model = ibm2.estimate(given, generated, table, options, reverse=reverse)
        return then(given, generated, options, model)

    with ThreadPoolExecutor(workers if len(forward[0]) <= ibm2.MOST_PAIRS else 1) as pool:
        return tuple(pool.map(run, (False, True)))


def _decode_fast_align(
    source: Side,
    target: Side,
    words: Vocabularies,
    models: tuple[ibm2.DiagonalDirection, ibm2.DiagonalDirection],
    options: DiagonalOptions,
    workers: int,
    threshold: float | None,
) -> Decoded:
    one, other = (_known(side, own) for side, own in zip((source, target), words, strict=True))
    with ThreadPoolExecutor(workers) as pool:
        ahead, back = pool.map(_best, (one, other), (other, one), (options, options), models)
    agreed = None
    if threshold is not None:
        both = (one.flat, other.flat, *(model.compiled for model in models), options.compiled, threshold)
        agreed = agreeing(source, target, workers, lambda first, last: diagonal.agreeing(*both, first, last))
    return ahead, back, agreed


def _best(given: Side, generated: Side, options: DiagonalOptions, model: ibm2.DiagonalDirection) -> BestWords:
    best = BestWords.empty(generated)
    arrays = best.word, best.probability, best.score
    diagonal.decode(given.flat, generated.flat, *model.compiled, options.compiled, *arrays)
    return best


def _decode_hmm(
    source: Side,
    target: Side,
    _: Vocabularies,
    models: tuple[hmm.HmmDirection, hmm.HmmDirection],
    __: HmmOptions,
    workers: int,
    threshold: float | None,
) -> Decoded:
    table = PairTable.of(source, target)
    one, other, slots = table.pairs()
    tables = []
    for model, sides, pairs in (
        (models[0], (source.words, target.words), (one, other)),
        (models[1], (target.words, source.words), (other, one)),
    ):
        translation = np.zeros(len(table.key))
        translation[slots], null = model.project(sides, pairs)
        tables.append((translation, null))
    best = BestWords.empty(target), BestWords.empty(source)
    arrays = tuple((own.word, own.probability, own.score) for own in best)
    jumps = tuple(model.jumps.compiled for model in models)
    both, compiled = (source.flat, target.flat), (table.start, table.key)
    least = 2.0 if threshold is None else threshold
    agreed = agreeing(
        source,
        target,
        workers,
        lambda *part: markov.decode(both, part, compiled, tuple(tables), jumps, least, arrays),
    )
    return *best, None if threshold is None else agreed


def _known(side: Side, words: tuple[str, ...] | Any) -> Side:
    """A text in the numbers of a vocabulary, −1 for words that it lacks."""
    if side.words is words:
        return side
    return Side(tuple(words), locate_words(words, side.words).astype(np.int32)[side.ids], side.offsets)


METHODS: dict[str, Method] = {
    "fast_align": Method(
        DiagonalOptions,
        "grow-diag-final-and",
        ibm2.DiagonalDirection.from_arrays,
        _estimate_fast_align,
        _decode_fast_align,
        _align_fast_align,
    ),
    "hmm": Method(HmmOptions, "agreement", hmm.HmmDirection.from_arrays, hmm_training.estimate, _decode_hmm),
}
"""Method name to its functions."""
