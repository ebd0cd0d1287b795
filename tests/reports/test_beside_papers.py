"""The papers' own figures, fed back as cells, differ by nothing; seeds, gaps, means and orderings are reported."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.reports.beside_papers import tables_beside_papers
from isoglot.reports.export import to_csv, to_latex, to_text
from isoglot.reports.papers import PaperTable, paper_table, paper_tables
from isoglot.reports.table import Table, TableRow
from isoglot.results.rows import Cell

TABLES = [table.name for table in paper_tables() if table.kind == "results"]


def printed(paper: PaperTable, **more: object) -> Iterator[Cell]:
    """A cell for each figure that is no average."""
    for row in paper.rows:
        for column in paper.columns:
            value = paper.value(row, column)
            if value is not None and not column.average:
                labels = tuple(paper.address(row).split(" / "))
                place = (row.name,) if paper.rows_of(row.name) == [row] else labels
                yield Cell(table=paper.name, row=place, column=(column.id,), value=value.value, **more)


def rows_of(table: Table, kind: str) -> list[TableRow]:
    return [row for row in table.rows if row.kind == kind]


def texts(row: TableRow) -> list[str]:
    return [f"{cell.text} {cell.spread}".strip() for cell in row.cells]


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_own_figures_differ_by_nothing(name: str) -> None:
    paper = paper_table(name)
    cells = list(printed(paper))
    (table,) = tables_beside_papers(cells, unmeasured=True)
    assert not rows_of(table, "reference")
    found = 0
    for theirs, row in zip(rows_of(table, "paper"), rows_of(table, "difference"), strict=True):
        whole = all(float(c.value).is_integer() for c in theirs.cells if c.value is not None)
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is not None and column.average:
                assert abs(cell.value) < (0.501 if whole else 0.051), theirs.header
            elif cell.value is not None:
                found += 1
                assert cell.value == 0
    assert found == sum(not paper.column(*cell.column).bound for cell in cells)
    told = [note for note in table.notes if "Pairs of rows" in note or "Too close" in note]
    assert not any("Too close" in note for note in told)
    assert all(kept == of for note in told for kept, of in re.findall(r"(\d+) of (\d+)", note))
    for write in (to_text, to_csv, to_latex):
        assert write(table)


def test_columns_stand_under_the_language_of_their_values() -> None:
    """The paper prints another order of languages than that of the values of its Table 15."""
    (table,) = tables_beside_papers(printed(paper_table("xlm_align:Table15")))
    languages = list(dict.fromkeys(column.group for column in table.columns if not column.average))
    assert languages == ["en", "ar", "de", "el", "es", "hi", "ru", "th", "tr", "vi", "zh"]


def test_a_figure_a_hair_off_differs() -> None:
    cells = [
        c.model_copy(update={"value": (c.value or 0) + 0.5}) for c in printed(paper_table("xlm_align:3"))
    ]
    (table,) = tables_beside_papers(cells)
    assert [[round(c.value or 0, 1) for c in row.cells] for row in rows_of(table, "difference")] == [
        [0.5] * 5
    ] * 4


def cell(row: str, column: str, value: float | None = None, **more: object) -> Cell:
    labels = {"table": "weam:Table2", "row": row.split(" / "), "column": [column]}
    return Cell.model_validate({**labels, "value": value, **more})


def test_seeds_become_means_and_cells_with_fewer_are_marked() -> None:
    cells = [cell("weam", "de", 70.0 + s, seed=s) for s in (1, 2, 3)]
    cells += [cell("weam", "es", 75.0, seed=1), cell("weam", "es", seed=2), cell("weam", "zh", seed=1)]
    cells += [cell("weam", "en", unavailable="no English data")]
    (table,) = tables_beside_papers(cells)
    assert [c.label for c in table.columns] == ["en", "es", "de", "zh", "avg", "avg zero-shot"]
    ours, _, difference = table.rows
    assert texts(ours)[:4] == ["–", "75.0", "72.0 ±1.0", "…"]
    assert table.notes[ours.cells[0].note - 1] == "Not available: no English data."
    assert table.notes[ours.cells[1].note - 1] == "Over seed 1 alone."
    assert "1, 2, 3" in table.caption and difference.cells[2].value == pytest.approx(72 - 74.5)
    assert ours.header == "zero-shot / mBERT+WEAM"


def test_a_figure_that_took_anothers_place_is_told() -> None:
    place = {"table": "align_mlm:Table3", "row": ("mlm", "trans"), "column": ("xnli", "zs")}
    cells = [
        Cell(**place, value=value, seed=seed) for value, seed in ((70.0, 1), (71.0, 2), (72.0, 1), (71.0, 2))
    ]
    (table,) = tables_beside_papers(cells)
    told = [note for note in table.notes if "measured again" in note]
    assert told == [
        "1 numbers were measured again with another value; the last one counts (first: mlm / trans / xnli / zs)."
    ]
    assert not any("measured again" in note for note in tables_beside_papers(cells[2:])[0].notes)


def test_means_are_over_what_both_have_per_seed() -> None:
    cells = [cell("weam", k, v + s, seed=s) for s in (1, 2) for k, v in (("es", 70.0), ("de", 60.0))]
    cells.append(cell("weam", "en", 80.0))  # without a seed: counts for each
    (table,) = tables_beside_papers(cells)
    by_label = {c.label: i for i, c in enumerate(table.columns)}
    ours, theirs, _ = table.rows
    mean = ours.cells[by_label["avg"]]
    assert mean.value == pytest.approx((80 + 71.5 + 61.5) / 3) and mean.sd == pytest.approx(2 / 3 * 0.5**0.5)
    assert theirs.cells[by_label["avg zero-shot"]].value == pytest.approx((76.4 + 74.5) / 2)
    assert table.notes[mean.note - 1] == (
        "Means over en, es, de, the columns measured; the paper's over the same."
    )


def test_zero_shot_mean_asks_nothing_of_english() -> None:
    """A seed without English has a zero-shot mean, and English beside one other language is no average of several."""
    cells = [cell("weam", k, v + s, seed=s) for s in (1, 2) for k, v in (("es", 70.0), ("de", 60.0))]
    (table,) = tables_beside_papers([*cells, cell("weam", "en", 80.0, seed=1)])
    zero_shot = table.rows[0].cells[-1]
    assert table.columns[-1].label == "avg zero-shot"
    assert zero_shot.value == pytest.approx((71.5 + 61.5) / 2) and zero_shot.sd == pytest.approx(0.5**0.5)
    assert table.notes[zero_shot.note - 1].startswith("Means over es, de, ")
    (table,) = tables_beside_papers([cell("weam", "en", 80.0), cell("weam", "de", 60.0)])
    assert [column.label for column in table.columns if "avg" in column.label] == ["avg"]


def test_a_mean_over_fewer_columns_stands_beside_means_over_the_same() -> None:
    """Those of rows that are not measured too; the printed mean of four pairs says nothing beside one of three."""
    cells = [
        Cell(table="xlm_align:Table2", row=("SimAlign - Argmax",), column=(pair,), value=20.0)
        for pair in ("en-de", "en-fr", "en-hi")
    ]
    (table,) = tables_beside_papers(cells, unmeasured=True)
    means = {row.header: row.cells[-1] for row in table.rows if row.kind in ("paper", "reference")}
    assert means["paper"].value == pytest.approx((19 + 7 + 39) / 3)
    assert means["Ours - Optimal Transport / XLM-Align"].value == pytest.approx((16.63 + 6.61 + 33.98) / 3)
    assert {table.notes[cell.note - 1] for cell in means.values()} == {
        "Means over en-de, en-fr, en-hi, the columns measured; the paper's over the same."
    }
    more = Cell(table="xlm_align:Table2", row=("SimAlign - Itermax",), column=("en-de",), value=20.0)
    other = more.model_copy(update={"column": ("en-ro",)})
    (table,) = tables_beside_papers([*cells, more, other], unmeasured=True)
    reference = next(row for row in table.rows if row.kind == "reference")
    assert reference.cells[-1].text == "–", "two sets of columns above it"


def test_two_figures_of_one_language_are_no_average() -> None:
    figures = {name: cell("weam", name, 40.0, table="weam:Table1") for name in ("de.em", "de.f1", "es.em")}
    (alone,) = tables_beside_papers([figures["de.em"], figures["de.f1"]])
    assert not any("avg" in f"{column.group} {column.label}" for column in alone.columns)
    (two,) = tables_beside_papers(list(figures.values()))
    assert any("avg" in f"{column.group} {column.label}" for column in two.columns)


def test_a_wrong_mean_of_the_paper_is_recomputed_and_flagged() -> None:
    (table,) = tables_beside_papers(c for c in printed(paper_table("weam:1")) if "mBERT+WEAM" in c.row[-1])
    theirs = rows_of(table, "paper")[0]
    assert texts(theirs)[-2:] == ["47.0", "65.3"]
    note = table.notes[theirs.cells[-1].note - 1]
    assert "average over all languages" in note and "48.2" in note and "66.2" in note


def test_several_runs_stand_beside_one_row_and_scales_apart() -> None:
    cells = [cell("weam", "de", 70.0, run=run) for run in ("mine", "yours")]
    cells += [cell("weam", "de", 60.0, scale="tiny", note="a tenth of the data")]
    full, tiny = tables_beside_papers(cells, unmeasured=True)
    assert [row.header for row in rows_of(full, "ours")] == ["mine", "yours"]
    assert [row.header for row in rows_of(full, "paper")] == ["zero-shot / mBERT+WEAM"] * 2
    assert len(rows_of(full, "reference")) == 4
    assert full.id != tiny.id and "Scale tiny" in tiny.caption
    assert rows_of(tiny, "ours")[0].detail == "note 1" and tiny.notes[0] == "a tenth of the data"


def test_a_table_of_no_paper_has_ours_alone() -> None:
    cells = [Cell(table="demo", row=(r,), column=(c,), value=v) for r, c, v in (("b", "x", 1), ("a", "y", 2))]
    (table,) = tables_beside_papers(cells)
    assert [(row.header, texts(row)) for row in table.rows] == [("b", ["1.0", "–"]), ("a", ["–", "2.0"])]
    assert table.title == "demo"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"table": "weam:Table9"}, "weam:Table9"),
        ({"row": ["wem"]}, "row 'wem' is unknown"),
        ({"column": ["f1"]}, "column 'f1' is unknown"),
        ({"row": ["translate-train"], "column": ["xnli"]}, "column|fits several"),
        ({"table": "ppa:Table5", "row": ["zero-shot", "- MoCo"]}, "fits several.*250k"),
    ],
)
def test_a_place_that_is_not_there_is_named(place: dict[str, object], message: str) -> None:
    given = {"table": "weam:Table2", "row": ["weam"], "column": ["de"], "value": 1.0, **place}
    with pytest.raises(ConfigurationError, match=message):
        tables_beside_papers([Cell.model_validate(given)])


def test_a_note_counts_the_pairs_in_the_papers_order() -> None:
    given = {"en": (60.0, 60.2), "es": (50.0, 53.0), "de": (45.0, 40.0)}
    cells = [
        cell(name, lang, means[i] + jitter, seed=seed)
        for lang, means in given.items()
        for i, name in enumerate(("tlm", "weam"))
        for seed, jitter in enumerate((-0.5, 0.0, 0.5))
    ]
    (table,) = tables_beside_papers(cells)
    assert any("here too: es 1 of 1, de 0 of 1. Too close to order: 1 pair (" in note for note in table.notes)


@pytest.mark.parametrize("table", [t for t in paper_tables() if t.kind == "results"], ids=lambda t: t.name)
def test_every_row_has_an_address_that_finds_it(table: PaperTable) -> None:
    for row in table.rows:
        address = table.address(row)
        assert table.row(*([address] if table.rows_of(address) else address.split(" / "))) is row


def test_a_papers_table_is_found_however_its_name_is_written() -> None:
    name = "align_mlm:Table3"
    paper = paper_table(name)
    cell = next(printed(paper))
    (table,) = tables_beside_papers([cell.model_copy(update={"table": "ALIGN-MLM:3"})])
    assert rows_of(table, "paper") and table.title.startswith("ALIGN-MLM")


def test_a_bound_of_the_paper_is_shown_as_one_and_has_no_difference() -> None:
    """Appendix E prints p < .01; ours is a number."""
    place = {"table": "align_mlm:E", "row": ("XNLI",)}
    cells = [Cell(**place, column=("rho",), value=0.7), Cell(**place, column=("p",), value=0.0123)]
    (table,) = tables_beside_papers(
        [*cells, Cell(table="align_mlm:E", row=("POS",), column=("p",), value=0.0002)]
    )
    assert [column.label for column in table.columns] == ["ρ", "p"]
    assert [texts(row) for row in table.rows[:3]] == [["0.700", "0.012"], ["0.727", "< 0.01"], ["−0.027", ""]]
    assert texts(table.rows[3]) == ["–", "< 0.001"]


def changed(row: str, value: float, setting: str, **sizes: object) -> Cell:
    return cell(row, "de", value, setting=setting, sizes=sizes)


def test_changes_that_all_rows_share_are_in_the_caption_and_others_in_labels() -> None:
    one = [changed("weam", 70, "masking=0.2", masking=0.2), changed("mbert", 60, "masking=0.2", steps=9)]
    (alone,) = tables_beside_papers(one)
    assert "Changed: masking=0.2." in alone.caption
    headers = ["zero-shot / mBERT+WEAM", "zero-shot / mBERT"]
    assert {row.header for row in rows_of(alone, "ours")} <= {*headers, *(f"{name}†" for name in headers)}
    both = "masking=0.2, steps=5"
    other = [changed("weam", 71, both, masking=0.2, steps=5), changed("tlm", 61, both, masking=0.2)]
    (table,) = tables_beside_papers(
        [one[0].model_copy(update={"sizes": {"masking": 0.2, "steps": 9}}), *other]
    )
    found = {row.header: row.cells[-1].text for row in rows_of(table, "ours")}
    assert found == {
        "zero-shot / mBERT+WEAM": "70.0",
        "zero-shot / mBERT+WEAM (steps=5)": "71.0",
        "zero-shot / mBERT+TLM": "61.0",
    }
    assert "Changed: masking=0.2." in table.caption
    assert "Sizes: masking 0.2; unchanged: steps 9; steps=5: steps 5." in table.notes


def test_a_label_of_a_folder_stays_in_every_row() -> None:
    """It is what the reader typed, even where all rows have it, and where it looks like a size."""
    (table,) = tables_beside_papers([changed("weam", 70, "mine, masking=0.2", masking=0.2)])
    assert rows_of(table, "ours")[0].header == "zero-shot / mBERT+WEAM (mine)"
    (table,) = tables_beside_papers([changed("weam", 70, "lr=1", masking=0.2)])
    assert rows_of(table, "ours")[0].header == "zero-shot / mBERT+WEAM (lr=1)"


def test_sizes_are_listed_in_the_order_of_the_study_though_cells_depend_on_parts_of_them() -> None:
    cells = [changed("mbert", 60, "", b=2, d=4), changed("weam", 70, "", a=1, b=2, c=3)]
    (table,) = tables_beside_papers(cells)
    assert "Sizes: a 1, b 2, c 3, d 4." in table.notes
