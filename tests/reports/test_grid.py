from __future__ import annotations

from collections.abc import Sequence

import pytest

from isoglot.reports.grid import _caption, overview, result_tables
from isoglot.reports.scores import Measure, collect
from isoglot.reports.table import Table, TableRow
from isoglot.results.rows import Result


def results(
    run: str, values: dict[str, float], *, metric: str = "accuracy", task: str = "xnli", split: str = "test"
) -> list[Result]:
    return [
        Result(run=run, task=task, language=k, split=split, metric=metric, value=v, examples=9)
        for k, v in values.items()
    ]


def table_of(rows: Sequence[Result]) -> Table:
    (table,) = result_tables(collect(rows), "en")
    return table


def texts(row: TableRow) -> list[str]:
    return [cell.text for cell in row.cells]


OURS = {"en": 82.0, "es": 77.0, "de": 75.0, "zh": 74.0}


def test_languages_are_columns_and_means_are_computed() -> None:
    table = table_of([*results("a", OURS), *results("b", {"en": 83.0, "es": 70.0, "de": 75.0})])
    assert [c.label for c in table.columns] == ["en", "de", "es", "zh", "avg", "avg zero-shot"]
    assert texts(table.rows[0]) == ["82.0", "75.0", "77.0", "74.0", "77.0", "75.3"]
    assert texts(table.rows[1]) == ["83.0", "75.0", "70.0", "–", "–", "–"]
    assert table.rows[1].cells[-1].tooltip == "no mean: zh missing"


def test_the_best_is_bold_with_ties_and_the_lowest_where_lower_is_better() -> None:
    table = table_of([*results("a", {"en": 82.04, "de": 1}), *results("b", {"en": 82.0, "de": 2})])
    assert [[c.best for c in row.cells] for row in table.rows] == [[True, False, False], [True, True, True]]
    aer = table_of(
        [*results("a", {"de-en": 20.0}, metric="aer"), *results("b", {"de-en": 30.0}, metric="aer")]
    )
    assert [row.cells[0].best for row in aer.rows] == [True, False]
    assert not table_of(results("a", {"en": 82.0})).rows[0].cells[0].best  # alone, nothing to be best of


def test_captions_name_what_is_better_low() -> None:
    rows = [*results("a", {"de": 2.0}, metric="perplexity"), *results("a", {"de": 40.0}, metric="mrr")]
    measures = [Measure("xnli", "test", name) for name in ("perplexity", "mrr")]
    assert "higher is better, but lower in perplexity" in _caption(measures, collect(rows))


def test_rows_whose_examples_nobody_counted_are_not_zero_examples() -> None:
    rows = [*results("a", {"de": 60.0}), *results("b", {"de": 70.0})]
    rows = [row.model_copy(update={"examples": 400 * number}) for number, row in enumerate(rows)]
    assert "400 examples per language" in table_of(rows).caption
    assert "0 to" not in table_of(rows).caption
    none = [row.model_copy(update={"examples": 0}) for row in rows]
    assert "examples" not in table_of(none).caption


def test_supervised_and_zero_shot_stand_under_their_transformation() -> None:
    values = {"zero_shot": 60.0, "supervised": 77.0, "delta": 17.0}
    rows = [
        row
        for quantity, value in values.items()
        for row in results("mlm", {"en-x-trans-inv": value}, metric=f"accuracy_{quantity}", split="dev")
    ]
    table = table_of(rows)
    assert [(c.group, c.label) for c in table.columns] == [("trans+inv", q) for q in ("ZS", "SUP", "Δ")]
    assert texts(table.rows[0]) == ["60.0", "77.0", "17.0"]
    assert "lower in Δ" in table.caption


def test_further_metrics_share_a_table_apart() -> None:
    rows = [*results("a", OURS), *results("a", OURS, metric="loss"), *results("a", OURS, metric="ece")]
    main, further = result_tables(collect(rows), "en")
    assert (main.secondary, further.secondary) == (False, True)
    assert further.title == "xnli: further metrics" and {c.group for c in further.columns} == {"loss", "ece"}


def test_all_tasks_are_one_table_from_two_tasks_and_two_runs_on() -> None:
    rows = [*results("a", OURS), *results("a", {"de-en": 20.0}, task="word_alignment", metric="aer")]
    assert overview(collect(rows), "en") is None
    table = overview(
        collect([*rows, *(r.model_copy(update={"run": "b", "value": r.value - 1}) for r in rows)]), "en"
    )
    assert table is not None and [c.label for c in table.columns] == ["accuracy", "AER ↓"]
    assert [[cell.best for cell in row.cells] for row in table.rows] == [[True, False], [False, True]]


def test_all_tasks_say_why_a_mean_is_missing() -> None:
    aer = results("a", {"de-en": 20.0}, task="word_alignment", metric="aer")
    table = overview(collect([*results("a", OURS), *results("b", {"en": 82.0, "de": 75.0}), *aer]), "en")
    assert table is not None
    tooltips = [cell.tooltip for cell in table.rows[1].cells]
    assert tooltips == ["no mean: es, zh missing", "not measured"]


@pytest.mark.parametrize(
    ("metric", "percent"),
    [
        ("accuracy", True),
        ("f1", True),
        ("aer", True),
        ("exact_match", True),
        ("spearman", False),
        ("cosine", False),
    ],
)
def test_captions_say_percent_of_shares_alone(metric: str, percent: bool) -> None:
    rows = [row.model_copy(update={"recipe_hash": "own"}) for row in results("a", OURS, metric=metric)]
    assert ("in percent" in table_of(rows).caption) == percent


def test_two_languages_of_one_transformation_stand_under_their_codes() -> None:
    rows = []
    for language in ("en-x-inv", "fr-x-inv", "fr-x-trans"):
        for quantity in ("zero_shot", "supervised", "delta"):
            rows += results("mlm", {language: 60.0}, metric=f"accuracy_{quantity}")
    table = table_of(rows)
    assert table.groups == [("en-x-inv", 3), ("fr-x-inv", 3), ("trans", 3)]
    assert len(set(table.full_headings)) == len(table.columns)
