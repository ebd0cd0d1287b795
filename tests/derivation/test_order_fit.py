from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from refusals import refused
from small_trees import CONLLU, SVO

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence, with_derived_words
from isoglot.derivation.options import OrderFitRequest, TransformOptions
from isoglot.derivation.order_fit import fit, fit_order_models, observed_groups
from isoglot.derivation.order_model import OrderModel
from isoglot.derivation.syntax import Syntax


def test_fit_recovers_the_model_that_made_the_data() -> None:
    truth = {"BI_@NOUN_ADJ": 1.5, "PRE_DET_@NOUN": 2.5, "PRE_PUNCT_@NOUN": -2.0}
    syntax = Syntax({"N": OrderModel(truth)}, TransformOptions(ud_labels="literal"))
    phrase = Sentence(
        ("the", "old", "cat", ","),
        ("DET", "ADJ", "NOUN", "PUNCT"),
        (3, 3, 0, 3),
        ("det", "amod", "root", "punct"),
    )
    trees = []
    for key in range(2500):
        derived = syntax(phrase, key=key)
        trees.append(with_derived_words(phrase, derived))
    counts = observed_groups(trees, "N")
    assert sum(sum(c.values()) for c in counts.values()) == 2500
    found = fit(counts, l2=0.1)
    assert found.converged
    assert not fit(counts, l2=0.1, iterations=1).converged
    assert found.bits < found.bits_before == pytest.approx(4.585, abs=1e-3)
    group = ["@NOUN&@", "DET&det", "ADJ&amod", "PUNCT&punct"]
    expected = OrderModel(truth).distribution(group).probabilities
    assert found.model.distribution(group).probabilities == pytest.approx(expected, abs=0.03)
    assert not observed_groups(trees, "V")


def test_objective_gradient_is_the_slope_of_its_value() -> None:
    import numpy as np

    from isoglot.derivation import order_fit

    counts = observed_groups([SVO, SVO._replace(heads=(3, 3, 5, 5, 0, 5))], "N")
    counts[("@NOUN&@", "ADJ&amod", "DET&det", "X&dep")][2, 0, 1, 3] += 2
    ids: dict[str, int] = {}
    runs = order_fit._common_runs(counts, 1.0)
    assert len(order_fit._common_runs(counts, 1.2 / len(runs))) == 2
    assert not order_fit._common_runs(counts, 0.0)
    designs = order_fit._designs(counts, runs, ids)
    problem = partial(order_fit.objective, designs=designs, l2=0.3)
    theta = np.random.default_rng(0).normal(size=len(ids))
    value, gradient = problem(theta)
    model = OrderModel(dict(zip(ids, theta.tolist(), strict=True)))
    direct = 0.15 * float(theta @ theta)
    for members, orders in counts.items():
        found = model.distribution(members)
        rows = found.orders.tolist()
        direct -= sum(c * np.log(found.probabilities[rows.index(list(o))]) for o, c in orders.items())
    assert value == pytest.approx(direct)
    for i in range(0, len(ids), 17):
        step = np.zeros(len(ids))
        step[i] = 1e-5
        slope = (problem(theta + step)[0] - problem(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=1e-5)


def test_fit_that_stops_early_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    treebank = tmp_path / "fr.conllu"
    treebank.write_text(CONLLU * 20)
    with refused(ConfigurationError, "fr.conllu: ", "twice"):
        fit_order_models([treebank, str(treebank)], tmp_path / "models", OrderFitRequest(language="fr"))
    fit_order_models([treebank], tmp_path / "models", OrderFitRequest(language="fr"))
    assert not caplog.records
    early = OrderFitRequest(language="fr", iterations=1)
    fit_order_models([treebank], tmp_path / "models", early, overwrite=True)
    assert "fr@N.orm did not converge after 1 iterations" in caplog.text
