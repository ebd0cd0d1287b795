"""Every study that comes with isoglot, at every scale: all of its options exist, and no cell of its table is open."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from shipped_studies import PAPERS, STUDIES, parts, programs, steps_of

from isoglot.reports.papers import PAPERS as REPORT_NAMES
from isoglot.reports.papers import paper_table, paper_tables
from isoglot.studies.program import inspect_programs
from isoglot.studies.sizes import OWN, at_scale
from isoglot.studies.training_steps import Evaluate

OWN_TABLES = {
    "align_mlm/alpha",
    "real/transfer",
    "real/translate_train",
    "real/word_alignment",
    "weam/loss_weight",
    "weam/masking_rate",
}
"""No paper prints them."""
SCALES = ["tiny", *(pytest.param(scale, marks=pytest.mark.slow) for scale in ("small", "paper"))]
"""The larger scales have sizes and data of their own; the cells are those of ``tiny``."""


def test_every_results_table_of_the_papers_has_a_study() -> None:
    kinds = ("results", "cost", "data", "architecture")
    wanted = {table.name for table in paper_tables() if table.kind in kinds}
    filled = {
        place.table for paper in PAPERS for p in programs(paper, "tiny") for place in p.parts if place.table
    }
    assert filled - OWN_TABLES == wanted
    assert {"weam/figure2", "xlm_align/figure2", "align_mlm/figure2", "align_mlm/figure3"} < set(STUDIES)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_is_planned_or_says_why_not(paper: str, scale: str) -> None:
    for own in programs(paper, scale):
        assert own.parts
        by_table: dict[str, set[tuple[str, str]]] = {}
        for place in filter(attrgetter("table"), parts(own)):
            assert bool(place.steps) or place.unavailable
            if place.table in OWN_TABLES or place.is_added:
                continue
            table = paper_table(place.table)
            address = table.address(table.row(*place.row)), table.column(*place.column).id
            assert address not in by_table.setdefault(place.table, set()), "one cell for a place"
            by_table[place.table].add(address)
        for name, there in by_table.items():
            table = paper_table(name)
            rows = {table.address(row) for row in table.rows}
            columns = {c.id for c in table.columns if not c.average}
            if own.study.name == "align_mlm/figure2":
                columns = {column for column in columns if column.endswith(".delta")}
            assert there == {(row, column) for row in rows for column in columns}, own.study.name


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_recipe_task_and_option_exists(paper: str, scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--dry-run`` checks: no data are needed for it."""
    for name in ("DATA", "CORPORA", "CHECKPOINTS", "ENCODER", "GALACTIC"):
        monkeypatch.delenv(f"ISOGLOT_{name}", raising=False)
    plan = inspect_programs(programs(paper, scale))
    assert plan.inputs
    if scale == "tiny":
        assert not plan.missing() and not any(part.missing for part in plan.parts)
    else:
        assert all(part.missing or part.unavailable for part in plan.parts)


@pytest.mark.parametrize("scale", SCALES[1:])
@pytest.mark.parametrize("paper", PAPERS)
def test_inputs_are_all_missing_in_an_empty_folder(
    paper: str, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATA", "CORPORA", "CHECKPOINTS", "ENCODER", "GALACTIC"):
        monkeypatch.setenv(f"ISOGLOT_{name}", str(tmp_path))
    plan = inspect_programs(programs(paper, scale), check=False)
    assert plan.missing() and all("${ISOGLOT_" in path for path in plan.missing())
    assert plan.parts and all(part.missing or part.unavailable for part in plan.parts)


def test_variants_of_the_papers_code_take_batches_at_random() -> None:
    for name, only in (("weam/table2", "mBERT†*:de"), ("xlm_align/table19", "XLM-Align*:de")):
        for variant, bucket in (("isoglot", 50), ("literal", 1)):
            steps = steps_of(name, only, variant=variant).values()
            tuned = [s.finetune for s in steps if isinstance(s, Evaluate) and s.finetune is not None]
            assert tuned and {step.check()[1].bucket for step in tuned} == {bucket}


def test_every_value_of_a_variant_is_documented() -> None:
    """One row a size: its name, what it is at scale paper, literal, authors, and the source."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "variants.md"
    parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    rows = {
        part.partition("\n")[0]: {
            (cells := [cell.strip() for cell in line.split("|")[1:-1]])[0].strip("`"): cells[1:4]
            for line in part.splitlines()
            if line.startswith("| `")
        }
        for part in parts
    }
    for paper, title in REPORT_NAMES.items():
        module = import_module(f"isoglot.papers.{paper}")
        named = [v for v in module.VARIANTS.values() if not isinstance(v, str)]
        assert set(rows[title]) == {size for sizes in named for size in sizes}, title
        for size, told in rows[title].items():
            usual = module.SIZES[size]
            for cell, variant in zip(told, (OWN, "literal", "authors"), strict=True):
                sizes = module.VARIANTS.get(variant, {})
                value = at_scale(usual if isinstance(sizes, str) else sizes.get(size, usual), "paper")
                expected = "" if isinstance(sizes, str) else f"`{str(value).lower()}`"
                assert cell == expected, (title, size, variant)
