"""Runs are never one row unless they are one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.reports.labels import distinct_rows, labelled
from isoglot.reports.options import CompareOptions
from isoglot.reports.render import comparison_tables, report
from isoglot.reports.runs import gather
from isoglot.reports.scores import collect
from isoglot.results.rows import Cell, Result, append, write_cells


def row(value: float, recipe: str, seed: int = 1, run: str = "align_mlm", language: str = "de") -> Result:
    return Result(run=run, task="pos", language=language, metric="f1", value=value, seed=seed, examples=9,
                  recipe_hash=recipe, checkpoint_hash="c")  # fmt: skip


def test_two_recipes_of_one_name_are_two_rows(tmp_path: Path) -> None:
    append(tmp_path / "a1" / "results.jsonl", [row(70, "aaaaaaaa11"), row(72, "aaaaaaaa12", seed=2)])
    append(tmp_path / "a10" / "results.jsonl", [row(80, "bbbbbbbb11"), row(84, "bbbbbbbb12", seed=2)])
    for given in ([tmp_path], [tmp_path / "a1", tmp_path / "a10"]):
        scores = collect(gather(given).rows)
        assert scores.runs == ["align_mlm (a1)", "align_mlm (a10)"] and not scores.repeated
    page = report([tmp_path], out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert "measured again" not in page and "align_mlm (a10)" in page


def test_recipes_in_one_file_are_told_by_their_hash_and_seeds_stay_together(tmp_path: Path) -> None:
    append(
        tmp_path / "results.jsonl", [row(70, "aaaaaaaa11"), row(80, "bbbbbbbb11"), row(60, "x", run="tlm")]
    )
    assert collect(gather([tmp_path]).rows).runs == [
        "align_mlm (recipe aaaaaaaa)", "align_mlm (recipe bbbbbbbb)", "tlm",
    ]  # fmt: skip
    append(
        tmp_path / "b" / "results.jsonl", [row(70, "a"), row(80, "b", seed=2), row(75, "c", language="es")]
    )
    assert collect(gather([tmp_path / "b"]).rows).runs == ["align_mlm"], (
        "seeds, and a model for each language"
    )


def test_a_label_names_the_runs_of_a_folder(tmp_path: Path) -> None:
    append(tmp_path / "one" / "results.jsonl", [row(70, "a")])
    append(tmp_path / "two" / "results.jsonl", [row(80, "b"), row(60, "c", run="tlm")])
    found = gather([f"weak={tmp_path / 'one'}", f"both={tmp_path / 'two'}"])
    assert collect(found.rows).runs == ["weak", "align_mlm (both)", "tlm (both)"]
    inside = gather([tmp_path, f"weak={tmp_path / 'one'}"])
    assert collect(inside.rows).runs == ["weak", "align_mlm", "tlm"]
    (tmp_path / "alpha=1").mkdir()
    assert labelled(tmp_path / "alpha=1") == ("", tmp_path / "alpha=1")


@pytest.mark.parametrize(("given", "headers"), [
    ("{}", ["MLM / trans", "MLM / trans (alpha=1)"]),
    ("mine={}", ["MLM / trans (mine)", "MLM / trans (mine, alpha=1)"]),
])  # fmt: skip
def test_settings_and_labels_of_a_study_are_rows(tmp_path: Path, given: str, headers: list[str]) -> None:
    place = {"table": "align_mlm:Table3", "row": ("mlm", "trans"), "column": ("xnli", "zs"), "seed": 1}
    for folder, setting, value in (("a", "", 60.0), ("b", "alpha=1", 70.0)):
        write_cells(tmp_path / folder / "cells.jsonl", [Cell(**place, value=value, setting=setting)])
    (table,) = comparison_tables([given.format(tmp_path)], CompareOptions())
    ours = [found for found in table.rows if found.kind == "ours"]
    assert [found.header for found in ours] == headers


def test_runs_beside_a_study_are_compared_too(tmp_path: Path) -> None:
    place = {"table": "align_mlm:Table3", "row": ("mlm", "trans"), "column": ("xnli", "zs"), "seed": 1}
    write_cells(tmp_path / "study" / "cells.jsonl", [Cell(**place, value=60.0)])
    append(tmp_path / "study" / "results.jsonl", [row(60, "a", run="mlm")])
    (beside,) = comparison_tables([tmp_path / "study"], CompareOptions())
    append(tmp_path / "plain" / "results.jsonl", [row(70, "b", run="tlm")])
    first, second = comparison_tables([tmp_path / "study", tmp_path / "plain"], CompareOptions())
    assert first.rows == beside.rows
    assert [found.header for found in second.rows] == ["tlm"], "the study's rows are in its cells"


def test_runs_of_a_sweep_are_named_by_the_values_that_differ(tmp_path: Path) -> None:
    sweep = [
        row(value, recipe, seed).model_copy(update={"changes": {"objectives.align.layer": layer, "steps": 5}})
        for value, recipe, seed, layer in ((70, "a", 1, 1), (72, "b", 2, 1), (80, "c", 1, 2))
    ]
    append(tmp_path / "results.jsonl", [*sweep, row(60, "d")])
    runs = ["align_mlm layer=1 steps=5", "align_mlm layer=2 steps=5", "align_mlm"]
    assert collect(gather([tmp_path]).rows).runs == runs, "seeds of one setting are one run"
    page = report(sweep, out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert "align_mlm layer=1" in page and "measured again" not in page, "rows in memory alike"


def test_two_checkpoints_that_are_called_the_same_are_two_rows() -> None:
    """What `isoglot evaluate A B` prints, also where nothing readable is recorded."""
    rows = [
        (row(70 + n, "a").model_copy(update={"checkpoint_hash": str(n)}), Path(f"runs/{n}")) for n in (1, 2)
    ]
    assert [found.run for found in distinct_rows(rows, {})] == ["align_mlm (1)", "align_mlm (2)"]
    by_recipe = [(row(70, "a"), Path("x")), (row(80, "b"), Path("y"))]
    recipes = {name: {"objectives": {"align": {"layer": n}}, "seed": n} for n, name in enumerate("ab")}
    assert [found.run for found in distinct_rows(by_recipe, recipes)] == [
        "align_mlm layer=0",
        "align_mlm layer=1",
    ]
