"""Charts of sweeps: which setting goes along the axis, which are lines, and the intervals that seeds leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t

import isoglot as iso
from isoglot.reports.runs import gather
from isoglot.reports.scores import collect
from isoglot.reports.sweeps import sweep_figures
from isoglot.results.rows import Result, append


def row(value: float, seed: int = 1, *, run: str = "tlm", language: str = "de", **changes: Any) -> Result:
    return Result(
        run=run, task="pos", language=language, metric="f1", value=value, seed=seed, examples=9,
        recipe_hash=f"{run}{changes}", checkpoint_hash=f"{run}{changes}{seed}", changes=changes,
    )  # fmt: skip


def charts(folder: Path, rows: list[Result]) -> list[Any]:
    append(folder / "results.jsonl", rows)
    material = gather([folder])
    return sweep_figures(material.varied, collect(material.rows), "en")


def test_points_are_means_over_seeds_with_students_interval(tmp_path: Path) -> None:
    values = {4: [60.0, 62.0, 67.0], 8: [70.0, 70.5, 71.0], 6: [65.0, 66.0, 64.0]}
    rows = [
        row(value, seed, layer=layer)
        for layer, seeds in values.items()
        for seed, value in enumerate(seeds, 1)
    ]
    (chart,) = charts(tmp_path, rows)
    (line,) = chart.series
    assert (chart.x_label, chart.x_scale, line.x) == ("layer", "linear", [4, 6, 8])
    assert line.y == pytest.approx([63.0, 65.0, 70.5])
    by_hand = t.ppf(0.975, 2) * 0.5 / 3**0.5  # of layer 8: the deviation of its seeds is 0.5
    assert line.interval[2] == pytest.approx(by_hand, rel=1e-3)
    assert "Means over 3 seeds" in chart.note


def test_setting_with_the_most_values_goes_along_the_axis_and_others_are_lines(tmp_path: Path) -> None:
    rates = (1e-5, 3e-5, 1e-4)
    rows = [row(50 + 9 * rate * 1e4 + layer, rate=rate, layer=layer) for rate in rates for layer in (4, 8)]
    (chart,) = charts(tmp_path, rows)
    assert (chart.x_label, chart.x_scale) == ("rate", "log"), "three rates lie evenly on a logarithmic axis"
    assert {line.label: line.x for line in chart.series} == {
        "tlm layer=4": list(rates),
        "tlm layer=8": list(rates),
    }
    assert "One seed" in chart.note and all(line.interval == [None] * 3 for line in chart.series)


def test_a_renamed_run_of_a_sweep_keeps_its_point(tmp_path: Path) -> None:
    append(tmp_path / "results.jsonl", [row(60 + layer, layer=layer) for layer in (4, 6, 8)])
    material = gather([tmp_path], rename={"tlm layer=4": "best"})
    (chart,) = sweep_figures(material.varied, collect(material.rows), "en")
    assert [line.x for line in chart.series] == [[4, 6, 8]]
    material = gather([tmp_path], rename={"tlm layer=4": "small", "tlm layer=6": "small"})
    assert list(material.varied) == ["tlm layer=8"], "two runs of one name have no single layer"


def test_settings_that_are_texts_or_have_one_value_make_no_chart(tmp_path: Path) -> None:
    assert charts(tmp_path / "texts", [row(50, pooling="cls"), row(60, pooling="mean")]) == []
    assert charts(tmp_path / "one", [row(50, layer=4), row(60, run="ppa", layer=4)]) == []


def test_figures_and_tables_take_the_rows_of_a_sweep(tmp_path: Path) -> None:
    rows = [row(50 + layer + seed, seed, layer=layer) for layer in (4, 8) for seed in (1, 2)]
    of_rows = iso.figures(rows)
    append(tmp_path / "results.jsonl", rows)
    assert [chart.to_dict() for chart in of_rows.values()] == [
        chart.to_dict() for chart in iso.figures(tmp_path).values()
    ]
    figures = tmp_path / "figures"
    figures.mkdir()
    lines = {"kind": "lines", "title": "t", "series": [{"label": "a", "x": [1, 2], "y": [3, 4]}]}
    for name in ("a", "b"):
        (figures / f"{name}.json").write_text(json.dumps(lines))
    assert list(iso.figures(tmp_path)) == [*of_rows, "t", "t (2)"], "no chart takes the place of another"
    (table,) = iso.tables(rows)
    assert [line.header for line in table.rows] == ["tlm layer=4", "tlm layer=8", "difference"]
