"""Training of the HMM aligner: both directions side by side, one sentence pair after the other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical import ibm2
from isoglot.aligners.statistical.bitext import BitextSide, Ints, Vocabularies
from isoglot.aligners.statistical.counts import Pairs, sums
from isoglot.aligners.statistical.decoding import WORKERS, parts
from isoglot.aligners.statistical.hmm import JUMP_ALPHA, HmmDirection, Jumps, PrefixPairs
from isoglot.aligners.statistical.markov import (
    UNIT,
    Both,
    Contributions,
    JumpCounts,
    LinkCounts,
    WordCounts,
    WordTables,
    visit,
)
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable

Doubles = npt.NDArray[np.float64]
_NONE: Doubles = np.zeros(0)
_NOTHING = WordCounts(*(_NONE,) * 6)
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
    with ThreadPoolExecutor(WORKERS) as pool:
        training = _Training(source, target, options, start, pool)
        if start is not None:
            training.iterate(pool)
            training.recall(start)
        for _ in range(options.iterations):
            training.iterate(pool)
        return training.finish()


class _DirectionState:
    """One direction in training: its sides, the words of each pair, and what it has learned so far."""

    def __init__(
        self,
        given: BitextSide,
        generated: BitextSide,
        words: tuple[npt.NDArray[np.int32], ...],
        options: HmmOptions,
    ) -> None:
        self.given, self.generated, self.words, self.options = given, generated, (words[0], words[1]), options
        self.frequency = np.bincount(generated.ids, minlength=len(generated.words)).astype(np.float64)
        self.prefixes: PrefixPairs | None = None
        self.share = _NONE  # p(f | prefix(f)) · β of each generated word
        if options.prefix_length:
            vocabularies = given.words, generated.words
            self.prefixes = PrefixPairs.of(vocabularies, self.words, options.prefix_length)
            whole = self.prefixes.frequencies(self.frequency)[self.prefixes.generated.of_word]
            self.share = options.strength * self.frequency / np.maximum(whole, 1.0)
        self.jumps = Jumps.initial(_LONGEST_JUMP, options.null_probability)
        self.own_null = np.zeros(
            len(generated.ids), np.float32
        )  # what each token contributed to null's counts
        self.null_counts = _NONE
        self.forget()

    def forget(self) -> None:
        """Let go of what the last E-step read, before the next M-step takes as much."""
        self.counts = _NONE
        self.predictive = _NOTHING

    def update(self, slots: Ints, counts: Doubles, moved: Doubles, started: Doubles) -> None:
        """M-step."""
        o, size = self.options, len(self.generated.words)
        self.counts = counts
        self.null_counts = sums(self.generated.ids, self.own_null, size)
        self.jumps = Jumps(moved + JUMP_ALPHA, started + JUMP_ALPHA, self.jumps.null)
        totals = sums(self.words[0], counts[slots], len(self.given.words))
        classes, class_totals, class_smooth = _NONE, _NONE, 0.0
        if self.prefixes is not None:
            links, whole = self.prefixes.sums(counts[slots])
            classes = np.zeros(len(counts))
            classes[slots] = links[self.prefixes.slots]
            class_totals = whole[self.prefixes.given.of_word]
            class_smooth = o.alpha * len(self.prefixes.generated)
        smooth = o.alpha * size + o.strength
        null_total = float(self.null_counts.sum() + o.alpha * size)
        self.predictive = WordCounts(
            counts, totals, classes, class_totals, self.share, self.null_counts,
            o.alpha, smooth, class_smooth, null_total,
        )  # fmt: skip

    def finish(self, slots: Ints) -> HmmDirection:
        """What was learned, over a table of this direction."""
        table = PairTable.of_pairs(*self.words, len(self.given.words))
        counts = np.zeros(len(table.key))
        counts[table.slots(*self.words)] = self.counts[slots]
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
        one, other, self.slots = self.table.pairs()
        pairs, words = ((one, other), (other, one)), (source.words, target.words)
        # both directions' tables for the first iteration
        if start is None:
            self.start = Both(*self._warm_up(pool))
        else:
            self.start = Both(*map(self._known, start, (words, words[::-1]), pairs))
        self.states = (
            _DirectionState(source, target, pairs[0], options),
            _DirectionState(target, source, pairs[1], options),
        )
        for state, model in zip(self.states, start or (), strict=False):
            state.jumps = model.jumps
        ends = np.cumsum(source.lengths * target.lengths)
        self.entries = np.concatenate([[0], ends]).astype(np.int64)  # each sentence's first
        self.own = np.zeros(self.entries[-1], np.uint16)  # what each contributed to the counts, as a fraction

    def _warm_up(self, pool: ThreadPoolExecutor) -> tuple[WordTables, WordTables]:
        """The tables of fast_align's model."""
        warm = DiagonalOptions(iterations=_WARM_UP + 1)
        source, target = self.sides

        def prepare(given: BitextSide, generated: BitextSide) -> ibm2.DiagonalDirection:
            table = self.table if given is source else PairTable.of(given, generated)
            return ibm2.estimate(given, generated, table, warm, reverse=given is target)

        forward, reverse = pool.map(prepare, (source, target), (target, source))
        one, other, _ = self.table.pairs()
        mirrored = self._by_slot(reverse.probabilities(other, one))
        return WordTables(forward.translation, forward.null), WordTables(mirrored, reverse.null)

    def _known(self, model: HmmDirection, words: Vocabularies, pairs: Pairs) -> WordTables:
        """The tables of a direction that was learned before."""
        translation, null = model.project(words, pairs)
        return WordTables(self._by_slot(translation), null)

    def recall(self, known: tuple[HmmDirection, HmmDirection]) -> None:
        """Let the next iteration read the counts and jumps of a model, but for what this text contributed."""
        for state, model in zip(self.states, known, strict=True):
            found = model.known((state.given.words, state.generated.words), state.words)
            classes = self._by_slot(found.classes) if len(found.classes) else found.classes
            state.predictive = found._replace(links=self._by_slot(found.links), classes=classes)
            state.jumps = model.jumps

    def _by_slot(self, values: Doubles) -> Doubles:
        """Values of each pair as values of each slot."""
        placed = np.zeros(len(self.table.key))
        placed[self.slots] = values
        return placed

    def iterate(self, pool: ThreadPoolExecutor) -> None:
        """E-step over the parts of the text, then both directions' M-step."""
        sides = self.sides[0].flat, self.sides[1].flat
        jumps = Both(*(state.jumps for state in self.states))
        own = Contributions(self.entries, self.own, Both(*(state.own_null for state in self.states)))

        links = np.zeros(len(self.table.key), np.int64)  # of all parts: integers add up in any order
        adding = Lock()

        def expect(part: tuple[int, int]) -> Both:
            jumped = Both(*(JumpCounts(*map(np.zeros_like, state.jumps[:2])) for state in self.states))
            counts = Both(*(state.predictive for state in self.states))
            expected = LinkCounts(links, jumped, adding)
            visit(sides, part, self.table.flat, self.start, counts, jumps, own, expected)
            return jumped

        found = list(pool.map(expect, parts(*self.sides)))
        self.start = Both(*[WordTables(_NONE, _NONE)] * 2)
        for state in self.states:
            state.forget()
        shares = links / UNIT
        for k, state in enumerate(self.states):
            jumped = [part[k] for part in found]
            moved, started = (np.asarray(sum(column)) for column in zip(*jumped, strict=True))
            state.update(self.slots, shares, moved, started)

    def finish(self) -> tuple[HmmDirection, HmmDirection]:
        """What both directions have learned; nothing can be learned after it."""
        self.own = np.zeros(0, np.uint16)
        for state in self.states:
            state.predictive, state.prefixes = _NOTHING, None
        one, other = (state.finish(self.slots) for state in self.states)
        return one, other
