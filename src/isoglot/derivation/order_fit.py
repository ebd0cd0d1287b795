"""``isoglot fit-order``: models of word order fitted to a treebank."""

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
from isoglot.derivation.syntax import HEAD_CLASSES, groups, is_projective, to_ud1
from isoglot.runs.files import make_folder, require_writable

_LOGGER = logging.getLogger(__name__)
_HEADS = {"N": "noun, name or pronoun", "V": "verb"}

SMALLEST, LARGEST = 2, 6
"""Sizes of the groups that models are fit to, head included."""

COMMONEST = 0.1
"""Share of the observed runs of three to five words that become features, as in galactic dependencies."""
TOLERANCE = 1e-4
"""A fit has converged when no feature's slope, per observed order, is steeper than this.

A slope is the difference between how often a feature was observed and how often the model expects it, so the unit is
one order in ten thousand. The optimiser's own verdict is of no use: at the optimum its line search may stop at the
rounding of the processor.
"""

Counts = dict[tuple[str, ...], Counter[tuple[int, ...]]]
"""By the members of a group, the head first and then sorted, how often each order was seen."""


class OrderFit(NamedTuple):
    """A fitted model."""

    model: OrderModel
    groups: int
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
    """Fit the models of nouns and of verbs; both are written once both are there.

    ``overwrite``: Replace other models of these names.
    """
    require_writable(out, folder=True)
    trees: list[Sentence] = []
    seen: set[Path] = set()
    for path in paths:
        if (resolved := Path(path).resolve()) in seen:
            raise ConfigurationError(f"{path}: got this treebank twice; give each treebank once")
        seen.add(resolved)
        for row in read_rows([str(path)], "treebank", languages=(request.language,), options={}):
            tree = Sentence.of_row(row)
            trees.append(to_ud1(tree) if request.labels == "ud2" else tree)
    fits = {}
    for kind, heads in _HEADS.items():
        if not (counts := observed_groups(trees, kind)):
            raise ConfigurationError(
                f"{', '.join(map(str, paths))}: no {heads} with one to five dependents in {len(trees):,} trees; give "
                "projective UD trees"
            )
        fits[kind] = fit(counts, l2=request.l2, iterations=request.iterations)
    folder = make_folder(out)
    files = [(folder / f"{request.language}@{kind}.orm", fitted) for kind, fitted in fits.items()]
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


def observed_groups(trees: Iterable[Sentence], kind: str) -> Counts:
    """Count the orders that heads of a class and their dependents have in projective trees.

    ``trees``: Sentences with their trees, in the labels that the model is to have.
    ``kind``: ``N`` for nouns, names and pronouns, ``V`` for verbs.
    """
    counts: Counts = defaultdict(Counter)
    for tree in trees:
        try:
            if not is_projective(tree.heads):
                continue
        except Underivable:
            continue
        for head, dependents in enumerate(groups(tree.heads)[:-1]):
            if HEAD_CLASSES.get(tree.upos[head]) != kind or not SMALLEST <= len(dependents) + 1 <= LARGEST:
                continue
            named = [(f"{tree.upos[word]}&{tree.deprels[word]}", word) for word in dependents]
            members = [(f"@{tree.upos[head]}&@", head), *sorted(named)]
            number_of = {word: number for number, (_, word) in enumerate(members)}
            from_left_to_right = sorted([head, *dependents])
            order = tuple(number_of[word] for word in from_left_to_right)
            counts[tuple(name for name, _ in members)][order] += 1
    return counts


def fit(counts: Counts, *, l2: float = 1.0, iterations: int = 200) -> OrderFit:
    r"""Fit the log-linear model of :class:`OrderModel` by L-BFGS.

    .. math:: \max_\theta \sum_g \log P_\theta(o_g) - \tfrac{l_2}{2} \lVert\theta\rVert^2

    Features of two members are those that any order of an observed group has; runs of three to five are those
    observed, and of them only the commonest :data:`COMMONEST`.

    Source: Wang and Eisner 2016, §4.
    """
    runs = _common_runs(counts)
    ids: dict[str, int] = {}
    designs = _designs(counts, runs, ids)
    result = optimize.minimize(
        objective,
        np.zeros(len(ids)),
        args=(designs, l2),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 10},
    )
    observed = sum(orders.total() for orders in counts.values())
    loss_before, _ = objective(np.zeros(len(ids)), designs, l2)
    loss = result.fun - l2 / 2 * float(result.x @ result.x)  # without the penalty
    per_bit = np.log(2) * observed  # losses are natural logarithms of all orders together
    return OrderFit(
        model=OrderModel(dict(zip(ids, result.x.tolist(), strict=True))),
        groups=observed,
        bits_before=float(loss_before / per_bit),
        bits=float(loss / per_bit),
        slope=float(np.abs(result.jac).max()) / observed,
    )


def _seen(table: Arrangements, orders: Counter[tuple[int, ...]]) -> NDArray[np.float64]:
    """How often each of the n! orders was observed."""
    number = {tuple(o): i for i, o in enumerate(table.orders.tolist())}
    seen = np.zeros(len(table.orders))
    for order, count in orders.items():
        seen[number[order]] = count
    return seen


def _common_runs(counts: Counts, share: float = COMMONEST) -> set[str]:
    """The commonest of the observed runs of three to five; a fraction of one run counts as one."""
    common: Counter[str] = Counter()
    for members, orders in counts.items():
        table = arrangements(len(members))
        times = np.asarray(_seen(table, orders) @ table.counts)[len(table.pairs) :]  # of each run
        names = run_names(members, table) if times.any() else []
        for column in np.flatnonzero(times):
            common[names[column]] += int(times[column])
    ranked = sorted(common, key=lambda name: (-common[name], name))
    return set(ranked[: math.ceil(share * len(ranked))])


class _Design(NamedTuple):
    """The matrices of all groups of one size."""

    counts: Any  # (columns, n!) sparse: how often each order has each column
    features: Any  # (groups · columns, features) sparse: which features a column of a group has
    seen: NDArray[np.float64]  # (n!, groups): how often each order was observed


def _designs(counts: Counts, runs: set[str], ids: dict[str, int]) -> list[_Design]:
    """Make the design of each size of groups; features get their numbers in ``ids``."""
    designs = []
    for size in sorted({len(members) for members in counts}):
        of_size = [members for members in counts if len(members) == size]
        table = arrangements(size)
        width = table.counts.shape[1]
        rows: list[int] = []
        features_of_rows: list[int] = []
        for group, members in enumerate(of_size):
            first_row = group * width  # a row is a column of the group
            for column, names in enumerate(pair_names(members, table.pairs)):
                rows.extend([first_row + column] * len(names))
                features_of_rows.extend([ids.setdefault(name, len(ids)) for name in names])
            for column, name in enumerate(run_names(members, table), len(table.pairs)):
                if name in runs:
                    rows.append(first_row + column)
                    features_of_rows.append(ids.setdefault(name, len(ids)))
        features = sparse.csr_matrix(
            (np.ones(len(rows)), (rows, features_of_rows)), shape=(len(of_size) * width, len(ids))
        )
        seen = np.stack([_seen(table, counts[members]) for members in of_size], axis=1)
        designs.append(_Design(table.counts.T.tocsr(), features, seen))
    for design in designs:
        # Larger groups have added features since.
        design.features.resize(design.features.shape[0], len(ids))
    return designs


def objective(
    theta: NDArray[np.float64], designs: Sequence[_Design], l2: float
) -> tuple[float, NDArray[np.float64]]:
    """The loss of weights, which is minus the penalised log-likelihood; and its gradient."""
    loss = l2 / 2 * float(theta @ theta)
    gradient = l2 * theta
    for design in designs:
        column_weights = (design.features @ theta).reshape(design.seen.shape[1], -1)  # (groups, columns)
        scores = design.counts.T @ column_weights.T  # (n!, groups)
        top = scores.max(axis=0)  # taken out of the exponents, so that none overflows
        exps = np.exp(scores - top)
        total = exps.sum(axis=0)
        times = design.seen.sum(axis=0)  # how often each group was observed
        loss += float(times @ (np.log(total) + top) - (design.seen * scores).sum())
        # Orders as the model expects them minus orders as observed.
        surplus = exps * (times / total) - design.seen
        gradient = gradient + design.features.T @ (design.counts @ surplus).T.ravel()
    return loss, gradient
