"""``isoglot fit-order``: models of word order fitted to a treebank.

:func:`fit_order_models` reads trees, :func:`observed_groups` counts the orders in which heads and dependents stand in
them, and :func:`fit` finds the weights that make these orders most probable. Columns and features are explained in
:mod:`isoglot.derivation.arrangements`.
"""

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.arrangements import Arrangements, arrangements, pair_names, run_names
from isoglot.derivation.base import Sentence, Underivable
from isoglot.derivation.input import read_rows
from isoglot.derivation.options import OrderFitRequest
from isoglot.derivation.order_model import OrderModel
from isoglot.derivation.syntax import HEAD_CLASSES, dependents_of_words, is_projective, to_ud1
from isoglot.runs.files import make_folder, require_writable

_LOGGER = logging.getLogger(__name__)
_HEADS = {"N": "noun, name or pronoun", "V": "verb"}
"""The models that are fitted, by class of head, and the words that messages have for such heads."""

SMALLEST_FITTED, LARGEST_FITTED = 2, 6
"""Members of the groups that models are fitted to, head included. A model then orders groups of one member more
(:data:`~isoglot.derivation.arrangements.LARGEST_GROUP`): its features are about five members at most."""

COMMONEST = 0.1
"""Share of the observed runs of three to five members that become features, as in galactic dependencies."""
TOLERANCE = 1e-4
"""A fit has converged when no feature's slope, per observed order, is steeper than this.

A slope is the difference between how often a feature was observed and how often the model expects it, so the unit is
one order in ten thousand. The optimiser's own verdict is of no use: at the optimum its line search may stop at the
rounding of the processor.
"""

ObservedOrders = dict[tuple[str, ...], Counter[tuple[int, ...]]]
"""How often each order was observed, by the names of a group's members: the head's first, then the others sorted.

*the old house* is one order of a group of three: ``{("@NOUN&@", "ADJ&amod", "DET&det"): {(2, 1, 0): 1}}``.
"""


class OrderFit(NamedTuple):
    """A fitted model."""

    model: OrderModel
    groups: int  # observed groups; those with the same members and order are counted each time
    bits_before: float  # mean bits of an observed order if all orders were equally probable
    bits: float  # the same under the model, on the data that it was fitted to
    slope: float  # largest component of the objective's gradient, per observed order

    @property
    def converged(self) -> bool:
        """Whether the fit is at its optimum, see :data:`TOLERANCE`."""
        return self.slope <= TOLERANCE


def fit_order_models(
    paths: Sequence[str | Path], out: str | Path, request: OrderFitRequest, *, overwrite: bool = False
) -> list[tuple[Path, OrderFit]]:
    """Fit the models of nouns and of verbs; write their files once both are fitted.

    ``overwrite``: Replace other models of these names.

    Returns:
        The file and the fit of each model, such as ``fr@N.orm`` and ``fr@V.orm``.
    """
    require_writable(out, folder=True)
    trees: list[Sentence] = []
    seen: set[Path] = set()
    for path in paths:
        resolved = Path(path).resolve()
        if resolved in seen:
            raise ConfigurationError(f"{path}: got this treebank twice; give each treebank once")
        seen.add(resolved)
        for row in read_rows([str(path)], "treebank", languages=(request.language,), options={}):
            tree = Sentence.of_row(row)
            trees.append(to_ud1(tree) if request.labels == "ud2" else tree)
    fits = {}
    for head_class, heads in _HEADS.items():
        observed = observed_groups(trees, head_class)
        if not observed:
            raise ConfigurationError(
                f"{', '.join(map(str, paths))}: no {heads} with one to five dependents in {len(trees):,} trees; give "
                "projective UD trees"
            )
        fits[head_class] = fit(observed, l2=request.l2, iterations=request.iterations)
    folder = make_folder(out)
    files = [(folder / f"{request.language}@{head_class}.orm", fitted) for head_class, fitted in fits.items()]
    # Both files are looked at before the first is written, so that a refusal leaves both as they were.
    for path, fitted in files:
        if path.is_file() and not overwrite and path.read_bytes() != fitted.model.text().encode():
            raise ConfigurationError(
                f"{path}: is another model; choose another [[out]], or add [[overwrite=True]]"
            )
    for path, fitted in files:
        fitted.model.save(path)
        if not fitted.converged:
            _LOGGER.warning(
                "%s did not converge after %d iterations; use more iterations", path, request.iterations
            )
    return files


def observed_groups(trees: Iterable[Sentence], head_class: str) -> ObservedOrders:
    """Count the orders that heads of a class and their dependents have in projective trees.

    ``trees``: Sentences with their trees, in the labels that the model is to have.
    ``head_class``: ``N`` for nouns, names and pronouns, ``V`` for verbs.
    """
    observed: ObservedOrders = defaultdict(Counter)
    for tree in trees:
        try:
            if not is_projective(tree.heads):
                continue
        except Underivable:  # the heads are not a tree at all
            continue
        *dependents_of_heads, _ = dependents_of_words(tree.heads)  # the last list is of the root: not a group
        for head, dependents in enumerate(dependents_of_heads):
            size = len(dependents) + 1
            is_of_class = HEAD_CLASSES.get(tree.upos[head]) == head_class
            if not is_of_class or not SMALLEST_FITTED <= size <= LARGEST_FITTED:
                continue
            named = [(f"{tree.upos[word]}&{tree.deprels[word]}", word) for word in dependents]
            # The head is member 0. Dependents are sorted, so that groups of the same members are counted together.
            members = [(f"@{tree.upos[head]}&@", head), *sorted(named)]
            names = tuple(name for name, _ in members)
            member_number = {word: number for number, (_, word) in enumerate(members)}
            from_left_to_right = sorted([head, *dependents])
            order = tuple(member_number[word] for word in from_left_to_right)
            observed[names][order] += 1
    return observed


def fit(observed: ObservedOrders, *, l2: float = 1.0, iterations: int = 200) -> OrderFit:
    r"""Fit the log-linear model of :class:`OrderModel` by L-BFGS.

    .. math:: \max_\theta \sum_g \log P_\theta(o_g) - \tfrac{l_2}{2} \lVert\theta\rVert^2

    where g goes over all observed groups and o_g is the order of such a group. Two kinds of features have a weight:

    1. Of two members: every feature that any order of an observed group has.
    2. Of runs of three to five: features of observed orders, and of them only the commonest :data:`COMMONEST`.

    Source: Wang and Eisner 2016, §4.
    """
    feature_ids: dict[str, int] = {}
    designs = _designs(observed, _common_runs(observed), feature_ids)
    zero = np.zeros(len(feature_ids))
    result = optimize.minimize(
        objective,
        zero,
        args=(designs, l2),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 10},
    )
    observed_count = sum(orders.total() for orders in observed.values())
    loss_before, _ = objective(zero, designs, l2)  # with all weights 0, all orders are equally probable
    loss = result.fun - l2 / 2 * float(result.x @ result.x)  # without the penalty
    per_bit = np.log(2) * observed_count  # losses are natural logarithms of all orders together
    return OrderFit(
        model=OrderModel(dict(zip(feature_ids, result.x.tolist(), strict=True))),
        groups=observed_count,
        bits_before=float(loss_before / per_bit),
        bits=float(loss / per_bit),
        slope=float(np.abs(result.jac).max()) / observed_count,
    )


def _counts_of_orders(table: Arrangements, orders: Counter[tuple[int, ...]]) -> NDArray[np.float64]:
    """How often each of the n! orders was observed, as a vector: ``{(1, 0): 5}`` becomes ``[0, 5]``."""
    row_of_order = {tuple(order): row for row, order in enumerate(table.orders.tolist())}
    counts = np.zeros(len(table.orders))
    for order, count in orders.items():
        counts[row_of_order[order]] = count
    return counts


def _common_runs(observed: ObservedOrders, share: float = COMMONEST) -> set[str]:
    """The features of the commonest observed runs.

    Of 25 runs and a share of 0.1 these are three, as a fraction counts as one. Of equally common runs the first by
    alphabet are taken.
    """
    count_of_run: Counter[str] = Counter()
    for members, orders in observed.items():
        table = arrangements(len(members))
        # How often each column was observed; the columns about runs come after those about two members.
        counts_of_columns = np.asarray(_counts_of_orders(table, orders) @ table.occurrences)
        counts_of_runs = counts_of_columns[len(table.pair_columns) :]
        names = run_names(members, table) if counts_of_runs.any() else []
        for run in np.flatnonzero(counts_of_runs):
            count_of_run[names[run]] += int(counts_of_runs[run])
    ranked = sorted(count_of_run, key=lambda name: (-count_of_run[name], name))
    return set(ranked[: math.ceil(share * len(ranked))])


class _Design(NamedTuple):
    """The matrices of all groups of one size."""

    # (columns, n!), sparse: `Arrangements.occurrences` with its axes exchanged, as the gradient needs them.
    orders_of_columns: Any
    features: Any  # (groups · columns, features), sparse: which features a column of a group has
    observed: NDArray[np.float64]  # (n!, groups): how often each order of each group was observed


def _designs(observed: ObservedOrders, runs: set[str], feature_ids: dict[str, int]) -> list[_Design]:
    """Make the design of each size of groups.

    ``runs``: Features of runs that have a weight. (All features of two members have one.)
    ``feature_ids``: Filled: each feature gets the next number when it is met first.
    """
    designs = []
    for size in sorted({len(members) for members in observed}):
        groups_of_size = [members for members in observed if len(members) == size]
        table = arrangements(size)
        column_count = table.occurrences.shape[1]
        # The matrix `features` has a row for each column of the first group, then for each of the second, and so on.
        # A row has a one for each feature of its column: the n-th one is at (rows[n], features_of_rows[n]).
        rows: list[int] = []
        features_of_rows: list[int] = []
        for group, members in enumerate(groups_of_size):
            first_row = group * column_count
            for column, names in enumerate(pair_names(members, table.pair_columns)):
                rows.extend([first_row + column] * len(names))
                features_of_rows.extend([feature_ids.setdefault(name, len(feature_ids)) for name in names])
            for column, name in enumerate(run_names(members, table), len(table.pair_columns)):
                if name in runs:
                    rows.append(first_row + column)
                    features_of_rows.append(feature_ids.setdefault(name, len(feature_ids)))
        shape = (len(groups_of_size) * column_count, len(feature_ids))
        features = sparse.csr_matrix((np.ones(len(rows)), (rows, features_of_rows)), shape=shape)
        counts = [_counts_of_orders(table, observed[members]) for members in groups_of_size]
        designs.append(_Design(table.occurrences.T.tocsr(), features, np.stack(counts, axis=1)))
    # Larger groups have added features since the matrices of smaller ones were made.
    for design in designs:
        design.features.resize(design.features.shape[0], len(feature_ids))
    return designs


def objective(
    theta: NDArray[np.float64], designs: Sequence[_Design], l2: float
) -> tuple[float, NDArray[np.float64]]:
    """Compute the loss of weights, which is minus the penalised log-likelihood; and its gradient."""
    loss = l2 / 2 * float(theta @ theta)
    gradient = l2 * theta
    for design in designs:
        group_count = design.observed.shape[1]  # groups of the same members are one here
        column_weights = (design.features @ theta).reshape(group_count, -1)  # (groups, columns)
        scores = design.orders_of_columns.T @ column_weights.T  # (n!, groups)
        greatest = scores.max(axis=0)  # taken out of the exponents, so that none overflows
        exponentials = np.exp(scores - greatest)
        total = exponentials.sum(axis=0)
        counts_of_groups = design.observed.sum(axis=0)  # how often each group was observed, in any order
        log_normaliser = np.log(total) + greatest
        loss += float(counts_of_groups @ log_normaliser - (design.observed * scores).sum())
        # The gradient is the features of orders as often as the model expects them, minus as often as observed.
        surplus = exponentials * (counts_of_groups / total) - design.observed  # (n!, groups)
        surplus_of_columns = (design.orders_of_columns @ surplus).T.ravel()  # as the rows of `features`
        gradient = gradient + design.features.T @ surplus_of_columns
    return loss, gradient
