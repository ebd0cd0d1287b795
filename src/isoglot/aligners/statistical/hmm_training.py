"""Training of the HMM aligner: both directions side by side, one sentence pair after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical import ibm2
from isoglot.aligners.statistical.bitext import BitextSide, Vocabularies
from isoglot.aligners.statistical.counts import Pairs, sums
from isoglot.aligners.statistical.decoding import WORKERS, Decoded, parts
from isoglot.aligners.statistical.hmm import JUMP_ALPHA, HmmDirection, Jumps, PrefixClasses, PrefixPairs
from isoglot.aligners.statistical.markov import (
    UNIT,
    Both,
    Contributions,
    JumpCounts,
    LinkCounts,
    WordCounts,
    WordTables,
    decode,
    visit,
)
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable

Doubles = npt.NDArray[np.float64]
_NONE: Doubles = np.zeros(0)
_NOTHING = Both(*[WordTables(_NONE, _NONE)] * 2)
_WARM_UP = 4  # updates of fast_align's model before those of the HMM
_LONGEST_JUMP = 60  # jumps of more words count as this one


def estimate(
    source: BitextSide,
    target: BitextSide,
    options: HmmOptions,
    start: tuple[HmmDirection, HmmDirection] | None = None,
) -> tuple[HmmDirection, HmmDirection]:
    """Train both directions together, from fast_align's model or from ``start``, which counted this text as well.

    What the text contributed to the counts of ``start`` is left out, as its links by ``start`` alone have it.
    """
    return _trained(source, target, options, start).finish()


def estimate_and_decode(
    source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
) -> Decoded:
    """The best words of a text by a model that learns from it and is forgotten; see :func:`markov.decode`."""
    return _trained(source, target, options, None).decode(threshold)


def _trained(
    source: BitextSide,
    target: BitextSide,
    options: HmmOptions,
    start: tuple[HmmDirection, HmmDirection] | None,
) -> _Training:
    with ThreadPoolExecutor(WORKERS) as pool:
        training = _Training(source, target, options, start, pool)
        if start is not None:
            training.iterate(pool)
            training.recall(start)
        for _ in range(options.iterations):
            training.iterate(pool)
    return training


class _DirectionState:
    """One direction in training: its sides, the words of each pair, and what it has learned so far."""

    def __init__(
        self,
        given: BitextSide,
        generated: BitextSide,
        words: tuple[npt.NDArray[np.int32], ...],
        options: HmmOptions,
        classes: tuple[PrefixClasses, PrefixClasses] | None,
    ) -> None:
        self.given, self.generated, self.words, self.options = given, generated, (words[0], words[1]), options
        self.frequency = np.bincount(generated.ids, minlength=len(generated.words)).astype(np.float64)
        self.classes = classes  # of the given and of the generated words
        self.share = _NONE  # p(f | prefix(f)) · β of each generated word
        if classes is not None:
            whole = classes[1].sums(self.frequency)[classes[1].of_word]
            self.share = options.strength * self.frequency / np.maximum(whole, 1.0)
        self.jumps = Jumps.initial(_LONGEST_JUMP, options.null_probability)
        self.own_null = np.zeros(
            len(generated.ids), np.float32
        )  # what each token contributed to null's counts
        self.null_counts = _NONE

    def update(self, links: Doubles, pairs: Doubles, classes: Doubles, jumped: JumpCounts) -> WordCounts:
        """M-step: the counts of words that the next E-step reads.

        ``links`` and ``classes`` are what each slot has, ``pairs`` what each pair of words has.
        """
        o, size = self.options, len(self.generated.words)
        self.null_counts = sums(self.generated.ids, self.own_null, size)
        self.jumps = Jumps(jumped.moved + JUMP_ALPHA, jumped.started + JUMP_ALPHA, self.jumps.null)
        totals = sums(self.words[0], pairs, len(self.given.words))
        class_totals, class_smooth = _NONE, 0.0
        if self.classes is not None:
            given, generated = self.classes
            class_totals, class_smooth = given.sums(totals)[given.of_word], o.alpha * len(generated)
        null_total = float(self.null_counts.sum() + o.alpha * size)
        return WordCounts(
            links, totals, classes, class_totals, self.share, self.null_counts,
            o.alpha, o.alpha * size + o.strength, class_smooth, null_total,
        )  # fmt: skip

    def finish(self, pairs: Doubles) -> HmmDirection:
        """What was learned, over a table of this direction."""
        table = PairTable.of_pairs(*self.words, len(self.given.words))
        counts = np.zeros(len(table.key))
        counts[table.slots(*self.words)] = pairs
        words = self.given.words, self.generated.words
        return HmmDirection(words, table, counts, self.null_counts, self.frequency, self.jumps, self.options)


class _Training:
    """Both directions, over one table of word pairs by source word."""

    def __init__(
        self,
        source: BitextSide,
        target: BitextSide,
        options: HmmOptions,
        start: tuple[HmmDirection, HmmDirection] | None,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.sides, self.table = (source, target), PairTable.of(source, target)
        one, other, slots = self.table.pairs()
        self.slots = slots.astype(np.min_scalar_type(-len(self.table.key)))
        del slots
        pairs, words = ((one, other), (other, one)), (source.words, target.words)
        # what the next E-step reads: both directions' tables at first, counts later
        if start is None:
            self.words = Both(*self._warm_up(pairs[1], pool))
        else:
            self.words = Both(*map(self._known, start, (words, words[::-1]), pairs))
        # Both directions have the same pairs of classes, and agreement gives these the same counts.
        self.prefixes = (
            PrefixPairs.of(words, pairs[0], options.prefix_length) if options.prefix_length else None
        )
        classes = None if self.prefixes is None else (self.prefixes.given, self.prefixes.generated)
        self.states = (
            _DirectionState(source, target, pairs[0], options, classes),
            _DirectionState(target, source, pairs[1], options, classes and classes[::-1]),
        )
        for state, model in zip(self.states, start or (), strict=False):
            state.jumps = model.jumps
        ends = np.cumsum(source.lengths * target.lengths)
        self.entries = np.concatenate([[0], ends]).astype(np.int64)  # each sentence's first
        self.own = np.zeros(self.entries[-1], np.uint16)  # what each contributed to the counts, as a fraction
        self.links = _NONE  # expected links of each slot

    def _warm_up(self, mirrored: Pairs, pool: ThreadPoolExecutor) -> tuple[WordTables, WordTables]:
        """The tables of fast_align's model; ``mirrored`` are the target and the source word of each pair."""
        warm = DiagonalOptions(iterations=_WARM_UP + 1)
        source, target = self.sides

        def prepare(given: BitextSide, generated: BitextSide) -> ibm2.DiagonalDirection:
            table = self.table if given is source else PairTable.of(given, generated)
            return ibm2.estimate(given, generated, table, warm, reverse=given is target)

        forward, reverse = pool.map(prepare, (source, target), (target, source))
        translation = self._by_slot(reverse.probabilities(*mirrored))
        return WordTables(forward.translation, forward.null), WordTables(translation, reverse.null)

    def _known(self, model: HmmDirection, words: Vocabularies, pairs: Pairs) -> WordTables:
        """The tables of a direction that was learned before."""
        translation, null = model.project(words, pairs)
        return WordTables(self._by_slot(translation), null)

    def recall(self, known: tuple[HmmDirection, HmmDirection]) -> None:
        """Let the next iteration read the counts and jumps of a model, but for what this text contributed."""
        counts = []
        for state, model in zip(self.states, known, strict=True):
            found = model.known((state.given.words, state.generated.words), state.words)
            classes = self._by_slot(found.classes) if len(found.classes) else found.classes
            counts.append(found._replace(links=self._by_slot(found.links), classes=classes))
            state.jumps = model.jumps
        self.words = Both(*counts)

    def _by_slot(self, values: Doubles) -> Doubles:
        """Values of each pair as values of each slot."""
        placed = np.zeros(len(self.table.key))
        placed[self.slots] = values
        return placed

    def iterate(self, pool: ThreadPoolExecutor) -> None:
        """E-step over the parts of the text, then both directions' M-step."""
        sides = self.sides[0].flat, self.sides[1].flat
        own = Contributions(self.entries, self.own, Both(*(state.own_null for state in self.states)))

        links = np.zeros(len(self.table.key), np.int64)  # of all parts: integers add up in any order
        adding = Lock()

        def expect(part: tuple[int, int]) -> Both:
            jumped = Both(*(JumpCounts(*map(np.zeros_like, jumps[:2])) for jumps in self.jumps))
            expected = LinkCounts(links, jumped, adding)
            visit(sides, part, self.table.flat, self.words, self.jumps, own, expected)
            return jumped

        found = list(pool.map(expect, parts(*self.sides)))
        self.words, self.links = _NOTHING, _NONE  # let go of what was read, before the M-step takes as much
        self.links = links / UNIT
        pairs = self.links[self.slots]
        classes = _NONE
        if self.prefixes is not None:
            classes = self._by_slot(self.prefixes.links(pairs)[self.prefixes.slots])
        counts = []
        for k, state in enumerate(self.states):
            columns = zip(*(part[k] for part in found), strict=True)
            jumped = JumpCounts(*(np.asarray(sum(column)) for column in columns))
            counts.append(state.update(self.links, pairs, classes, jumped))
        self.words = Both(*counts)

    @property
    def jumps(self) -> Both:
        """Both directions' jumps."""
        return Both(*(state.jumps for state in self.states))

    def finish(self) -> tuple[HmmDirection, HmmDirection]:
        """What both directions have learned; nothing can be learned after it."""
        self._let_go()
        self.words = _NOTHING
        pairs = self.links[self.slots]
        one, other = (state.finish(pairs) for state in self.states)
        return one, other

    def decode(self, threshold: float | None) -> Decoded:
        """The text by what was learned from it; nothing can be learned after it."""
        self._let_go()
        return decode(*self.sides, self.table.flat, self.words, self.jumps, threshold)

    def _let_go(self) -> None:
        """Of what only an E-step and an M-step read."""
        self.own, self.prefixes = np.zeros(0, np.uint16), None
