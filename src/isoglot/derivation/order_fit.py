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
"""Share of the observed runs of three to five words that become features, as in the original."""
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
    bits_before: float  # an order under uniform orders
    bits: float  # an order under the model (on the data it was fit to)
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
    """The orders that heads of a class and their dependents have in projective trees.

    ``trees``: sentences with their analysis, in the labels that the model is to have.
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
            named = [(f"{tree.upos[i]}&{tree.deprels[i]}", i) for i in dependents]
            members = [(f"@{tree.upos[head]}&@", head), *sorted(named)]
            number = {word: n for n, (_, word) in enumerate(members)}
            order = tuple(number[i] for i in sorted([head, *dependents]))
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
    total = sum(sum(c.values()) for c in counts.values())
    start, _ = objective(np.zeros(len(ids)), designs, l2)
    end = result.fun - l2 / 2 * float(result.x @ result.x)
    weights = dict(zip(ids, result.x.tolist(), strict=True))
    bits = np.log(2) * total
    slope = float(np.abs(result.jac).max()) / total
    return OrderFit(OrderModel(weights), total, float(start / bits), float(end / bits), slope)


def _seen(table: Arrangements, orders: Counter[tuple[int, ...]]) -> NDArray[np.float64]:
    """How often each of the n! orders was observed."""
    number = {tuple(o): i for i, o in enumerate(table.orders.tolist())}
    seen = np.zeros(len(table.orders))
    for order, count in orders.items():
        seen[number[order]] = count
    return seen


def _common_runs(counts: Counts, share: float = COMMONEST) -> set[str]:
    """The commonest of the observed runs of three to five; a fraction of one counts as one, as in the original."""
    common: Counter[str] = Counter()
    for members, orders in counts.items():
        table = arrangements(len(members))
        columns = np.asarray(_seen(table, orders) @ table.counts)[len(table.pairs) :]
        names = run_names(members, table) if columns.any() else []
        for i in np.flatnonzero(columns):
            common[names[i]] += int(columns[i])
    ranked = sorted(common, key=lambda name: (-common[name], name))
    return set(ranked[: math.ceil(share * len(ranked))])


class _Design(NamedTuple):
    """All groups of one size."""

    counts: Any  # (columns, n!) sparse, transposed
    features: Any  # (groups · columns, features) sparse: which features a column of a group stands for
    seen: NDArray[np.float64]  # (n!, groups), how often each order was observed


def _designs(counts: Counts, runs: set[str], ids: dict[str, int]) -> list[_Design]:
    """The design of each size that there is; features get numbers in ``ids``."""
    designs = []
    for n in sorted({len(members) for members in counts}):
        of_size = [members for members in counts if len(members) == n]
        table = arrangements(n)
        width = table.counts.shape[1]
        rows: list[int] = []
        columns: list[int] = []
        for g, members in enumerate(of_size):
            for c, names in enumerate(pair_names(members, table.pairs)):
                rows.extend([g * width + c] * len(names))
                columns.extend([ids.setdefault(name, len(ids)) for name in names])
            for c, name in enumerate(run_names(members, table), len(table.pairs)):
                if name in runs:
                    rows.append(g * width + c)
                    columns.append(ids.setdefault(name, len(ids)))
        features = sparse.csr_matrix(
            (np.ones(len(rows)), (rows, columns)), shape=(len(of_size) * width, len(ids))
        )
        seen = np.stack([_seen(table, counts[members]) for members in of_size], axis=1)
        designs.append(_Design(table.counts.T.tocsr(), features, seen))
    for design in designs:
        design.features.resize(design.features.shape[0], len(ids))
    return designs


def objective(
    theta: NDArray[np.float64], designs: Sequence[_Design], l2: float
) -> tuple[float, NDArray[np.float64]]:
    """Minus the penalised log-likelihood, and its gradient."""
    value = l2 / 2 * float(theta @ theta)
    gradient = l2 * theta
    for design in designs:
        values = (design.features @ theta).reshape(design.seen.shape[1], -1)
        scores = design.counts.T @ values.T  # (n!, groups)
        top = scores.max(axis=0)
        exps = np.exp(scores - top)
        total = exps.sum(axis=0)
        often = design.seen.sum(axis=0)
        value += float(often @ (np.log(total) + top) - (design.seen * scores).sum())
        surplus = exps * (often / total) - design.seen
        gradient = gradient + design.features.T @ (design.counts @ surplus).T.ravel()
    return value, gradient
