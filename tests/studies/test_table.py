from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.report.export import to_text
from isoglot.report.figure_files import read_figure
from isoglot.report.papers import paper_table
from isoglot.report.scores import collect
from isoglot.results import read
from isoglot.studies.file import find_studies, load_study
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.store import Store
from isoglot.studies.table import fill, study_tables, to_markdown, write_study
from isoglot.studies.units import Difference, Reading, Term

WEAM = """
name: toy
data: {}
systems:
  mbert: {checkpoint: mbert}
  weam: {recipe: weam}
tasks:
  xnli: {task: xnli, data: ["x"], languages: [LANGUAGES]}
tables:
  table2:
    paper: weam:Table2
    rows: [{paper: {label: mBERT†, setting: zero-shot}}, {paper: mBERT+WEAM}]
scales: {tiny: {seeds: [1, 2]}}
"""


def plan_of(name: str, *settings: str) -> Plan:
    return build_plan(load_study(find_studies([name])[0], "tiny", settings))


def finish(store: Store, term: Term, value: float) -> None:
    """Write what units would have measured, so that a term has a value."""
    if isinstance(term, Difference):
        finish(store, term.left, value)
        finish(store, term.right, 0.0)
    elif isinstance(term, Reading):
        store.finish(term.unit, {"values": {term.metric: value, "": value}})
    else:
        for part in term.terms:
            finish(store, part, value)


def test_the_papers_own_figures_differ_by_nothing(tmp_path: Path) -> None:
    plan = plan_of("align_mlm/table3", "seeds=[1]")
    store = Store(tmp_path)
    planned = plan.tables[0]
    for cell in planned.cells:
        printed = planned.rows[cell.row].values[cell.column]
        if cell.column.endswith(("sup", "zs")) and cell.terms:
            finish(store, cell.terms[1], float(str(printed)))
    table = study_tables(plan, tmp_path)[0]
    assert len(table.rows) == 36
    differences = [
        c.value for row in table.rows if row.kind == "difference" for c in row.cells if c.value is not None
    ]
    assert len(differences) == 12 * 9
    assert max(map(abs, differences)) < 0.11  # Δ as printed is rounded
    assert "ALIGN-MLM / trans+inv" in to_text(table)
    assert any("pos.zs 15 of 15 (9 of 9)" in note for note in table.notes)


def test_error_rates_have_two_places_as_in_print(tmp_path: Path) -> None:
    plan = plan_of("xlm_align/table2", "seeds=[1]")
    store, planned = Store(tmp_path), plan.tables[0]
    for cell in planned.cells:
        printed = planned.rows[cell.row].values.get(cell.column)
        if cell.terms and isinstance(printed, float):
            finish(store, cell.terms[1], printed)
    rows = study_tables(plan, tmp_path)[0].rows
    texts = {cell.text for row in rows for cell in row.cells if cell.value is not None}
    assert {"20.15", "±0.00"} <= texts
    assert all(len(text.partition(".")[2]) == 2 for text in texts)


def test_spearman_of_the_papers_own_figures(tmp_path: Path) -> None:
    """0.727, 0.781 and 0.734 follow from Tables 3 and 8."""
    plan = plan_of("align_mlm/figure3", "seeds=[1]")
    scores = {row.label: row.values["alignment"] for row in paper_table("align_mlm:Table8").rows}
    drops = {
        f"{r.system} / {r.attributes['transformation']}": r.values
        for r in paper_table("align_mlm:Table3").rows
    }
    correlation = plan.tables[0].correlation
    assert correlation is not None
    store = Store(tmp_path)
    for label, task in correlation.entry.rows.items():
        for point in correlation.points[label]:
            finish(store, point.x[1], float(str(scores[point.label])))
            finish(store, point.y[1], float(str(drops[point.label][f"{task}.delta"])))
    tables, folder = write_study(plan, tmp_path)
    ours = [row.cells[0].value for row in tables[0].rows if row.kind == "ours"]
    assert [round(value or 0, 3) for value in ours] == [0.727, 0.781, 0.734]
    figure = read_figure(folder / "figures" / "figure3-pos.json")
    assert figure.kind == "scatter"
    assert len(figure.points) == 12
    assert {point.group for point in figure.points} == {"MLM", "XLM", "DICT-MLM", "ALIGN-MLM"}
    assert {point.label.partition(" / ")[0] for point in figure.points} == {p.group for p in figure.points}
    assert json.loads((folder / "figures" / "figure3-pos.json").read_text())["correlate"] == "-y"


def weam(tmp_path: Path, languages: str) -> Plan:
    path = tmp_path / "toy.yaml"
    path.write_text(WEAM.replace("LANGUAGES", languages))
    return build_plan(load_study(path, "tiny"))


def test_small_percentages_are_not_taken_for_shares(tmp_path: Path) -> None:
    """Every row has a hash, the measurement's own or its configuration's."""
    plan = weam(tmp_path, "de")
    store = Store(tmp_path / "out")
    for cell in plan.tables[0].cells:
        for term in cell.terms.values():
            finish(store, term, 0.5)
    _, folder = write_study(plan, tmp_path / "out")
    rows = read(folder / "results.jsonl")
    assert rows and all(row.recipe_hash for row in rows)
    scores = collect(rows)
    assert not scores.scaled
    assert {scores.score(m, r, "de").mean for m in scores.measures() for r in scores.runs} == {0.5}


def test_means_are_over_what_both_have(tmp_path: Path) -> None:
    plan = weam(tmp_path, "de, es")
    planned, store = plan.tables[0], Store(tmp_path / "out")
    given = {"en": 80.0, "es": 70.0, "de": 60.0}
    for cell in planned.cells:
        for seed, term in cell.terms.items():
            finish(store, term, given[cell.column] + seed)
    table = study_tables(plan, tmp_path / "out")[0]
    columns = [column.label for column in table.columns]
    ours, paper, difference = (dict(zip(columns, row.cells, strict=True)) for row in table.rows[3:])
    assert ours["avg_all"].value == pytest.approx(71.5)
    assert ours["avg_all"].sd == pytest.approx(0.5**0.5)
    assert ours["avg_zero_shot"].value == pytest.approx(66.5)
    printed = paper_table("weam:Table2").row("mBERT+WEAM").values
    mean = sum(float(str(printed[c])) for c in ("es", "de")) / 2
    assert paper["avg_zero_shot"].value == pytest.approx(mean)
    assert difference["avg_zero_shot"].value == pytest.approx(66.5 - mean)
    assert paper["avg_zero_shot"].note
    assert ours["zh"].text == "–"
    assert "zh at scale tiny" in table.notes[ours["zh"].note - 1]
    assert to_markdown(table).count("\n| ") == 2 + 6


def test_a_mean_waits_for_all_its_cells_of_a_seed(tmp_path: Path) -> None:
    plan = weam(tmp_path, "de, es, zh")
    planned, store = plan.tables[0], Store(tmp_path / "out")
    for cell in planned.cells:
        for seed, term in cell.terms.items():
            if (cell.column, seed) != ("zh", 2):
                finish(store, term, 50.0)
    found = fill(planned, store.measured(plan.units()))
    assert set(found.values[1, "zh"]) == {1}
    assert set(found.values[1, "avg_all"]) == {1}
    assert (1, "avg_all") not in found.partial


def test_cells_say_which_seeds_they_are_over(tmp_path: Path) -> None:
    plan = weam(tmp_path, "de, es")
    planned, store = plan.tables[0], Store(tmp_path / "out")
    trained = [cell for cell in planned.cells if len(cell.terms) == 2]
    assert trained
    for cell in planned.cells:
        for seed, term in cell.terms.items():
            if cell.row == 0 or (cell.column, seed) != ("es", 2):
                finish(store, term, 50.0)
    table = study_tables(plan, tmp_path / "out")[0]
    rows = [row for row in table.rows if row.kind == "ours"]
    notes = {
        (number, column.label): table.notes[cell.note - 1]
        for number, row in enumerate(rows)
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.note and cell.value is not None
    }
    assert notes[1, "es"] == "over seed 1 so far"
    assert set(notes) == {(1, "es"), (1, "avg_all"), (1, "avg_zero_shot")}
