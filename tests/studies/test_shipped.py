"""Every study that comes with isoglot, at every scale: it loads, expands, and leaves no cell of its table open."""

from __future__ import annotations

from functools import cache

import pytest

from isoglot.report.papers import paper_tables
from isoglot.studies.file import SCALES, builtin_studies, load_study, scales_of
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.units import readings

STUDIES = builtin_studies()
CASES = [(name, scale) for name, path in STUDIES.items() for scale in scales_of(path)]
PAPERS = [name for name in STUDIES if "/" in name]


@cache
def plan_of(name: str, scale: str) -> Plan:
    """The plan, with one seed: seeds change neither cells nor names."""
    return build_plan(load_study(STUDIES[name], scale, ["seeds=[1]"]), assume=True)


def trained(name: str, row: str, scale: str = "tiny", **attributes: object) -> set[str]:
    """Keys of the encoders that a row of a study's only table stands on."""
    (table,) = plan_of(name, scale).tables
    wanted = {"label": row, **attributes}
    rows = [
        number
        for number, own in enumerate(table.rows)
        if all({"label": own.label, **own.attributes}.get(k) == v for k, v in wanted.items())
    ]
    assert len(rows) == 1, f"{len(rows)} rows are {wanted}"
    terms = [t for cell in table.cells if cell.row == rows[0] for t in cell.terms.values()]
    return {str(checkpoint(r.unit)) for term in terms for r in readings(term)}


def checkpoint(unit: object) -> object:
    tuned = [needed for needed in unit.needs if needed.kind == "finetune"]  # type: ignore[attr-defined]
    return (tuned[0] if tuned else unit).config["checkpoint"]  # type: ignore[attr-defined]


def test_every_results_table_of_the_papers_has_a_study() -> None:
    wanted = {table.name for table in paper_tables() if table.kind == "results"}
    assert len(wanted) == 28
    studied = [t.paper.name for name in PAPERS for t in plan_of(name, "tiny").tables]
    assert set(studied) == wanted
    assert len(studied) == len(wanted)  # one each


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_study_has_every_scale(name: str) -> None:
    assert scales_of(STUDIES[name]) == list(SCALES)


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_every_cell_is_planned_or_says_why_not(name: str, scale: str) -> None:
    plan = plan_of(name, scale)
    assert plan.tables or plan.figures
    for table in plan.tables:
        if table.correlation is not None:
            assert [row.label for row in table.rows] == [row.label for row in table.paper.rows]
            assert all(point.x or point.mark for own in table.correlation.points.values() for point in own)
            continue
        if name in PAPERS:
            assert [id_of(row) for row in table.rows] == [id_of(row) for row in table.paper.rows]
            assert list(table.columns) == list(table.paper.columns)
        plain = [column.id for column in table.columns if not column.average]
        there = {(cell.row, cell.column) for cell in table.cells}
        assert there == {(number, column) for number in range(len(table.rows)) for column in plain}
        assert all(bool(cell.terms) != bool(cell.mark) for cell in table.cells)
    for figure in plan.figures:
        assert (figure.unit is None) == bool(figure.mark)


def id_of(row: object) -> tuple[str, str]:
    return row.label, str(sorted(row.attributes.items()))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PAPERS)
def test_the_miniature_world_measures_something_of_each_study(name: str) -> None:
    plan = plan_of(name, "tiny")
    assert plan.count("evaluate") + plan.count("analyse") + plan.count("figure") > 0


@pytest.mark.parametrize("name", PAPERS)
def test_tiny_needs_nothing_from_outside(name: str) -> None:
    assert not [u.name for u in plan_of(name, "tiny").units() if "${" in str(u.config)]


def test_rows_of_the_papers_own_systems_are_trained_at_paper_scale() -> None:
    for name in PAPERS:
        for table in plan_of(name, "paper").tables:
            missing = {c.mark for c in table.cells if c.mark}
            assert all("table only" in mark for mark in missing), (name, missing)


@pytest.mark.parametrize("scale", SCALES)
def test_xlm_aligns_ablations_share_their_runs(scale: str) -> None:
    full = trained("xlm_align/table3", "XLM-Align", scale)
    assert len(full) == 1
    assert full == trained("xlm_align/table4", "Layer-10", scale)
    assert full == trained("xlm_align/table6", "Enable", scale)
    assert full == trained("xlm_align/table7", "masked", scale)
    without = trained("xlm_align/table3", "-DWA", scale)
    assert without == trained("xlm_align/table7", "no-query", scale) != full
    assert trained("xlm_align/table4", "Layer-12", scale) == trained("xlm_align/table5", "Layer-12", scale)
    rows = [
        ("xlm_align/table3", ("XLM-R*", "XLM-Align", "-DWA", "-TLM")),
        ("xlm_align/table4", ("Layer-8", "Layer-10", "Layer-12")),
        ("xlm_align/table5", ("Layer-8", "Layer-10", "Layer-12")),
        ("xlm_align/table6", ("Enable", "Disable")),
        ("xlm_align/table7", ("masked", "unmasked", "all-aligned", "no-query")),
    ]
    runs = {key for name, labels in rows for label in labels for key in trained(name, label, scale)}
    assert len(runs) == 11  # of 16 rows


def test_align_mlms_random_tokens_are_of_the_original_half() -> None:
    """The authors draw them below ``len(tokenizer)``, which is V and not 2V."""
    found = [u.config["set"] for u in plan_of("align_mlm/table3", "paper").units() if u.kind == "pretrain"]
    assert {len(own["views"]) for own in found} == {1, 2}  # XLM reads pairs too
    for own in found:
        for view in own["views"].values():
            low, high = view["random_pool"]
            assert low == 0 and high.endswith("copied_vocabulary>")


def test_weam_is_one_model_a_language_and_english_their_mean() -> None:
    assert len(trained("weam/table2", "mBERT+WEAM")) == 3
    (table,) = plan_of("weam/table2", "tiny").tables
    cells = {c.column: c for c in table.cells if table.rows[c.row].label == "mBERT+WEAM"}
    own = {c: {checkpoint(r.unit) for r in readings(cells[c].terms[1])} for c in ("en", "es", "de", "zh")}
    assert own["en"] == own["es"] | own["de"] | own["zh"]
    assert [len(keys) for keys in own.values()] == [3, 1, 1, 1]


def test_weam_and_its_baseline_differ_in_one_objective() -> None:
    plan = plan_of("weam/table1", "paper")
    sets = {u.name: u.config["set"] for u in plan.units() if u.kind == "pretrain"}
    weam, tlm = sets["weam pair=de s1"], sets["tlm pair=de s1"]
    assert tlm == {**weam, "objectives": {"word_exchange": None}}


def test_ppas_code_switching_is_of_the_settings() -> None:
    (table,) = plan_of("ppa/table5", "tiny").tables
    settings = {
        (row.label, row.setting): {c.setting for c in table.cells if c.row == number and c.terms}
        for number, row in enumerate(table.rows)
    }
    assert settings["- CS", "translate-train"] == {"translate_train"}
    assert settings["- TLM", "translate-train"] == {"code_switch"}
    assert settings["- TLM", "zero-shot"] == {"zero_shot"}
    full = trained("ppa/table5", "Our full system (250k)", setting="translate-train")
    assert full == trained("ppa/table5", "- CS", pairs="250k")
    assert len({trained("ppa/table5", "- MoCo", setting="zero-shot", pairs=n).pop() for n in SIZES}) == 3


SIZES = ("250k", "600k", "2M")
