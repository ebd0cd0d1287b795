"""``isoglot fit-order``: a treebank in, models of word order out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from isoglot.derive.base import Sentence
from isoglot.derive.input import read_rows
from isoglot.derive.options import OrderFitRequest
from isoglot.derive.order_fit import OrderFit, fit, observed_groups
from isoglot.derive.ud1 import reattach, to_ud1
from isoglot.errors import ConfigurationError
from isoglot.runs.files import make_folder

__all__ = ["OrderFitRequest", "fit_order_models"]

_LOGGER = logging.getLogger(__name__)
_HEADS = {"N": "noun, name or pronoun", "V": "verb"}


def fit_order_models(
    paths: Sequence[str | Path], out: str | Path, request: OrderFitRequest
) -> list[tuple[Path, OrderFit]]:
    """Fit the models of nouns and of verbs; both are written once both are there."""
    trees: list[Sentence] = []
    for path in paths:
        for row in read_rows([str(path)], "treebank", languages=(request.language,), options={}):
            tree = Sentence(
                tuple(row["words"]), tuple(row["upos"]), tuple(row["heads"]), tuple(row["deprels"])
            )
            tree = to_ud1(tree) if request.labels == "ud2" else tree
            trees.append(reattach(tree) if request.reattach else tree)
    fits = {kind: _fit(trees, kind, request, names=paths) for kind in ("N", "V")}
    folder = Path(out)
    make_folder(folder)
    found = []
    for kind, fitted in fits.items():
        path = folder / f"{request.language}@{kind}.orm"
        fitted.model.save(path)
        if not fitted.converged:
            _LOGGER.warning(
                "%s is not at its optimum after %d iterations; give more iterations", path, request.iterations
            )
        found.append((path, fitted))
    return found


def _fit(
    trees: Sequence[Sentence], kind: str, request: OrderFitRequest, *, names: Sequence[str | Path]
) -> OrderFit:
    counts = observed_groups(trees, kind)
    if not counts:
        raise ConfigurationError(
            f"{', '.join(str(n) for n in names)}: no {_HEADS[kind]} with one to five dependents in {len(trees):,} "
            "trees; give projective UD trees"
        )
    return fit(counts, l2=request.l2, high_order=request.high_order, iterations=request.iterations)
