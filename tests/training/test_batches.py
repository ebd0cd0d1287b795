from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_fakes import stream

from isoglot.core.errors import ConfigurationError
from isoglot.training.batches import BatchOptions, StreamCost, TokenBudgetBatches, bucket_positions
from isoglot.training.mixture import Mixture


def mixture_of(size: int, *, epochs: int = 2, bucket: int | None = 24, other: int = 17) -> Mixture:
    return Mixture(
        {"a": stream(size), "b": stream(other, seed=4)},
        primary="a",
        length=epochs * size,
        seed=5,
        bucket=bucket,
    )


def dealt(
    mixture: Mixture, options: BatchOptions, world: int, accumulation: int, **kwargs: Any
) -> list[list[list[int]]]:
    """[rank][batch] lists."""
    return [
        list(
            TokenBudgetBatches(
                mixture, options, rank=r, world_size=world, accumulation=accumulation, **kwargs
            )
        )
        for r in range(world)
    ]


def padded(mixture: Mixture, options: BatchOptions, batch: range) -> int:
    rows = mixture.rows(batch)
    total = 0
    for name, numbers in rows.items():
        present = numbers[numbers >= 0]
        costs = options.costs.get(name, StreamCost()).tokens(mixture.lengths[name][present])
        total += len(present) * int(costs.max(initial=0))
    return total


@given(
    size=st.integers(8, 90),
    bucket=st.none() | st.integers(8, 60),
    world=st.integers(1, 3),
    accumulation=st.integers(1, 2),
    options=st.one_of(
        st.builds(BatchOptions, examples=st.integers(1, 9)),
        st.builds(BatchOptions, tokens=st.integers(20, 600)),
    ),
)
@settings(max_examples=30, deadline=None)
def test_no_position_lost_or_doubled(
    size: int, bucket: int | None, world: int, accumulation: int, options: BatchOptions
) -> None:
    mixture = mixture_of(size, bucket=bucket)
    if bucket is not None and bucket // 2 < world * accumulation:
        return
    ranks = dealt(mixture, options, world, accumulation)
    assert len({len(r) for r in ranks}) == 1
    assert len(ranks[0]) == len(
        TokenBudgetBatches(mixture, options, world_size=world, accumulation=accumulation)
    )
    positions = [p for rank in ranks for batch in rank for p in batch]
    assert sorted(positions) == list(range(2 * size))
    assert all(len(batch) > 0 for rank in ranks for batch in rank)


@given(
    size=st.integers(30, 90),
    budget=st.integers(70, 900),
    world=st.integers(1, 3),
    bucket=st.sampled_from([None, 30]),
)
@settings(max_examples=25, deadline=None)
def test_budget_holds(size: int, budget: int, world: int, bucket: int | None) -> None:
    mixture = mixture_of(size, bucket=bucket)
    options = BatchOptions(
        tokens=budget, costs={"a": StreamCost(views=1, specials=2), "b": StreamCost(specials=3, limit=10)}
    )
    batches = [b for rank in dealt(mixture, options, world, 1) for b in rank]
    if (
        world == 1 or budget > 200
    ):  # (else nearly every batch is one example and the last of a window may grow by one)
        assert all(padded(mixture, options, b) <= budget or len(b) == 1 for b in batches)


@pytest.mark.parametrize("concatenate", [False, True])
def test_greedy_cut_equals_the_naive_one(concatenate: bool) -> None:
    streams = {"a": stream(73 if concatenate else 90), "b": stream(17, seed=4)}
    mixture = Mixture(streams, primary="a", length=90, seed=5, concatenate=concatenate)
    options = BatchOptions(tokens=300)
    naive: list[range] = []
    start = 0
    while start < 90:
        stop = start + 1
        while stop < 90 and padded(mixture, options, range(start, stop + 1)) <= 300:
            stop += 1
        naive.append(range(start, stop))
        start = stop
    assert list(TokenBudgetBatches(mixture, options)) == naive


@pytest.mark.parametrize("options", [BatchOptions(examples=3), BatchOptions(tokens=200)])
def test_a_step_does_not_depend_on_how_it_is_shared_out(options: BatchOptions) -> None:
    mixture = mixture_of(90, bucket=36)
    steps = []
    for world, accumulation in ((4, 1), (2, 2), (1, 4)):
        ranks = dealt(mixture, options, world, accumulation)
        steps.append(
            [
                sorted(p for rank in ranks for b in rank[i : i + accumulation] for p in b)
                for i in range(0, len(ranks[0]), accumulation)
            ]
        )
    assert steps[0] == steps[1] == steps[2]


def test_two_ranks_take_what_one_takes_with_double_batches() -> None:
    mixture = mixture_of(96, bucket=24)
    two = dealt(mixture, BatchOptions(examples=3), 2, 1)
    one = dealt(mixture, BatchOptions(examples=6), 1, 1)
    assert [[*a, *b] for a, b in zip(*two, strict=True)] == [list(b) for b in one[0]]


def test_steps_go_beyond_an_epoch_and_extend_a_run() -> None:
    mixture = Mixture({"a": stream(40)}, primary="a", seed=1, bucket=20)
    options = BatchOptions(tokens=150)
    short = list(TokenBudgetBatches(mixture, options, steps=30))
    long = list(TokenBudgetBatches(mixture, options, steps=45))
    assert len(short) == 30 and long[:30] == short
    assert max(max(b) for b in long) > 80


def test_epochs_of_a_step() -> None:
    mixture = mixture_of(60, epochs=3, bucket=20)
    batches = TokenBudgetBatches(mixture, BatchOptions(examples=5))
    assert batches.steps == 36
    assert [batches.epoch_at(s) for s in (0, 12, 18, 36)] == [0.0, 1.0, 1.5, 3.0]


def test_order_of_steps_is_shuffled_inside_a_window() -> None:
    mixture = mixture_of(240, epochs=1, bucket=120)
    batches = list(TokenBudgetBatches(mixture, BatchOptions(examples=5)))
    firsts = [b[0] for b in batches]
    assert firsts[:24] != sorted(firsts[:24]) and set(firsts[:24]) == set(range(0, 120, 5))


def test_padding_shrinks_with_buckets() -> None:
    options = BatchOptions(tokens=600)
    steps = [
        TokenBudgetBatches(mixture_of(600, epochs=1, bucket=b, other=600), options).steps for b in (None, 300)
    ]
    assert steps[1] < 0.7 * steps[0]


def test_bucket_positions() -> None:
    lengths = {"a": np.full(10, 7, dtype=np.int32)}
    assert bucket_positions(lengths, BatchOptions(examples=8), steps=50, batches_per_step=2) == 800
    assert bucket_positions(lengths, BatchOptions(tokens=100), steps=50) == 500  # 7 pieces + 3 specials


def test_mistakes() -> None:
    endless = Mixture({"a": stream(4)}, primary="a", seed=0)
    with pytest.raises(ConfigurationError, match="steps, or a mixture"):
        TokenBudgetBatches(endless, BatchOptions(examples=2))
    with pytest.raises(ConfigurationError, match="one optimiser step needs 8"):
        TokenBudgetBatches(endless, BatchOptions(examples=2), world_size=4, accumulation=2, steps=3)
    both = Mixture({"a": stream(4), "b": stream(2)}, primary="a", seed=0, concatenate=True)
    with pytest.raises(ConfigurationError, match="streams 'a', 'b' together have 6 examples"):
        TokenBudgetBatches(both, BatchOptions(examples=2), world_size=4, accumulation=2, steps=3)
    with pytest.raises(ConfigurationError, match="4 positions make 2"):
        TokenBudgetBatches(
            Mixture({"a": stream(4)}, primary="a", length=4, seed=0), BatchOptions(examples=2), steps=3
        )
    with pytest.raises(ConfigurationError, match="raise `bucket`"):
        TokenBudgetBatches(mixture_of(30, bucket=2), BatchOptions(examples=2), world_size=4)


@pytest.mark.parametrize("accumulation", [1, 3])
def test_a_window_never_has_fewer_positions_than_a_step_has_batches(accumulation: int) -> None:
    """One example a batch, no bucket: an odd epoch would leave a window of one position for two ranks."""
    group = 2 * accumulation
    options = BatchOptions(examples=1)
    lengths = {"a": np.ones(13, dtype=np.int32)}
    bucket = bucket_positions(lengths, options, steps=1, batches_per_step=group)
    mixture = Mixture({"a": stream(13)}, primary="a", length=26, seed=1, bucket=bucket, least=group)
    ranks = dealt(mixture, options, 2, accumulation)
    assert len(ranks[0]) == len(ranks[1])
    assert sorted(p for rank in ranks for batch in rank for p in batch) == list(range(26))


def test_the_plan_knows_what_examples_cost() -> None:
    mixture = mixture_of(40)
    plans = [
        TokenBudgetBatches(
            mixture, BatchOptions(tokens=100, costs={"a": StreamCost(specials=n)})
        ).fingerprint()
        for n in (2, 4)
    ]
    assert plans[0] != plans[1]
