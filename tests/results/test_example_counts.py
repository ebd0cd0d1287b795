from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.results.example_counts import ENDING, CountsFile, ExampleCounts, combined, shares

ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=8)


@given(ROWS)
def test_values_equal_their_definitions(rows: list[tuple[int, int, int, int]]) -> None:
    tops = [[min(a, c), min(b, d)] for a, b, c, d in rows]
    bottoms = [[c, d] for _, _, c, d in rows]
    parts = []
    for place in (0, 1):
        top, bottom = (sum(row[place] for row in side) for side in (tops, bottoms))
        parts.append(None if bottom == 0 else 100 * top / bottom)
    known = [part for part in parts if part is not None]
    mean = sum(known) / len(known) if known else 0.0
    assert ExampleCounts(tops, bottoms).value == pytest.approx(mean)
    harmonic = 2 / (1 / known[0] + 1 / known[1]) if len(known) == 2 and min(known) > 0 else 0.0
    assert ExampleCounts(tops, bottoms, "harmonic").value == pytest.approx(harmonic)


def test_sums_of_many_samples_are_combined_at_once() -> None:
    rng = np.random.default_rng(0)
    tops, bottoms = rng.integers(0, 3, (5, 2)) * 1.0, rng.integers(1, 4, (5, 2)) * 1.0
    for how in ("mean", "harmonic"):
        one_by_one = [
            ExampleCounts([top], [bottom], how).value for top, bottom in zip(tops, bottoms, strict=True)
        ]
        assert combined(tops, bottoms, how).tolist() == pytest.approx(one_by_one)
    assert shares([True, False, 0.5]).value == 50.0
    assert shares(share for share in (1.0, 0.5)).value == 75.0
    with pytest.raises(ConfigurationError, match="got 50; give one number from 0 to 1 per example"):
        shares([50.0, 0.0])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([1, 2], [1]), r"one shape, .*, got \(2,\) and \(1,\)"),
        ((1, 1), "one shape"),
        (([np.nan, 1], [1, 1]), "not finite"),
        (([1, 1], [np.inf, 1]), "not finite"),
        (([-1, 1], [1, 1]), "negative"),
        ((["a"], [1]), r"numbers, got \['a'\]"),
        (([[1], [1, 2]], [1]), "numbers, got"),
        (([1], [1], "sum"), "mean or harmonic, got 'sum'"),
    ],
)
def test_example_counts_must_be_counts(given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ExampleCounts(*given)


def test_files_hold_what_was_written_and_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / f"test-de{ENDING}"
    metrics = {
        "f1": ExampleCounts([[1, 0], [2, 1]], [[2, 2], [2, 2]], "harmonic"),
        "accuracy": shares([1, 0]),
    }
    CountsFile({"run": "tlm", "options": {"layer": 3}, "seed": None}, metrics).write(path)
    found = CountsFile.read(path)
    assert found.about == {"run": "tlm", "options": {"layer": 3}, "seed": None}
    assert {name: own.value for name, own in found.metrics.items()} == {
        n: o.value for n, o in metrics.items()
    }
    assert found.metrics["f1"].combine == "harmonic"
    CountsFile({}, {"accuracy": shares([1, 0]), "x": shares([1, 0, 1])}).write(path)
    with pytest.raises(InputError, match=f"{path.name}.*different"):
        CountsFile.read(path)
    header = {"isoglot": '{"combine": {"x": "mean"}}'}
    for wrong, told in ((np.array([np.nan, 1]), "not finite"), (np.array([-1.0, 1]), "negative")):
        save_file({"x/numerators": wrong, "x/denominators": np.ones_like(wrong)}, path, metadata=header)
        with pytest.raises(InputError, match=f"{path.name}.*{told}"):
            CountsFile.read(path)
    save_file({"x": np.ones(2)}, path, metadata={"isoglot": '{"combine": "mean"}'})
    with pytest.raises(InputError, match="holds no counts of examples"):
        CountsFile.read(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match="holds no counts of examples"):
        CountsFile.read(path)
    save_file({"x": np.ones(2)}, path)
    with pytest.raises(InputError, match="holds no counts of examples"):
        CountsFile.read(path)
