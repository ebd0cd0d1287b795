"""Whatever a paper prints is found again: results equal to its figures, under natural names, differ by nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from isoglot.report.across import across_tables
from isoglot.report.comparison import Comparison, paper_names
from isoglot.report.grid import Layout, build_tables
from isoglot.report.papers import PaperColumn, PaperRow, PaperTable, paper_table, paper_tables
from isoglot.report.placing import find_line, paper_lines, placement, transformation
from isoglot.report.scores import collect
from isoglot.report.table import Table
from isoglot.results import Result

TABLES = [table.name for table in paper_tables() if table.kind == "results"]
NAMES = {"ppa_no_moco": "tlm", "ppa_no_tlm": "moco", "xlmr_base": "xlm-roberta-base", "cao2020": "word_l2"}
SUFFIX = {"zs": "_zero_shot", "sup": "_supervised", "delta": "_delta"}
XTREME = {"pos": "13", "ner": "14", "xquad": "15", "mlqa": "16", "tydiqa": "17", "xnli": "18", "pawsx": "19"}


def settings(row: PaperRow) -> dict[str, Any]:
    return {k: v for k, v in row.attributes.items() if k not in ("source", "runs", "model", "task")}


def run_name(table: PaperTable, row: PaperRow, column: PaperColumn) -> str:
    """What one would call a run of this row."""
    if (
        sum(settings(other) == settings(row) for other in table.rows if row.system) > 1
        and row.attributes.get("source", "") != "paper"
    ):
        return row.name if row.setting else row.label  # a figure that is quoted, of several for one system
    system = column.system or row.system
    parts = [NAMES.get(system, system) if table.paper != "align_mlm" else system or "study"]
    for key, value in settings(row).items():
        if key in ("pairs", "setting") and value != "zero-shot":
            parts.append(str(value))
        elif key == "code_switch" and not value:
            parts.append("no-cs")
        elif key in (
            "parallel",
            "dictionary",
            "overlap",
            "self_label_layer",
            "dwa_layer",
            "filtering",
            "query",
        ):
            parts.append(f"{key}={value}")
        elif key == "aligner" and value != system:
            parts.append(str(value).removeprefix("simalign_"))
    return " ".join(parts)


def languages(column: PaperColumn, row: PaperRow) -> list[str]:
    if column.language:
        return [column.language]
    if "transformation" in row.attributes:
        return ["en-x-" + str(row.attributes["transformation"]).replace("+", "-")]
    task = {"udpos": "pos", "panx": "ner"}.get(column.task, column.task)
    if not task:
        return [""]
    return list(
        dict.fromkeys(c.language for c in paper_table(f"xlm_align:{XTREME[task]}").columns if c.language)
    )


def results(table: PaperTable) -> Iterator[Result]:
    """The paper's own figures as we would have measured them; a mean over languages as that value in each."""
    for row in table.rows:
        for column in table.columns:
            value = table.value(row, column)
            if value is None or column.average or not column.metric:
                continue
            for language in languages(column, row):
                yield Result(
                    run=run_name(table, row, column),
                    task=column.task or str(row.attributes.get("task", "")) or column.metric,
                    metric=column.metric + SUFFIX.get(column.quantity, ""),
                    language=language,
                    split=table.split or "test",
                    value=value.value,
                    examples=1,
                )


def beside(name: str, rows: list[Result]) -> list[Table]:
    layout = Layout(comparisons=[Comparison(paper=name, comparable=True, reason="the paper's own figures")])
    scores = collect(rows)
    return [t for t in [*build_tables(scores, layout), *across_tables(scores, layout)] if t.paper == name]


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_own_figures_are_found_and_differ_by_nothing(name: str) -> None:
    paper = paper_table(name)
    tables = beside(paper.name, list(results(paper)))
    printed = sum(
        paper.value(row, column) is not None
        for row in paper.rows
        for column in paper.columns
        if column.metric and not column.average
    )
    found = means = 0
    for table in tables:
        assert not any(row.kind == "reference" for row in table.rows), "every line of the paper has a run"
        rows = [(theirs, row) for theirs, row in pairwise(table.rows) if row.kind == "difference"]
        assert len(rows) == sum(row.kind == "ours" for row in table.rows)
        for theirs, row in rows:
            whole = all(float(cell.value).is_integer() for cell in theirs.cells if cell.value is not None)
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.value is None:
                    assert cell.text == ""
                elif column.average:
                    means += 1
                    assert abs(cell.value) < (0.501 if whole else 0.051), theirs.header
                else:
                    found += 1
                    assert abs(cell.value) < 1e-9, (theirs.header, column.label)
    assert found == printed
    if any(column.average for column in paper.columns):
        complete = [row for row in paper.rows if None not in row.values.values()]
        assert means >= len(complete)


def test_a_run_a_hair_off_differs() -> None:
    rows = [row.model_copy(update={"value": row.value + 0.5}) for row in results(paper_table("xlm_align:3"))]
    (table,) = beside("xlm_align:Table3", rows)
    differences = [row for row in table.rows if row.kind == "difference"]
    assert [[round(c.value or 0, 1) for c in row.cells] for row in differences] == [[0.5] * 5] * 4


def test_question_answering_counts_once_in_the_mean_over_tasks() -> None:
    (table,) = beside("xlm_align:Table1", list(results(paper_table("xlm_align:1"))))
    assert [c.label for c in table.columns] == ["F1", "F1", *["F1", "EM"] * 3, "accuracy", "accuracy", "avg"]
    ours = {row.header: row.cells[-1].value for row in table.rows if row.kind == "ours"}
    assert ours["xlm_align"] == pytest.approx(
        68.85
    )  # the paper prints 68.9; counting EM and F1 apart gives 66.9


def test_means_over_other_languages_are_not_subtracted() -> None:
    rows = [
        Result(run="xlm_align", task="pos", metric="f1", language=k, value=70, examples=1)
        for k in ("en", "de")
    ]
    layout = Layout(comparisons=[Comparison(paper="xlm_align:3")])
    (table,) = across_tables(collect(rows), layout)
    assert any("pos is a mean over 2 languages here, 33 in the paper" in note for note in table.notes)
    assert {row.header for row in table.rows if row.kind == "difference"} == {"not comparable"}


@pytest.mark.parametrize(
    ("table", "run", "task", "line"),
    [
        ("weam:2", "weam", "", "zero-shot / mBERT+WEAM"),
        ("weam:2", "bert-base-multilingual-cased", "", "zero-shot / mBERT†"),
        ("weam:1", "mbert translate-train", "", "translate-train / mBERT (ours)"),
        ("ppa:2", "ppa-600k", "", "zero-shot / Ours (600k)"),
        ("ppa:5", "ppa-2M-translate-train-no-cs", "", "translate-train / - CS (2M)"),
        ("ppa:5", "ppa_mlm 600k", "", "zero-shot / repl TLM w/ MLM (600k)"),
        ("align_mlm:1", "xlm", "", "XLM, 25%"),
        ("align_mlm:1", "xlm parallel=1%", "", "XLM, 1%"),
        ("align_mlm:2", "dict-mlm [dictionary=50%]", "", "DICT-MLM, 50%"),
        ("xlm_align:2", "xlm_align", "word_alignment_ot", "Ours - Optimal Transport"),
        ("xlm_align:3", "mlm", "", "XLM-R*"),
        ("xlm_align:7", "xlm_align_no_dwa", "", "no-query"),
        ("xlm_align:5", "xlm_align dwa_layer=8, self_label_layer=12", "", "Layer-8"),
    ],
)
def test_names_are_understood(table: str, run: str, task: str, line: str) -> None:
    found = find_line(paper_lines(paper_table(table)), run, task)
    assert found is not None and found[0].name == line


@pytest.mark.parametrize(
    ("table", "run"),
    [
        ("weam:2", "weam2"),
        ("align_mlm:7", "xlm parallel=0.1"),  # those rows have 25 %
        ("align_mlm:3", "align_mlm dictionary=0.5"),
        ("xlm_align:5", "xlm_align dwa_layer=8"),  # labelled by layer 12 there, by 10 here
        ("ppa:5", "ppa-4M"),
    ],
)
def test_another_setting_than_the_papers_has_no_line(table: str, run: str) -> None:
    assert find_line(paper_lines(paper_table(table)), run) is None


@pytest.mark.parametrize("run", ["align_mlm transformation trans+syn", "align_mlm trans+syn"])
def test_a_transformation_in_the_runs_name_does_where_the_language_has_none(run: str) -> None:
    shared = {"run": run, "task": "pos", "language": "xx", "split": "dev"}
    printed = {"zero_shot": 92.9, "supervised": 93.7, "delta": 0.8}
    rows = [Result(metric=f"f1_{q}", value=v, examples=1, **shared) for q, v in printed.items()]
    (table,) = beside("align_mlm:Table3", rows)
    assert [c.text for c in table.rows[1].cells] == ["92.9", "93.7", "0.8"]
    assert [c.text for c in table.rows[2].cells] == ["±0.0", "±0.0", "±0.0"]


def test_of_all_tables_those_are_shown_that_have_a_line_for_a_run() -> None:
    rows = [Result(run="weam", task="xnli", metric="accuracy", language="de", value=70, examples=1)]
    comparisons = [Comparison(paper=name, placed_only=True) for name in paper_names("all")]
    layout = Layout(comparisons=comparisons)
    scores = collect(rows)
    found = [t.paper for t in [*build_tables(scores, layout), *across_tables(scores, layout)]]
    assert found == ["", "weam:Table2"]  # the task's own table first


def test_how_much_bitext_ppa_had_must_be_told_before_figures_are_subtracted() -> None:
    found = find_line(paper_lines(paper_table("ppa:2")), "ppa")
    assert found is not None and found[0].assumed(found[1]) == [
        "pairs: 250k in the paper, not told by the run's name"
    ]
    told = find_line(paper_lines(paper_table("ppa:2")), "ppa 250k")
    assert told is not None and not told[0].assumed(told[1])


def test_a_name_that_says_more_stands_beside_its_system_but_is_not_subtracted() -> None:
    lines = paper_lines(paper_table("weam:2"))
    found = find_line(lines, "tlm_en_de")
    assert found is not None and found[0].name == "zero-shot / mBERT+TLM"
    assert found[0].assumed(found[1]) == ["the run's name says more than tlm: en_de"]
    assert (
        find_line(paper_lines(paper_table("align_mlm:3")), "mlm_sides_four") is None
    )  # no system of a paper


def test_transformations_in_language_tags() -> None:
    assert transformation("en-x-trans-inv") == transformation("en-x-inv-trans") == "inv+trans"
    assert transformation("de") == transformation("de-en") == ""
    assert placement("align_mlm").attributes == {}


def test_all_tables_or_a_papers_may_be_named_at_once() -> None:
    assert len(paper_names("all")) == 27  # one is printed twice
    assert paper_names("weam") == ["weam:Table1", "weam:Table2"]
    assert paper_names("ppa:T4") == ["ppa:Table4"]
