"""All orders of a head and its dependents, and the features that tell them apart, as sparse matrices.

A *group* is a head (member 0) and its dependents (members 1 to n − 1). "old house" is a group of n = 2: member 0 is
*house*, member 1 is *old*, and their two orders are ``(0, 1)`` and ``(1, 0)``.

A *column* is a property that an order can have: "member 1 stands before member 0". Which orders have which columns
depends on n alone, so that matrix is built once for each n.

A *feature* is the name of a column in one group: in "old house" that column is named ``PRE_ADJ&amod_@NOUN&@`` (and
``PRE_ADJ_@NOUN`` and ``PRE_amod_@``). Columns of many groups have the same feature, and a model has one weight for it.

Source: Wang and Eisner 2016, *The Galactic Dependencies Treebanks*, §4, whose names of features are kept.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST_GROUP = 7
"""Members of the largest group that is put into a new order, head included: 7! = 5,040 orders."""

BOS, EOS = "BOS", "EOS"
"""Members before the first and after the last one, so that features can name the ends of a group."""
_SHORTEST_RUN, _LONGEST_RUN = 3, 5
_PAIR_KINDS = ("PRE", "BFR", "BTW", "AFT", "BI")
"""Kinds of columns about two members, the first of which comes before the second:

- PRE: anywhere before it
- BFR, BTW, AFT: before it, and both stand before the head, one on each side of the head, or both after the head
- BI: directly before it
"""


class Arrangements(NamedTuple):
    """The n! orders of a group whose head is member 0, and the columns of each order.

    The columns are those of ``pair_columns``, in their order, then those of each array of ``run_columns``. In both,
    number n stands for BOS and n + 1 for EOS.
    """

    orders: NDArray[np.int64]  # (n!, n): members from left to right
    occurrences: Any  # (n!, columns), sparse: how often each order has each column
    pair_columns: NDArray[np.int64]  # (columns, 3): a kind, by its number in _PAIR_KINDS, and the two members
    # For each length from 3: (columns, length), the members of a run.
    run_columns: tuple[NDArray[np.int64], ...]


@lru_cache(maxsize=LARGEST_GROUP + 1)
def arrangements(n: int) -> Arrangements:
    """Make the orders of n members, and their columns; the arrangements of each n are made once.

    Example:
        >>> two = arrangements(2)
        >>> two.orders.tolist()
        [[0, 1], [1, 0]]
        >>> two.pair_columns[:2].tolist()  # PRE: member 0 before member 1, and member 1 before member 0
        [[0, 0, 1], [0, 1, 0]]
        >>> two.occurrences[:, :2].toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    orders = np.array(list(permutations(range(n))), dtype=np.int64)
    # Each ordered pair of members: `first[i]` and `second[i]`.
    first, second = np.array(list(permutations(range(n), 2)), dtype=np.int64).reshape(-1, 2).T
    position = np.argsort(orders, axis=1)  # (n!, n): where each member stands in each order
    head_position = position[:, :1]
    before_head, after_head = position < head_position, position > head_position
    precedes = position[:, first] < position[:, second]  # (n!, ordered pairs of members)
    orders_with = {
        "PRE": precedes,
        "BFR": precedes & before_head[:, first] & before_head[:, second],
        "BTW": precedes & before_head[:, first] & after_head[:, second],
        "AFT": precedes & after_head[:, first] & after_head[:, second],
    }
    occurrences, pair_columns = [], []
    for kind, has_column in orders_with.items():
        occurrences.append(sparse.csr_matrix(has_column.astype(np.float64)))
        pair_columns.append(np.stack([np.full(first.size, _PAIR_KINDS.index(kind)), first, second], axis=1))

    # BI: runs of two.
    run_occurrences, runs_of_two = _distinct_runs(orders, 2, padding=1)
    occurrences.append(run_occurrences)
    kind_numbers = np.full((len(runs_of_two), 1), _PAIR_KINDS.index("BI"))
    pair_columns.append(np.concatenate([kind_numbers, runs_of_two], axis=1))

    # HI: runs of three to five. All lengths have the padding of the longest, as in the published models.
    run_columns = []
    longest = min(n, _LONGEST_RUN)
    for length in range(_SHORTEST_RUN, longest + 1):
        run_occurrences, runs = _distinct_runs(orders, length, padding=longest - 1)
        occurrences.append(run_occurrences)
        run_columns.append(runs)
    all_occurrences = sparse.hstack(occurrences, format="csr")
    return Arrangements(orders, all_occurrences, np.concatenate(pair_columns), tuple(run_columns))


def _distinct_runs(orders: NDArray[np.int64], length: int, *, padding: int) -> tuple[Any, NDArray[np.int64]]:
    """Find the different runs of ``length`` members in orders padded with BOS and EOS; count them in each order.

    A run ends at the first member, or at any place after it up to the last EOS. So no run is of BOS alone, but one is
    of EOS alone where the padding is as long as the run. With a padding of 3, the order *all the old houses* has

    - the runs of three BOS BOS *all*, BOS *all the*, *all the old*, *the old houses*, *old houses* EOS, *houses* EOS
      EOS, and EOS EOS EOS
    - the runs of four BOS BOS BOS *all*, …, *houses* EOS EOS EOS, and none of EOS alone

    ``padding``: How many BOS stand before each order, and how many EOS after it; at least ``length - 1``.

    Returns:
        How often each order has each run, (n!, runs), sparse; and the members of the runs, (runs, length), sorted by
        their last member, then by the one before it, and so on.

    Example:
        >>> counts, runs = _distinct_runs(np.array([[0, 1], [1, 0]]), 2, padding=1)
        >>> runs.tolist()  # 2 is BOS, 3 is EOS
        [[1, 0], [2, 0], [0, 1], [2, 1], [0, 3], [1, 3]]
        >>> counts.toarray().tolist()[0]  # the order 0 1 has the runs BOS 0, 0 1 and 1 EOS
        [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    """
    order_count, n = orders.shape
    bos = np.full((order_count, padding), n)
    eos = np.full((order_count, padding), n + 1)
    padded = np.concatenate([bos, orders, eos], axis=1)
    last_positions = range(padding, padded.shape[1])  # from the first member to the last EOS
    runs_of_orders = np.stack([padded[:, last - length + 1 : last + 1] for last in last_positions], axis=1)
    # First all runs of the first order, then all of the second, ...
    runs = runs_of_orders.reshape(-1, length)
    order_of_run = np.repeat(np.arange(order_count), runs_of_orders.shape[1])
    # A run as one number, whose digits to the base n + 2 are its members, the last member first: numbers are quick to
    # compare. With n = 2 the place values are 1 and 4, and the run 0 1 is the number 0 · 1 + 1 · 4 = 4.
    place_values = (n + 2) ** np.arange(length)
    codes = runs @ place_values
    # Equal runs share a column, in the order of their numbers.
    _, first_of_column, column_of_run = np.unique(codes, return_index=True, return_inverse=True)
    # A run that an order has twice is counted twice: entries at the same place are added up.
    entries = np.ones(len(runs)), (order_of_run, column_of_run.ravel())
    occurrences = sparse.csr_matrix(entries, shape=(order_count, len(first_of_column)))
    return occurrences, runs[first_of_column]


def pair_names(members: Sequence[str], pair_columns: NDArray[np.int64]) -> list[tuple[str, str, str]]:
    """Name the three features of each column about two members: over ``UPOS&deprel``, tags alone, relations alone.

    ``members``: ``UPOS&deprel`` of each member, the head first.
    ``pair_columns``: As in :class:`Arrangements`.

    Example:
        >>> pair_names(["@NOUN&@", "ADJ&amod"], np.array([[0, 1, 0]]))
        [('PRE_ADJ&amod_@NOUN&@', 'PRE_ADJ_@NOUN', 'PRE_amod_@')]
    """
    # BOS and EOS are members n and n + 1.
    full = [*members, BOS, EOS]
    tags = [*(member.partition("&")[0] for member in members), BOS, EOS]
    relations = [*(member.partition("&")[2] for member in members), BOS, EOS]
    features = []
    for kind_number, first, second in pair_columns.tolist():
        kind = _PAIR_KINDS[kind_number]
        features.append((
            f"{kind}_{full[first]}_{full[second]}",
            f"{kind}_{tags[first]}_{tags[second]}",
            f"{kind}_{relations[first]}_{relations[second]}",
        ))  # fmt: skip
    return features


def run_names(members: Sequence[str], table: Arrangements) -> list[str]:
    """Name the feature of each column about a run, such as ``HI_DET&det_ADJ&amod_@NOUN&@``.

    ``members``: ``UPOS&deprel`` of each member, the head first.
    """
    named = [*members, BOS, EOS]
    features = []
    for runs in table.run_columns:
        features += ["HI_" + "_".join([named[member] for member in run]) for run in runs.tolist()]
    return features
