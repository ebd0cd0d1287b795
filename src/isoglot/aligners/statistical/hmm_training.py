"""Training of the HMM aligner: both directions side by side, one sentence pair after the other."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical import ibm2
from isoglot.aligners.statistical.bitext import BitextSide, Ints, Vocabularies
from isoglot.aligners.statistical.counts import at_index, sums
from isoglot.aligners.statistical.decoding import WORKERS, Decoded, parts
from isoglot.aligners.statistical.hmm import JUMP_ALPHA, HmmDirection, Jumps, PrefixClasses
from isoglot.aligners.statistical.link_sums import LinkSums, SlotClasses
from isoglot.aligners.statistical.markov import Both, JumpCounts
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.aligners.statistical.text_passes import (
    UNIT,
    Contributions,
    LinkCounts,
    WordCounts,
    WordTables,
    decode,
    visit,
)

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.int32]
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
    """What :func:`isoglot.aligners.statistical.text_passes.decode` gives of the text that is learned from."""
    return _trained(source, target, options, None).decode(threshold)


def _trained(
    source: BitextSide,
    target: BitextSide,
    options: HmmOptions,
    start: tuple[HmmDirection, HmmDirection] | None,
) -> _Training:
    with ThreadPoolExecutor(WORKERS) as pool:
        training = _Training(source, target, options, start)
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
        options: HmmOptions,
        classes: tuple[PrefixClasses, ...] | None,
    ) -> None:
        self.given, self.generated, self.options = given, generated, options
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

    @property
    def vocabularies(self) -> Vocabularies:
        """The given and the generated words."""
        return self.given.words, self.generated.words

    def update(self, links: Doubles, totals: Doubles, classes: Doubles, jumped: JumpCounts) -> WordCounts:
        """M-step: the counts of words that the next E-step reads.

        ``links`` and ``classes`` are what each slot and its classes have, ``totals`` what each given word has.
        """
        o, size = self.options, len(self.generated.words)
        self.null_counts = sums(self.generated.ids, self.own_null, size)
        self.jumps = Jumps(jumped.moved + JUMP_ALPHA, jumped.started + JUMP_ALPHA, self.jumps.null)
        class_totals, class_smooth = _NONE, 0.0
        if self.classes is not None:
            given, generated = self.classes
            class_totals, class_smooth = given.sums(totals)[given.of_word], o.alpha * len(generated)
        null_total = float(self.null_counts.sum() + o.alpha * size)
        return WordCounts(
            links, totals, classes, class_totals, self.share, self.null_counts,
            o.alpha, o.alpha * size + o.strength, class_smooth, null_total,
        )  # fmt: skip

    def finish(self, pairs: tuple[Words, Words], links: Doubles) -> HmmDirection:
        """What was learned, over a table of this direction; ``links`` are those of each pair of words."""
        table = PairTable.of_pairs(*pairs, len(self.given.words))
        counts = np.zeros(len(table.key))
        counts[table.slots(*pairs)] = links
        return HmmDirection(
            self.vocabularies, table, counts, self.null_counts, self.frequency, self.jumps, self.options
        )


class _Training:
    """Both directions, over one table of word pairs by source word."""

    def __init__(
        self,
        source: BitextSide,
        target: BitextSide,
        options: HmmOptions,
        start: tuple[HmmDirection, HmmDirection] | None,
    ) -> None:
        self.sides, self.table = (source, target), PairTable.of(source, target)
        sides = None
        if options.prefix_length:
            sides = tuple(PrefixClasses(side.words, options.prefix_length) for side in self.sides)
        self.states = (
            _DirectionState(source, target, options, sides),
            _DirectionState(target, source, options, sides and sides[::-1]),
        )
        # what the next E-step reads: both directions' tables at first, counts later
        self.words = self._warm_up() if start is None else self._known(start)
        for state, model in zip(self.states, start or (), strict=False):
            state.jumps = model.jumps
        # Both directions have the same pairs of classes, and agreement gives these the same counts.
        self.classes = SlotClasses.none()
        if sides is not None:
            pairs = PairTable.of(sides[0].text(source), sides[1].text(target))
            self.classes = SlotClasses.of(self.table, pairs, sides[0].of_word, sides[1].of_word)
        ends = np.cumsum(source.lengths * target.lengths)
        self.entries = np.concatenate([[0], ends]).astype(np.int64)  # each sentence's first
        self.own = np.zeros(self.entries[-1], np.uint16)  # what each contributed to the counts, as a fraction
        self.links: npt.NDArray[Any] = _NONE  # expected links of each slot, as fractions in an E-step

    def _warm_up(self) -> Both:
        """The tables of fast_align's model, in single precision."""
        warm = DiagonalOptions(iterations=_WARM_UP + 1)
        source, target = self.sides
        forward = ibm2.estimate(source, target, self.table, warm, double=False)
        back = PairTable.of(target, source)
        reverse = ibm2.estimate(target, source, back, warm, double=False)
        mirrored = at_index(reverse.translation, back.slots(self.table.key, self.table.given))
        return Both(WordTables(forward.translation, forward.null), WordTables(mirrored, reverse.null))

    def _known(self, start: tuple[HmmDirection, HmmDirection]) -> Both:
        """The tables of directions that were learned before."""
        one, other, slots = self.table.pairs()
        tables = []
        for state, model, pairs in zip(self.states, start, ((one, other), (other, one)), strict=True):
            translation, null = model.project(state.vocabularies, pairs)
            tables.append(WordTables(self._by_slot(slots, translation), null))
        return Both(*tables)

    def recall(self, known: tuple[HmmDirection, HmmDirection]) -> None:
        """Let the next iteration read the counts and jumps of a model, but for what this text contributed."""
        one, other, slots = self.table.pairs()
        counts = []
        for state, model, pairs in zip(self.states, known, ((one, other), (other, one)), strict=True):
            found = model.known(state.vocabularies, pairs)
            classes = self._by_slot(slots, found.classes) if len(found.classes) else found.classes
            counts.append(found._replace(links=self._by_slot(slots, found.links), classes=classes))
            state.jumps = model.jumps
        self.words = Both(*counts)

    def _by_slot(self, slots: Ints, values: Doubles) -> Doubles:
        """Values of each pair as values of each slot."""
        placed = np.zeros(len(self.table.key))
        placed[slots] = values
        return placed

    def iterate(self, pool: ThreadPoolExecutor) -> None:
        """E-step over the parts of the text, then both directions' M-step."""
        sides = self.sides[0].flat, self.sides[1].flat
        own = Contributions(self.entries, self.own, Both(*(state.own_null for state in self.states)))

        self.links = np.zeros(len(self.table.key), np.int64)  # of all parts: integers add up in any order
        adding = Lock()

        def expect(part: tuple[int, int]) -> Both:
            jumped = Both(*(JumpCounts(*map(np.zeros_like, jumps[:2])) for jumps in self.jumps))
            expected = LinkCounts(self.links, jumped, adding)
            visit(sides, part, self.table.flat, self.words, self.jumps, own, expected)
            return jumped

        found = list(pool.map(expect, parts(*self.sides)))
        self.words = _NOTHING  # let go of what was read, before the M-step takes as much
        self.links = self.links / UNIT
        columns = (zip(*(part[k] for part in found), strict=True) for k in (0, 1))
        self.update(self.links, [JumpCounts(*(np.asarray(sum(one)) for one in both)) for both in columns])

    def update(self, links: Doubles, jumped: Sequence[JumpCounts]) -> None:
        """M-step of both directions, from the expected links of each slot and the jumps of each direction."""
        whole = LinkSums.of(links, self.table, len(self.sides[1].words), self.classes)
        both = zip(self.states, (whole.given, whole.generated), jumped, strict=True)
        self.words = Both(
            *(state.update(links, totals, whole.classes, jumps) for state, totals, jumps in both)
        )

    @property
    def jumps(self) -> Both:
        """Both directions' jumps."""
        return Both(*(state.jumps for state in self.states))

    def finish(self) -> tuple[HmmDirection, HmmDirection]:
        """What both directions have learned; nothing can be learned after it."""
        self._let_go()
        self.words = _NOTHING
        one, other, slots = self.table.pairs()
        pairs = (one, other), (other, one)
        ahead, back = (
            state.finish(own, self.links[slots]) for state, own in zip(self.states, pairs, strict=True)
        )
        return ahead, back

    def decode(self, threshold: float | None) -> Decoded:
        """The text by what was learned from it; nothing can be learned after it."""
        self._let_go()
        return decode(*self.sides, self.table.flat, self.words, self.jumps, threshold)

    def _let_go(self) -> None:
        """Of what only an E-step and an M-step read."""
        self.own, self.classes = np.zeros(0, np.uint16), SlotClasses.none()
