"""The cheapest way against all ways of small documents, and the band against the whole table of long ones."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from isoglot.mining import sentence_paths
from isoglot.mining.sentence_paths import cheapest_groups, length_ratio, mutual_lines, skip_cost


def unit(table: np.ndarray) -> np.ndarray:
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)


def runs(lines: np.ndarray, longest: int) -> list[np.ndarray]:
    """Unit sums of the lines that end at each."""
    return [
        unit(np.stack([lines[max(0, end - size) : end].sum(0) for end in range(1, len(lines) + 1)]))
        for size in range(1, longest + 1)
    ]


def least_cost(
    source: list[np.ndarray],
    target: list[np.ndarray],
    max_size: int,
    skip: float,
    lengths: tuple[np.ndarray, np.ndarray],
    weight: float,
) -> float:
    """By plain recursion over all groups."""

    def chance(vector: np.ndarray, lines: np.ndarray) -> float:
        distances = sorted(1 - float(vector @ line) for line in lines)[1:]
        return sum(distances) / len(distances) if distances else 1.0

    def price(i: int, j: int, a: int, b: int) -> float:
        x, y = source[a - 1][i - 1], target[b - 1][j - 1]
        m, n = sum(lengths[0][i - a : i].tolist()), sum(lengths[1][j - b : j].tolist())
        unlike = 1 - math.log2(1 + min(m, n) / max(m, n))
        vectors = 2 * (1 - float(x @ y)) / (chance(x, target[0]) + chance(y, source[0]))
        return a * b * (vectors + weight * unlike)

    @cache
    def cost(i: int, j: int) -> float:
        found = [0.0] if (i, j) == (0, 0) else []
        found += [cost(a, b) + skip for a, b in ((i - 1, j), (i, j - 1)) if min(a, b) >= 0]
        for a in range(1, max_size):
            for b in range(1, max_size - a + 1):
                if a <= i and b <= j:
                    found.append(cost(i - a, j - b) + price(i, j, a, b))
        return min(found)

    return float(cost(len(source[0]), len(target[0])))


@pytest.mark.parametrize(("n", "m", "max_size"), [(1, 1, 2), (6, 5, 2), (7, 9, 4), (3, 12, 5), (12, 2, 3)])
def test_small_documents_cost_what_all_ways_tried_cost(n: int, m: int, max_size: int) -> None:
    random = np.random.default_rng(n * m)
    source, target = (runs(random.normal(size=(size, 6)), max_size - 1) for size in (n, m))
    lengths = tuple(random.uniform(1, 90, size).astype(np.float32) for size in (n, m))
    for weight in (0.0, 0.7):
        found = cheapest_groups(
            source, target, max_size=max_size, skip=0.3, lengths=lengths, length_weight=weight
        )
        least = least_cost(source, target, max_size, 0.3, lengths, weight)
        assert sum(step[4] for step in found) == pytest.approx(least, rel=1e-4)
    lines = [
        [line for i, j, a, b, _ in found for line in range((i, j)[side], (i + a, j + b)[side])]
        for side in (0, 1)
    ]
    assert lines == [list(range(n)), list(range(m))]  # every line once, in order


def test_an_empty_side_skips_the_other() -> None:
    lines = runs(np.eye(4), 1)
    empty = [np.zeros((0, 4), np.float32)]
    assert cheapest_groups(lines, empty, max_size=2, skip=0.5) == [(i, 0, 1, 0, 0.5) for i in range(4)]
    assert cheapest_groups(empty, lines, max_size=2, skip=0.5) == [(0, j, 0, 1, 0.5) for j in range(4)]
    assert cheapest_groups(empty, empty, max_size=2, skip=0.5) == []


def test_the_band_finds_the_way_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    lines = random.normal(size=(600, 24))
    noisy = lines + 0.4 * random.normal(size=lines.shape)
    joined = [noisy[n] + noisy[n + 1] if n % 7 == 0 else noisy[n] for n in range(600) if n % 7 != 1]
    target = np.delete(np.array(joined), slice(200, 260), axis=0)  # and a long part that is not translated
    sides = runs(lines, 3), runs(target, 3)
    found = cheapest_groups(*sides, max_size=4, skip=0.4)
    monkeypatch.setattr(sentence_paths, "_SEARCHED_WHOLE", 10**6)
    whole = cheapest_groups(*sides, max_size=4, skip=0.4)
    assert [step[:4] for step in found] == [step[:4] for step in whole] and len(whole) > 400
    assert sum((a, b) == (2, 1) for *_, a, b, _ in whole) > 60


def test_a_skipped_line_costs_more_where_translations_are_less_alike() -> None:
    random = np.random.default_rng(3)
    lines = random.normal(size=(300, 16))
    found = []
    for noise in (0.1, 0.8):
        source, target = unit(lines), unit((lines + noise * random.normal(size=lines.shape))[20:])
        prices = []
        chosen = np.unique(np.linspace(0, 299, 128).astype(int))
        others = target[np.unique(np.linspace(0, 279, 128).astype(int))]
        for i in chosen:
            j = int(np.argmax(target @ source[i]))
            if int(np.argmax(source @ target[j])) != i:
                continue
            chance = [
                sorted(1 - own @ line for line in lines)[1:]
                for own, lines in ((source[i], others), (target[j], source[chosen]))
            ]
            prices.append(2 * (1 - source[i] @ target[j]) / sum(float(np.mean(own)) for own in chance))
        found.append(skip_cost(source, target, mutual_lines(source, target)))
        assert found[-1] == pytest.approx(0.2 + 0.75 * float(np.median(prices)), rel=1e-4)
    assert 0.2 < found[0] < found[1] < 0.8
    nothing = np.zeros((0, 16), np.float32)
    assert skip_cost(unit(lines), nothing, mutual_lines(unit(lines), nothing)) == 0.2


def test_length_ratio_of_languages_does_not_depend_on_missing_sentences() -> None:
    random = np.random.default_rng(4)
    source = unit(random.normal(size=(400, 16)))
    lengths = random.uniform(20, 200, 400).astype(np.float32)
    half = source[:200], lengths[:200] * np.float32(1.25)
    pairs = mutual_lines(source, half[0])
    assert (pairs[0] == pairs[1]).all() and len(pairs[0]) > 50
    assert length_ratio(lengths, half[1], pairs) == pytest.approx(0.8)
    few = (pairs[0][:3], pairs[1][:3])
    assert length_ratio(lengths, half[1], few) == pytest.approx(lengths.sum() / half[1].sum())


def test_the_length_of_a_group_tells_where_a_line_belongs() -> None:
    """The second source line has no vector that helps: by its length it is a part of the first."""
    source = runs(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]), 2)
    target = runs(np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.2]]), 2)
    lengths = np.array([50, 50, 50], np.float32), np.array([100, 50], np.float32)
    steps = cheapest_groups(source, target, max_size=3, skip=2.0, lengths=lengths, length_weight=2.0)
    assert [step[:4] for step in steps] == [(0, 0, 2, 1), (2, 1, 1, 1)]
    turned = lengths[0], np.array([50, 100], np.float32)
    steps = cheapest_groups(source, target, max_size=3, skip=2.0, lengths=turned, length_weight=2.0)
    assert [step[:4] for step in steps] == [(0, 0, 1, 1), (1, 1, 2, 1)]


@pytest.mark.parametrize("noise", [1e-7, 1e-3])
def test_every_line_of_identical_documents_is_alone(noise: float) -> None:
    random = np.random.default_rng(3)
    lines = random.normal(size=(31, 16))
    # each vector has its own rounding, as of another batch
    source, target = (
        [unit(run + noise * random.normal(size=run.shape)) for run in runs(lines, 4)] for _ in (0, 1)
    )
    found = cheapest_groups(source, target, max_size=5, skip=0.3)
    assert [step[2:] for step in found] == [(1, 1, 0.0)] * 31


def test_sentence_path_with_the_smallest_groups_is_taken_among_free_ones() -> None:
    alike = [np.ones((4, 1), np.float32)] * 3
    found = cheapest_groups(alike, [side[:3] for side in alike], max_size=4, skip=0.3)
    assert sorted(step[2:4] for step in found) == [(1, 1), (1, 1), (2, 1)]
