"""All orders of a head and its dependents, and the features that tell them apart, as sparse matrices."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MAX_GROUP = 7
"""Largest group, head included: 7! = 5,040 orders."""

BOS, EOS = "BOS", "EOS"
_LOW, _HIGH = 3, 5
_KINDS = ("PRE", "BFR", "BTW", "AFT", "BI")


class Arrangements(NamedTuple):
    """The n! orders of a group whose head is member 0.

    A column of ``counts`` is something an order has or has not: two members in a row, one before the other, both
    before the head, one on each side of it, both after it, or three to five members in a row.
    """

    orders: NDArray[np.int64]  # (n!, n), members from left to right
    counts: Any  # (n!, columns) sparse; how often each order has each column
    # (p, 3): of the first p columns, the number in _KINDS and the two members; member n is BOS, n + 1 is EOS
    pairs: NDArray[np.int64]
    runs: tuple[NDArray[np.int64], ...]  # for the columns that follow: for each k (columns, k) members


@lru_cache(maxsize=MAX_GROUP + 1)
def arrangements(n: int) -> Arrangements:
    """The orders of n members, built once."""
    orders = np.array(list(permutations(range(n))), dtype=np.int64)
    rank = np.argsort(orders, axis=1)
    parts, pairs = [], []
    first, second = np.array(list(permutations(range(n), 2)), dtype=np.int64).reshape(-1, 2).T
    before = rank[:, first] < rank[:, second]
    head = rank[:, :1]
    early, late = rank < head, rank > head
    for kind, holds in enumerate((
        before,
        before & early[:, first] & early[:, second],
        before & early[:, first] & late[:, second],
        before & late[:, first] & late[:, second],
    )):  # fmt: skip
        parts.append(sparse.csr_matrix(holds.astype(np.float64)))
        pairs.append(np.stack([np.full(first.size, kind), first, second], axis=1))
    adjacent, present = _runs(orders, 2, pad=1)
    parts.append(adjacent)
    pairs.append(np.concatenate([np.full((len(present), 1), 4), present], axis=1))
    runs = []
    high = min(n, _HIGH)
    for k in range(_LOW, high + 1):
        counted, members = _runs(orders, k, pad=high - 1)
        parts.append(counted)
        runs.append(members)
    return Arrangements(orders, sparse.hstack(parts, format="csr"), np.concatenate(pairs), tuple(runs))


def _runs(orders: NDArray[np.int64], k: int, *, pad: int) -> tuple[Any, NDArray[np.int64]]:
    """Every run of k members, padded with BOS and EOS: counts (n!, runs), and the runs.

    A run ends at the first member or later, so none is of BOS alone, but some are of EOS alone.
    """
    total, n = orders.shape
    padded = np.concatenate([np.full((total, pad), n), orders, np.full((total, pad), n + 1)], axis=1)
    windows = np.stack([padded[:, end - k + 1 : end + 1] for end in range(pad, padded.shape[1])], axis=1)
    flat = windows.reshape(-1, k)
    codes = flat @ (n + 2) ** np.arange(k)
    _, index, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rows = np.repeat(np.arange(total), windows.shape[1])
    counted = sparse.csr_matrix((np.ones(rows.size), (rows, inverse.ravel())), shape=(total, len(index)))
    return counted, flat[index]


def pair_names(children: Sequence[str], pairs: NDArray[np.int64]) -> list[tuple[str, ...]]:
    """The features of each pair column: over ``UPOS&deprel``, over tags and over relations."""
    split = [child.partition("&") for child in children]
    tags, relations = [s[0] for s in split], [s[2] for s in split]
    named = [[*names, BOS, EOS] for names in (children, tags, relations)]
    return [tuple([f"{_KINDS[k]}_{names[i]}_{names[j]}" for names in named]) for k, i, j in pairs.tolist()]


def run_names(children: Sequence[str], table: Arrangements) -> list[str]:
    """The feature of each column of runs: over ``UPOS&deprel``."""
    named = [*children, BOS, EOS]
    return ["HI_" + "_".join([named[i] for i in run]) for runs in table.runs for run in runs.tolist()]
