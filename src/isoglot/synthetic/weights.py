"""Weights under which no cue tells a label: the solver, and the solutions of the built-in families.

The solver is iterative, so its last digits depend on the machine, and with them which rows a world draws. The
built-in families' weights are therefore stored with the package, as integers;
``python -m isoglot.synthetic.store_weights`` writes them anew after a family has changed.
Families without stored weights are solved when they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

from isoglot.synthetic.wordings import plain

__all__ = ["WEIGHTS_FILE", "cue_free_weights", "pair_key", "stored_weights", "write_weights"]

Floats = npt.NDArray[np.float64]

WEIGHTS_FILE = "weights.txt"
_UNIT = 1e5


def pair_key(pairs: Sequence[tuple[str, str, str]]) -> str:
    """A short name for labelled pairs, from their text."""
    texts = [(plain(first), plain(second), label) for first, second, label in pairs]
    return blake2b(repr(texts).encode(), digest_size=8).hexdigest()


@cache
def _stored() -> dict[str, Floats]:
    text = resources.files("isoglot.synthetic").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines())
    return {key: np.array(values, dtype=np.float64) for key, *values in rows}


def stored_weights(pairs: Sequence[tuple[str, str, str]]) -> Floats | None:
    """The package's weights of these very pairs, adding up to one, or None."""
    found = _stored().get(pair_key(pairs))
    return None if found is None else found / found.sum()


def write_weights(path: Path, solved: dict[str, Floats]) -> None:
    """Store weights as integers, a hundred-thousandth each, one line for each set of pairs."""
    lines = [" ".join([key, *(str(round(w * _UNIT)) for w in weights)]) for key, weights in solved.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
