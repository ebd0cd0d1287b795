"""fast_align's model: IBM 2 with a log-linear preference for the diagonal, estimated by EM as the C++ program does.

    p(a_j = i | m, n) ∝ exp(−λ · |i/n − j/m|),   p(a_j = null) = p0,   p(f_j | e_i) = t(f_j | e_i)

with conditioning positions ``i`` in 1…n, generated positions ``j`` in 1…m and the tension λ. These details of the
program are not in its paper, and the links depend on them:

1. The feature's empirical expectation counts ``j`` from 0, the model's from 1 (``diagonal.py``).
2. The derivative of log Z divides by a Z computed with ``n`` and ``m`` exchanged (``positions.py``).
3. The last of the iterations decodes and does not update.
4. Of equally probable links null wins, then the first conditioning word.

Only the order of the program's sums is not kept. So where one word stands twice, equally far from the diagonal, the
link may go to the other occurrence.

Source: Dyer, Chahuneau & Smith 2013 (*A Simple, Fast, and Effective Reparameterization of IBM Model 2*), eqs. 1–6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical import diagonal
from isoglot.aligners.statistical.bitext import BitextSide, Vocabularies
from isoglot.aligners.statistical.counts import Counts, Pairs, Words
from isoglot.aligners.statistical.decoding import WORKERS, parts, require_possible
from isoglot.aligners.statistical.diagonal import Probabilities
from isoglot.aligners.statistical.options import DiagonalOptions
from isoglot.aligners.statistical.pair_table import EMPTY, FlatTable, PairTable, occurrences, word_ranges
from isoglot.aligners.statistical.positions import model_feature

Floats = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.int64]
INITIAL_PROBABILITY = 1e-9
"""Probability with which the program starts, also that of pairs and words that a model does not know."""
MOST_PAIRS = 1 << 26
"""Word pairs (67 million) up to which the translation table is in double precision; a larger one is in single."""
TENSION_RANGE = (0.1, 14.0)
TENSION_STEPS = 8
TENSION_RATE = 20.0
"""Bounds of the tension λ, gradient steps on it in each update, and their rate, as in the program."""


@dataclass(frozen=True, slots=True)
class DiagonalDirection:
    """The model of one direction."""

    table: PairTable  # the word pairs
    translation: npt.NDArray[np.floating]  # t(generated | condition) of each slot. Shape: (slots)
    null: Floats  # t(generated | null) of each generated word. Shape: (generated vocabulary)
    tension: float  # λ
    # expected links of each slot, and of null and each generated word, where they were kept
    counts: tuple[npt.NDArray[np.floating], Floats] | None = None

    @property
    def learned(self) -> Probabilities:
        """The probabilities as the compiled loops take them."""
        return Probabilities(self.translation, self.null, self.tension)

    def probabilities_of_text(
        self,
        table: PairTable,
        condition_numbers: npt.NDArray[np.int64],
        generated_numbers: npt.NDArray[np.int64],
    ) -> Probabilities:
        """Look up the probabilities of the words of a text. Unknown pairs and words have :data:`INITIAL_PROBABILITY`.

        Args:
            table: The pairs of the text.
            condition_numbers: For each conditioning word of the text, its number in this model, −1 if it has none.
            generated_numbers: The same for each generated word.
        """
        condition_words, generated_words, slots = table.pairs()
        slots_in_model = self.table.slots(
            condition_numbers[condition_words], generated_numbers[generated_words]
        )
        # The index −1 of an unknown pair or word takes the value that is appended.
        translation = np.full(len(table.key), INITIAL_PROBABILITY)
        translation_or_initial = np.append(self.translation, INITIAL_PROBABILITY)
        translation[slots] = translation_or_initial[slots_in_model]
        null = np.append(self.null, INITIAL_PROBABILITY)[generated_numbers]
        return Probabilities(translation, null, self.tension)

    def probabilities(self, condition_words: Words, generated_words: Words) -> Floats:
        """t(generated | condition) of pairs that the table holds."""
        return self.translation[self.table.slots(condition_words, generated_words)].astype(np.float64)

    def arrays(self, condition_words: Words, generated_words: Words) -> dict[str, Floats]:
        """Return everything that the model has learned as arrays to be saved, with the probabilities of these pairs."""
        arrays = {
            "translation": self.probabilities(condition_words, generated_words),
            "null": self.null,
            "tension": np.array([self.tension]),
        }
        if self.counts is not None:
            slots = self.table.slots(condition_words, generated_words)
            links = self.counts[0][slots].astype(np.float32)  # enough for what is only added to other counts
            arrays |= {"counts": links, "null_counts": self.counts[1]}
        return arrays

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Floats],
        words: Vocabularies,
        pairs: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
        options: DiagonalOptions,
    ) -> DiagonalDirection:
        """The inverse of :meth:`arrays`."""
        del options
        table = PairTable.of_pairs(*pairs, len(words[0]))
        translation = np.full(len(table.key), INITIAL_PROBABILITY)
        translation[table.slots(*pairs)] = arrays["translation"]
        counts = None
        if "counts" in arrays:
            counts = np.zeros(len(table.key), np.float32), arrays["null_counts"]
            counts[0][table.slots(*pairs)] = arrays["counts"]
        return cls(table, translation, arrays["null"], float(arrays["tension"][0]), counts)

    def additive(self, condition_words: Words, generated_words: Words) -> Counts | None:
        """Return what adds up over parts of a text, of these pairs; None if the counts were not kept.

        A tension does not add up, so it is counted once for each generated word: the merged tension is the mean over
        the words of all parts. Each generated word has one expected link, to a word or to null.
        """
        if self.counts is None:
            return None
        slots = self.table.slots(condition_words, generated_words)
        links = self.counts[0][slots].astype(np.float64)
        tokens = links.sum() + self.counts[1].sum()
        return Counts(
            links=links, of_words=self.counts[1].reshape(1, -1), rest=np.array([self.tension * tokens])
        )

    @classmethod
    def of_counts(
        cls, counts: Counts, words: Vocabularies, pairs: Pairs, options: DiagonalOptions
    ) -> DiagonalDirection:
        """Make the model of sums of :meth:`additive`: an M-step from the counts of all parts."""
        table = PairTable.of_pairs(*pairs, len(words[0]))
        translation, null = (np.full(size, INITIAL_PROBABILITY) for size in (len(table.key), len(words[1])))
        links, null_links = np.zeros(len(table.key)), counts.of_words[0]
        links[table.slots(*pairs)] = counts.links
        prior = options.variational_bayes, float(options.alpha)
        diagonal.normalise(links, table.flat, prior, translation)
        diagonal.normalise(null_links, _null_row(np.unique(pairs[1]), len(null)), prior, null)
        tokens = links.sum() + null_links.sum()
        tension = float(counts.rest[0] / tokens) if tokens else options.tension
        return cls(table, translation, null, tension, (links, null_links))


def estimate(
    condition: BitextSide,
    generated: BitextSide,
    table: PairTable,
    options: DiagonalOptions,
    *,
    keep_counts: bool = False,
    start: Probabilities | None = None,
    double: bool = True,
) -> DiagonalDirection:
    """Train one direction: ``iterations − 1`` updates.

    Also trains the models from which the HMM starts, by the default options (``hmm_training.py``).

    Args:
        condition: The side whose words generate.
        generated: The side whose words are generated.
        table: The pairs of their words.
        options: Options of the model.
        keep_counts: Return the expected counts of the last update too.
        start: Probabilities of the pairs of ``table`` and of the generated words to begin with; by default all words
            are equally probable.
        double: Keep the table in double precision, if there are at most :data:`MOST_PAIRS`.
    """
    kind: type[np.floating] = np.float64 if double and len(table) <= MOST_PAIRS else np.float32
    translation = np.full(len(table.key), INITIAL_PROBABILITY, kind)
    null = np.full(len(generated.words), INITIAL_PROBABILITY)
    null_counts = np.zeros(len(generated.words))
    # Null may generate the words of pairs whose conditioning side is not empty.
    has_condition = np.repeat(condition.lengths > 0, generated.lengths)
    null_row = _null_row(np.unique(generated.ids[has_condition]), len(null))
    # All sentence pairs of one size have the same position probabilities.
    sizes = _, generated_length, frequency = pair_sizes(condition.lengths, generated.lengths)
    tokens = max(int(generated_length @ frequency), 1)
    prior = options.variational_bayes, float(options.alpha)
    tension = float(options.tension)
    if start is not None:
        translation[:], null[:], tension = start
    text = diagonal.DirectionText(condition.flat, generated.flat, table.flat)
    # Probability of each generated token, given its sentence pair; never set where the conditioning side is empty.
    likelihood = np.empty(len(generated.ids))
    rows = diagonal.Rows(occurrences(condition), prior, np.zeros(0))
    with ThreadPoolExecutor(WORKERS) as pool:
        # Update 0 is the first iteration. The last iteration decodes, so it is not one of the updates.
        updates = options.iterations - 1
        for update in range(updates):
            model = Probabilities(translation, null, tension)
            positions = text.position_table(options.position_options, tension)
            # E-step: fills `likelihood`, and returns the expected feature of each part.
            expect = partial(diagonal.expectations, text, model, positions, likelihood)
            feature = math.fsum(pool.map(expect, parts(condition, generated)))
            require_possible(feature)
            null_counts[:] = 0.0
            diagonal.null_expectations(text, model, options.position_options, likelihood, null_counts)
            # The counts of the last update are kept if they are asked for.
            if keep_counts and update == updates - 1:
                rows = rows._replace(counts=np.zeros(len(table.key)))
            # M-step: replaces the probabilities in `translation`, row by row.
            maximise = partial(diagonal.update, text, model, positions, likelihood, rows)
            list(pool.map(maximise, word_ranges(rows.occurrences[0])))
            # The program leaves the tension alone in update 0, before which all words are equally probable. After a
            # ``start`` they are not, so there update 0 changes it too.
            if options.favour_diagonal and options.optimise_tension and (update > 0 or start is not None):
                tension = _optimise_tension(sizes, tokens, tension, feature / tokens)
            diagonal.normalise(null_counts, null_row, prior, null)
    counts = (rows.counts, null_counts) if keep_counts and updates else None
    return DiagonalDirection(table, translation, null, tension, counts)


def pair_sizes(condition_lengths: Lengths, generated_lengths: Lengths) -> tuple[Lengths, Lengths, Lengths]:
    """Return the sizes of sentence pairs, and how many pairs have each size; pairs with an empty side are left out.

    A size is the number of conditioning and of generated words. Pairs of 2 and 3, 2 and 3, 4 and 1 words give the sizes
    (4, 1) and (2, 3), with 1 and 2 pairs: sorted by the generated words first.

    **Shape**: both arguments (pairs,), the results (sizes,).
    """
    filled = (condition_lengths > 0) & (generated_lengths > 0)
    condition_lengths = condition_lengths[filled].astype(np.int64)
    generated_lengths = generated_lengths[filled].astype(np.int64)
    # Both lengths are packed into one number, which is faster to sort than two.
    packed = generated_lengths << 32 | condition_lengths
    packed, frequency = np.unique(packed, return_counts=True)
    return packed & 0xFFFFFFFF, packed >> 32, frequency


def _null_row(words: npt.NDArray[np.integer], size: int) -> FlatTable:
    """Make a table of one row for null, with a slot for each of ``size`` words, empty if null never generates it."""
    key = np.full(size, EMPTY, np.int32)
    key[words] = words
    return FlatTable(np.array([0, size]), key, np.array([len(words)]))


def _optimise_tension(
    sizes: tuple[npt.NDArray[np.int64], ...], tokens: int, tension: float, empirical: float
) -> float:
    """Take :data:`TENSION_STEPS` gradient steps on λ, towards a model whose feature is as large as in the links.

    ``sizes``: Conditioning length, generated length and frequency. ``empirical``: The feature's mean over the links.
    """
    for _ in range(TENSION_STEPS):
        expected = model_feature(*sizes, tension) / tokens
        tension += (empirical - expected) * TENSION_RATE
        tension = min(max(tension, TENSION_RANGE[0]), TENSION_RANGE[1])
    return tension
