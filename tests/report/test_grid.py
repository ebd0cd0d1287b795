from __future__ import annotations

from collections.abc import Sequence

import pytest

from isoglot.errors import ConfigurationError
from isoglot.report.comparison import Comparison, RunInfo
from isoglot.report.grid import Layout, build_tables
from isoglot.report.scores import collect
from isoglot.report.table import Row, Table
from isoglot.results import Result

MBERT = "bert-base-multilingual-cased"


def results(
    run: str, values: dict[str, float], *, metric: str = "accuracy", task: str = "xnli", split: str = "test"
) -> list[Result]:
    return [
        Result(run=run, task=task, language=k, split=split, metric=metric, value=v, examples=9)
        for k, v in values.items()
    ]


def table_of(rows: Sequence[Result], *comparisons: Comparison, encoder: str = MBERT) -> Table:
    infos = {row.run: RunInfo(row.run, encoder=encoder) for row in rows}
    (table,) = build_tables(collect(rows), Layout(comparisons=comparisons, runs=infos))
    return table


def texts(row: Row) -> list[str]:
    return [cell.text for cell in row.cells]


OURS = {"en": 82.0, "es": 77.0, "de": 75.0, "zh": 74.0}


def test_languages_are_columns_and_means_are_computed() -> None:
    table = table_of([*results("a", OURS), *results("b", {"en": 83.0, "es": 70.0, "de": 75.0})])
    assert [c.label for c in table.columns] == ["en", "de", "es", "zh", "avg", "avg zero-shot"]
    assert texts(table.rows[0]) == ["82.0", "75.0", "77.0", "74.0", "77.0", "75.3"]
    assert texts(table.rows[1]) == ["83.0", "75.0", "70.0", "–", "–", "–"]
    assert table.rows[1].cells[-1].title == "no mean: zh missing"


def test_the_best_is_bold_with_ties_and_the_lowest_where_lower_is_better() -> None:
    table = table_of([*results("a", {"en": 82.04, "de": 1}), *results("b", {"en": 82.0, "de": 2})])
    assert [[c.best for c in row.cells] for row in table.rows] == [[True, False, False], [True, True, True]]
    aer = table_of(
        [*results("a", {"de-en": 20.0}, metric="aer"), *results("b", {"de-en": 30.0}, metric="aer")]
    )
    assert [row.cells[0].best for row in aer.rows] == [True, False]
    assert not table_of(results("a", {"en": 82.0})).rows[0].cells[0].best  # alone, nothing to be best of


def test_ours_stands_beside_the_papers_row_with_the_difference() -> None:
    table = table_of(results("weam", OURS), Comparison(paper="weam:Table2"))
    ours, theirs, difference = table.rows[:3]
    assert [c.label for c in table.columns[:4]] == ["en", "es", "de", "zh"]  # the paper's order
    assert texts(ours) == ["82.0", "77.0", "75.0", "74.0", "77.0", "75.3"]
    assert texts(theirs) == ["82.6", "76.4", "74.5", "74.4", "77.0", "75.1"]
    assert texts(difference) == ["−0.6", "+0.6", "+0.5", "−0.4", "±0.0", "+0.2"]
    assert {row.kind for row in table.rows[3:]} == {"reference"}
    assert any("amount of training is not compared" in note for note in table.notes)


def test_a_wrong_mean_of_the_paper_is_recomputed_and_flagged() -> None:
    rows = [
        *results("weam", OURS, metric="em", task="mlqa"),
        *results("weam", OURS, metric="f1", task="mlqa"),
    ]
    table = table_of(rows, Comparison(paper="weam:1"))
    assert [c.label for c in table.columns][-4:] == ["EM", "F1", "EM", "F1"]
    theirs = table.rows[1]
    assert texts(theirs)[-2:] == ["47.0", "65.3"]
    note = table.notes[theirs.cells[-1].note - 1]
    assert "48.2" in note and "66.2" in note and "average over all languages" in note


def test_means_beside_a_paper_are_over_the_languages_that_both_have() -> None:
    table = table_of(results("weam", {"en": 80.0, "de": 70.0, "hi": 10.0}), Comparison(paper="weam:2"))
    average = [c.label for c in table.columns].index("avg")
    assert table.rows[0].cells[average].text == "75.0"
    assert table.rows[1].cells[average].value == pytest.approx((82.6 + 74.5) / 2)
    assert "en, de, the languages that both have" in table.notes[0]


@pytest.mark.parametrize(
    ("encoder", "split", "reason"),
    [
        ("", "test", "not recorded"),
        ("models/tiny", "test", "starts from models/tiny"),
        (MBERT, "dev", "dev here, test in the paper"),
    ],
)
def test_what_differs_or_is_not_known_is_not_subtracted(encoder: str, split: str, reason: str) -> None:
    table = table_of(results("weam", OURS, split=split), Comparison(paper="weam:2"), encoder=encoder)
    assert set(texts(table.rows[2])) == {"n/c"}
    assert all(cell.value is None for cell in table.rows[2].cells)
    assert any(note.startswith("Not comparable") and reason in note for note in table.notes)


def test_the_users_word_counts() -> None:
    yes = Comparison(paper="weam:2", comparable=True, reason="same data and steps")
    assert texts(table_of(results("weam", OURS), yes, encoder="").rows[2])[0] == "−0.6"
    no = Comparison(paper="weam:2", comparable=False, reason="a tenth of the data")
    table = table_of(results("weam", OURS), no)
    assert texts(table.rows[2])[0] == "n/c"
    assert "Not comparable (n/c): a tenth of the data." in table.notes
    with pytest.raises(ValueError, match="needs a reason"):
        Comparison(paper="weam:2", comparable=False)


def test_rows_are_matched_by_name_where_they_are_given() -> None:
    comparison = Comparison(paper="weam:2", rows={"x": "translate-train / mBERT"})
    table = table_of(results("x", OURS), comparison)
    assert [row.header for row in table.rows] == ["x", "translate-train / mBERT", "difference"]
    for rows, message in (({"y": "weam"}, "no results of y"), ({"x": "nothing"}, "there is translate-train")):
        with pytest.raises(ConfigurationError, match=message):
            table_of(results("x", OURS), Comparison(paper="weam:2", rows=rows))


def test_pairs_are_matched_either_way_round() -> None:
    rows = results("fast_align", {"de-en": 30.0, "hi-en": 58.0}, metric="aer", task="word_alignment")
    table = table_of(rows, Comparison(paper="xlm_align:2", rows={"fast_align": "fast_align"}))
    assert [c.label for c in table.columns][:2] == ["de-en", "hi-en"]
    assert all(cell.value is not None for cell in table.rows[1].cells[:2])


def test_derived_languages_are_matched_by_quantity() -> None:
    values = {"zero_shot": 60.0, "supervised": 77.0, "delta": 17.0}
    rows = [
        row
        for quantity, value in values.items()
        for row in results("mlm", {"en-x-trans-inv": value}, metric=f"accuracy_{quantity}", split="dev")
    ]
    table = table_of(rows, Comparison(paper="align_mlm:3", comparable=True))
    assert [(c.group, c.label) for c in table.columns] == [("trans+inv", q) for q in ("ZS", "SUP", "Δ")]
    assert [row.header for row in table.rows[:3]] == ["mlm", "MLM", "difference"]
    assert texts(table.rows[1]) == ["56.7", "73.9", "17.2"]
    assert texts(table.rows[2]) == ["+3.3", "+3.1", "−0.2"]
    assert [row.header for row in table.rows[3:]] == ["XLM", "DICT-MLM", "ALIGN-MLM"]


def test_orderings_are_told_where_figures_must_not_be_subtracted() -> None:
    rows = [
        row.model_copy(update={"seed": seed, "value": row.value + jitter})
        for seed, jitter in ((1, -0.5), (2, 0.0), (3, 0.5))
        for run, (en, es, de) in {"tlm": (60.0, 50.0, 45.0), "weam": (60.2, 53.0, 40.0)}.items()
        for row in results(run, {"en": en, "es": es, "de": de})
    ]  # fmt: skip
    table = table_of(rows, Comparison(paper="weam:2"), encoder="")
    assert table.orderings == (1, 1, 1)  # es as in the paper, de the other way round, en too close
    assert any("1 as in the paper, 1 the other way round, 1 within noise" in note for note in table.notes)


def test_tables_whose_names_fold_into_one_get_ids_of_their_own() -> None:
    rows = [*results("a", {"en": 1.0}, task="x y"), *results("a", {"en": 1.0}, task="x-y")]
    tables = build_tables(collect(rows), Layout())
    assert len({table.id for table in tables}) == 2


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
