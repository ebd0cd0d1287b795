"""What is written of a study: its cells, results, captions and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled_files import json_lines
from study_programs import add_sum, built, made, study
from study_steps import Add, Trained

from isoglot.core.errors import ConfigurationError
from isoglot.reports.beside_papers import tables_beside_papers
from isoglot.reports.render import report
from isoglot.reports.runs import gather
from isoglot.reports.scores import collect
from isoglot.results.rows import read, read_cells
from isoglot.runs.reporter import Reporter
from isoglot.studies.analysis_steps import StatisticalAlignment
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.lab import Lab
from isoglot.studies.program import Selection, inspect_programs
from isoglot.studies.step import Step
from isoglot.studies.tables import write_study
from isoglot.studies.training_steps import StudyTask


class Induces(Step):
    """The record of an evaluation whose primary metric, by CSLS, comes second.

    Earlier releases did not record the name of the primary metric.
    """

    other: float = 40.0
    is_named: bool = True

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        scores = {"precision_at_1": self.other, "csls_precision_at_1": 50.0}
        rows = [
            {"language": "de", "metric": name, "value": value, "examples": 7}
            for name, value in scores.items()
        ]
        recorded = {"values": {"de/": 50.0}, "rows": rows}
        return {**recorded, "primary_metric": "csls_precision_at_1"} if self.is_named else recorded


def test_a_study_from_its_function_to_its_files(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    program = built(study(tmp_path), tmp_path / "out")
    plan = inspect_programs([program])
    assert plan.missing() == ["/no/such/file"]
    assert [part.title for part in plan.parts if part.missing] == ["all / far:sum", "shape"]
    made(program)
    for number in range(3):  # of the figure, which lacks a file
        lab = program.lab
        lab.run(lab.make(f"x{number}", Add, log=str(tmp_path / "log"), number=number))
    written = write_study(program)
    tables, folder = written.tables, written.folder
    cells = {
        (cell.row[1], cell.seed): (cell.value, cell.unavailable)
        for cell in read_cells(folder / "cells.jsonl")
    }
    assert cells == {
        ("one", 1): (1, None), ("one", 3): (3, None), ("two", 1): (2, None), ("two", 3): (6, None),
        ("lost", None): (None, "not here"), ("far", None): (None, "not there: /no/such/file"),
    }  # fmt: skip
    assert {(r.run, r.value) for r in read(folder)} == {
        ("one s1", 1),
        ("one s3", 3),
        ("two s1", 2),
        ("two s3", 6),
    }
    assert [row.cells[0].text for row in tables[0].rows] == ["2.0", "4.0", "–", "–"]
    text = (folder / "table.txt").read_text()
    assert text.startswith("A table.\n\nmine\nScale tiny. Made up. ") and "not there: /no/such/file" in text
    figure = json.loads((folder / "figures" / "shape.json").read_text())
    assert figure == {
        "kind": "scatter",
        "title": "Shape",
        "points": [{"label": "a", "x": 0.0, "y": -1.0}],
        "note": "",
    }


def test_a_number_that_depends_on_no_seed_counts_once(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for seed in lab.seeds:
            for name, number in (("alike", 1), ("each", seed)):
                value = partial(add_sum, lab, name, str(tmp_path / "log"), number)
                lab.cell("mine", row=name, column="sum", value=value, seed=seed)

    program = built(
        Study("mine/table", "A table.", table, {"seeds": ([1, 2], [1], [1])}, {}), tmp_path / "out"
    )
    for _ in range(2):  # before and after it is measured
        folder = write_study(program).folder
        assert [(c.row[0], c.seed) for c in read_cells(folder / "cells.jsonl")] == [
            ("alike", None),
            ("each", 1),
            ("each", 2),
        ]
        made(program)


def test_results_tell_options_examples_and_where_runs_start(encoder: Path, tmp_path: Path) -> None:
    """One encoder read by three methods is three runs, none measured again; the page says what each starts from."""
    rows = [{"src": ["the", "river"], "tgt": ["ta", "potamo"], "sure": [[0, 0], [1, 1]]}] * 6
    gold = json_lines(tmp_path / "de-en.jsonl", *rows)

    def error(lab: Lab, method: str) -> float:
        base = lab.make("base s1", Trained, encoder=str(encoder), label="base")
        model = lab.make("after s1", Trained, encoder=lab.checkpoint(base), label="after")
        task = StudyTask("word_alignment", [gold], ["de-en"], options={"method": method, "layer": 1})
        return lab.evaluate(model, task).value("de-en", "aer")

    def statistical(lab: Lab) -> float:
        work = lab.make("fast_align", StatisticalAlignment, gold=gold, label="fast_align")
        return work.value("aer", row=("word_alignment", "de-en", "aer"))

    def table(lab: Lab) -> None:
        for method in ("argmax", "itermax", "ot"):
            lab.cell("mine", row=method, column="aer", value=partial(error, lab, method), seed=1)
        lab.cell("mine", row="fast_align", column="aer", value=partial(statistical, lab), seed=1)

    program = built(Study("mine/table", "A table.", table, {"seeds": ([1], [1], [1])}, {}), tmp_path / "out")
    made(program)
    folder = write_study(program).folder
    found = read(folder)
    assert [(row.run, row.options.get("method"), row.examples) for row in found] == [
        ("after", "argmax", 6),
        ("after", "itermax", 6),
        ("after", "ot", 6),
        ("fast_align", None, 6),
    ]
    material = gather([folder])
    names = ["after (method=argmax)", "after (method=itermax)", "after (method=ot)", "fast_align"]
    scores = collect(material.rows)
    assert scores.runs == names and not scores.repeated
    assert [info.encoder for info in material.infos.values()] == ["base", "base", "base", ""]
    page = report([folder], out=tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<bdi>after</bdi>: <bdi>base" in page, "once, not for every method"
    assert str(tmp_path) not in (folder / "runs.json").read_text()


def test_a_study_adds_a_row_and_a_column_to_a_papers_table(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for row, column, number, added in (
            ("weam", "de", 70, False), ("weam", "es", 72, False), ("weam", "hi", 60, True),
            ("zero-shot / mine", "de", 75, True), ("zero-shot / mine", "es", 77, True),
        ):  # fmt: skip
            value = partial(add_sum, lab, f"{row} {column}", str(tmp_path / "log"), number)
            lab.cell("weam:Table2", row=row, column=column, value=value, added=added)

    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    inspect_programs([program])
    assert [part.title for part in program.parts][2:4] == ["zero-shot / mBERT+WEAM:hi", "zero-shot / mine:de"]
    made(program)
    (written,) = write_study(program).tables
    texts = {row.header: [cell.text for cell in row.cells] for row in written.rows}
    assert written.headings[1:] == ["es", "de", "avg", "avg zero-shot", "hi"]
    assert texts["zero-shot / mBERT+WEAM"] == ["72.0", "70.0", "71.0", "71.0", "60.0"], "the paper's own mean"
    assert texts["zero-shot / mine"] == ["77.0", "75.0", "76.0", "76.0", "–"]
    assert texts["paper"][-1] == "–"


def test_cells_that_were_measured_before_stay_written(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    written = []
    for only in ("*one:sum", "*two:sum"):
        program = built(study(tmp_path), tmp_path / "out", (only,))
        made(program)
        folder = write_study(program).folder
        written.append(sorted({cell.row[1] for cell in read_cells(folder / "cells.jsonl")}))
    assert written == [["one"], ["one", "two"]]
    assert {r.run for r in read(folder)} == {"one s1", "one s3", "two s1", "two s3"}


def captions(name: str, tmp_path: Path, scale: str = "tiny", **changes: object) -> str:
    studies, changes = find_studies([name]), {"seeds": [1], **changes}
    (program,) = Selection(studies, tmp_path, scale, changes).programs()
    table = write_study(program).tables[0]
    assert len(table.caption.split()) < 130 and "Sizes" not in table.caption, "the sizes are a note"
    return " ".join([table.caption, *table.notes])


def test_a_caption_says_every_size_and_what_it_is_at_scale_paper(tmp_path: Path) -> None:
    told = captions("weam/table2", tmp_path, masking=0.2)
    for text in ("Sizes (in brackets: at scale paper): ", "masking 0.2 (0.3)", "learning_rate 0.001 (5e-05)",
                 "base_steps 3000,", "save_steps 10000,", "cao_pairs None (250000)", "bucket 50,"):  # fmt: skip
        assert text in told, text
    assert "variant isoglot: " in told and "seeds" not in told
    told = captions("xlm_align/table1", tmp_path)
    assert "tag_rate 0.0005," in told and "self_after 400," in told
    assert "normalize_z True (False)" in captions("ppa/table2", tmp_path)
    assert "mask_duplicates same_source_id (none)" in captions("ppa/table2", tmp_path, scale="small")


def test_caption_at_scale_paper_says_variant_sizes_and_what_chose_the_checkpoint(tmp_path: Path) -> None:
    told = captions("weam/table2", tmp_path, "paper", variant="literal")
    assert told.startswith("Scale paper, variant literal: the paper's equations and text to the letter. ")
    assert "Sizes: masking 0.3, " in told and "unaligned literal, " in told and "(exclude)" not in told
    assert "TyDiQA-GoldP has no test data of its own" in captions("xlm_align/table17", tmp_path, "paper")


def test_cells_keep_sizes_and_setting(tmp_path: Path) -> None:
    captions("weam/table2", tmp_path, masking=0.2)
    (path,) = tmp_path.glob("*/cells.jsonl")
    assert path.parent.name == "weam_table2_seeds=1_masking=0.2"
    cells = read_cells(path)
    cell = next(cell for cell in cells if "masking" in cell.sizes)
    assert (cell.setting, cell.sizes["masking"], cell.paper_sizes["masking"]) == ("masking=0.2", 0.2, 0.3)
    assert cell.sizes["base_steps"] == 3_000 and "seeds" not in cell.sizes


def test_two_settings_of_a_study_are_two_folders_and_two_rows(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for seed in lab.seeds:
            value = partial(add_sum, lab, f"one s{seed}", str(tmp_path / "log"), lab.size["alpha"] * seed)
            lab.cell("mine", row="one", column="sum", value=value, seed=seed)

    sums = Study("mine/table", "A table.", table, {"seeds": ([1, 2], [1], [1]), "alpha": (10, 5, 1)}, {})
    root = tmp_path / "out"
    for changes in ({"alpha": 1}, {"alpha": 10}, {"seeds": [1]}):
        program = built(sums, root, **changes)
        made(program)
        write_study(program)
    assert {path.parent.name for path in root.glob("*/cells.jsonl")} == {
        "mine_table", "mine_table_alpha=1", "mine_table_seeds=1",
    }  # fmt: skip
    assert {(r.run, r.seed, r.value) for r in read(root)} == {
        ("one s1", 1, 10), ("one s2", 2, 20), ("one s1", 1, 1), ("one s2", 2, 2),
    }  # fmt: skip
    assert {(r.value, r.changes.get("alpha")) for r in read(root)} == {(10, None), (20, None), (1, 1), (2, 1)}
    assert set(collect(gather([root]).rows).runs) == {"one", "one alpha=1"}
    (found,) = tables_beside_papers(read_cells(root))
    assert [(row.header, row.cells[0].text) for row in found.rows] == [
        ("one", "15.0"),
        ("one (alpha=1)", "1.5"),
    ]
    assert "Sizes (in brackets: at scale paper): unchanged: alpha 10 (1); alpha=1: alpha 1." in found.notes


def test_a_table_says_what_its_cells_depend_on_and_no_other_change(tmp_path: Path) -> None:
    """Of XLM-Align's Table 2: no size of fine-tuning, and labels as the paper prints them."""
    changes = {"order": "paper", "links": "printed", "steps": 50, "tag_rate": 0.1, "seeds": [1]}
    (program,) = Selection(find_studies(["xlm_align/table2"]), tmp_path, "tiny", changes).programs()
    written = write_study(program)
    (table,) = written.tables
    assert "Changed: order=paper, links=printed, steps=50." in table.caption
    (sizes,) = (note for note in table.notes if note.startswith("Sizes"))
    assert "steps 50 (150000)" in sizes and "links printed (intersection)" in sizes
    for unused in ("ablation", "tag_", "pair_rate", "question", "bucket"):
        assert unused not in sizes
    assert [row.header for row in table.rows if row.kind == "ours"] == [
        "fast_align",
        "SimAlign - Argmax / XLM-R",
        "SimAlign - Itermax / XLM-R",
        "SimAlign - Itermax (reimplementation) / XLM-R",
        "Ours - Optimal Transport / XLM-R",
        "SimAlign (reimplementation) / XLM-Align",
        "Ours - Optimal Transport / XLM-Align",
    ]
    dependent = {cell.row[0]: cell.sizes for cell in read_cells(written.folder / "cells.jsonl")}
    assert "steps" not in dependent["fast_align"] and "links" not in dependent["SimAlign - Argmax"]
    labels = {
        work.step.label for part in program.parts for work in part.steps if work.step.kind == "evaluate"
    }
    assert labels == {"XLM-R", "XLM-Align"}


def test_rows_of_analyses_say_what_was_measured(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    (tmp_path / "log").touch()

    def error(lab: Lab, pair: str, number: int) -> float:
        work = lab.make(f"hmm {pair}", Add, log=log, number=number, label="hmm")
        return work.value("sum", row=("word_alignment", pair, "aer"))

    def table(lab: Lab) -> None:
        for number, pair in enumerate(("de-en", "en-fr")):
            lab.cell("mine", row="hmm", column=pair, value=partial(error, lab, pair, number))
        lab.cell(
            "mine", row="hmm", column="layer", value=partial(add_sum, lab, "layer", log, 9), is_result=False
        )

    pairs = Study("mine/pairs", "Pairs.", table, {"seeds": ([1], [1], [1])}, {"tiny": "Made up."})
    program = built(pairs, tmp_path / "out")
    made(program)
    folder = write_study(program).folder
    assert [(r.run, r.task, r.language, r.metric, r.value) for r in read(folder)] == [
        ("hmm", "word_alignment", "de-en", "aer", 0),
        ("hmm", "word_alignment", "en-fr", "aer", 1),
    ]
    empty = built(pairs, tmp_path / "new", seeds=[7])
    new = write_study(empty).folder
    old = new / "results.jsonl"
    old.write_text((folder / "results.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    write_study(empty)
    assert not old.exists(), "results of what is no longer there are not this study's"


def test_a_cell_with_a_mistake_leaves_the_tables_of_the_other_cells(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def misspelled(lab: Lab) -> float:
        work = lab.make("one", Add, log=str(tmp_path / "log"), number=1)
        return work.value("sum") + work.fact("dubled")

    def table(lab: Lab) -> None:
        lab.cell("mine", row="bad", column="sum", value=partial(misspelled, lab))
        lab.cell(
            "mine", row="good", column="sum", value=partial(add_sum, lab, "two", str(tmp_path / "log"), 2)
        )

    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    message = "analyse one recorded no dubled; give a step that does"
    assert made(program).failed == {"bad:sum": message}
    for _ in range(2):  # the mistake is known after the step is made, and then when the study is looked at
        cells = {
            c.row[0]: (c.value, c.unavailable)
            for c in read_cells(write_study(program).folder / "cells.jsonl")
        }
        assert cells == {"bad": (None, message), "good": (2, None)}
        with pytest.raises(ConfigurationError, match=f"mine/table: {message}"):
            inspect_programs([program])


def test_a_cell_without_a_place_in_the_papers_table_leaves_the_tables_of_the_other_cells(
    tmp_path: Path,
) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for row in ("weam", "nope"):
            value = partial(add_sum, lab, row, str(tmp_path / "log"), 70)
            lab.cell("weam:Table2", row=row, column="de", value=value)

    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    made(program)
    folder = write_study(program, even_without_numbers=False).folder
    assert [(cell.row, cell.value) for cell in read_cells(folder / "cells.jsonl")] == [(("weam",), 70)]


def test_a_number_that_no_step_measured_is_a_cell_and_no_result(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        lab.cell("mine", row="constant", column="sum", value=lambda: 3.0)
        for seed in lab.seeds:
            lab.cell("mine", row="fact", column="sum", value=partial(half_fact, lab, seed), seed=seed)
        lab.figure("bars", partial(bars, lab))

    def bars(lab: Lab) -> dict[str, object]:
        work = lab.make("add 1", Add, log=str(tmp_path / "log"), number=1)
        return {"bars": [{"value": 7}, {"value": work.fact("doubled")}]}

    def half_fact(lab: Lab, seed: int) -> float:
        return lab.make(f"add {seed}", Add, log=str(tmp_path / "log"), number=seed).fact("doubled") / 2

    def cells() -> dict[tuple[str, int | None], float | None]:
        return {(c.row[0], c.seed): c.value for c in read_cells(write_study(program).folder / "cells.jsonl")}

    program = built(Study("mine/table", "A table.", table, {"seeds": [1, 2]}, {}), tmp_path / "out")
    figure = program.folder / "figures" / "bars.json"
    assert cells() == {("constant", None): 3, ("fact", 1): None, ("fact", 2): None}
    assert json.loads(figure.read_text()) == {"bars": [{"value": 7}]}
    made(program)
    assert cells() == {("constant", None): 3, ("fact", 1): 1, ("fact", 2): 2}
    assert write_study(program).results == []
    assert json.loads(figure.read_text()) == {"bars": [{"value": 7}, {"value": 2}]}


@pytest.mark.parametrize("fields", [{}, {"other": 50.0}, {"is_named": False}])
def test_a_result_of_the_primary_metric_has_the_name_of_that_metric(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    def table(lab: Lab) -> None:
        lab.cell(
            "mine", row="a", column="de", value=lambda: lab.make("induces", Induces, **fields).value("de/")
        )

    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    made(program)
    (result,) = write_study(program).results
    assert (result.metric, result.value, result.examples) == ("csls_precision_at_1", 50, 7)
