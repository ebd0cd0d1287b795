"""The correlation of alignment with transfer: the papers' own, a study's, and both in one figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.analysis import analyse_correlation as correlation
from isoglot.analysis.analyse_correlation import analyse_correlation, paper_points, study_points
from isoglot.analysis.options import CorrelationRequest
from isoglot.core.errors import ConfigurationError
from isoglot.reports.charts import draw
from isoglot.reports.figure_files import Scatter, read_figure
from isoglot.results.rows import Result, append


def scatter(path: Path) -> Scatter:
    found = read_figure(path)
    assert isinstance(found, Scatter)
    return found


def test_correlations_of_paper_points_are_the_papers(tmp_path: Path) -> None:
    found = analyse_correlation([], CorrelationRequest(with_paper=True), out=tmp_path)
    values = {task: round(next(iter(groups.values())).rho, 3) for task, groups in found.items()}
    assert values == {"xnli": 0.727, "ner": 0.781, "pos": 0.734}
    assert all(next(iter(groups.values())).p < 0.01 for groups in found.values())
    pos = scatter(tmp_path / "figures" / "correlation-pos.json")
    assert len(pos.points) == 12
    assert {p.group for p in pos.points} == {"MLM", "XLM", "DICT-MLM", "ALIGN-MLM"}
    assert "ρ = 0.734" in draw(pos).caption
    with refused(ConfigurationError, "'mlqa.delta'", "known: xnli.sup", "'xnli.delta'"):
        paper_points("mlqa")


def result(run: str, metric: str, value: float, *, seed: int | None = None, **more: str) -> Result:
    defaults = {"task": "pos", "language": "en-x-inv", "recipe_hash": ""}
    return Result(run=run, metric=metric, value=value, seed=seed, examples=1, **{**defaults, **more})


def test_study_points_are_means_over_seeds_of_a_run_and_language() -> None:
    rows = [
        *(result(f"mlm-seed{s}", "alignment_score", v, seed=s, task="a") for s, v in ((1, 10.0), (2, 30.0))),
        *(result(f"mlm-seed{s}", "chunk_f1_delta", v, seed=s) for s, v in ((1, 5.0), (2, 7.0))),
        result("mlm-seed1", "chunk_f1_zero_shot", 50.0, seed=1),
        result("xlm", "alignment_score", 90.0, task="a", language="en-en-x-inv"),
        result("xlm", "alignment_score", 91.0, task="a", language="en-en-x-trans"),
        result("xlm", "accuracy_delta", 2.0, task="nli", language="en-x-trans"),
        result("other", "alignment_score", 1.0, task="a", recipe_hash="abc"),
        result("tuned", "chunk_f1_delta", 3.0, recipe_hash="abc"),
        result("lonely", "chunk_f1_delta", 3.0),
    ]
    found = study_points(rows)
    assert {task: [(p.x, p.y) for p in points] for task, points in found.items()} == {
        "pos": [(20.0, 6.0), (1.0, 3.0)],
        "nli": [(91.0, 2.0)],
    }
    seeds = study_points(rows, each_seed=True)["pos"]
    assert [(p.x, p.y) for p in seeds] == [(10.0, 5.0), (30.0, 7.0), (1.0, 3.0)]
    for part, message in (
        (rows[:2], "no drops"),
        (rows[2:4], "no alignment_score"),
        ([rows[0], rows[-1]], "belongs"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            study_points(part)


@pytest.mark.parametrize(
    ("language", "name", "is_pair"),
    [
        ("en", "en-de", True),
        ("de", "en-de", True),
        ("en", "en-x-inv", False),
        ("inv", "en-x-inv", False),
        ("en-x-trans", "en-x-trans-inv", False),
        ("en-x-trans", "en-en-x-trans-inv", False),
        ("en", "en-en-x-inv", True),
        ("en-x-inv", "en-en-x-inv", True),
        ("en", "en-x-inv-de", False),
        ("de", "en-x-inv-de", False),
        ("inv", "en-x-trans-inv", False),
        ("e", "en-de", False),
    ],
)
def test_a_derived_language_is_no_pair(language: str, name: str, is_pair: bool) -> None:
    assert correlation._is_pair_with(language, name) is is_pair


def test_a_drop_takes_no_score_of_another_derived_language() -> None:
    rows = [
        result("mlm", "alignment_score", 90.0, task="a", language="en-x-inv"),
        result("mlm", "alignment_score", 70.0, task="a", language="de"),
        result("mlm", "f1_delta", 2.0, language="en"),
        result("mlm", "f1_delta", 3.0, language="de"),
    ]
    assert [(p.x, p.y) for p in study_points(rows)["pos"]] == [(70.0, 3.0)]


def test_study_points_pair_a_drop_with_its_own_pre_training() -> None:
    """Pre-training seeds 1 to 3, each fine-tuned with seed 1."""
    rows = []
    for seed in (1, 2, 3):
        own = {"recipe_hash": f"recipe{seed}"}
        rows.append(result("mlm", "alignment_score", 10.0 * seed, seed=seed, task="a", **own))
        rows.append(result("mlm", "f1_delta", 7.0 - seed, seed=1, **own))
    (point,) = study_points(rows)["pos"]
    assert (point.x, point.y) == (20.0, 5.0)
    each = study_points(rows, each_seed=True)["pos"]
    assert [(p.x, p.y) for p in each] == [(10.0, 6.0), (20.0, 5.0), (30.0, 4.0)]


@pytest.mark.parametrize("other", [{"split": "dev"}, {"options": {"subset": {"share": 0.4}}}])
@pytest.mark.parametrize("metric", ["alignment_score", "f1_delta"])
def test_study_points_refuse_scores_measured_in_two_ways(metric: str, other: dict[str, Any]) -> None:
    rows = [result("mlm", name, 10.0, seed=1) for name in ("alignment_score", "f1_delta")]
    same = result("mlm", metric, 20.0, seed=2)
    assert study_points([*rows, same])["pos"]
    with refused(ConfigurationError, f"{metric} of mlm in en-x-inv ", "(test {}; "):
        study_points([*rows, same.model_copy(update=other)])


def test_correlations_are_apart_for_ours_and_the_papers_points(tmp_path: Path) -> None:
    rows = []
    for k, (x, y) in enumerate([(10.0, 1.0), (20.0, 2.0), (30.0, 3.0), (40.0, 4.0)]):
        rows += [result(f"r{k}", "alignment_score", x, task="a"), result(f"r{k}", "f1_delta", y)]
    append(tmp_path / "study" / "results.jsonl", rows)
    found = analyse_correlation(
        [tmp_path / "study"], CorrelationRequest(tasks=["pos"], with_paper=True), out=tmp_path
    )
    ours, theirs = found["pos"].values()
    assert (ours.rho, ours.points) == (pytest.approx(-1), 4)
    assert theirs.points == 12
    caption = draw(scatter(tmp_path / "figures" / "correlation-pos.json")).caption
    assert "ours: Spearman ρ = −1.000" in caption
    assert "ρ = 0.734" in caption
    with refused(ConfigurationError, "results", "with_paper=True"):
        analyse_correlation([], CorrelationRequest(), out=tmp_path)
    with refused(ConfigurationError, "'mlqa'", "pos"):
        analyse_correlation([tmp_path / "study"], CorrelationRequest(tasks=["mlqa"]), out=tmp_path)
