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

Pair = tuple[str, str, str]
"""Two wordings and the label."""
Floats = npt.NDArray[np.float64]
Models = set[Any]
"""The models in which a statement is true."""

WEIGHTS_FILE = "weights.txt"
"""Weights of each family's pairs; ``python benchmarks/world_weights.py`` writes them anew."""

MOST = 900
"""At most so many pairs of a family: enough variety, and quick to balance."""

_LEAST_WEIGHT = 1e-7
"""Pairs with less weight are as good as never drawn, and are left out."""

LEAST_OVERLAP = 0.6
"""Smallest word overlap of paraphrase pairs: ``|words of both| / |words of either|``."""


class Statement(NamedTuple):
    """A sentence with variables, and the models in which it is true (or, for paraphrases, its meaning)."""

    text: str
    truth: Any
    premise_only: bool = False


@dataclass
class Family:
    """Statements about the same variables (name → pool), each true in some of the models."""

    name: str
    variables: dict[str, str]
    models: Models = field(default_factory=set)
    overlap: bool = True
    """Whether words that come or go are balanced too. Where only a neutral hypothesis can name somebody new (what
    happened to a person does not follow from sentences about others) they cannot be; each side's words always are."""
    statements: list[Statement] = field(default_factory=list)

    def say(self, text: str, truth: Any, *, premise_only: bool = False) -> None:
        """Add a statement."""
        self.statements.append(Statement(text, truth, premise_only))

    def pairs(self) -> list[Pair]:
        """Two statements and the label of each pair, at most :data:`MOST`, as many of each label as there are.

        With models these are inference pairs: statements that are true in no model or in all are left out, and so are
        pairs of the same words. Without, they are paraphrases that share most of their words: ``"1"`` for the same
        meaning, else ``"0"``.
        """
        pairs = self._inference_pairs() if self.models else self._paraphrase_pairs()
        labels, random = sorted({label for _, _, label in pairs}), Random(self.name)
        sample: list[Pair] = []
        for label in labels:
            labelled = [pair for pair in pairs if pair[2] == label]
            sample += random.sample(labelled, min(len(labelled), MOST // len(labels)))
        return sample

    def _inference_pairs(self) -> list[Pair]:
        usable = [s for s in self.statements if 0 < len(s.truth) < len(self.models)]
        pairs = []
        for premise, hypothesis in permutations(usable, 2):
            if not hypothesis.premise_only and premise.text != hypothesis.text:
                label = entailment_label(premise.truth, hypothesis.truth)
                pairs.append((premise.text, hypothesis.text, label))
        return pairs

    def _paraphrase_pairs(self) -> list[Pair]:
        with_words = [(statement, _distinct_words(statement.text)) for statement in self.statements]
        pairs = []
        for (first, left), (second, right) in permutations(with_words, 2):
            if len(left & right) >= LEAST_OVERLAP * len(left | right):
                pairs.append((first.text, second.text, "1" if first.truth == second.truth else "0"))
        return pairs


def _distinct_words(text: str) -> set[str]:
    """The words of a wording; all forms of a variable (``V.past``, ``V.part``) are one word."""
    return {word.partition(".")[0] if len(word) > 1 else word for word in plain(text).split()}


def entailment_label(first: Models, second: Models) -> str:
    """The relation of two statements, given the models in which each is true."""
    if first <= second:
        return "entailment"
    return "contradiction" if first.isdisjoint(second) else "neutral"


def pair_key(pairs: Sequence[Pair]) -> str:
    """A short name for labelled pairs, from their text."""
    texts = [(plain(first), plain(second), label) for first, second, label in pairs]
    return blake2b(repr(texts).encode(), digest_size=8).hexdigest()


@cache
def stored_weights() -> dict[str, Floats]:
    """The weights of every family's pairs, by :func:`pair_key`; they do not add up to one."""
    text = resources.files("isoglot.synthetic").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines())
    return {key: np.array(values, dtype=np.float64) for key, *values in rows}


def balanced(family: Family) -> list[Pattern]:
    """Make patterns of a family's pairs, weighted so that labels are equally frequent and no single word tells them."""
    pools = tuple(family.variables.values())
    parse = cache(partial(parse_wording, variables=family.variables))
    pairs = family.pairs()
    weights = stored_weights()[pair_key(pairs)]
    patterns = []
    for (first, second, label), weight in zip(pairs, (weights / weights.sum()).tolist(), strict=True):
        if weight > _LEAST_WEIGHT:
            patterns.append(Pattern(pools, (parse(first), parse(second)), label, round(weight, 9)))
    return patterns
