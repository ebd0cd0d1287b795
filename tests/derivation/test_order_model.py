"""Scores and probabilities of orders."""

from __future__ import annotations

import math
import os
from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import reference
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.derivation.order_model import OrderModel

TAGS = ("DET", "ADJ", "NOUN")
RELATIONS = ("det", "amod", "nmod")
LANGUAGES = ("en", "fr", "hi")


def naive_counts(children: list[str]) -> Counter[str]:
    """Feature counts of one order, by loops."""
    found: Counter[str] = Counter()
    for stream in (children, [c.split("&")[0] for c in children], [c.split("&")[1] for c in children]):
        head = next(i for i, c in enumerate(stream) if c.startswith("@"))
        padded = ["BOS", *stream, "EOS"]
        found.update(f"BI_{a}_{b}" for a, b in pairwise(padded))
        for i, a in enumerate(stream):
            for j in range(i + 1, len(stream)):
                found[f"PRE_{a}_{stream[j]}"] += 1
                if head not in (i, j):
                    kind = "BFR" if j < head else "AFT" if i > head else "BTW"
                    found[f"{kind}_{a}_{stream[j]}"] += 1
    high = min(5, len(children))
    padded = ["BOS"] * (high - 1) + children + ["EOS"] * (high - 1)
    for end in range(high - 1, len(padded)):
        for k in range(3, high + 1):
            found["HI_" + "_".join(padded[end - k + 1 : end + 1])] += 1
    return found


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(RELATIONS)), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_distribution_scores_equal_a_count_by_loops(deps: list[tuple[str, str]], seed: int) -> None:
    children = ["@NOUN&@", *(f"{t}&{r}" for t, r in deps)]
    names = sorted({n for order in permutations(children) for n in naive_counts(list(order))})
    generator = np.random.default_rng(seed)
    kept = [n for n in names if generator.random() < 0.7]
    model = OrderModel(dict(zip(kept, generator.normal(size=len(kept)).tolist(), strict=True)))
    found = model.distribution(children)
    assert sorted(map(tuple, found.orders.tolist())) == sorted(permutations(range(len(children))))
    for order, score in zip(found.orders.tolist(), found.scores.tolist(), strict=True):
        counts = naive_counts([children[i] for i in order])
        assert score == pytest.approx(sum(model.weights.get(n, 0) * c for n, c in counts.items()), abs=1e-9)
    exps = np.exp(found.scores)
    np.testing.assert_allclose(found.probabilities, exps / exps.sum(), atol=1e-12)


def test_distribution_of_seven_members_has_5040_orders() -> None:
    children = ["@VERB&@", *(f"NOUN&r{i}" for i in range(6))]
    found = OrderModel({"HI_NOUN&r0_NOUN&r1_NOUN&r2_NOUN&r3_NOUN&r4": 1.0}).distribution(children)
    assert len(found.scores) == math.factorial(7)
    assert found.scores.sum() == 6  # the run of five, with the two others on either side of it


def test_order_model_files_round_trip_and_mix(tmp_path: Path) -> None:
    one, two = OrderModel({"BI_a_b": 0.25, "PRE_c_d": -1e-7}), OrderModel({"BI_a_b": 2.0, "HI_x_y_z": 4.0})
    one.save(tmp_path / "one.orm")
    assert OrderModel.load(tmp_path / "one.orm").weights == one.weights
    assert one.mixed(two, 0.5).weights == {"BI_a_b": 1.125, "PRE_c_d": -5e-8, "HI_x_y_z": 2.0}


@pytest.mark.parametrize("line", ["BI_a_b", "BI_a_b x", "BI_a_b nan", " 3"])
def test_order_model_names_bad_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.orm"
    path.write_text(f"PRE_a_b 1.0\n{line}\n")
    with refused(InputError, f"bad.orm:2: '{line.strip()}'"):
        OrderModel.load(path)
    with refused(InputError, "none.orm: ", ".orm"):
        OrderModel.load(tmp_path / "none.orm")


@pytest.mark.parametrize("language", ["fr", "hi"])
def test_distribution_equals_golden_scores_and_probabilities(language: str) -> None:
    """Values of the authors' own program, where its models are at hand."""
    root = os.environ.get("ISOGLOT_DATA")
    if root is None:
        pytest.skip("ISOGLOT_DATA is not set")
    folder = Path(root) / "galactic"
    if not (folder / f"{language}@N.orm").exists():
        pytest.skip(f"no {language}@N.orm in {folder}")
    cases = reference("order_scores")["order_scores"]["cases"]
    cases = [c for c in cases if f"~{language}@" in c["spec"]]
    models = {
        kind: OrderModel.load(folder / f"{language}@{kind}.orm").mixed(
            OrderModel.load(folder / f"en@{kind}.orm"), 0.05
        )
        for kind in "NV"
    }
    for case in cases:
        children = case["children"]
        given = sorted(range(len(children)), key=lambda i: not children[i].startswith("@"))  # the head first
        found = models[case["spec"][-1]].distribution([children[i] for i in given])
        row = np.array(given)[found.orders].tolist().index(case["order"])
        assert found.scores[row] == pytest.approx(case["score"], abs=1e-6)
        assert found.probabilities[row] == pytest.approx(case["prob"], rel=1e-6, abs=1e-12)
    assert len(cases) > 100
