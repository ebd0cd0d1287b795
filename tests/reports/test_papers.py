from __future__ import annotations

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.reports.papers import corrections, paper_table, paper_tables
from isoglot.reports.stats import rank_correlation


def test_the_true_zero_shot_means_of_weam_take_the_place_of_the_printed_ones() -> None:
    table = paper_table("weam:Table1")
    expected = {
        "zero-shot / mBERT†": (42.7, 59.9),
        "tlm": (45.4, 63.6),
        "weam": (47.0, 65.3),
        "mBERT (ours)": (46.8, 64.7),
    }
    for name, (em, f1) in expected.items():
        row = table.row(name)
        for metric, value in (("em", em), ("f1", f1)):
            found = table.value(row, table.column(f"avg_zero_shot.{metric}"))
            assert found is not None and found.reason
            assert round(found.value, 1) == value
            assert found.printed - found.value > 0.8


def test_addresses_tell_rows_apart_without_saying_a_word_twice() -> None:
    for table in paper_tables():
        names = [table.address(row) for row in table.rows]
        for name in names:
            assert len(set(name.split(" / "))) == len(name.split(" / ")), name
    names = [table.address(row) for table in [paper_table("xlm_align:2")] for row in table.rows]
    assert {"SimAlign - Argmax / XLM-R", "Ours - Optimal Transport / XLM-R"} < set(names)
    assert not [name for name in names if "xlmr_base" in name or "xlm_align" in name]
    assert len(set(names)) == len(names)


def test_every_figure_that_differs_from_print_is_a_known_correction_and_no_other() -> None:
    differing, wrong_means = set(), set()
    for table in paper_tables():
        for row in table.rows:
            numbers = [v for v in row.values.values() if isinstance(v, int | float)]
            place = 1.0 if all(float(v).is_integer() for v in numbers) else 0.1
            for column in table.columns:
                value = table.value(row, column)
                key = (table.paper, table.number, row.label, row.setting, column.id)
                if value is not None and value.reason:
                    differing.add(key)
                mean = table.mean(row.values, column) if value is not None and column.average else None
                if mean is not None and abs(mean - value.printed) > 0.501 * place:  # of rounded figures
                    wrong_means.add(key)
    known = {(c.paper, c.table, c.row, c.setting, c.column) for c in corrections()}
    assert len(known) == 14
    assert differing == known
    assert wrong_means == {key for key in known if key[-1].startswith("avg")}


def test_all_four_papers_are_here_with_their_result_tables() -> None:
    results = [t for t in paper_tables() if t.kind == "results"]
    assert {t.paper for t in results} == {"weam", "ppa", "align_mlm", "xlm_align"}
    assert len(results) == 28
    assert paper_table("align_mlm:4").rows == paper_table("align_mlm:2").rows  # printed twice
    assert paper_table("weam:Table2").row("weam").values["de"] == 74.5
    assert paper_table("ppa:T4").row("Ours (2M)").setting == "zero-shot"


def test_xquad_of_xlm_align_has_the_languages_that_its_values_belong_to() -> None:
    table = paper_table("xlm_align:15")
    row = table.rows[0]
    by_language = {(c.language, c.metric): row.values[c.id] for c in table.columns if c.language}
    assert by_language["th", "f1"] == 72.1 and by_language["th", "em"] == 61.0
    assert by_language["zh", "f1"] == 67.3 and by_language["ar", "f1"] == 70.3


@pytest.mark.parametrize(("task", "rho"), [("xnli", 0.727), ("ner", 0.781), ("pos", 0.734)])
def test_spearman_of_align_mlm_follows_from_its_tables(task: str, rho: float) -> None:
    scores, drops = paper_table("align_mlm:8"), paper_table("align_mlm:3")
    x = [row.values["alignment"] for row in scores.rows]
    y = [-float(row.values[f"{task}.delta"]) for row in drops.rows]
    found = rank_correlation(x, y)
    assert found is not None and round(found.rho, 3) == rho and found.p < 0.01


@pytest.mark.parametrize("name", ["weam:Table9", "weam", "", "nobody:1"])
def test_an_unknown_table_is_named_with_the_ones_there_are(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"known: weam:Table1"):
        paper_table(name)


def test_rows_and_columns_that_a_study_adds_are_found_by_their_labels() -> None:
    table = paper_table("weam:Table2").extended(("weam", "mine"), ("xx", "f1"))
    row, column = table.row("weam", "mine"), table.column("xx", "f1")
    assert (row.label, column.id) == ("weam / mine", "xx / f1")
    assert (table.rows[-1], table.columns[-1]) == (row, column)
    assert table.extended(("weam", "mine"), ("xx", "f1")) == table
    assert table.row("weam") == paper_table("weam:Table2").row("weam")


def test_an_unknown_row_and_column_are_named() -> None:
    table = paper_table("weam:2")
    with pytest.raises(ConfigurationError, match=r"did you mean 'zero-shot / mBERT.WEAM'"):
        table.row("zero-shot / mBERT WEAM")
    with pytest.raises(ConfigurationError, match="avg_all"):
        table.column("avg")
