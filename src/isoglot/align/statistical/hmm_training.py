"""Training of the HMM aligner: both directions side by side, one shard of sentences after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical import ibm2
from isoglot.align.statistical.cooccurrence import DirectedBitext
from isoglot.align.statistical.forward_backward import Jumps, forward_backward
from isoglot.align.statistical.hmm import HmmDirection, HmmOptions, PrefixTable, sums
from isoglot.align.statistical.layout import Chunk, mirror, row_entries

__all__ = ["estimate"]

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
_UNIT = 65535.0  # an entry's contribution is kept as a 16-bit fraction


@dataclass
class _State:
    """One direction in training."""

    bitext: DirectedBitext
    options: HmmOptions
    start: ibm2.DiagonalDirection | None
    jumps: Jumps
    own: npt.NDArray[np.uint16]  # per entry: what it contributed to the counts
    own_null: Singles  # per row
    prefixes: PrefixTable | None
    share: Singles  # per generated word: p(f | prefix(f)) · β
    counts: Singles
    totals: Singles
    null_counts: Singles
    class_counts: Singles  # per type: of its classes
    class_totals: Singles  # per given word: of its class

    @classmethod
    def of(cls, bitext: DirectedBitext, options: HmmOptions) -> _State:
        start = ibm2.estimate(bitext, ibm2.DiagonalOptions(iterations=options.warm_up + 1))
        words = len(bitext.generated.words)
        frequency = sums(bitext.generated.ids, size=words)
        prefixes, share = None, np.zeros(words)
        if options.prefix_length:
            prefixes = PrefixTable.of(bitext.types, frequency, options.prefix_length)
            share = options.strength * frequency / prefixes.frequency[prefixes.generated.of_word]
        empty = np.empty(0, np.float32)
        jumps = Jumps.initial(options.longest_jump, options.null_probability)
        own = np.zeros(len(bitext.entry_type), np.uint16)
        rows = np.zeros(bitext.tokens, np.float32)
        narrow = share.astype(np.float32)
        return cls(bitext, options, start, jumps, own, rows, prefixes, narrow, *(empty,) * 5)

    def emissions(self, chunk: Chunk) -> tuple[Singles, Singles]:
        """Predictive p(f_j | e_i) and p(f_j | null) of a chunk, leaving out what each entry contributed itself."""
        types, words = self.bitext.types_of(chunk), self.bitext.words_of(chunk)
        if self.start is not None:
            return self.start.translation[types].astype(np.float32), self.start.null[words].astype(np.float32)
        o, size = self.options, len(self.bitext.generated.words)
        given = self.bitext.given
        conditions = given.ids[given.offsets[chunk.sentences][:, None] + np.arange(chunk.width)]
        own = self.own[chunk.entries].reshape(types.shape) * np.float32(1 / _UNIT)
        emission = np.take(self.counts, types, mode="wrap")
        emission -= own
        np.maximum(emission, 0, out=emission)
        emission += np.float32(o.alpha)
        if self.prefixes is not None:
            emission += self._base(chunk, own, (types, words, conditions))
        total = self.totals[conditions][chunk.member]
        total -= own
        np.maximum(total, 0, out=total)
        total += np.float32(o.alpha * size + o.strength)
        emission /= total
        rows = slice(chunk.first_row, chunk.first_row + chunk.rows)
        null = np.maximum(self.null_counts[words] - self.own_null[rows], 0) + np.float32(o.alpha)
        return emission, null / np.float32(self.null_counts.sum() + o.alpha * size)

    def _base(
        self,
        chunk: Chunk,
        own: Singles,
        numbers: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]],
    ) -> Singles:
        """β · p_base of a chunk's entries."""
        types, words, conditions = numbers
        classes = len(self.prefixes.generated.names) if self.prefixes else 0
        base = np.take(self.class_counts, types, mode="wrap")
        base -= own
        np.maximum(base, 0, out=base)
        base += np.float32(self.options.alpha)
        total = self.class_totals[conditions][chunk.member]
        total -= own
        np.maximum(total, 0, out=total)
        total += np.float32(self.options.alpha * classes)
        base /= total
        base *= self.share[words][:, None]
        return np.asarray(base)

    def update(self, counts: Doubles, null_counts: Doubles, moved: Doubles, started: Doubles) -> None:
        """M-step."""
        o, types = self.options, self.bitext.types
        self.start = None
        self.counts = counts.astype(np.float32)
        self.totals = sums(types.given_word, counts, len(types.given)).astype(np.float32)
        self.null_counts = null_counts.astype(np.float32)
        if self.prefixes is not None:
            pairs, totals = self.prefixes.sums(counts, types)
            self.class_counts = pairs[self.prefixes.of_type].astype(np.float32)
            self.class_totals = totals[self.prefixes.given.of_word].astype(np.float32)
        self.jumps = replace(self.jumps, width=moved + o.jump_alpha, start=started + o.jump_alpha)


@dataclass
class _Pass:
    """One direction's E-step over the chunks of a shard."""

    posterior: Singles  # per entry of the shard
    moved: Doubles
    started: Doubles
    likelihood: float


def _visit(state: _State, shard: list[Chunk]) -> _Pass:
    first = shard[0].first_entry
    limit = state.options.longest_jump
    result = _Pass(
        np.empty(shard[-1].entries.stop - first, np.float32),
        np.zeros(2 * limit + 1),
        np.zeros(limit + 1),
        0.0,
    )
    for chunk in shard:
        found = forward_backward(chunk, *state.emissions(chunk), state.jumps)
        result.posterior[chunk.entries.start - first : chunk.entries.stop - first] = found.links.ravel()
        state.own_null[chunk.first_row : chunk.first_row + chunk.rows] = found.null
        result.moved += found.jumps
        result.started += found.starts
        result.likelihood += float(found.log_scale.sum(dtype=np.float64))
    return result


def estimate(
    forward: DirectedBitext, reverse: DirectedBitext, options: HmmOptions, workers: int = 2
) -> tuple[HmmDirection, HmmDirection]:
    """Train both directions together.

    Args:
        forward: the bitext read source to target.
        reverse: the same bitext read target to source, of the same layout shards.
        options: see :class:`HmmOptions`.
        workers: threads, of which two are used; the result does not depend on them.
    """
    with ThreadPoolExecutor(workers) as pool:
        states = list(pool.map(lambda bitext: _State.of(bitext, options), (forward, reverse)))
        rows = row_entries(forward.layout, forward.generated)
        counts = [np.empty(0), np.empty(0)]
        likelihoods: list[list[float]] = [[], []]
        for _ in range(options.iterations):
            counts, moved, started, likelihood = _iterate(pool, states, rows)
            for k, state in enumerate(states):
                null = sums(_row_words(state.bitext), state.own_null, len(state.share))
                state.update(counts[k], null, moved[k], started[k])
                likelihoods[k].append(likelihood[k])
    one, other = (
        HmmDirection(
            counts[k],
            sums(_row_words(state.bitext), state.own_null, len(state.share)),
            sums(state.bitext.generated.ids, size=len(state.share)),
            state.jumps,
            options,
            tuple(likelihoods[k]),
        )
        for k, state in enumerate(states)
    )
    return one, other


def _row_words(bitext: DirectedBitext) -> npt.NDArray[np.int32]:
    words = [bitext.words_of(chunk) for chunk in bitext.layout]
    return np.concatenate([np.empty(0, np.int32), *words])


def _iterate(
    pool: ThreadPoolExecutor, states: list[_State], rows: npt.NDArray[np.int64]
) -> tuple[list[Doubles], list[Doubles], list[Doubles], list[float]]:
    """E-step of both directions; leaves each entry's contribution in ``own`` and returns the sums of all."""
    options = states[0].options
    counts = [np.zeros(len(state.bitext.given_word)) for state in states]
    moved = [np.zeros(2 * options.longest_jump + 1) for _ in states]
    started = [np.zeros(options.longest_jump + 1) for _ in states]
    likelihood = [0.0, 0.0]
    for shards in zip(*(_shards(state.bitext.layout) for state in states), strict=True):
        passes = list(pool.map(_visit, states, shards))
        _contribute(states, shards, passes, rows)
        for k, (state, shard, found) in enumerate(zip(states, shards, passes, strict=True)):
            moved[k] += found.moved
            started[k] += found.started
            likelihood[k] += found.likelihood
            if k == 0 or not options.agreement:
                entries = slice(shard[0].first_entry, shard[-1].entries.stop)
                kinds, weights = state.bitext.entry_type[entries], state.own[entries]
                counts[k] += sums(kinds, weights, len(counts[k])) / _UNIT
    if options.agreement:
        counts[1] = counts[0].copy()
    return counts, moved, started, likelihood


def _contribute(
    states: list[_State], shards: tuple[list[Chunk], ...], passes: list[_Pass], rows: npt.NDArray[np.int64]
) -> None:
    """Each entry's expected count: the product of both directions' posteriors, or its own direction's alone."""
    if not states[0].options.agreement:
        for state, shard, found in zip(states, shards, passes, strict=True):
            entries = slice(shard[0].first_entry, shard[-1].entries.stop)
            state.own[entries] = _fraction(found.posterior)
        return
    (one, other), (ahead, back) = states, passes
    first, first_back = shards[0][0].first_entry, shards[1][0].first_entry
    for chunk in shards[1]:
        place = mirror(chunk, rows, other.bitext.given).ravel()
        there = back.posterior[chunk.entries.start - first_back : chunk.entries.stop - first_back]
        product = _fraction(there * ahead.posterior[place - first])
        other.own[chunk.entries] = product
        one.own[place] = product


def _fraction(posterior: Singles) -> npt.NDArray[np.uint16]:
    return (np.minimum(posterior, 1) * np.float32(_UNIT) + np.float32(0.5)).astype(np.uint16)


def _shards(layout: list[Chunk]) -> list[list[Chunk]]:
    shards: dict[int, list[Chunk]] = {}
    for chunk in layout:
        shards.setdefault(chunk.shard, []).append(chunk)
    return list(shards.values())
