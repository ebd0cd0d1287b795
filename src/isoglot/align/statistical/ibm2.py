"""fast_align's model: IBM 2 with a log-linear preference for the diagonal, estimated by EM, links as the C++ program's.

    p(a_j = i | m, n) ∝ exp(−λ · |i/n − j/m|),   p(a_j = null) = p0,   p(f_j | e_i) = t(f_j | e_i)

with source positions ``i`` in 1…n, target positions ``j`` in 1…m and the tension λ. Some of the program's details are
not in its paper, and the links depend on them: the feature's empirical expectation counts ``j`` from 0, the model's
from 1; the derivative of log Z divides by a Z computed with ``n`` and ``m`` exchanged, in which an unsigned difference
wraps around so that its power term vanishes; the last of the iterations decodes and does not update; null wins ties,
then the first source word.

Source: Dyer, Chahuneau & Smith 2013 (*A Simple, Fast, and Effective Reparameterization of IBM Model 2*), eqs. 1–6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import psi

from isoglot.align.alignment import LinkTable
from isoglot.align.statistical.cooccurrence import DirectedBitext, DirectedTypes, consecutive
from isoglot.align.statistical.layout import Chunk
from isoglot.align.statistical.posteriors import DirectionPosteriors
from isoglot.errors import ConfigurationError

__all__ = ["DiagonalDirection", "DiagonalOptions", "decode", "estimate", "posteriors"]

Floats = npt.NDArray[np.float64]
INITIAL_PROBABILITY = 1e-9
TENSION_RANGE = (0.1, 14.0)
TENSION_STEPS = 8
TENSION_RATE = 20.0
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class DiagonalOptions:
    """Options of fast_align's model; the defaults are its ``-d -o -v``.

    Args:
        favour_diagonal: ``-d``; a uniform prior over positions if false.
        optimise_tension: ``-o``; keep ``tension`` as given if false.
        variational_bayes: ``-v``; maximum likelihood if false.
        iterations: ``-I``; the last one only decodes.
        tension: ``-T``; λ, where the optimisation starts.
        null_probability: ``-p``; p0.
        alpha: ``-a``; the Dirichlet prior of the translation table.
        use_null: false is ``-N``: every target word is linked.
    """

    favour_diagonal: bool = True
    optimise_tension: bool = True
    variational_bayes: bool = True
    iterations: int = 5
    tension: float = 4.0
    null_probability: float = 0.08
    alpha: float = 0.01
    use_null: bool = True

    def __post_init__(self) -> None:
        problems = []
        if self.iterations < 1:
            problems.append(
                f"iterations={self.iterations} given, but at least 1 is needed; the usual value is 5"
            )
        if not 0 < self.null_probability < 1:
            problems.append(
                f"null_probability={self.null_probability} given, but it must lie between 0 and 1; "
                "the usual value is 0.08 (use_null=False removes the null word)"
            )
        if self.variational_bayes and self.alpha <= 0:
            problems.append(
                f"alpha={self.alpha} given, but variational Bayes needs alpha > 0; the usual value is 0.01"
            )
        if self.tension <= 0:
            problems.append(f"tension={self.tension} given, but it must be positive; the usual value is 4.0")
        if problems:
            raise ConfigurationError(problems)


@dataclass(frozen=True, slots=True)
class DiagonalDirection:
    """What one direction has learned.

    Args:
        translation: t(generated | given) of each type. Shape: (types).
        null: t(generated | null) of each generated word. Shape: (generated vocabulary).
        tension: λ.
        log_likelihood: of the training text, natural logarithm, one value an iteration.
    """

    translation: Floats
    null: Floats
    tension: float
    log_likelihood: tuple[float, ...] = ()

    def project(self, known: DirectedTypes, new: DirectedTypes) -> DiagonalDirection:
        """This model, of the types ``known``, on another text's; what is not known has fast_align's initial 1e-9."""
        types, _, words = known.locate(new)
        return replace(self, translation=_pick(self.translation, types), null=_pick(self.null, words))

    def arrays(self) -> dict[str, npt.NDArray[np.float64]]:
        """Everything as arrays, to be saved."""
        return {
            "translation": self.translation,
            "null": self.null,
            "tension": np.array([self.tension]),
            "log_likelihood": np.array(self.log_likelihood),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.float64]]) -> DiagonalDirection:
        """The inverse of :meth:`arrays`."""
        return cls(
            arrays["translation"],
            arrays["null"],
            float(arrays["tension"][0]),
            tuple(arrays["log_likelihood"].tolist()),
        )


def _pick(values: Floats, index: npt.NDArray[np.int64]) -> Floats:
    return np.where(index >= 0, np.append(values, INITIAL_PROBABILITY)[index], INITIAL_PROBABILITY)


def estimate(bitext: DirectedBitext, options: DiagonalOptions) -> DiagonalDirection:
    """Train one direction: ``iterations − 1`` updates."""
    translation = np.full(len(bitext.given_word), INITIAL_PROBABILITY)
    null = np.full(len(bitext.generated.words), INITIAL_PROBABILITY)
    tension = options.tension
    sizes = _Sizes.of(bitext)
    likelihoods = []
    for iteration in range(options.iterations - 1):
        model = DiagonalDirection(translation, null, tension)
        counts, null_counts, feature, likelihood = _expectations(bitext, model, options)
        likelihoods.append(likelihood)
        if options.favour_diagonal and options.optimise_tension and iteration > 0:
            tension = _optimise_tension(sizes, tension, feature / max(bitext.tokens, 1))
        translation = _normalise(counts, bitext.given_word, options)
        null = _normalise(null_counts, np.zeros(len(null), np.int32), options, seen=_seen(bitext))
    return DiagonalDirection(translation, null, tension, tuple(likelihoods))


def decode(
    bitext: DirectedBitext, model: DiagonalDirection, options: DiagonalOptions
) -> tuple[LinkTable, Floats]:
    """The best source word of each target word, or none.

    Returns:
        Links as (given word, generated word) with their posterior probability, and the log probability (natural) of
        each sentence's generated side, 0 for a pair with an empty side. Shape of the latter: (sentences).
    """
    sentences = len(bitext.generated.offsets) - 1
    scores = np.zeros(sentences)
    parts: list[tuple[npt.NDArray[np.integer], ...]] = [(np.empty(0, np.int64),) * 3]
    probabilities = [np.empty(0)]
    for chunk in bitext.layout:
        joint, null, total = _joint(bitext, chunk, model, options)
        best = joint.argmax(axis=1)
        top = joint[np.arange(chunk.rows), best]
        linked = top > null if options.use_null else np.ones(chunk.rows, np.bool_)
        owner = chunk.sentences[chunk.member]
        scores += np.bincount(owner, np.log(total), sentences)
        parts.append((owner[linked], best[linked], chunk.position[linked]))
        probabilities.append(top[linked] / total[linked])
    sentence, given, generated = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LinkTable.build(sentences, sentence, given, generated, np.concatenate(probabilities)), scores


def posteriors(
    bitext: DirectedBitext, model: DiagonalDirection, options: DiagonalOptions
) -> DirectionPosteriors:
    """Posterior probabilities of all links of a text."""
    result = DirectionPosteriors.empty(bitext)
    for chunk in bitext.layout:
        joint, null, total = _joint(bitext, chunk, model, options)
        joint /= total[:, None]
        result.put(chunk, joint, null / total if options.use_null else np.zeros(chunk.rows), np.log(total))
    return result


def _joint(
    bitext: DirectedBitext, chunk: Chunk, model: DiagonalDirection, options: DiagonalOptions
) -> tuple[Floats, Floats, Floats]:
    """p(a_j = i, f_j) of a chunk's rows: (rows, width), with null: (rows), and their sum: (rows)."""
    joint = np.take(model.translation, bitext.types_of(chunk), mode="wrap")
    null = np.take(model.null, bitext.words_of(chunk), mode="wrap")
    if options.favour_diagonal:
        starts = _runs(chunk)
        prior = _prior(chunk, starts, model.tension, 1.0 - options.null_probability)
        joint *= np.repeat(prior, np.diff([*starts.tolist(), chunk.rows]), axis=0)
        null *= options.null_probability
    else:
        uniform = 1.0 / (chunk.width + options.use_null)
        joint *= uniform
        null *= uniform
    total = joint @ np.ones(chunk.width)
    if options.use_null:
        total += null
    return joint, null, total


def _expectations(
    bitext: DirectedBitext, model: DiagonalDirection, options: DiagonalOptions
) -> tuple[Floats, Floats, float, float]:
    """Expected counts by type and by null word, the feature's expectation, the log-likelihood."""
    counts = np.zeros(len(model.translation))
    null_counts = np.zeros(len(model.null))
    feature = likelihood = 0.0
    # Chunks whose posteriors are held together, so that counting a block costs more than clearing its counts.
    for block in consecutive(bitext.layout, max(_BLOCK, len(counts))):
        start, stop = block[0].first_entry, block[-1].entries.stop
        posterior = np.empty(stop - start)
        for chunk in block:
            joint, null, total = _joint(bitext, chunk, model, options)
            joint /= total[:, None]
            posterior[chunk.first_entry - start : chunk.entries.stop - start] = joint.ravel()
            starts = _runs(chunk)
            positions = chunk.position[starts] / chunk.lengths[chunk.member[starts]]
            distance = np.abs(np.arange(1, chunk.width + 1) / chunk.width - positions[:, None])
            feature -= float(np.vdot(np.add.reduceat(joint, starts, axis=0), distance))
            likelihood += float(np.log(total).sum())
            if options.use_null:
                null_counts += np.bincount(bitext.words_of(chunk), null / total, len(null_counts))
        counts += np.bincount(bitext.entry_type[start:stop], posterior, len(counts))
    return counts, null_counts, feature, likelihood


def _runs(chunk: Chunk) -> npt.NDArray[np.int64]:
    """First rows of the runs with equal position and length; the layout keeps such rows together."""
    length = chunk.lengths[chunk.member]
    changed = (np.diff(chunk.position) != 0) | (np.diff(length) != 0)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def _prior(chunk: Chunk, starts: npt.NDArray[np.int64], tension: float, not_null: float) -> Floats:
    """p(a_j = i) of the rows ``starts``. Shape: (runs, width)."""
    m: Floats = chunk.lengths[chunk.member[starts]].astype(np.float64)
    j = chunk.position[starts].astype(np.float64) + 1.0
    n = float(chunk.width)
    weight: Floats = np.exp(-np.abs(np.arange(1, chunk.width + 1) / n - (j / m)[:, None]) * tension)
    weight /= (_normaliser(j, m, np.full_like(m, n), tension) / not_null)[:, None]
    return weight


def _normaliser(j: Floats, m: Floats, n: Floats, tension: float) -> Floats:
    """Z of position j of m over n source words, by geometric series; ``floor > n`` is allowed."""
    floor = np.floor(j * n / m)
    ratio = np.exp(-tension / n)
    above = n - floor
    with np.errstate(over="ignore"):
        fall = np.where(above < 0, 0.0, ratio ** np.maximum(above, 0.0))
    top = np.exp(-np.abs((floor + 1) / n - j / m) * tension) * (1.0 - fall) / (1.0 - ratio)
    bottom = np.exp(-np.abs(floor / n - j / m) * tension) * (1.0 - ratio**floor) / (1.0 - ratio)
    return np.where(floor > 0, bottom, 0.0) + np.where(above != 0, top, 0.0)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Each (target length m, source length n) that occurs, at each of its positions j, with its frequency."""

    j: Floats
    m: Floats
    n: Floats
    weight: Floats

    @classmethod
    def of(cls, bitext: DirectedBitext) -> _Sizes:
        n, m = bitext.given.lengths, bitext.generated.lengths
        usable = (n > 0) & (m > 0)
        pairs, frequency = np.unique(np.stack([m[usable], n[usable]]), axis=1, return_counts=True)
        repeated = np.repeat(np.arange(pairs.shape[1]), pairs[0])
        starts = np.cumsum(pairs[0]) - pairs[0]
        j = np.arange(len(repeated)) - starts[repeated] + 1.0
        m_, n_ = pairs[:, repeated].astype(np.float64)
        return cls(j, m_, n_, frequency[repeated].astype(np.float64))


def _optimise_tension(sizes: _Sizes, tension: float, empirical: float) -> float:
    """Eight gradient steps on λ."""
    tokens = max(float(sizes.weight.sum()), 1.0)
    for _ in range(TENSION_STEPS):
        expected = float(np.dot(sizes.weight, _log_normaliser_gradient(sizes, tension))) / tokens
        tension = min(
            max(tension + (empirical - expected) * TENSION_RATE, TENSION_RANGE[0]), TENSION_RANGE[1]
        )
    return tension


def _log_normaliser_gradient(sizes: _Sizes, tension: float) -> Floats:
    """The derivative of log Z by λ as the program computes it, over a Z with m and n exchanged."""
    j, m, n = sizes.j, sizes.m, sizes.n
    floor = np.floor(j * n / m)
    ratio = np.exp(-tension / n)
    step = -1.0 / n

    def series(first: Floats, terms: Floats) -> Floats:
        feature = -np.abs(first / n - j / m)
        weight = np.exp(feature * tension)
        beyond = weight * ratio**terms
        last = step * (terms - 1) + feature
        total = (last * beyond - feature * weight) / (ratio - 1)
        return np.asarray(total - step * (beyond - weight * ratio) / (ratio - 1) ** 2)

    top = np.where(n - floor > 0, series(floor + 1, n - floor), 0.0)
    bottom = np.where(floor > 0, series(floor, floor), 0.0)
    return np.asarray((top + bottom) / _normaliser(j, n, m, tension))


def _seen(bitext: DirectedBitext) -> npt.NDArray[np.bool_]:
    """Generated words that occur in a pair with two sides; null has an entry for each of them."""
    seen = np.zeros(len(bitext.generated.words), np.bool_)
    seen[bitext.generated_word] = True
    return seen


def _normalise(
    counts: Floats,
    group: npt.NDArray[np.int32],
    options: DiagonalOptions,
    *,
    seen: npt.NDArray[np.bool_] | None = None,
) -> Floats:
    """Counts to probabilities within each group: exp(ψ(c + α) − ψ(Σ(c + α))), or plain shares."""
    smoothed = counts + options.alpha if options.variational_bayes else counts
    if seen is not None:
        smoothed = np.where(seen, smoothed, 0.0)
    total = np.bincount(group, smoothed)
    total[total == 0] = 1.0
    if not options.variational_bayes:
        return np.asarray(smoothed / total[group])
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(psi(smoothed) - psi(total)[group]))
