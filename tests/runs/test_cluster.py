"""Workers that stay on a Ray cluster: all of them have room at the same time."""

from __future__ import annotations

import itertools

import pytest

from isoglot.runs.cluster import resident_workers

CLUSTERS = [
    [{"CPU": 8.0}],
    [{"CPU": 1.0}],
    [{"CPU": 5.0}, {"CPU": 1.0}],
    [{"CPU": 3.0}] * 3,
    [{"CPU": 8.0, "GPU": 2.0}],
    [{"CPU": 64.0, "GPU": 7.0}, {"CPU": 2.0, "GPU": 4.0}],
    [{"CPU": 4.0}, {"CPU": 16.0, "GPU": 1.0}, {"memory": 1.0}],
    [{"GPU": 1.0}, {"CPU": 8.0}],
    [{"GPU": 4.0}, {"CPU": 8.0, "GPU": 1.0}],
]


def room(machines: list[dict[str, float]], needs: dict[str, float]) -> int:
    """Workers that Ray can place, each on one machine and, of GPUs, on one of them."""
    total = 0
    for machine in machines:
        fits = int(machine.get("CPU", 0) // needs["num_cpus"])
        if "num_gpus" in needs:
            fits = min(fits, int(machine.get("GPU", 0)) * int(1 / needs["num_gpus"] + 1e-9))
        total += fits
    return total


@pytest.mark.parametrize("machines", CLUSTERS)
def test_all_workers_fit_at_the_same_time(machines: list[dict[str, float]]) -> None:
    for workers, most, gpu in itertools.product(range(41), (1, 3, 1000), (True, False)):
        size, needs = resident_workers(machines, workers, most, gpu=gpu)
        assert 1 <= size <= most
        assert size <= room(machines, needs)
        if workers:
            assert size <= workers


def test_a_cluster_with_room_gives_what_is_asked_for() -> None:
    assert resident_workers([{"CPU": 8, "GPU": 2}], 0, 99, gpu=True) == (2, {"num_cpus": 1, "num_gpus": 1.0})
    assert resident_workers([{"CPU": 8, "GPU": 2}], 6, 99, gpu=True)[0] == 6
    assert resident_workers([{"CPU": 8}], 0, 99, gpu=True) == (4, {"num_cpus": 2})
    for gpu in (True, False):
        assert resident_workers([{"CPU": 8, "GPU": 2}], 0, 0, gpu=gpu)[0] == 1, "no work is one worker's"
    assert resident_workers([{"CPU": 64}], 4, 99, gpu=True) == (4, {"num_cpus": 8})


def test_gpus_of_a_machine_without_cpus_do_not_count() -> None:
    assert resident_workers([{"GPU": 1}, {"CPU": 8}], 0, 99, gpu=True) == (4, {"num_cpus": 2})
    machines = [{"GPU": 1}, {"CPU": 8, "GPU": 1}]
    assert resident_workers(machines, 2, 99, gpu=True) == (2, {"num_cpus": 1, "num_gpus": 0.5})
    # It waits for another machine.
    assert resident_workers([{"GPU": 1}], 0, 99, gpu=True) == (1, {"num_cpus": 1})
