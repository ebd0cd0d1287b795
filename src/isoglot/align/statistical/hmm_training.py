"""Training of the HMM aligner: both directions side by side, one sentence pair after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical import ibm2, markov
from isoglot.align.statistical.bitext import Ints, Side
from isoglot.align.statistical.decoding import parts
from isoglot.align.statistical.hmm import HmmDirection, Jumps, PrefixPairs, sums
from isoglot.align.statistical.options import DiagonalOptions, HmmOptions
from isoglot.align.statistical.pair_table import PairTable

Doubles = npt.NDArray[np.float64]
_NONE: Doubles = np.zeros(0)
_WARM_UP = 4  # updates of fast_align's model before those of the HMM
_LONGEST_JUMP = 60  # jumps of more words count as this one
_JUMP_ALPHA = 0.5  # added to the count of each jump width


def estimate(
    source: Side, target: Side, options: HmmOptions, workers: int = 2
) -> tuple[HmmDirection, HmmDirection]:
    """Train both directions together."""
    with ThreadPoolExecutor(workers) as pool:
        training = _Training.of(source, target, options, pool)
        for _ in range(options.iterations):
            training.iterate(pool)
    given, generated, slots = training.table.pairs()
    tables = (
        PairTable.of_pairs(given, generated, len(source.words)),
        PairTable.of_pairs(generated, given, len(target.words)),
    )
    pairs = (given, generated), (generated, given)
    one, other = (
        state.finish(table, table.slots(*own), slots, options)
        for state, table, own in zip(training.states, tables, pairs, strict=True)
    )
    return one, other


@dataclass
class _State:
    """One direction in training.

    Args:
        given: its conditioning side.
        generated: its generated side.
        words: given and generated word of each pair.
        jumps: jump weights.
        prefixes: the prefix classes, if the base measure is on.
        share: per generated word: p(f | prefix(f)) · β.
        own_null: per generated token: what it contributed to null's counts.
    """

    given: Side
    generated: Side
    words: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
    jumps: Jumps
    prefixes: PrefixPairs | None
    share: Doubles
    own_null: npt.NDArray[np.float32]
    counts: Doubles = field(default_factory=lambda: _NONE)
    null_counts: Doubles = field(default_factory=lambda: _NONE)
    compiled: tuple[Any, ...] = ()
    likelihoods: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, given: Side, generated: Side, words: tuple[npt.NDArray[np.int32], ...], options: HmmOptions
    ) -> _State:
        frequency = _frequency(generated)
        prefixes, share = None, _NONE
        if options.prefix_length:
            prefixes = PrefixPairs.of(
                (given.words, generated.words), (words[0], words[1]), options.prefix_length
            )
            whole = prefixes.frequencies(frequency)[prefixes.generated.of_word]
            share = options.strength * frequency / np.maximum(whole, 1.0)
        jumps = Jumps.initial(_LONGEST_JUMP, options.null_probability)
        own_null = np.zeros(len(generated.ids), np.float32)
        state = cls(given, generated, (words[0], words[1]), jumps, prefixes, share, own_null)
        state.compiled = (*(_NONE,) * 6, (0.0,) * 4)
        return state

    def update(
        self, slots: Ints, counts: Doubles, moved: Doubles, started: Doubles, options: HmmOptions
    ) -> None:
        """M-step."""
        o, size = options, len(self.generated.words)
        self.counts = counts
        self.null_counts = sums(self.generated.ids, self.own_null, size)
        self.jumps = replace(self.jumps, width=moved + _JUMP_ALPHA, start=started + _JUMP_ALPHA)
        totals = sums(self.words[0], counts[slots], len(self.given.words))
        classes, class_totals, class_smooth = _NONE, _NONE, 0.0
        if self.prefixes is not None:
            links, whole = self.prefixes.sums(counts[slots])
            classes = np.zeros(len(counts))
            classes[slots] = links[self.prefixes.slots]
            class_totals = whole[self.prefixes.given.of_word]
            class_smooth = o.alpha * len(self.prefixes.generated.names)
        smooth = o.alpha * size + o.strength
        null_total = float(self.null_counts.sum() + o.alpha * size)
        self.compiled = (
            counts, totals, classes, class_totals, self.share, self.null_counts,
            (o.alpha, smooth, class_smooth, null_total),
        )  # fmt: skip

    def finish(self, table: PairTable, places: Ints, slots: Ints, options: HmmOptions) -> HmmDirection:
        """What was learned, over a table of this direction."""
        counts = np.zeros(len(table.key))
        counts[places] = self.counts[slots]
        return HmmDirection(
            (self.given.words, self.generated.words),
            table,
            counts,
            self.null_counts,
            _frequency(self.generated),
            self.jumps,
            options,
            self.likelihoods,
        )


@dataclass
class _Training:
    """Both directions, over one table of word pairs.

    Args:
        sides: source and target side.
        table: word pairs by source word.
        slots: the slots that hold a pair.
        start: both directions' tables of fast_align's model, for the first iteration.
        states: forward, reverse.
        own: what each entry contributed to the counts, as a 16-bit fraction.
        entries: first entry of each sentence.
        options: See :class:`HmmOptions`.
    """

    sides: tuple[Side, Side]
    table: PairTable
    slots: Ints
    start: tuple[tuple[Any, Doubles], tuple[Any, Doubles]]
    states: tuple[_State, _State]
    own: npt.NDArray[np.uint16]
    entries: Ints
    options: HmmOptions

    @classmethod
    def of(cls, source: Side, target: Side, options: HmmOptions, pool: ThreadPoolExecutor) -> _Training:
        warm = DiagonalOptions(iterations=_WARM_UP + 1)

        def prepare(given: Side, generated: Side) -> ibm2.DiagonalDirection:
            return ibm2.estimate(
                given, generated, PairTable.of(given, generated), warm, reverse=given is target
            )

        forward, reverse = pool.map(prepare, (source, target), (target, source))
        table = forward.table
        one, other, slots = table.pairs()
        mirrored = np.zeros(len(table.key))
        mirrored[slots] = reverse.probabilities(other, one)
        start = (forward.translation, forward.null), (mirrored, reverse.null)
        states = (
            _State.of(source, target, (one, other), options),
            _State.of(target, source, (other, one), options),
        )
        ends = np.cumsum(source.lengths * target.lengths)
        entries = np.concatenate([[0], ends]).astype(np.int64)
        own = np.zeros(entries[-1], np.uint16)
        return cls((source, target), table, slots, start, states, own, entries, options)

    def iterate(self, pool: ThreadPoolExecutor) -> None:
        """E-step over the parts of the text, then both directions' M-step."""
        sides = self.sides[0].flat, self.sides[1].flat
        table = self.table.start, self.table.key
        directions = tuple(state.compiled for state in self.states)
        jumps = tuple(state.jumps.compiled for state in self.states)
        own = self.entries, self.own, tuple(state.own_null for state in self.states)

        def visit(part: tuple[int, int]) -> tuple[Any, Any]:
            jumped = [(np.zeros(2 * _LONGEST_JUMP + 1), np.zeros(_LONGEST_JUMP + 1)) for _ in self.states]
            sums = np.zeros(len(self.table.key), np.int64), *jumped
            return sums, markov.visit(sides, part, table, self.start, directions, jumps, own, sums)

        found = list(pool.map(visit, parts(*self.sides)))
        self.start = ((_NONE, _NONE), (_NONE, _NONE))
        counts = np.asarray(sum(sums[0] for sums, _ in found) / markov.UNIT)
        for k, state in enumerate(self.states):
            moved, started = (np.asarray(sum(sums[k + 1][what] for sums, _ in found)) for what in (0, 1))
            state.likelihoods += (float(sum(likelihood[k] for _, likelihood in found)),)
            state.update(self.slots, counts, moved, started, self.options)


def _frequency(side: Side) -> Doubles:
    return np.bincount(side.ids, minlength=len(side.words)).astype(np.float64)
