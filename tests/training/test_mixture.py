from __future__ import annotations

import pickle

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from training_fakes import stream

from isoglot.core.errors import ConfigurationError
from isoglot.training.mixture import Mixture


@given(
    primary=st.integers(1, 70),
    other=st.integers(1, 70),
    bucket=st.none() | st.integers(1, 40),
    seed=st.integers(0, 5),
    chunk=st.integers(1, 9),
)
@settings(max_examples=60, deadline=None)
def test_every_epoch_has_every_example_once(
    primary: int, other: int, bucket: int | None, seed: int, chunk: int
) -> None:
    mixture = Mixture(
        {"a": stream(primary), "b": stream(other)}, primary="a", length=3 * primary, seed=seed, bucket=bucket
    )
    seen = [
        int(row)
        for p in range(0, 3 * primary, chunk)
        for row in mixture.rows(range(p, min(p + chunk, 3 * primary)))["a"]
    ]
    for epoch in range(3):
        assert sorted(seen[epoch * primary : (epoch + 1) * primary]) == list(range(primary))
    counts = np.bincount(mixture.rows(range(3 * primary))["b"], minlength=other)
    assert counts.max() - counts.min() <= 2  # drawn alongside: at most a window's sorting apart
    assert counts.sum() == 3 * primary


def test_secondary_stream_is_used_up_before_it_is_drawn_again() -> None:
    mixture = Mixture({"a": stream(40), "b": stream(8)}, primary="a", length=40, seed=1)
    rows = mixture.rows(range(40))["b"].reshape(5, 8)
    assert all(sorted(r) == list(range(8)) for r in rows.tolist())
    assert len({tuple(r) for r in rows.tolist()}) == 5  # a new order each time


def test_a_run_that_ends_inside_a_window_does_not_see_its_shortest_examples_alone() -> None:
    mixture = Mixture({"a": stream(200)}, primary="a", length=100, seed=1, bucket=200)
    seen = mixture.lengths["a"][mixture.rows(range(100))["a"]]
    assert (np.diff(seen) >= 0).all() and seen[-10:].mean() > np.sort(mixture.lengths["a"])[-60:].mean()


def test_position_alone_decides() -> None:
    make = lambda: Mixture({"a": stream(50), "b": stream(31)}, primary="a", length=200, seed=3, bucket=16)  # noqa: E731
    first, second = make(), pickle.loads(pickle.dumps(make()))
    order = np.random.default_rng(0).permutation(200)
    shuffled = {int(p): second[int(p)] for p in order}
    for p in range(200):
        one, two = first[p], shuffled[p]
        assert one["position"] == two["position"] == p
        for name in ("a", "b"):
            assert np.array_equal(one[name]["input_ids"], two[name]["input_ids"])


def test_neighbours_have_similar_lengths_in_every_stream() -> None:
    mixture = Mixture(
        {"a": stream(200), "b": stream(150, seed=9)}, primary="a", length=400, seed=1, bucket=40
    )
    for window in range(10):
        start, stop = mixture.window(window)
        assert mixture.window_of(start) == mixture.window_of(stop - 1) == window
        for lengths in mixture.window_lengths(window).values():
            assert (np.diff(lengths) >= 0).all()
    assert mixture.window(9)[1] == 400


def test_examples_read_as_they_were_written() -> None:
    source = stream(20)
    mixture = Mixture({"a": source}, primary="a", length=20, seed=1, bucket=5)
    batch = mixture.__getitems__(range(3, 9))
    rows = mixture.rows(range(3, 9))["a"]
    for example, row in zip(batch, rows, strict=True):
        assert list(example["a"]["input_ids"]) == source[int(row)]["input_ids"]
        assert example["a"]["links"] == source[int(row)]["links"]
        assert example["a"]["language"] == source[int(row)]["language"]


def test_selected_rows() -> None:
    source = stream(200).shuffle(seed=1).select(range(0, 200, 2))
    mixture = Mixture({"a": source}, primary="a", length=1000, seed=1)
    row = int(mixture.rows([7])["a"][0])
    assert list(mixture[7]["a"]["input_ids"]) == source[row]["input_ids"]
    assert np.array_equal(mixture.lengths["a"], source["length"][:])


@pytest.mark.parametrize(
    ("streams", "options", "message"),
    [
        ({}, {"primary": "a"}, "the streams are"),
        ({"a": stream(3)}, {"primary": "b"}, r"\['a'\]"),
        ({"a": stream(3).select([])}, {"primary": "a"}, "no examples"),
    ],
)
def test_mistakes(streams: dict[str, Dataset], options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Mixture(streams, seed=0, **options)


def test_positions_outside_the_run() -> None:
    mixture = Mixture({"a": stream(3)}, primary="a", length=6, seed=0)
    with pytest.raises(IndexError, match="0 to 5"):
        mixture[6]
    endless = Mixture({"a": stream(3)}, primary="a", seed=0)
    assert len(endless) == 3 and endless[1000]["position"] == 1000


@pytest.mark.slow
@given(
    a=st.integers(1, 40),
    b=st.integers(1, 40),
    bucket=st.none() | st.integers(1, 30),
    seed=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_concatenated_streams_are_one_data_set(a: int, b: int, bucket: int | None, seed: int) -> None:
    sizes = {"a": a, "b": b}
    streams = {name: stream(size, seed=size) for name, size in sizes.items()}
    mixture = Mixture(streams, primary="a", length=2 * (a + b), seed=seed, bucket=bucket, concatenate=True)
    orders = []
    for epoch in range(2):
        positions = range(epoch * (a + b), (epoch + 1) * (a + b))
        rows = mixture.rows(positions)
        assert np.all(
            np.sum([rows[name] >= 0 for name in sizes], axis=0) == 1
        )  # one example at every position
        for name, size in sizes.items():
            assert sorted(rows[name][rows[name] >= 0].tolist()) == list(range(size))
        orders.append(rows["a"].tolist())
        for position, item in zip(positions, mixture.__getitems__(positions), strict=True):
            here = [name for name in sizes if rows[name][position - positions[0]] >= 0]
            assert sorted(item) == sorted([*here, "position"])
            row = int(rows[here[0]][position - positions[0]])
            assert np.array_equal(item[here[0]]["input_ids"], streams[here[0]][row]["input_ids"])
    if bucket is None and min(a, b) > 8:
        assert orders[0] != orders[1]  # a new order each epoch


def test_concatenated_batches_hold_each_stream_s_share() -> None:
    """A fifth of pairs is about 26 of 128, and the rest is text: not half of each."""
    streams = {"text": stream(8_000), "pairs": stream(2_000, seed=1)}
    mixture = Mixture(streams, primary="text", length=10_000, seed=1, bucket=128, concatenate=True)
    shares = [int((mixture.rows(range(p, p + 128))["pairs"] >= 0).sum()) for p in range(0, 9_984, 128)]
    assert np.mean(shares) == pytest.approx(25.6, abs=0.5)
    assert 10 < min(shares) < max(shares) < 45
    assert len(set(shares)) > 5  # drawn, not dealt


def test_concatenated_windows_are_sorted_as_one() -> None:
    streams = {"a": stream(60), "b": stream(40, seed=1)}
    mixture = Mixture(streams, primary="a", length=100, seed=1, bucket=50, concatenate=True)
    for window in range(2):
        lengths = np.max([*mixture.window_lengths(window).values()], axis=0)
        assert np.all(lengths[:-1] <= lengths[1:])


def test_samples_are_examples_of_each_stream() -> None:
    mixture = Mixture({"a": stream(3), "b": stream(2, seed=1)}, primary="a", seed=1, concatenate=True)
    samples = mixture.samples()
    assert sorted(samples) == ["a", "b"]
    assert sorted(samples["b"]) == sorted(mixture.streams["b"].column_names)
