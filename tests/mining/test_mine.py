"""Mining against LASER's published formula in plain loops, and what becomes of repeated lines, copies and ties."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.mining.align_sentences import align_sentences
from isoglot.mining.filter_pairs import filter_pairs
from isoglot.mining.histogram import Histogram
from isoglot.mining.mine import best_pairs, mine, mine_files
from isoglot.mining.options import MineRequest
from isoglot.modules.large_search import by_faiss, by_parts
from isoglot.modules.neighbours import nearest_both_ways, unit
from isoglot.runs.pool import WorkPool


def laser(x: np.ndarray, y: np.ndarray, k: int, retrieval: str) -> list[tuple[float, int, int]]:
    """Pairs as Artetxe and Schwenk (2019) define them, one cosine at a time."""
    cosine = [[float(np.dot(a, b)) for b in y] for a in x]
    nearest_y = [sorted(range(len(y)), key=lambda j, i=i: -cosine[i][j])[:k] for i in range(len(x))]
    nearest_x = [sorted(range(len(x)), key=lambda i, j=j: -cosine[i][j])[:k] for j in range(len(y))]
    mean_x = [sum(cosine[i][j] for j in near) / len(near) for i, near in enumerate(nearest_y)]
    mean_y = [sum(cosine[i][j] for i in near) / len(near) for j, near in enumerate(nearest_x)]

    def margin(i: int, j: int) -> float:
        return cosine[i][j] / ((mean_x[i] + mean_y[j]) / 2)

    forward = [
        (margin(i, j), i, j)
        for i, near in enumerate(nearest_y)
        for j in [max(near, key=lambda j, i=i: margin(i, j))]
    ]
    backward = [
        (margin(i, j), i, j)
        for j, near in enumerate(nearest_x)
        for i in [max(near, key=lambda i, j=j: margin(i, j))]
    ]
    if retrieval == "intersection":
        found = set(forward) & set(backward)
    elif retrieval == "max":
        found, seen, met = set(), set(), set()
        for score, i, j in sorted({*forward, *backward}, key=lambda row: (-row[0], *row[1:])):
            if i not in seen and j not in met:
                found.add((score, i, j))
                seen.add(i)
                met.add(j)
    else:
        found = set(forward if retrieval == "forward" else backward)
    return sorted(found, key=lambda row: (-row[0], *row[1:]))


@pytest.mark.parametrize("retrieval", ["max", "intersection", "forward", "backward"])
@pytest.mark.parametrize("neighbours", [1, 4, 50])
def test_the_pairs_are_those_of_the_published_formula(retrieval: str, neighbours: int) -> None:
    generator = torch.Generator().manual_seed(3)
    x = unit(torch.rand(60, 8, generator=generator))
    y = unit(
        torch.cat(
            [x[:30] + 0.2 * torch.rand(30, 8, generator=generator), torch.rand(15, 8, generator=generator)]
        )
    )
    options = MineRequest(retrieval=retrieval, neighbours=neighbours)
    scores, i, j = best_pairs(*nearest_both_ways(x, y, neighbours), options)
    expected = laser(x.double().numpy(), y.double().numpy(), neighbours, retrieval)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [row[1:] for row in expected]
    np.testing.assert_allclose(scores, [row[0] for row in expected], rtol=1e-5)


TABLE = {
    "a": [1.0, 0, 0, 0], "b": [0, 1.0, 0, 0], "c": [0, 0, 1.0, 0], "same": [0, 0, 0, 1.0],
    "A": [1.0, 0.2, 0, 0], "B": [0, 1.0, 0.2, 0], "C": [0, 0, 1.0, 0.2], "S": [0, 0.1, 0, 0.8],
}  # fmt: skip


def encoder(texts: Sequence[str]) -> torch.Tensor:
    return torch.tensor([TABLE[text] for text in texts])


def pairs(found: object) -> list[tuple[str, str, int, int]]:
    return [(p.source, p.target, p.source_line, p.target_line) for p in found]  # type: ignore[attr-defined]


def test_repeated_and_blank_lines_count_once_as_their_first() -> None:
    found = mine(["a", "", "b", " a ", "b"], ["B", "A", "\t", "B"], encoder)
    assert sorted(pairs(found)) == [("a", "A", 1, 2), ("b", "B", 3, 1)]
    assert mine([], ["A"], encoder) == [] and mine(["a"], [" "], encoder) == []


def test_copies_are_paired_with_another_sentence_where_they_are_dropped() -> None:
    sides = ["same", "a"], ["S", "same", "A"]
    assert ("same", "same", 1, 2) in pairs(mine(*sides, encoder))
    found = pairs(mine(*sides, encoder, drop_copies=True))
    assert ("same", "S", 1, 1) in found and ("same", "same", 1, 2) not in found
    assert mine(["same"], ["same"], encoder, drop_copies=True) == []


def test_ties_go_to_the_first_lines_and_thresholds_keep_their_border() -> None:
    flat = torch.ones(1, 4)
    found = mine(["x", "y"], ["u", "v"], lambda texts: flat.expand(len(texts), 4))
    assert pairs(found) == [("x", "u", 1, 1)]  # both sides' other sentences prefer the first ones too
    assert found[0].score == 1.0
    assert mine(["x"], ["u"], lambda texts: flat.expand(len(texts), 4), min_score=1.0)
    assert not mine(["x"], ["u"], lambda texts: flat.expand(len(texts), 4), min_score=1.001)


def test_files_are_read_and_written_whole(tmp_path: Path) -> None:
    one, other, out = (str(tmp_path / name) for name in ("one.txt", "other.txt", "out.jsonl"))
    Path(one).write_text("a\nb\nc\n")
    Path(other).write_text("C\nB\nA\n")
    report = mine_files((one, other), out, MineRequest(model=encoder))
    rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
    assert {(r["source"], r["target"], r["source_line"], r["target_line"]) for r in rows} == {
        ("a", "A", 1, 3), ("b", "B", 2, 2), ("c", "C", 3, 1)
    }  # fmt: skip
    assert (report.sentences, report.pairs, report.histogram.count) == ((3, 3), 3, 3)
    mine_files((one, other), str(tmp_path / "out.tsv"), MineRequest(model=encoder, min_score=9))
    assert (tmp_path / "out.tsv").read_text() == ""


def test_mistakes_are_told_before_the_encoder_is_loaded(tmp_path: Path) -> None:
    def never() -> None:
        raise AssertionError("loaded")

    one, blank = tmp_path / "one.txt", tmp_path / "blank.txt"
    one.write_text("a\n")
    blank.write_text("\n \n")
    for paths, out, error, text in (
        ((one, blank), "o.tsv", InputError, r"blank\.txt: .*sentence"),
        ((one, one), "one.txt", ConfigurationError, r"one\.txt: .*input"),
        ((one, one), "o.txt", ConfigurationError, r"o\.txt: .*format"),
        ((one, one), "o.txt.xz", ConfigurationError, r"o\.txt\.xz: .*format"),
        ((one, tmp_path / "none"), "o.tsv", InputError, "none: "),
    ):
        with pytest.raises(error, match=text):
            mine_files(tuple(map(str, paths)), str(tmp_path / out), MineRequest(model=never))
    with pytest.raises(ConfigurationError, match=r"`neighbors`.*did you mean 'neighbours'"):
        mine(["a"], ["A"], encoder, neighbors=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["blank.txt", "one.txt"]


def test_faiss_finds_what_the_exact_search_finds() -> None:
    pytest.importorskip("faiss")
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(600, 16, generator=generator)
    names = {str(n): row for n, row in enumerate(vectors)}
    names |= {f"t{n}": row + 0.05 * torch.randn(16, generator=generator) for n, row in enumerate(vectors)}

    def lookup(texts: Sequence[str]) -> torch.Tensor:
        return torch.stack([names[text] for text in texts])

    sides = [str(n) for n in range(600)], [f"t{n}" for n in range(600)]
    exact, found = (mine(*sides, lookup, search=search) for search in ("exact", "faiss"))
    assert len(exact) == 600 and len(set(pairs(found)) & set(pairs(exact))) >= 595


def test_parts_of_both_sides_find_the_same() -> None:
    generator = torch.Generator().manual_seed(2)
    # whole numbers, whose products are exact: many are equally near
    first, second = (torch.randint(-2, 3, (count, 8), generator=generator).float() for count in (23, 31))
    with patch("isoglot.modules.large_search._PART", 40), WorkPool(1) as pool:
        found = by_parts(first, second, 4, pool)
    for own, other in zip(found, nearest_both_ways(first, second, 4), strict=True):
        assert torch.equal(own.numbers, other.numbers) and torch.equal(own.similarities, other.similarities)


def test_ray_finds_the_same() -> None:
    pytest.importorskip("ray")
    vectors = unit(torch.randn(60, 8, generator=torch.Generator().manual_seed(1)))
    sides = [str(n) for n in range(30)], [str(n) for n in range(30, 60)]

    def lookup(texts: Sequence[str]) -> torch.Tensor:
        return vectors[[int(text) for text in texts]]

    with patch("isoglot.modules.large_search._PART", 80):
        exact, found = (mine(*sides, lookup, search=search) for search in ("exact", "ray"))
    assert pairs(found) == pairs(exact) and len(found) > 10


@pytest.mark.parametrize("search", ["faiss", "ray"])
def test_a_package_that_is_missing_is_named_before_any_vector(search: str) -> None:
    with (
        patch.dict(sys.modules, {search: None}),
        pytest.raises(ConfigurationError, match=rf'search="{search}" .*isoglot\[{search}\].*search="exact"'),
    ):
        mine(["a"], ["b"], lambda texts: pytest.fail("encoded"), search=search)


def test_more_probes_of_faiss_find_more_and_too_few_keys_are_filled_up() -> None:
    pytest.importorskip("faiss")
    generator = torch.Generator().manual_seed(0)
    keys, queries = (unit(torch.randn(count, 16, generator=generator)) for count in (600, 50))
    exact, _ = nearest_both_ways(queries, keys, 40)
    shares = []
    for probes in (1, 4, 99):
        found = by_faiss(queries, keys, 40, probes=probes)
        assert found.numbers.shape == (50, 40) and int(found.numbers.min()) >= 0
        cosines = (queries[:, None] * keys[found.numbers]).sum(-1)
        torch.testing.assert_close(found.similarities, cosines, atol=1e-5, rtol=1e-5)
        shares.append((exact.numbers[:, :, None] == found.numbers[:, None]).any(2).double().mean())
    assert shares[0] < shares[1] < shares[2] == 1


def test_non_finite_vectors_become_no_pair() -> None:
    with pytest.raises(Exception, match="NaN"):
        mine(["a"], ["b"], lambda texts: torch.full((len(texts), 2), torch.nan))


def test_a_histogram_counts_every_score_once() -> None:
    histogram = Histogram()
    histogram.add([-5.0, 0.8, 0.8024, 0.8026, 9.0])
    histogram.add([])
    assert histogram.count == 5 == sum(n for *_, n in histogram.rows())
    histogram = Histogram()
    histogram.add([0.8, 0.8024, 0.8026])
    assert histogram.rows() == [(0.8, 0.8025, 2), (0.8025, 0.805, 1)]
    assert "100.0%" in histogram.text("cosine") and histogram.recorded()[0] == {
        "from": 0.8,
        "to": 0.8025,
        "pairs": 2,
    }
    for width in (0.1, 1.0, 3.9):
        histogram.add(np.linspace(-0.9, -0.9 + width, 500).tolist())
        assert 1 < len(histogram.rows()) <= 20 and sum(n for *_, n in histogram.rows()) == histogram.count


@pytest.mark.parametrize("function", [mine, align_sentences], ids=lambda own: own.__name__)
def test_a_text_is_no_list_of_them(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigurationError, match=r"target: .*'ab'; write \['ab'\]"):
        function(["ab"], "ab", lambda texts: torch.ones(len(texts), 2))


def test_sentences_that_are_unlike_all_others_have_scores_like_those_of_any() -> None:
    table = {"one": [1.0, 0.0], "two": [0.9, 0.1], "eins": [-1.0, 0.0], "zwei": [-0.9, 0.2]}

    def encoder(texts: Sequence[str]) -> torch.Tensor:
        return torch.tensor([table[text] for text in texts])

    found = mine(["one", "two"], ["eins", "zwei"], encoder, neighbours=2)
    assert len(found) == 2 and all(0 < pair.score < 2 for pair in found)
    judged = filter_pairs([("one", "eins"), ("two", "zwei")], model=encoder, aligner=None, neighbours=2)
    assert all(0 < pair.scores["margin"] < 2 for pair in judged)
