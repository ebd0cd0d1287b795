"""A Bayesian HMM aligner: both directions trained to agree, by collapsed variational inference.

Four things make it better than IBM 2 and a plain HMM at some thousand to some hundred thousand sentence pairs:

* **First-order jumps**: a link depends on the one before (Vogel, Ney & Tillmann 1996).
* **Collapsed inference**: the translation table is integrated out under a sparse Dirichlet prior. The predictive
  probability of an entry leaves out what that very entry contributed to the counts,

      p(f_j | e_i) = (c(e_i, f_j) − q_ij + α + β · p_base) / (c(e_i) − q_ij + α·V + β),

  so that a rare pair cannot confirm itself (CVB0: Asuncion et al. 2009; a sampler does so by nature). Null has one
  distribution for the whole text, without a base measure, and its large total leaves nothing out:

      p(f_j | null) = (c(null, f_j) − q_j + α) / (c(null) + α·V),   q_j: what null at token j contributed

* **Agreement**: the counts of both directions are the products of their posteriors, q_ij = →q_ij · ←q_ij (Liang,
  Taskar & Klein 2006, §3).
* **A base measure over prefixes**, p_base(f | e) = p(prefix(f) | prefix(e)) · p(f | prefix(f)), to which rare inflected
  forms fall back: ``helper`` and ``helping`` share their first letters and, mostly, their translations.

It starts from fast_align's model. Nothing is sampled: the same text gives the same model. New text is aligned with
the same predictive probability, nothing left out; so is the training text once the model is there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical.bitext import BitextSide, Vocabularies, Vocabulary, locate_words
from isoglot.aligners.statistical.counts import Counts, at_index, sums
from isoglot.aligners.statistical.options import HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.aligners.statistical.text_passes import WordCounts

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.int32]
NULL_PROBABILITY = 0.1
"""p0, the probability of a word without a counterpart; 0.05 to 0.3 make little difference."""
JUMP_ALPHA = 0.5
"""Added to the count of each jump width and each first link."""


class Jumps(NamedTuple):
    """Parameters of p(a_j = i | a_{j−1} = i′), for sentences of all lengths; ``markov.py`` has the formula.

    The weights are not normalised.
    """

    # weight of a jump by −limit…limit words; longer ones count as the longest. Shape: (2 · limit + 1)
    by_width: Doubles
    first_link: Doubles  # weight of the first link at word 0…limit. Shape: (limit + 1)
    null_probability: float  # p0, which stays as it was set

    @classmethod
    def initial(cls, limit: int) -> Jumps:
        """Return weights to begin with: highest for a jump to the next word, and lower by a factor √e per word away."""
        away = np.abs(np.arange(-limit, limit + 1) - 1)
        by_width, first_link = np.exp(-away / 2) + 1e-3, np.exp(-np.arange(limit + 1) / 2) + 1e-3
        return cls(by_width, first_link, NULL_PROBABILITY)


def prefix(word: str, length: int) -> str:
    """Return the first letters of a word, in lower case and without accents.

    Example:
        >>> prefix("Économique", 4)
        'econ'
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if unicodedata.category(c) != "Mn")
    return (plain or word)[:length]


class PrefixClasses:
    """The prefix classes of a vocabulary: words that share their first letters, numbered in order of appearance."""

    def __init__(self, words: Sequence[str], length: int) -> None:
        self.length, self.numbers = length, dict[str, int]()
        of_word = [self.numbers.setdefault(prefix(word, length), len(self.numbers)) for word in words]
        self.of_word = np.array(of_word, np.int32)

    def __len__(self) -> int:
        return len(self.numbers)

    def sums(self, of_words: Doubles) -> Doubles:
        """Sum values of words over the words of each class."""
        return sums(self.of_word, of_words, len(self))

    def text(self, side: BitextSide) -> BitextSide:
        """Replace the words of one side of a bitext by their classes."""
        return BitextSide(Vocabulary(self.numbers), self.of_word[side.ids], side.offsets)

    def locate(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the class of each of some other words, −1 where no word here begins alike. Shape: (words)."""
        return np.array([self.numbers.get(prefix(word, self.length), -1) for word in words], np.int64)


@dataclass(frozen=True, slots=True)
class PrefixPairs:
    """The pairs of prefix classes of which words occur together, by conditioning class."""

    condition: PrefixClasses  # classes of the conditioning words
    generated: PrefixClasses  # classes of the generated words
    table: PairTable  # the pairs of classes
    slots: npt.NDArray[np.integer]  # slot in ``table`` of each pair of words

    @classmethod
    def of(cls, words: Vocabularies, pairs: tuple[Words, Words], length: int) -> PrefixPairs:
        """Group pairs of words by their prefixes of ``length`` letters."""
        condition, generated = (PrefixClasses(side, length) for side in words)
        condition_class, generated_class = condition.of_word[pairs[0]], generated.of_word[pairs[1]]
        # Distinct pairs of classes, each packed into one number. Sorted in place, because np.unique would need so much
        # memory that it decided the peak of the training.
        packed = condition_class.astype(np.int64)
        packed <<= 32
        packed |= generated_class
        packed.sort()
        distinct = packed[np.diff(packed, prepend=-1) > 0]
        first, second = (distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32)
        del packed, distinct
        table = PairTable.of_pairs(first, second, len(condition))
        slots = table.slots(condition_class, generated_class)
        # The smallest signed type that holds all slots, to save memory.
        smallest_type = np.min_scalar_type(-len(table.key))
        return cls(condition, generated, table, slots.astype(smallest_type))

    def links(self, counts: Doubles) -> Doubles:
        """Sum the expected links of pairs of words over each slot, that is, over each pair of classes."""
        return sums(self.slots, counts, len(self.table.key))


class PrefixCounts(NamedTuple):
    """The counts of a direction, added up by the prefix classes of its words."""

    pairs: PrefixPairs
    links: Doubles  # expected links of each pair of classes, by slot of ``pairs.table``
    totals: Doubles  # expected links of each conditioning class
    frequency: Doubles  # occurrences of the words of each generated class


@dataclass(frozen=True)
class HmmDirection:
    """The model of one direction: expected counts, from which the probabilities of any text follow."""

    words: Vocabularies  # the conditioning and the generated vocabulary that it was trained on
    table: PairTable  # the pairs that occurred
    counts: Doubles  # expected links of each slot of the table. Shape: (slots)
    null_counts: Doubles  # expected null links of each generated word. Shape: (generated vocabulary)
    frequency: Doubles  # occurrences of each generated word. Shape: (generated vocabulary)
    jumps: Jumps  # jump weights and p0
    options: HmmOptions  # priors, and the length of prefixes

    def probabilities(self, condition_words: Words, generated_words: Words) -> Doubles:
        """Compute p(generated | condition) of pairs of known words."""
        return self.probabilities_of_text(self.words, (condition_words, generated_words))[0]

    def probabilities_of_text(
        self, text_words: Vocabularies, pairs: tuple[Words, Words]
    ) -> tuple[Doubles, Doubles]:
        """Compute p(generated | condition) of the pairs of a text, and p(generated | null) of its generated words.

        Applies the formula on top of this file with q = 0. Unknown words and pairs have no counts, so their prefixes
        decide; if the prefixes are unknown too, every pair has the same small probability, by α.

        ``text_words``: Vocabularies of the text. ``pairs``: Its pairs of words, as numbers in these vocabularies.
        """
        counts = self.counts_of_text(text_words, pairs)
        # c(e, f) + α + β · p_base, divided by c(e) + α·V + β.
        translation = counts.links + counts.alpha
        if len(counts.prefix_weight):
            base = (counts.class_links + counts.alpha) / (counts.class_totals[pairs[0]] + counts.class_smooth)
            translation += counts.prefix_weight[pairs[1]] * base
        translation /= counts.totals[pairs[0]] + counts.smooth
        return translation, (counts.null_counts + counts.alpha) / counts.null_total

    def counts_of_text(self, text_words: Vocabularies, pairs: tuple[Words, Words]) -> WordCounts:
        """Look up the counts of the pairs and words of a text. Arguments as in :meth:`probabilities_of_text`.

        Where :class:`WordCounts` says "of each slot" the arrays have a value for each of ``pairs``, in their order.
        """
        alpha, size = self.options.alpha, len(self.words[1])
        # The number that each word of the text has in this model, -1 if it is unknown.
        condition_numbers = locate_words(self.words[0], text_words[0])
        generated_numbers = locate_words(self.words[1], text_words[1])
        slots = self.table.slots(condition_numbers[pairs[0]], generated_numbers[pairs[1]])
        class_links = class_totals = prefix_weight = np.zeros(0)
        class_smooth = 0.0
        if self.options.prefix_length:
            class_links, class_totals, prefix_weight = self._base_measure(
                text_words, pairs, generated_numbers
            )
            class_smooth = alpha * len(self._by_prefix.pairs.generated)
        return WordCounts(
            links=at_index(self.counts, slots),
            totals=at_index(self._totals, condition_numbers),
            class_links=class_links,
            class_totals=class_totals,
            prefix_weight=prefix_weight,
            null_counts=at_index(self.null_counts, generated_numbers),
            alpha=alpha,
            smooth=alpha * size + self.options.strength,
            class_smooth=class_smooth,
            null_total=self._null_total + alpha * size,
        )

    @cached_property
    def _null_total(self) -> float:
        return float(self.null_counts.sum())

    @cached_property
    def _totals(self) -> Doubles:
        """Expected links of each conditioning word."""
        condition, _, slots = self.table.pairs()
        return sums(condition, self.counts[slots], len(self.words[0]))

    @cached_property
    def _by_prefix(self) -> PrefixCounts:
        """The counts of this direction by prefix class."""
        condition, generated, slots = self.table.pairs()
        pairs = PrefixPairs.of(self.words, (condition, generated), self.options.prefix_length)
        return PrefixCounts(
            pairs=pairs,
            links=pairs.links(self.counts[slots]),
            totals=pairs.condition.sums(self._totals),
            frequency=pairs.generated.sums(self.frequency),
        )

    def _base_measure(
        self, text_words: Vocabularies, pairs: tuple[Words, Words], generated_numbers: npt.NDArray[np.int64]
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Compute the three factors of the base measure for a text.

        Returns the counts of each pair's classes, the counts of each conditioning word's class, and
        β · p(f | prefix(f)) of each generated word.

        ``generated_numbers``: The number of each generated word in this model.
        """
        known = self._by_prefix
        condition_class = known.pairs.condition.locate(text_words[0])
        generated_class = known.pairs.generated.locate(text_words[1])
        class_slots = known.pairs.table.slots(condition_class[pairs[0]], generated_class[pairs[1]])
        class_links = at_index(known.links, class_slots)
        class_totals = at_index(known.totals, condition_class)
        frequency, strength = at_index(self.frequency, generated_numbers), self.options.strength
        class_frequency = at_index(known.frequency, generated_class)
        # An unknown word has as much of its class as a word seen once, in a class that is larger by this word.
        prefix_weight = np.where(
            frequency > 0,
            strength * frequency / np.maximum(class_frequency, 1.0),
            strength / (class_frequency + 1.0),
        )
        return class_links, class_totals, prefix_weight

    def arrays(self, condition_words: Words, generated_words: Words) -> dict[str, npt.NDArray[Any]]:
        """Return everything but words and options as arrays to be saved, with the counts of these pairs."""
        return {
            "counts": self.counts[self.table.slots(condition_words, generated_words)],
            "null_counts": self.null_counts,
            "frequency": self.frequency,
            "jump_width": self.jumps.by_width,
            "jump_start": self.jumps.first_link,
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Doubles],
        words: Vocabularies,
        pairs: tuple[Words, Words],
        options: HmmOptions,
    ) -> HmmDirection:
        """The inverse of :meth:`arrays`."""
        table = PairTable.of_pairs(*pairs, len(words[0]))
        counts = np.zeros(len(table.key))
        counts[table.slots(*pairs)] = arrays["counts"]
        jumps = Jumps(arrays["jump_width"], arrays["jump_start"], NULL_PROBABILITY)
        return cls(words, table, counts, arrays["null_counts"], arrays["frequency"], jumps, options)

    def additive(self, condition_words: Words, generated_words: Words) -> Counts:
        """Return what adds up over parts of a text, of these pairs: all counts, without the prior of the jumps."""
        links = self.counts[self.table.slots(condition_words, generated_words)]
        jumps = np.concatenate([self.jumps.by_width, self.jumps.first_link]) - JUMP_ALPHA
        return Counts(links=links, of_words=np.stack([self.null_counts, self.frequency]), rest=jumps)

    @classmethod
    def of_counts(
        cls, counts: Counts, words: Vocabularies, pairs: tuple[Words, Words], options: HmmOptions
    ) -> HmmDirection:
        """Make the model of sums of :meth:`additive`."""
        null_counts, frequency = counts.of_words
        # `rest` has 2 · limit + 1 widths, then limit + 1 first links: 3 · limit + 2 numbers.
        limit = len(counts.rest) // 3
        by_width, first_link = np.split(counts.rest + JUMP_ALPHA, [2 * limit + 1])
        arrays = {"counts": counts.links, "null_counts": null_counts, "frequency": frequency}
        return cls.from_arrays(
            {**arrays, "jump_width": by_width, "jump_start": first_link}, words, pairs, options
        )
