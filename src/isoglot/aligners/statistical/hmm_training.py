"""Train the HMM aligner: both directions side by side, because their expected links are products of both posteriors.

    fast_align's model ──> word tables ─┐
                                        ├─> E-step (text_passes.visit) ──> expected links, jumps
    counts of the last M-step ──────────┘                                        │
          ^──────────────────────── M-step (_Training.update) <──────────────────┘

Only the first iteration reads the tables of fast_align's model, or of a model to start from; all others read counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical import ibm2
from isoglot.aligners.statistical.bitext import BitextSide, Ints, Vocabularies
from isoglot.aligners.statistical.counts import LinkSums, SlotClasses, at_index, sums
from isoglot.aligners.statistical.decoding import WORKERS, Decoded, parts
from isoglot.aligners.statistical.hmm import (
    JUMP_ALPHA,
    NULL_PROBABILITY,
    HmmDirection,
    Jumps,
    PrefixClasses,
)
from isoglot.aligners.statistical.markov import BothDirections, JumpCounts
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
_NO_TABLES = WordTables(_NONE, _NONE)
_NOTHING = BothDirections(_NO_TABLES, _NO_TABLES)
_WARM_UP = 4
"""Updates of fast_align's model before those of the HMM."""
_LONGEST_JUMP = 60
"""Longer jumps count as jumps of this many words."""


def estimate(
    source: BitextSide,
    target: BitextSide,
    options: HmmOptions,
    start: tuple[HmmDirection, HmmDirection] | None = None,
) -> tuple[HmmDirection, HmmDirection]:
    """Train both directions together, from fast_align's model or from ``start``.

    ``start`` must have counted this text too, as a merged model has that learned from it as one of its parts. What the
    text contributed to the counts of ``start`` was not kept. So the text is first linked by ``start``, and these links
    are taken for its contribution.

    ``start`` may have other options. The first two E-steps, which find the contribution and then read the counts of
    ``start``, use the priors, prefixes and jumps (with p0) of ``start``. All later E-steps read what was learned with
    ``options``.
    """
    return _trained(source, target, options, start).finish()


def estimate_and_decode(
    source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
) -> Decoded:
    """Learn from a text, and decode the same text by the last counts, without making a model of them."""
    return _trained(source, target, options, None).decode(threshold)


def _trained(
    source: BitextSide,
    target: BitextSide,
    options: HmmOptions,
    start: tuple[HmmDirection, HmmDirection] | None,
) -> _Training:
    """Run all iterations."""
    with ThreadPoolExecutor(WORKERS) as pool:
        training = _Training(source, target, options, start)
        if start is not None:
            # This iteration only finds what the text contributed to the counts of `start`: the new counts are replaced.
            training.iterate(pool)
            training.take_counts_of(start)
        for _ in range(options.iterations):
            training.iterate(pool)
    return training


class _DirectionState:
    """One direction in training: its sides, and the null counts and jumps that it has learned so far."""

    def __init__(
        self,
        condition: BitextSide,
        generated: BitextSide,
        options: HmmOptions,
        prefix_classes: tuple[PrefixClasses, ...] | None,
    ) -> None:
        self.condition, self.generated, self.options = condition, generated, options
        self.frequency = np.bincount(generated.ids, minlength=len(generated.words)).astype(np.float64)
        self.prefix_classes = prefix_classes  # of the conditioning and of the generated words
        self.prefix_weight = _NONE  # β · p(f | prefix(f)) of each generated word
        if prefix_classes is not None:
            generated_classes = prefix_classes[1]
            class_frequency = generated_classes.sums(self.frequency)[generated_classes.of_word]
            self.prefix_weight = options.strength * self.frequency / np.maximum(class_frequency, 1.0)
        self.jumps = Jumps.initial(_LONGEST_JUMP)
        # The contribution of each token to the null counts.
        self.contributed_null = np.zeros(len(generated.ids), np.float32)
        self.null_counts = _NONE

    @property
    def vocabularies(self) -> Vocabularies:
        """The conditioning and the generated words."""
        return self.condition.words, self.generated.words

    def update(self, links: Doubles, totals: Doubles, class_links: Doubles, jumped: JumpCounts) -> WordCounts:
        """M-step: make the counts of words that the next E-step reads.

        Args:
            links: Expected links of each slot.
            totals: Expected links of each conditioning word.
            class_links: Expected links of the pair of prefix classes of each slot.
            jumped: Expected jumps.
        """
        alpha, size = self.options.alpha, len(self.generated.words)
        self.null_counts = sums(self.generated.ids, self.contributed_null, size)
        self.jumps = Jumps(jumped.moved + JUMP_ALPHA, jumped.started + JUMP_ALPHA, NULL_PROBABILITY)
        class_totals, class_smooth = _NONE, 0.0
        if self.prefix_classes is not None:
            condition, generated = self.prefix_classes
            class_totals = condition.sums(totals)[condition.of_word]
            class_smooth = alpha * len(generated)
        return WordCounts(
            links=links,
            totals=totals,
            class_links=class_links,
            class_totals=class_totals,
            prefix_weight=self.prefix_weight,
            null_counts=self.null_counts,
            alpha=alpha,
            smooth=alpha * size + self.options.strength,
            class_smooth=class_smooth,
            null_total=float(self.null_counts.sum() + alpha * size),
        )

    def finish(self, pairs: tuple[Words, Words], links: Doubles) -> HmmDirection:
        """Make the model of this direction; ``links``: Expected links of each of the ``pairs``."""
        table = PairTable.of_pairs(*pairs, len(self.condition.words))
        counts = np.zeros(len(table.key))
        counts[table.slots(*pairs)] = links
        return HmmDirection(
            self.vocabularies, table, counts, self.null_counts, self.frequency, self.jumps, self.options
        )


class _Training:
    """Both directions in training, over one table of word pairs by source word."""

    def __init__(
        self,
        source: BitextSide,
        target: BitextSide,
        options: HmmOptions,
        start: tuple[HmmDirection, HmmDirection] | None,
    ) -> None:
        self.sides, self.table = (source, target), PairTable.of(source, target)
        prefix_classes = None  # of the source and of the target words
        if options.prefix_length:
            prefix_classes = tuple(PrefixClasses(side.words, options.prefix_length) for side in self.sides)
        self.states = (
            _DirectionState(source, target, options, prefix_classes),
            _DirectionState(target, source, options, prefix_classes and prefix_classes[::-1]),
        )
        # The next E-step reads what was learned last: word tables in the first one, counts in all others.
        if start is None:
            self.learned = self._warm_up()
        else:
            self.learned = self._word_tables_of(start)
            # For the first E-step; `take_counts_of` sets them again after it.
            for state, model in zip(self.states, start, strict=True):
                state.jumps = model.jumps
        # Both directions have the same pairs of classes, and agreement gives these the same counts.
        self.slot_classes = SlotClasses.none()
        if prefix_classes is not None:
            of_source, of_target = prefix_classes
            class_pairs = PairTable.of(of_source.text(source), of_target.text(target))
            self.slot_classes = SlotClasses.of(self.table, class_pairs, of_source.of_word, of_target.of_word)
        # Number of each sentence's first entry, and the contribution of each entry to the counts, out of UNIT.
        ends = np.cumsum(source.lengths * target.lengths)
        self.entries = np.concatenate([[0], ends]).astype(np.int64)
        self.contributed = np.zeros(self.entries[-1], np.uint16)
        # Expected links of each slot; during an E-step as integers, out of UNIT.
        self.links: npt.NDArray[Any] = _NONE

    def _warm_up(self) -> BothDirections:
        """Train fast_align's model, and return its word tables, in single precision."""
        warm = DiagonalOptions(iterations=_WARM_UP + 1)
        source, target = self.sides
        forward = ibm2.estimate(source, target, self.table, warm, double=False)
        table_by_target = PairTable.of(target, source)
        reverse = ibm2.estimate(target, source, table_by_target, warm, double=False)
        # The slots of the reverse model are by target word; its probabilities are brought to the slots by source word.
        slots = table_by_target.slots(self.table.key, self.table.condition)
        mirrored = at_index(reverse.translation, slots)
        return BothDirections(
            WordTables(forward.translation, forward.null), WordTables(mirrored, reverse.null)
        )

    def _word_tables_of(self, start: tuple[HmmDirection, HmmDirection]) -> BothDirections:
        """Return the word tables of this text by a model that was learned before."""
        source, target, slots = self.table.pairs()
        tables = []
        for state, model, pairs in zip(self.states, start, ((source, target), (target, source)), strict=True):
            translation, null = model.probabilities_of_text(state.vocabularies, pairs)
            tables.append(WordTables(self._by_slot(slots, translation), null))
        return BothDirections(*tables)

    def take_counts_of(self, start: tuple[HmmDirection, HmmDirection]) -> None:
        """Let the next iteration read the counts and jumps of a model; it leaves out what this text contributed.

        The iteration that found the contributions has put its own counts and jumps in their place.
        """
        source, target, slots = self.table.pairs()
        both = []
        for state, model, pairs in zip(self.states, start, ((source, target), (target, source)), strict=True):
            counts = model.counts_of_text(state.vocabularies, pairs)
            class_links = counts.class_links
            if len(class_links):
                class_links = self._by_slot(slots, class_links)
            both.append(counts._replace(links=self._by_slot(slots, counts.links), class_links=class_links))
            state.jumps = model.jumps
        self.learned = BothDirections(*both)

    def _by_slot(self, slots: Ints, values: Doubles) -> Doubles:
        """Return an array by slot that has the value of each pair at the pair's slot."""
        placed = np.zeros(len(self.table.key))
        placed[slots] = values
        return placed

    def iterate(self, pool: ThreadPoolExecutor) -> None:
        """Run the E-step over the parts of the text, then the M-step of both directions."""
        sides = self.sides[0].flat, self.sides[1].flat
        null = BothDirections(*(state.contributed_null for state in self.states))
        contributions = Contributions(self.entries, self.contributed, null)
        # Integers, because threads add to them in any order: the sums are the same in every run.
        self.links = np.zeros(len(self.table.key), np.int64)
        adding = Lock()

        def expect(part: tuple[int, int]) -> BothDirections:
            """Run the E-step over a part of the text; returns its expected jumps."""
            jumped = BothDirections(*(JumpCounts.zeros(jumps) for jumps in self.jumps))
            expected = LinkCounts(self.links, jumped, adding)
            visit(sides, part, self.table.flat, self.learned, self.jumps, contributions, expected)
            return jumped

        jumped = list(pool.map(expect, parts(*self.sides)))
        self.learned = _NOTHING  # frees the counts that were read, before the M-step makes new ones
        self.links = self.links / UNIT
        # Add up the jumps of all parts, in their order.
        total_jumps = []
        for of_direction in zip(*jumped, strict=True):
            moved = np.asarray(sum(part.moved for part in of_direction))
            started = np.asarray(sum(part.started for part in of_direction))
            total_jumps.append(JumpCounts(moved, started))
        self.update(self.links, total_jumps)

    def update(self, links: Doubles, jumped: Sequence[JumpCounts]) -> None:
        """M-step of both directions, from the expected links of each slot and the jumps of each direction."""
        link_sums = LinkSums.of(links, self.table, len(self.sides[1].words), self.slot_classes)
        forward, reverse = self.states
        # The source words are the conditioning words of the forward direction, the target words of the reverse one.
        self.learned = BothDirections(
            forward.update(links, link_sums.by_source, link_sums.class_links, jumped[0]),
            reverse.update(links, link_sums.by_target, link_sums.class_links, jumped[1]),
        )

    @property
    def jumps(self) -> BothDirections:
        """Both directions' jumps."""
        return BothDirections(*(state.jumps for state in self.states))

    def finish(self) -> tuple[HmmDirection, HmmDirection]:
        """Make the models of both directions; the training cannot go on after it."""
        self._let_go()
        self.learned = _NOTHING
        source, target, slots = self.table.pairs()
        forward, reverse = self.states
        links = self.links[slots]
        return forward.finish((source, target), links), reverse.finish((target, source), links)

    def decode(self, threshold: float | None) -> Decoded:
        """Decode the text by the counts of the last M-step; the training cannot go on after it."""
        self._let_go()
        return decode(*self.sides, self.table.flat, self.learned, self.jumps, threshold)

    def _let_go(self) -> None:
        """Free what only an E-step and an M-step read."""
        self.contributed, self.slot_classes = np.zeros(0, np.uint16), SlotClasses.none()
