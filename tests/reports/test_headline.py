"""The headline says who is best, by how much, and plainly whether chance could do it."""

from __future__ import annotations

from itertools import chain

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.reports.headline import headlines
from isoglot.reports.scores import collect
from isoglot.results.rows import Result


def rows(task: str, **runs: list[float]) -> list[Result]:
    shared = {"task": task, "language": "de", "metric": "accuracy", "examples": 9, "recipe_hash": "own"}
    return [
        Result(run=run, seed=seed, value=value, **shared)
        for run, values in runs.items()
        for seed, value in enumerate(values)
    ]


def lines(*results: list[Result], baseline: str | None = "mlm") -> list[tuple[bool | None, str]]:
    found = headlines(collect(list(chain(*results))), source="en", baseline=baseline)
    return [(line.beyond, line.verdict) for line in found]


SURE = {"mlm": [50.0, 50.2, 50.1], "tlm": [60.0, 60.2, 60.1]}
WEAK = {"mlm": [30.0, 60.0], "tlm": [70.0, 89.0]}
SINGLE = {"mlm": [50.0], "tlm": [60.0]}


def test_each_verdict_names_the_margin() -> None:
    (sure,), (weak,), (single,) = (
        lines(rows("a", **SURE)),
        lines(rows("a", **WEAK)),
        lines(rows("a", **SINGLE)),
    )
    assert sure[0] is True and sure[1].startswith("more than chance: with 3 seeds the 95 % margin is ±0.2")
    assert weak[0] is False and weak[1].startswith("could be chance: with 2 seeds the 95 % margin is ±")
    assert single == (None, "one seed: chance between seeds cannot be ruled out")


def test_an_unknown_baseline_is_told() -> None:
    with pytest.raises(ConfigurationError, match="`baseline`: no results of nobody; name one of mlm, tlm"):
        lines(rows("a", **SURE), baseline="nobody")
    with pytest.raises(ConfigurationError, match="`source`: no results in nl; name one of"):
        headlines(collect(rows("a", **SURE)), source="nl", baseline=None)


def test_a_gain_does_not_hide_a_loss() -> None:
    values = {"hi": (40.0, 50.0), "sw": (30.0, 33.0), "de": (80.0, 78.0)}
    shared = {"task": "tatoeba", "metric": "accuracy", "examples": 9, "recipe_hash": "own"}
    results = [
        Result(run=run, language=language, value=value, **shared)
        for language, both in values.items()
        for run, value in zip(("mlm", "tlm"), both, strict=True)
    ]
    (line,) = headlines(collect(results), source="en", baseline="mlm")
    assert line.by_language == (
        "better in 2 of 3 languages, worse in 1: most in hi (+10.0), least in de (−2.0)"
    )


def test_lower_is_better_for_the_alignment_error_rate() -> None:
    shared = {"task": "word_alignment", "metric": "aer", "examples": 9, "recipe_hash": "own"}
    results = [
        Result(run=run, language=language, value=value, **shared)
        for run, language, value in (("a", "de", 20), ("a", "fr", 9), ("b", "de", 15), ("b", "fr", 10))
    ]
    (line,) = headlines(collect(results), source="en", baseline="a")
    assert line.best == "b"
    assert (
        line.by_language == "better in 1 of 2 languages, worse in 1: most in de (−5.00), least in fr (+1.00)"
    )


def test_a_headline_has_the_decimals_of_its_metric() -> None:
    shared = {"task": "similarity", "metric": "spearman", "examples": 9}
    values = {"mlm": (0.79, 0.792), "tlm": (0.812, 0.813)}
    results = [
        Result(run=run, seed=seed, language=language, value=value, **shared)
        for run, by_seed in values.items()
        for language in ("de", "fr")
        for seed, value in enumerate(by_seed)
    ]
    (line,) = headlines(collect(results), source="en", baseline="mlm")
    assert line.digits == 3
    assert "margin is ±0.007 " in line.verdict
    assert line.by_language == "better in 2 of 2 languages: most in de (+0.021), least in fr (+0.021)"
