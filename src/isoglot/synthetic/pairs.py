"""Pairs of statements whose label follows from their meaning, weighted so that no single word gives the label away.

A *family* has a handful of variables and many statements about them. A *model* is one possible state of affairs; all
models of a family are listed, and a statement is true in some of them. So the label of a pair of statements is known:

- entailment: every model in which the first is true is one in which the second is true (*all dogs slept*, *some dogs
  slept*);
- contradiction: they are true in no common model;
- neutral: neither.

The pairs are then weighted so that no word, on either side, new or lost, is more frequent under one label than under
another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import blake2b
from importlib import resources
from itertools import permutations
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.synthetic.grammar import Pattern, parse_wording, plain

LabelledPair = tuple[str, str, str]
"""Two wordings and their label."""
Floats = npt.NDArray[np.float64]
Models = set[Any]
"""The models in which a statement is true."""

WEIGHTS_FILE = "weights.txt"
"""Weights of each family's pairs; ``python benchmarks/world_weights.py`` writes them again."""

MAX_PAIRS = 900
"""At most so many pairs of a family: enough variety, and quick to balance."""

_LEAST_WEIGHT = 1e-7
"""Pairs with less weight are as good as never drawn, and are left out."""

LEAST_OVERLAP = 0.6
"""Smallest word overlap of paraphrase pairs: ``|words of both| / |words of either|``."""


class Statement(NamedTuple):
    """A sentence with variables, and what it means."""

    wording: str
    truth: Any  # the models in which it is true; for paraphrases its meaning, of which only equality counts
    premise_only: bool = False  # whether it is never a hypothesis


@dataclass
class Family:
    """Statements about the same variables, each true in some of the models."""

    name: str
    variables: dict[str, str]
    """The pool of each variable, by its name."""
    models: Models = field(default_factory=set)
    """All models; none for paraphrases."""
    balances_one_sided_words: bool = True
    """Whether words that only one side of a pair has are balanced too; the words of each side always are.

    These words cannot be balanced where only a neutral hypothesis can name somebody new: what happened to a person does
    not follow from sentences about others.

    Only ``benchmarks/world_weights.py``, which finds the weights of pairs, reads this.
    """
    statements: list[Statement] = field(default_factory=list)

    def say(self, wording: str, truth: Any, *, premise_only: bool = False) -> None:
        """Add a statement."""
        self.statements.append(Statement(wording, truth, premise_only))

    def pairs(self) -> list[LabelledPair]:
        """List labelled pairs of statements: at most :data:`MAX_PAIRS`, divided equally among the labels.

        With models they are inference pairs, see :func:`entailment_label`. Without, they are paraphrases: ``"1"`` for
        the same meaning, else ``"0"``.
        """
        pairs = self._inference_pairs() if self.models else self._paraphrase_pairs()
        labels = sorted({label for _, _, label in pairs})
        random = Random(self.name)  # the sample depends on the family alone, as weights are stored for it
        sample: list[LabelledPair] = []
        for label in labels:
            labelled = [pair for pair in pairs if pair[2] == label]
            sample += random.sample(labelled, min(len(labelled), MAX_PAIRS // len(labels)))
        return sample

    def _inference_pairs(self) -> list[LabelledPair]:
        """All pairs of different wordings, without statements that are true in no model or in all of them."""
        usable = [statement for statement in self.statements if 0 < len(statement.truth) < len(self.models)]
        pairs = []
        for premise, hypothesis in permutations(usable, 2):
            if not hypothesis.premise_only and premise.wording != hypothesis.wording:
                label = entailment_label(premise.truth, hypothesis.truth)
                pairs.append((premise.wording, hypothesis.wording, label))
        return pairs

    def _paraphrase_pairs(self) -> list[LabelledPair]:
        """All pairs that share most of their words (:data:`LEAST_OVERLAP`)."""
        with_words = [(statement, _distinct_words(statement.wording)) for statement in self.statements]
        pairs = []
        for (first, first_words), (second, second_words) in permutations(with_words, 2):
            if len(first_words & second_words) >= LEAST_OVERLAP * len(first_words | second_words):
                pairs.append((first.wording, second.wording, "1" if first.truth == second.truth else "0"))
        return pairs


def _distinct_words(wording: str) -> set[str]:
    """The words of a wording; all forms of a variable (``V.past``, ``V.part``) are one word."""
    words = set()
    for word in plain(wording).split():
        words.add(word if len(word) == 1 else word.partition(".")[0])  # "." is a word itself
    return words


def entailment_label(first: Models, second: Models) -> str:
    """The relation of two statements, given the models in which each is true.

    Example:
        >>> entailment_label({1}, {1, 2}), entailment_label({1}, {2}), entailment_label({1, 2}, {2, 3})
        ('entailment', 'contradiction', 'neutral')
    """
    if first <= second:
        return "entailment"
    return "contradiction" if first.isdisjoint(second) else "neutral"


def pair_key(pairs: Sequence[LabelledPair]) -> str:
    """A hash of labelled pairs, under which their weights are stored; trees do not count."""
    texts = [(plain(first), plain(second), label) for first, second, label in pairs]
    return blake2b(repr(texts).encode(), digest_size=8).hexdigest()


@cache
def stored_weights() -> dict[str, Floats]:
    """Read the weights of every family's pairs, by :func:`pair_key`; they do not add up to one."""
    text = resources.files("isoglot.synthetic").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines())
    return {key: np.array(values, dtype=np.float64) for key, *values in rows}


def weighted_patterns(family: Family) -> list[Pattern]:
    """Make patterns of a family's pairs with their stored weights, which add up to one here.

    The weights make labels equally frequent and independent of any single word; ``benchmarks/world_weights.py`` has
    found them.
    """
    pools = tuple(family.variables.values())
    parse = cache(partial(parse_wording, variables=family.variables))
    pairs = family.pairs()
    weights = stored_weights()[pair_key(pairs)]
    normalised = (weights / weights.sum()).tolist()
    patterns = []
    for (first, second, label), weight in zip(pairs, normalised, strict=True):
        if weight > _LEAST_WEIGHT:
            patterns.append(Pattern(pools, (parse(first), parse(second)), label, round(weight, 9)))
    return patterns
