"""Results that equal a paper's figures, put beside its rows by --beside, differ by nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isoglot.errors import ConfigurationError
from isoglot.reports.beside import PaperPlace, beside_cells
from isoglot.reports.compare import compare
from isoglot.reports.papers import PaperColumn, PaperRow, PaperTable, paper_table, paper_tables
from isoglot.reports.scores import collect
from isoglot.reports.table import Table
from isoglot.results import Cell, Result

TABLES = [table.name for table in paper_tables() if table.kind == "results"]
SUFFIX = {"zs": "_zero_shot", "sup": "_supervised", "delta": "_delta"}
XTREME = {"pos": "13", "ner": "14", "xquad": "15", "mlqa": "16", "tydiqa": "17", "xnli": "18", "pawsx": "19"}


def languages(column: PaperColumn, row: PaperRow) -> list[str]:
    if column.language:
        return [column.language]
    if "transformation" in row.attributes:
        return ["en-x-" + str(row.attributes["transformation"]).replace("+", "-")]
    task = {"udpos": "pos", "panx": "ner"}.get(column.task, column.task)
    if not task:
        return [""]
    table = paper_table(f"xlm_align:{XTREME[task]}")
    return list(dict.fromkeys(c.language for c in table.columns if c.language))


def results(table: PaperTable) -> Iterator[tuple[str, Result]]:
    """The paper's figures as a run a row would have them, with the row's --beside; a mean as that value everywhere."""
    for number, row in enumerate(table.rows):
        for column in table.columns:
            value = table.value(row, column)
            if value is None or column.average or not column.metric:
                continue
            run = f"run {number}{column.system}"
            place = " / ".join(filter(None, [table.address(row), column.system]))
            for language in languages(column, row):
                yield (
                    f"{run}={table.name}:{place}",
                    Result(
                        run=run,
                        task=column.task or str(row.attributes.get("task", "")) or column.metric,
                        metric=column.metric + SUFFIX.get(column.quantity, ""),
                        language=language,
                        split=table.split or "test",
                        value=value.value,
                        examples=1,
                        recipe_hash="own",
                    ),
                )


def beside(places: list[str], rows: list[Result], **encoders: str) -> list[Cell]:
    return beside_cells([PaperPlace.parse(text) for text in dict.fromkeys(places)], collect(rows), encoders)


def table_of(cells: list[Cell]) -> Table:
    (table,) = compare(cells)
    return table


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_own_figures_are_found_and_differ_by_nothing(name: str) -> None:
    paper = paper_table(name)
    places, rows = zip(*results(paper), strict=True)
    cells = beside(list(places), list(rows))
    printed = [
        (row, column)
        for row in paper.rows
        for column in paper.columns
        if column.metric and not column.average and paper.value(row, column) is not None
    ]
    assert len(cells) == len(printed)
    assert not any(cell.note for cell in cells)
    table = table_of(cells)
    for row in (row for row in table.rows if row.kind == "difference"):
        for column, cell in zip(table.columns, row.cells, strict=True):
            assert cell.value is None or column.average or abs(cell.value) < 1e-9


def row(run: str, language: str, value: float = 70.0, **more: object) -> Result:
    given = {"task": "xnli", "metric": "accuracy", "examples": 9, "recipe_hash": "own", **more}
    return Result.model_validate({"run": run, "language": language, "value": value, **given})


def test_nothing_is_guessed_from_a_runs_name() -> None:
    table = table_of(beside(["weam=weam:2:tlm"], [row("weam", "de"), row("tlm", "de", 1.0)]))
    assert [r.header for r in table.rows] == ["weam", "zero-shot / mBERT+TLM", "difference"]


def test_a_run_may_have_an_equals_sign_and_a_colon_in_its_name() -> None:
    place = PaperPlace.parse("xlm: parallel=0.1=align_mlm:Table1:10%")
    assert (place.run, place.rows[0].label) == ("xlm: parallel=0.1", "10%")


def test_one_run_fills_the_rows_of_all_transformations() -> None:
    rows = [
        row("mlm", f"en-x-{tag}", value, metric="accuracy_zero_shot", split="dev")
        for tag, value in (("trans", 60.0), ("inv-trans", 50.0))
    ]
    table = table_of(beside(["mlm=align_mlm:Table3:mlm"], rows))
    papers = [r.header for r in table.rows if r.kind == "paper"]
    assert papers == ["MLM / trans", "MLM / trans+inv"]
    assert table.rows[3].cells[0].value == 50.0


def test_one_transformation_that_is_named_needs_no_tag() -> None:
    rows = [row("mlm", "xx", 60.0, metric="accuracy_zero_shot", split="dev")]
    assert (
        table_of(beside(["mlm=align_mlm:Table3:mlm / trans+syn"], rows)).rows[1].header == "MLM / trans+syn"
    )


def test_what_is_known_to_differ_is_noted() -> None:
    rows = [row("mine", "de", split="dev"), row("mine", "es", split="dev")]
    cells = beside(["mine=weam:2:weam"], rows, mine="models/xlm-roberta-base")
    assert {cell.note for cell in cells} == {
        "Starts from models/xlm-roberta-base, the paper from bert-base-multilingual-cased. "
        "The dev split here, test in the paper."
    }
    same = beside(["mine=weam:2:weam"], [row("mine", "de")], mine="x/bert-base-multilingual-cased")
    assert not any(cell.note for cell in same)


def test_of_two_splits_the_papers_is_taken() -> None:
    rows = [row("mine", "de", 70.0), row("mine", "de", 60.0, split="dev")]
    (cell,) = beside(["mine=weam:2:weam"], rows)
    assert cell.value == 70.0 and not cell.note


def test_a_mean_over_languages_is_per_seed_and_tells_how_many() -> None:
    given = {("de", 1): 60.0, ("es", 1): 70.0, ("de", 2): 80.0}
    rows = [row("mine", lang, v, task="pos", metric="f1", seed=seed) for (lang, seed), v in given.items()]
    (cell,) = beside(["mine=xlm_align:3:XLM-Align"], rows)
    assert (cell.value, cell.seed) == (65.0, 1)
    assert cell.note == "Mean over 2 languages here, 33 in the paper."


def test_pairs_are_found_either_way_round() -> None:
    rows = [row("fa", pair, 30.0, task="word_alignment", metric="aer") for pair in ("de-en", "en-hi")]
    assert {c.column for c in beside(["fa=xlm_align:2:fast_align"], rows)} == {("en-de",), ("en-hi",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("weam", "RUN=PAPER:TABLE:ROW"),
        ("weam=weam", "RUN=PAPER:TABLE:ROW"),
        ("=weam:2:weam", "RUN=PAPER:TABLE:ROW"),
        ("weam=weam:9:weam", "weam:9"),
        ("weam=weam:2:wem", "row 'wem' is unknown"),
        ("weam=weam:2", "fits several"),
        ("weam=ppa:5:zero-shot / - MoCo", "fits several.*600k"),
        ("weam=align_mlm:2:25%", "columns of align_mlm:Table2 are systems; add one of align_mlm, dict_mlm"),
        ("nobody=weam:2:weam", "no results of nobody; there are weam"),
        ("weam=ppa:4:Ours (2M)", "is in ppa:Table4"),
    ],
)
def test_a_wrong_place_is_told(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        beside([text], [row("weam", "de")])
