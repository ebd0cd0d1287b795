"""Pairs of statements whose label follows from what they mean, and weights that leave surface cues nothing to say.

A *family* is a handful of variables and many statements about them, each with its truth in every model of a small,
fully enumerated set. The label of a pair is read off the truth values: every model of the first is one of the second
(entailment), they share none (contradiction), neither (neutral). Which pairs are drawn how often is then chosen so that
no word, on either side, new or lost, is more frequent under one label than under another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from isoglot.synthetic.patterns import Pattern, Token, parse_pattern

__all__ = ["Family", "Statement", "balanced", "entailment_patterns", "paraphrase_patterns"]

Floats = npt.NDArray[np.float64]

MOST = 1500
"""Pairs kept of a family: enough variety, and quick to balance."""


@dataclass(frozen=True)
class Statement:
    """A sentence with variables, and its truth in each model of its family (or, for paraphrases, its meaning)."""

    text: str
    truth: tuple[object, ...]
    premise_only: bool = False


@dataclass(frozen=True)
class Family:
    """Variables (name → pool) and statements about them."""

    name: str
    variables: Mapping[str, str]
    statements: Sequence[Statement]
    overlap: bool = True
    """Whether words that come or go are balanced too. Where only a neutral hypothesis can name somebody new (what
    happened to a person does not follow from sentences about others) they cannot be; each side's words always are."""


def entailment_label(first: tuple[object, ...], second: tuple[object, ...]) -> str:
    """The relation of two statements, given their truth in all models."""
    if all(b for a, b in zip(first, second, strict=True) if a):
        return "entailment"
    if not any(a and b for a, b in zip(first, second, strict=True)):
        return "contradiction"
    return "neutral"


def entailment_patterns(family: Family) -> list[Pattern]:
    """All labelled, balanced premise-hypothesis patterns of a family.

    Statements that are true in no model or in all are left out, and so are pairs of the same words.
    """
    usable = [s for s in family.statements if any(s.truth) and not all(s.truth)]
    pairs = [
        (p.text, h.text, entailment_label(p.truth, h.truth))
        for p, h in permutations(usable, 2)
        if not h.premise_only and p.text != h.text
    ]
    return balanced(family, pairs)


def paraphrase_patterns(family: Family, *, least: float = 0.6) -> list[Pattern]:
    """All labelled, balanced patterns of two wordings: ``"1"`` if they mean the same."""
    pairs = [
        (a.text, b.text, "1" if a.truth == b.truth else "0") for a, b in permutations(family.statements, 2)
    ]
    return balanced(family, pairs, least=least)


def balanced(family: Family, pairs: Sequence[tuple[str, str, str]], *, least: float = 0.0) -> list[Pattern]:
    """Patterns of the pairs, weighted so that labels are equally frequent and independent of every single cue.

    Args:
        family: the variables.
        pairs: first, second, label.
        least: smallest word overlap of a pair, ``|words of both| / |words of either|``.
    """
    names = {name: i for i, name in enumerate(family.variables)}
    kept = [p for p in pairs if _overlap(p[0], p[1]) >= least]
    kept = _thinned(kept, Random(family.name))
    tokens = [(parse_pattern(a, names), parse_pattern(b, names)) for a, b, _ in kept]
    labels = [label for _, _, label in kept]
    weights = cue_free_weights([_cues(a, b, family) for a, b in tokens], labels)
    pools = tuple(family.variables.values())
    return [
        Pattern(pools, (a, b), label, round(weight, 7))
        for (a, b), label, weight in zip(tokens, labels, weights.tolist(), strict=True)
        if weight > 1e-7
    ]


def _overlap(first: str, second: str) -> float:
    """Word overlap, counting forms of one variable as one word."""
    a, b = ({w.partition(".")[0] if len(w) > 1 else w for w in text.split()} for text in (first, second))
    return len(a & b) / len(a | b)


def _thinned(pairs: list[tuple[str, str, str]], random: Random) -> list[tuple[str, str, str]]:
    """At most ``MOST`` pairs, a third (or half) of them of each label."""
    labels = sorted({label for _, _, label in pairs})
    found: list[tuple[str, str, str]] = []
    for label in labels:
        mine = [p for p in pairs if p[2] == label]
        found += random.sample(mine, min(len(mine), MOST // len(labels)))
    return found


def _cues(first: tuple[Token, ...], second: tuple[Token, ...], family: Family) -> set[str]:
    """What a reader of single words sees: words on either side, words that come and go."""
    pools = list(family.variables.values())

    def kind(token: Token) -> str:
        return token.text if token.variable < 0 else f"{pools[token.variable]}.{token.text}"

    def bag(tokens: tuple[Token, ...]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for token in tokens:
            counts[kind(token)] = counts.get(kind(token), 0) + 1
        return counts

    one, two = bag(first), bag(second)
    cues = {
        f"{side} {word} {n}" for side, words in (("first", one), ("second", two)) for word, n in words.items()
    }
    cues.add(f"opens {kind(second[0])}")
    if not family.overlap:
        return cues
    own, other = ({(t.text, t.variable) for t in tokens} for tokens in (first, second))
    cues |= {f"new {kind(t)}" for t in second if (t.text, t.variable) not in own}
    cues |= {f"lost {kind(t)}" for t in first if (t.text, t.variable) not in other}
    cues.add(f"same opening {first[0] == second[0]}")
    cues.add(f"length {np.sign(len(first) - len(second))}")
    return cues


def cue_free_weights(cues: Sequence[set[str]], labels: Sequence[str]) -> Floats:
    """The weights of greatest entropy under which labels are uniform and independent of each cue.

    With ``a_t`` the vector of ``1[cue in t] · (1[label of t = l] - 1/labels)`` over cues and labels, the weights are
    ``exp(λ · a_t)`` normalised, where λ minimises the convex ``log Σ_t exp(λ · a_t)``; at the minimum the weighted mean
    of ``a`` is zero, which is what independence asks for.

    Args:
        cues: each pair's cues.
        labels: each pair's label.

    Returns:
        Weights that add up to one.
    """
    names = sorted(set(labels))
    columns = sorted({c for found in cues for c in found})
    number = {c: i for i, c in enumerate(columns)}
    present = np.zeros((len(labels), len(columns) + 1))
    present[:, -1] = 1.0
    for row, found in enumerate(cues):
        present[row, [number[c] for c in found]] = 1.0
    rows = [present * (np.array([[label == name] for label in labels]) - 1 / len(names)) for name in names]
    design = np.concatenate(rows, axis=1)

    def value(point: Floats) -> tuple[float, Floats]:
        score = design @ point
        top = score.max()
        weights = np.exp(score - top)
        total = weights.sum()
        gradient = design.T @ (weights / total) + 2e-6 * point
        return float(top + np.log(total) + 1e-6 * point @ point), gradient

    found = minimize(value, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 400})
    score = design @ found.x
    weights: Floats = np.exp(score - score.max())
    weights /= weights.sum()
    return weights
