"""All orders of a head and its dependents, and the features that tell them apart, as sparse matrices.

A *group* is a head (member 0) and its dependents (members 1 to n − 1). A *column* is something that an order has or has
not, such as "member 2 stands before member 1"; which columns an order has depends on n alone, so the matrix is built
once for each n. A *feature* is the name of a column in one group: ``PRE_ADJ&amod_DET&det``. Many columns of many groups
have one feature, and the feature has the weight.

Source: Wang and Eisner 2016, *The Galactic Dependencies Treebanks*, §4, whose names of features are kept.
"""

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
"""Members before the first and after the last one, so that features can name the ends of a group."""
_SHORTEST_RUN, _LONGEST_RUN = 3, 5
_KINDS = ("PRE", "BFR", "BTW", "AFT", "BI")
"""Of two members: one before the other (PRE), where both are before the head (BFR), one is on each side of it (BTW) or
both are after it (AFT); one directly before the other (BI)."""


class Arrangements(NamedTuple):
    """The n! orders of a group whose head is member 0.

    The first columns of ``counts`` are about two members (``pairs``), the others about runs of three to five. Member n
    is BOS, member n + 1 is EOS.
    """

    orders: NDArray[np.int64]  # (n!, n), members from left to right
    counts: Any  # (n!, columns) sparse; how often each order has each column
    pairs: NDArray[
        np.int64
    ]  # (p, 3): for each of the first p columns a number in _KINDS, and the two members
    runs: tuple[NDArray[np.int64], ...]  # for each length k from 3: (columns, k) members


@lru_cache(maxsize=MAX_GROUP + 1)
def arrangements(n: int) -> Arrangements:
    """Make the orders of n members; each n once."""
    orders = np.array(list(permutations(range(n))), dtype=np.int64)
    place = np.argsort(orders, axis=1)  # (n!, n): where each order has each member
    first, second = np.array(list(permutations(range(n), 2)), dtype=np.int64).reshape(-1, 2).T
    precedes = place[:, first] < place[:, second]  # (n!, pairs of members)
    head = place[:, :1]
    before_head, after_head = place < head, place > head
    holds = {
        "PRE": precedes,
        "BFR": precedes & before_head[:, first] & before_head[:, second],
        "BTW": precedes & before_head[:, first] & after_head[:, second],
        "AFT": precedes & after_head[:, first] & after_head[:, second],
    }
    parts, pairs = [], []
    for kind, which in holds.items():
        parts.append(sparse.csr_matrix(which.astype(np.float64)))
        pairs.append(np.stack([np.full(first.size, _KINDS.index(kind)), first, second], axis=1))
    adjacent, neighbours = _runs(orders, 2, pad=1)
    parts.append(adjacent)
    kind_column = np.full((len(neighbours), 1), _KINDS.index("BI"))
    pairs.append(np.concatenate([kind_column, neighbours], axis=1))
    runs = []
    longest = min(n, _LONGEST_RUN)
    for k in range(_SHORTEST_RUN, longest + 1):
        counted, members = _runs(orders, k, pad=longest - 1)
        parts.append(counted)
        runs.append(members)
    return Arrangements(orders, sparse.hstack(parts, format="csr"), np.concatenate(pairs), tuple(runs))


def _runs(orders: NDArray[np.int64], k: int, *, pad: int) -> tuple[Any, NDArray[np.int64]]:
    """Find every run of k members, in orders padded with BOS and EOS.

    A run ends at the first member or later, so none is of BOS alone, but some are of EOS alone.

    Returns:
        How often each order has each run, (n!, runs); and the members of the runs, (runs, k).
    """
    total, n = orders.shape
    padded = np.concatenate([np.full((total, pad), n), orders, np.full((total, pad), n + 1)], axis=1)
    windows = np.stack([padded[:, end - k + 1 : end + 1] for end in range(pad, padded.shape[1])], axis=1)
    flat = windows.reshape(-1, k)
    # A run as one number, whose digits to the base n + 2 are its members: numbers are quick to compare.
    codes = flat @ (n + 2) ** np.arange(k)
    _, index, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rows = np.repeat(np.arange(total), windows.shape[1])
    counted = sparse.csr_matrix((np.ones(rows.size), (rows, inverse.ravel())), shape=(total, len(index)))
    return counted, flat[index]


def pair_names(children: Sequence[str], pairs: NDArray[np.int64]) -> list[tuple[str, ...]]:
    """The features of each column of two members: over ``UPOS&deprel``, over tags and over relations.

    ``children``: ``UPOS&deprel`` of each member.

    Example:
        >>> pair_names(["@NOUN&@", "ADJ&amod"], np.array([[0, 1, 0]]))
        [('PRE_ADJ&amod_@NOUN&@', 'PRE_ADJ_@NOUN', 'PRE_amod_@')]
    """
    tags = [child.partition("&")[0] for child in children]
    relations = [child.partition("&")[2] for child in children]
    named = [[*names, BOS, EOS] for names in (children, tags, relations)]
    features = []
    for kind, first, second in pairs.tolist():
        features.append(tuple(f"{_KINDS[kind]}_{names[first]}_{names[second]}" for names in named))
    return features


def run_names(children: Sequence[str], table: Arrangements) -> list[str]:
    """The feature of each column of a run: over ``UPOS&deprel``, such as ``HI_DET&det_ADJ&amod_@NOUN&@``."""
    named = [*children, BOS, EOS]
    features = []
    for runs in table.runs:
        features += ["HI_" + "_".join([named[member] for member in run]) for run in runs.tolist()]
    return features
