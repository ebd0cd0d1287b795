"""Weights under which no cue tells a label: solved for every family of pairs and stored with the package.

The solver is iterative, so its last digits depend on the machine, and with them which rows a world draws. Run it after
a family has changed:

python benchmarks/world_weights.py
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

import isoglot.synthetic
from isoglot.synthetic.families import entailment_families, paraphrase_families
from isoglot.synthetic.grammar import Token, parse_wording
from isoglot.synthetic.pairs import WEIGHTS_FILE, Family, pair_key

Floats = npt.NDArray[np.float64]

_UNIT = 1e5


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
    filled = [sorted({*(number[c] for c in found), len(columns)}) for found in cues]
    pointer = np.cumsum([0, *map(len, filled)])
    flat = np.array([c for row in filled for c in row])
    present = csr_matrix((np.ones(len(flat)), flat, pointer), shape=(len(labels), len(columns) + 1))
    sides = [np.array([label == name for label in labels]) - 1 / len(names) for name in names]
    design = csr_matrix(hstack([present.multiply(side[:, None]) for side in sides]))
    transposed = csr_matrix(design.T)

    def value(point: Floats) -> tuple[float, Floats]:
        score = design @ point
        top = score.max()
        weights = np.exp(score - top)
        total = weights.sum()
        gradient = transposed @ (weights / total) + 2e-6 * point
        return float(top + np.log(total) + 1e-6 * point @ point), gradient

    found = minimize(value, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    score = design @ found.x
    weights: Floats = np.exp(score - score.max())
    weights /= weights.sum()
    return weights


def solve(family: Family) -> Floats:
    """Weights of a family's pairs, computed anew."""
    read, pairs = partial(parse_wording, variables=family.variables), family.pairs()
    cues = [_cues(read(first), read(second), family) for first, second, _ in pairs]
    return cue_free_weights(cues, [label for _, _, label in pairs])


def _cues(first: tuple[Token, ...], second: tuple[Token, ...], family: Family) -> set[str]:
    """What a reader of single words sees: words on either side, words that come and go."""
    pools = list(family.variables.values())

    def kind(token: Token) -> str:
        return token.word_or_form if token.variable < 0 else f"{pools[token.variable]}.{token.word_or_form}"

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
    if not family.balances_one_sided_words:
        return cues
    own, other = ({(t.word_or_form, t.variable) for t in tokens} for tokens in (first, second))
    cues |= {f"new {kind(t)}" for t in second if (t.word_or_form, t.variable) not in own}
    cues |= {f"lost {kind(t)}" for t in first if (t.word_or_form, t.variable) not in other}
    cues.add(f"same opening {first[0][:2] == second[0][:2]}")
    cues.add(f"length {np.sign(len(first) - len(second))}")
    return cues


def main() -> None:
    """Write the weights into the package, as integers, one line for each set of pairs."""
    lines = [
        " ".join([pair_key(family.pairs()), *(str(round(weight * _UNIT)) for weight in solve(family))])
        for family in (*entailment_families(), *paraphrase_families())
    ]
    path = Path(isoglot.synthetic.__file__).with_name(WEIGHTS_FILE)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
