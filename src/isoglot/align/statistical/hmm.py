"""A Bayesian HMM aligner: both directions trained to agree, by collapsed variational inference.

Four things make it better than IBM 2 and a plain HMM at some thousand to some hundred thousand sentence pairs:

* **First-order jumps**: a link depends on the one before (Vogel, Ney & Tillmann 1996).
* **Collapsed inference**: the translation table is integrated out under a sparse Dirichlet prior. The predictive
  probability of an entry leaves out what that very entry contributed to the counts,

      p(f_j | e_i) = (c(e_i, f_j) − q_ij + α + β · p_base) / (c(e_i) − q_ij + α·V + β),

  so that a rare pair cannot confirm itself (CVB0: Asuncion et al. 2009; a sampler does so by nature).
* **Agreement**: the counts of both directions are the products of their posteriors, q_ij = →q_ij · ←q_ij (Liang,
  Taskar & Klein 2006, §3).
* **A base measure over prefixes**, p_base, for rare inflected forms; see :mod:`isoglot.align.statistical.prefixes`.

It starts from fast_align's model. Nothing is sampled: the same text gives the same model. New text is aligned with
the same predictive probability, nothing left out; so is the training text once the model is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical.cooccurrence import DirectedBitext, DirectedTypes, find_pairs
from isoglot.align.statistical.forward_backward import Jumps, forward_backward
from isoglot.align.statistical.posteriors import DirectionPosteriors
from isoglot.align.statistical.prefixes import PrefixClasses
from isoglot.errors import ConfigurationError

__all__ = ["HmmDirection", "HmmOptions", "HmmTables", "PrefixTable", "posteriors", "sums"]

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HmmOptions:
    """Options of the HMM aligner.

    Args:
        iterations: updates of the HMM; more than 6 change little.
        warm_up: updates of fast_align's model before them.
        agreement: whether the directions' posteriors are multiplied; each learns alone if false.
        null_probability: p0, for a word without a counterpart; 0.05 to 0.3 make little difference.
        alpha: Dirichlet prior of a word pair; the smaller, the sparser the table.
        prefix_length: letters of the prefixes, usually 3 to 5; 0 switches the base measure off.
        prefix_strength: β, how many observations the base measure counts for, usually 10 to 300.
        jump_alpha: what is added to the count of each jump width.
        longest_jump: jumps of more words count as this one.
    """

    iterations: int = 6
    warm_up: int = 4
    agreement: bool = True
    null_probability: float = 0.1
    alpha: float = 0.0001
    prefix_length: int = 4
    prefix_strength: float = 100.0
    jump_alpha: float = 0.5
    longest_jump: int = 60

    def __post_init__(self) -> None:
        problems = [
            f"{name}={getattr(self, name)} given, but {needed} is needed; the usual value is {usual}"
            for name, good, needed, usual in (
                ("iterations", self.iterations >= 1, "at least 1", 6),
                ("warm_up", self.warm_up >= 1, "at least 1", 4),
                ("null_probability", 0 < self.null_probability < 1, "a value between 0 and 1", 0.1),
                ("alpha", self.alpha > 0, "a positive value", 0.0001),
                ("prefix_length", self.prefix_length >= 0, "0 or more", 4),
                ("prefix_strength", self.prefix_strength > 0, "a positive value", 100.0),
                ("jump_alpha", self.jump_alpha > 0, "a positive value", 0.5),
                ("longest_jump", self.longest_jump >= 1, "at least 1", 60),
            )
            if not good
        ]
        if problems:
            raise ConfigurationError(problems)

    @property
    def strength(self) -> float:
        """β, 0 where there are no prefixes."""
        return self.prefix_strength if self.prefix_length else 0.0


@dataclass(frozen=True, slots=True)
class HmmTables:
    """What one direction needs to align a given text: probabilities of its types and words, and the jumps."""

    translation: Doubles
    null: Doubles
    jumps: Jumps


@dataclass(frozen=True, slots=True)
class HmmDirection:
    """What one direction has learned: expected counts, from which the probabilities of any text follow.

    Args:
        counts: expected links of each type. Shape: (types).
        null_counts: expected null links of each generated word. Shape: (generated vocabulary).
        frequency: occurrences of each generated word. Shape: (generated vocabulary).
        jumps: jump weights.
        options: priors.
        log_likelihood: of the training text, natural logarithm, one value an iteration.
    """

    counts: Doubles
    null_counts: Doubles
    frequency: Doubles
    jumps: Jumps
    options: HmmOptions
    log_likelihood: tuple[float, ...] = ()

    def project(self, known: DirectedTypes, new: DirectedTypes) -> HmmTables:
        """Probabilities on another text's types; unknown words and pairs fall back to their prefixes, then to α."""
        o, size = self.options, len(known.generated)
        types, given, generated = known.locate(new)
        total = _at(sums(known.given_word, self.counts, len(known.given)), given)[new.given_word]
        translation = _at(self.counts, types) + o.alpha
        if o.prefix_length:
            translation += o.strength * self._base(known, new, generated)
        translation /= total + (o.alpha * size + o.strength)
        null = (_at(self.null_counts, generated) + o.alpha) / (self.null_counts.sum() + o.alpha * size)
        return HmmTables(translation, null, self.jumps)

    def _base(self, known: DirectedTypes, new: DirectedTypes, generated: npt.NDArray[np.int64]) -> Doubles:
        """p_base of each new type."""
        o = self.options
        table = PrefixTable.of(known, self.frequency, o.prefix_length)
        pairs, totals = table.sums(self.counts, known)
        one = table.given.locate(new.given, o.prefix_length)
        other = table.generated.locate(new.generated, o.prefix_length)
        class_type = find_pairs(*table.pairs, one[new.given_word], other[new.generated_word])
        size = len(table.generated.names)
        shared = (_at(pairs, class_type) + o.alpha) / (_at(totals, one)[new.given_word] + o.alpha * size)
        own, whole = _at(self.frequency, generated), _at(table.frequency, other)
        share = np.where(own > 0, own / np.maximum(whole, 1.0), 1.0 / (whole + 1.0))
        return np.asarray(shared * share[new.generated_word])

    def arrays(self) -> dict[str, Doubles]:
        """Everything but the options as arrays, to be saved."""
        return {
            "counts": self.counts,
            "null_counts": self.null_counts,
            "frequency": self.frequency,
            "jump_width": self.jumps.width,
            "jump_start": self.jumps.start,
            "log_likelihood": np.array(self.log_likelihood),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Doubles], options: HmmOptions) -> HmmDirection:
        """The inverse of :meth:`arrays`."""
        jumps = Jumps(arrays["jump_width"], arrays["jump_start"], options.null_probability)
        likelihoods = tuple(arrays["log_likelihood"].tolist())
        return cls(arrays["counts"], arrays["null_counts"], arrays["frequency"], jumps, options, likelihoods)


@dataclass(frozen=True, slots=True)
class PrefixTable:
    """Prefix classes of a text and the pairs of classes that occur together.

    Args:
        given: classes of the given words.
        generated: classes of the generated words.
        pairs: given and generated class of each pair. Shapes: (pairs), (pairs).
        of_type: pair of each type. Shape: (types).
        frequency: occurrences of each generated class. Shape: (generated classes).
    """

    given: PrefixClasses
    generated: PrefixClasses
    pairs: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    of_type: npt.NDArray[np.int64]
    frequency: Doubles

    @classmethod
    def of(cls, types: DirectedTypes, frequency: Doubles, length: int) -> PrefixTable:
        """Classes of a text by prefixes of ``length`` letters; ``frequency`` is that of its generated words."""
        given, generated = PrefixClasses.of(types.given, length), PrefixClasses.of(types.generated, length)
        keys = (given.of_word[types.given_word] << 32) | generated.of_word[types.generated_word]
        distinct, of_type = np.unique(keys, return_inverse=True)
        pairs = (distinct >> 32, distinct & 0xFFFFFFFF)
        whole = sums(generated.of_word, frequency, len(generated.names))
        return cls(given, generated, pairs, of_type, whole)

    def sums(self, counts: Doubles, types: DirectedTypes) -> tuple[Doubles, Doubles]:
        """Expected links of each pair of classes, and of each given class."""
        pairs = sums(self.of_type, counts, len(self.pairs[0]))
        totals = sums(self.given.of_word[types.given_word], counts, len(self.given.names))
        return pairs, totals


def sums(index: npt.NDArray[np.integer], weights: npt.NDArray[Any] | None = None, size: int = 0) -> Doubles:
    """How much weight each index has, as doubles."""
    return np.asarray(np.bincount(index, weights, size), np.float64)


def _at(values: Doubles, index: npt.NDArray[np.int64]) -> Doubles:
    """``values`` at ``index``, 0 where it is −1."""
    return np.where(index >= 0, np.append(values, 0.0)[index], 0.0)


def posteriors(bitext: DirectedBitext, tables: HmmTables) -> DirectionPosteriors:
    """Posterior link probabilities of a text, in double precision."""
    result = DirectionPosteriors.empty(bitext)
    for chunk in bitext.layout:
        emission, null = tables.translation[bitext.types_of(chunk)], tables.null[bitext.words_of(chunk)]
        found = forward_backward(chunk, emission, null, tables.jumps, count_jumps=False)
        result.put(chunk, found.links, found.null, found.log_scale)
    return result
