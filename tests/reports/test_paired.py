from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.reports import paired as module
from isoglot.reports.paired import compare, paired
from isoglot.results.example_counts import ENDING, CountsFile, ExampleCounts, shares


def _f1(rng: np.random.Generator, examples: int) -> ExampleCounts:
    """Spans per sentence: right, guessed and gold ones."""
    gold = np.random.default_rng(7).integers(1, 5, examples)
    both = rng.binomial(gold, 0.6)
    return ExampleCounts(2 * both, gold + both + rng.integers(0, 2, examples))


def test_p_of_few_differences_is_that_of_every_exchange() -> None:
    rng = np.random.default_rng(0)
    first, second = _f1(rng, 8), _f1(rng, 8)
    observed, seen = abs(first.value - second.value), 0
    for swaps in product([False, True], repeat=8):  # one exchange after the other
        sides = []
        for own, other in ((first, second), (second, first)):
            top = sum((other if s else own).numerators[i, 0] for i, s in enumerate(swaps))
            bottom = sum((other if s else own).denominators[i, 0] for i, s in enumerate(swaps))
            sides.append(100 * top / bottom)
        seen += abs(sides[0] - sides[1]) >= observed - 1e-9
    (found,) = paired({"f1": [first]}, {"f1": [second]})
    assert found.p == pytest.approx(seen / 2**8)


@pytest.mark.parametrize(("better", "worse"), [(9, 2), (6, 6), (5, 0)])
def test_p_of_accuracy_is_the_sign_tests(better: int, worse: int) -> None:
    same = [1] * 50 + [0] * 20
    first, second = (
        shares([*same, *own]) for own in ([1] * better + [0] * worse, [0] * better + [1] * worse)
    )
    (found,) = compare({"accuracy": first}, {"accuracy": second})
    assert found.p == pytest.approx(binomtest(better, better + worse).pvalue)
    assert found.differing == better + worse and found.examples == 70 + better + worse
    assert found.difference == pytest.approx(100 * (better - worse) / found.examples)


def test_sampled_p_agrees_with_scipys() -> None:
    rng = np.random.default_rng(1)
    first, second = _f1(rng, 60), _f1(rng, 60)
    tops, bottoms = (
        np.vstack([getattr(c, s) for c in (first, second)])[:, 0] for s in ("numerators", "denominators")
    )

    def difference(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        return abs(np.subtract(*(100 * tops[i].sum(axis) / bottoms[i].sum(axis) for i in (one, other))))

    theirs = permutation_test(
        (np.arange(60), np.arange(60, 120)), difference, permutation_type="samples", vectorized=True,
        n_resamples=4000, alternative="greater", rng=0,
    )  # fmt: skip
    (found,) = paired({"f1": [first]}, {"f1": [second]}, samples=4000)
    assert found.p == pytest.approx(theirs.pvalue, abs=0.03), "three standard errors"


def test_the_interval_is_that_of_resampled_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    first, second = _f1(rng, 30), _f1(rng, 30)
    whole = paired({"f1": [first]}, {"f1": [second]}, samples=400, seed=3)
    monkeypatch.setattr(module, "_BLOCK", 30 * 7)
    (found,) = paired({"f1": [first]}, {"f1": [second]}, samples=400, seed=3)
    assert found == whole[0], "however samples are cut into blocks"
    generator = np.random.default_rng(0)
    values = []
    for _ in range(4000):  # one sample after the other
        drawn = generator.integers(0, 30, 30)
        one, other = (100 * c.numerators[drawn].sum() / c.denominators[drawn].sum() for c in (first, second))
        values.append(one - other)
    low, high = np.quantile(values, (0.025, 0.975))
    spread = np.std(values)
    assert found.low == pytest.approx(low, abs=0.4 * spread) and found.high == pytest.approx(
        high, abs=0.4 * spread
    )
    assert found.low < found.difference < found.high


def test_macro_f1_and_several_metrics_are_computed_anew_in_each_sample() -> None:
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 3, 40)
    sides = []
    for noise in (0.1, 0.4):
        given = np.where(rng.random(40) < noise, rng.integers(0, 3, 40), gold)
        is_gold, is_given = gold[:, None] == np.arange(3), given[:, None] == np.arange(3)
        macro = ExampleCounts(2.0 * (is_gold & is_given), 1.0 * is_gold + is_given)
        sides.append({"accuracy": [shares(given == gold)], "macro_f1": [macro]})
    together = paired(*sides, samples=500)
    assert [c.metric for c in together] == ["accuracy", "macro_f1"]
    again = paired(*reversed(sides), samples=500)
    for one, other in zip(together, again, strict=True):
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low)) and one.p == other.p
    assert paired(*sides, samples=500, seed=2) != together


def test_runs_are_averaged_as_their_own_values_are() -> None:
    """A class that one run never has is left out of that run's mean alone; harmonic means are taken run by run."""
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 2, 30)
    sides: list[dict[str, list[ExampleCounts]]] = []
    for noise in (0.1, 0.5):
        side: dict[str, list[ExampleCounts]] = {"macro_f1": [], "links": []}
        for classes in (3, 2):  # the third class is given by the first run alone
            given = np.where(rng.random(30) < noise, rng.integers(0, classes, 30), gold)
            is_gold, is_given = gold[:, None] == np.arange(3), given[:, None] == np.arange(3)
            side["macro_f1"].append(ExampleCounts(2.0 * (is_gold & is_given), 1.0 * is_gold + is_given))
            hits, found = (is_gold & is_given).sum(1), 1 + rng.integers(0, 3, 30)
            counts = (np.stack([hits, hits], 1), np.stack([found, np.full(30, 2)], 1))
            side["links"].append(ExampleCounts(*counts, "harmonic"))
        sides.append(side)
    generator = np.random.default_rng(0)
    for own in paired(*sides, samples=2000):
        runs = [side[own.metric] for side in sides]
        values = [np.mean([run.value for run in side]) for side in runs]
        assert [own.first, own.second] == pytest.approx(values)

        def value(counts: ExampleCounts, rows: np.ndarray) -> float:
            part = (counts.numerators[rows], counts.denominators[rows])
            return ExampleCounts(*part, counts.combine).value

        drawn = [generator.integers(0, 30, 30) for _ in range(2000)]
        means = [[np.mean([value(run, rows) for run in side]) for side in runs] for rows in drawn]
        differences = np.array(means) @ [1, -1]
        ends = np.quantile(differences, (0.025, 0.975))
        assert [own.low, own.high] == pytest.approx(ends, abs=0.25 * differences.std())


def test_equal_systems_do_not_differ() -> None:
    own = {"accuracy": shares([1, 0, 1])}
    (found,) = compare(own, own)
    assert (found.difference, found.low, found.high, found.p, found.differing) == (0, 0, 0, 1, 0)
    nothing = {"accuracy": [shares([])]}
    assert paired({}, nothing) == paired(nothing, nothing) == []


def _write(folder: Path, right: list[int], **about: Any) -> Path:
    told = {"run": folder.name, "task": "pos", "language": "de", "split": "test", "data": "a", **about}
    path = folder / told["task"] / f"{told['split']}-{told['language']}{ENDING}"
    CountsFile(told, {"accuracy": shares(right)}).write(path)
    return folder


def test_folders_of_predictions_are_compared_where_both_have_counts(tmp_path: Path) -> None:
    first = _write(tmp_path / "weam", [1, 1, 1, 0])
    _write(first, [1, 1, 1, 1], language="fr")
    second = _write(tmp_path / "tlm", [0, 0, 1, 0])
    (found,) = compare(first, second)
    assert str(found).startswith("pos de accuracy: 75.0 against 25.0, +50.0 (95 % interval ")
    assert found.about == {"task": "pos", "language": "de", "split": "test", "first": "weam", "second": "tlm"}
    (of_file,) = compare(first / "pos" / f"test-de{ENDING}", second)
    assert of_file == found
    with pytest.raises(ConfigurationError, match=f"{tmp_path.name}: .*pos de test .*checkpoints"):
        compare(tmp_path, second)
    (found,) = compare(second, _write(tmp_path / "codes", [0, 0, 1, 1], language="deu"))
    assert found.about["language"] == "de" and found.difference == -25.0


@pytest.mark.parametrize(
    ("second", "named"),
    [
        ({"right": [1], "task": "ner"}, "pos de test, second ner de test; .*predictions=FOLDER"),
        ({"right": [1, 1, 1, 1], "data": "b"}, "pos de test: .*examples"),
        ({"right": [1, 1, 1]}, "accuracy: 4 and 3 "),
    ],
    ids=["another task", "other examples", "fewer examples"],
)
def test_compare_names_where_folders_differ(tmp_path: Path, second: dict[str, Any], named: str) -> None:
    first = _write(tmp_path / "weam", [1, 1, 1, 0])
    with pytest.raises(ConfigurationError, match=named):
        compare(first, _write(tmp_path / "tlm", **second))


def test_compare_refuses_a_folder_without_counts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: .*\.counts\.safetensors.*predictions="):
        compare(_write(tmp_path / "weam", [1]), tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"samples": 0}, "samples .*got 0"),
        ({"samples": 1e4}, "samples and seed .*got 10000.0 and 1"),
        ({"seed": None}, "samples and seed .*got 10000 and None"),
        ({"second": [1, 0]}, r"got \[1, 0\]"),
        ({"second": {"accuracy": [1, 0]}}, r"accuracy: .*ExampleCounts, got \[1, 0\]"),
        ({"second": {"f1": shares([1])}}, "accuracy of 2, second f1 of 1"),
        ({"first": {"accuracy": shares([])}, "second": {"accuracy": shares([])}}, "accuracy of 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_compare_refuses(wrong: dict[str, Any], named: str) -> None:
    own = {"accuracy": shares([1, 0])}
    with pytest.raises(ConfigurationError, match=named):
        compare(**{"first": own, "second": own, **wrong})


def test_lists_of_runs_pool_their_seeds(tmp_path: Path) -> None:
    """A value is the mean over seeds, and an example's outputs of all seeds are exchanged at once."""
    right = {"weam": ([1, 1, 1, 0], [1, 1, 0, 0]), "tlm": ([0, 1, 0, 0], [0, 0, 0, 0])}
    folders = {
        name: [
            _write(tmp_path / name / f"seed-{n}", list(run), run=name, seed=n)
            for n, run in enumerate(runs, 1)
        ]
        for name, runs in right.items()
    }
    (found,) = compare(folders["weam"], folders["tlm"])
    assert (found.first, found.second, found.difference) == (62.5, 12.5, 50.0)
    (of_folders,) = compare(tmp_path / "weam", tmp_path / "tlm")
    assert (of_folders.difference, of_folders.p) == (found.difference, found.p), (
        "a folder of seeds is their list"
    )
    with pytest.raises(ConfigurationError, match=r"pos de test .* seed 1"):
        compare([*folders["weam"], *folders["tlm"]], folders["tlm"])
