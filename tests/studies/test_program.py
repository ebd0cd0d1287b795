"""A study at one scale: which cells it fills, what it reads, and what is written of it."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from own_modules import OwnModules
from study_steps import Add

from isoglot.errors import ConfigurationError
from isoglot.reports.compare import compare
from isoglot.results import read, read_cells
from isoglot.studies.alignment_steps import BestLinks, StatisticalAlignment
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.engine import Store, make_calls
from isoglot.studies.graph import NO_ROW, Step, Value, mean
from isoglot.studies.lab import CellPlan, Lab
from isoglot.studies.program import Program, build_programs, inspect_programs, matches, write_program
from isoglot.studies.steps import Align, CollectText, Prepare
from isoglot.studies.training_steps import Evaluate, Finetune

SMALL = {
    "seeds": [1], "steps": 2, "warmup": 0, "vocabulary": 300, "batch": 4, "text": 200, "dev": 6, "pos": 20, "ner": 20,
    "nli": 20, "tuning_epochs": 1, "tuning_epochs_nli": 1,
}  # fmt: skip


def study(tmp_path: Path) -> Study:
    log = str(tmp_path / "log")

    def table(lab: Lab) -> None:
        for name, number in (("one", 1), ("two", 2)):
            for seed in lab.seeds:
                call = lab.make(f"{name} s{seed}", Add, log=log, number=number * seed)
                lab.cell("mine", row=("all", name), column="sum", value=call.value("sum"), seed=seed)
        lab.cell("mine", row=("all", "lost"), column="sum", value=Value(unavailable="not here"))
        far = lab.make("far", Add, log="/no/such/file", number=1)
        lab.cell("mine", row=("all", "far"), column="sum", value=far.value("sum"))
        x = [lab.make(f"x{n}", Add, log=log, number=n).value("sum") for n in range(3)]
        points = [{"label": "a", "x": x[0], "y": -mean(x)}, {"label": "b", "x": x[0], "y": far.value("sum")}]
        lab.plot("shape", kind="scatter", title="Shape", points=points, note="")

    return Study("mine/table", "A table.", table, {"seeds": ([1, 3], [1], [1])}, {"tiny": "Made up."})


def test_a_study_from_its_function_to_its_files(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    (program,) = build_programs([study(tmp_path)], scale="tiny", changes={})
    store = Store(tmp_path / "out")
    found = inspect_programs([program], store)
    assert found.missing() == ["/no/such/file"]
    make_calls([call for call in program.targets() if call not in found.blocked], store.root)
    tables, folder = write_program(program, store, found.blocked)
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


def test_results_of_another_encoder_are_not_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("first", 1), ("moved", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sum").write_text(str(number))

    def table(lab: Lab) -> None:
        call = lab.make("one", Add, log=os.devnull, number=1, to="${ENCODER}/")
        above = lab.make("two", Add, log=os.devnull, number=1, to=call)
        lab.cell("mine", row="one", column="sum", value=above.value("sum"))

    (program,) = build_programs(
        [Study("mine/table", "A table.", table, {"seeds": ([1], [1], [1])}, {})], scale="tiny", changes={}
    )
    store = Store(tmp_path / "out")
    monkeypatch.setenv("ENCODER", str(tmp_path / "first"))
    make_calls(inspect_programs([program], store).targets, store.root)
    monkeypatch.setenv("ENCODER", str(tmp_path / "moved"))
    assert not inspect_programs([program], store).calls
    monkeypatch.setenv("ENCODER", str(tmp_path / "other"))
    with pytest.raises(
        ConfigurationError, match=r"analyse one is done, with another \$\{ENCODER\}/ than there is now"
    ):
        inspect_programs([program], store)


STEP = """
from isoglot.studies.graph import Step


class Mine(Step):
    def run(self, folder, report):
        return {"values": {"sum": 1}}
"""


def test_results_of_an_edited_step_are_not_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules, store = OwnModules(tmp_path / "code", monkeypatch), Store(tmp_path / "out")

    def program() -> Program:
        step = importlib.import_module("my_step").Mine
        return _one_cell(
            lambda lab: lab.cell("mine", row="one", column="sum", value=lab.make("one", step).value("sum"))
        )

    modules.write("my_step.py", STEP)
    make_calls(inspect_programs([program()], store).targets, store.root)
    modules.forget()
    assert not inspect_programs([program()], store).calls
    modules.write("my_step.py", STEP.replace("1}", "2}"))
    with pytest.raises(
        ConfigurationError, match=r"data one is done, with another .*my_step\.py than there is now"
    ):
        inspect_programs([program()], store)


def test_cells_are_picked_by_their_labels() -> None:
    place = CellPlan("t", ("XLM / trans",), ("pos.sup",), Value(), 1)
    for pattern in ("XLM*", "*trans", "pos.*", "XLM*:pos.*", "*:pos.sup"):
        assert matches(place, pattern)
    for pattern in ("MLM*", "XLM", "XLM*:ner.*", "pos.*:XLM*"):
        assert not matches(place, pattern)


def test_only_some_cells_are_measured(tmp_path: Path) -> None:
    (program,) = build_programs([study(tmp_path)], scale="tiny", changes={}, only=["*two:sum"])
    assert {place.row for place in program.cells} == {("all", "two")} and not program.figures
    with pytest.raises(
        ConfigurationError,
        match=r"no cell matches; .* Rows: all / one; all / two; all / lost; all / far\. Columns: sum$",
    ):
        build_programs([study(tmp_path)], scale="tiny", changes={}, only=["three"])


def _one_cell(measure: Callable[[Lab], None]) -> Program:
    study = Study("mine/table", "A table.", measure, {"seeds": ([1], [1], [1])}, {})
    (program,) = build_programs([study], scale="tiny", changes={})
    return program


def _word_alignment(**options: object) -> dict[str, object]:
    task = {"kind": "word_alignment", "data": ["/none"], "options": options}
    return {"checkpoint": "/none", "languages": ["de-en"], "task": task}


@pytest.mark.parametrize(
    ("step", "arguments", "message"),
    [
        (
            Evaluate,
            _word_alignment(method="otto"),
            "aligner option method: unknown method 'otto'; did you mean 'ot'",
        ),
        (
            Evaluate,
            _word_alignment(aligner={"alhpa": 1}),
            "unknown aligner option 'alhpa'; did you mean 'alpha'",
        ),
        (StatisticalAlignment, {"gold": "/none", "method": "hmmm"}, "unknown statistical method 'hmmm'"),
        (
            BestLinks,
            {"checkpoint": "/none", "dev": {}, "test": {}, "methods": ["otto"]},
            "unknown method 'otto'",
        ),
        (
            Align,
            {"path": "/none", "source": {}, "method": "hm", "symmetrisation": "intersect"},
            "unknown method 'hm'",
        ),
        (
            Align,
            {"path": "/none", "source": {"colums": 1}, "method": "hmm", "symmetrisation": "intersect"},
            "colums",
        ),
        (CollectText, {"sources": [{"path": "/none", "lang": "en"}]}, "lang"),
        (Prepare, {"source": {"path": "/none", "lang": "en"}, "options": {}}, "lang"),
    ],
)
def test_a_dry_run_refuses_options_that_would_be_refused_later(
    step: type[Step], arguments: dict[str, object], message: str
) -> None:
    def measure(lab: Lab) -> None:
        value = lab.make("one", step, **arguments).value("de-en/aer")
        lab.cell("mine", row="one", column="aer", value=value)

    with pytest.raises(ConfigurationError, match=message):
        inspect_programs([_one_cell(measure)], Store(Path("nowhere")))


def test_a_dry_run_refuses_labels_that_the_papers_table_does_not_have() -> None:
    def measure(lab: Lab) -> None:
        value = lab.make("one", Add, log=os.devnull, number=1).value("sum")
        lab.cell("weam:Table2", row="weaam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="fr", value=value)
        lab.cell("weam:Table9", row="weam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="de", value=value)

    with pytest.raises(ConfigurationError) as raised:
        inspect_programs([_one_cell(measure)], Store(Path("nowhere")))
    assert len(raised.value.problems) == 3
    for text in ("mine/table: weam:Table2: row 'weaam'", "column 'fr'", "'weam:Table9'"):
        assert text in str(raised.value)


def test_cells_that_were_measured_before_stay_written(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    store, written = Store(tmp_path / "out"), []
    for only in ("*one:sum", "*two:sum"):
        (program,) = build_programs([study(tmp_path)], scale="tiny", changes={}, only=[only])
        make_calls(program.targets(), store.root)
        _, folder = write_program(program, store, {})
        written.append(sorted({cell.row[1] for cell in read_cells(folder / "cells.jsonl")}))
    assert written == [["one"], ["one", "two"]]
    assert {r.run for r in read(folder)} == {"one s1", "one s3", "two s1", "two s3"}


def test_sizes_that_make_no_sense_are_refused() -> None:
    study = find_studies(["align_mlm/table3"])
    with pytest.raises(
        ConfigurationError, match=r"align_mlm/table3 with these sizes:\s*- data pairs: share: "
    ):
        build_programs(study, scale="tiny", changes={"parallel": 0})
    (program,) = build_programs(study, scale="tiny", changes={"steps": 0}, only=["MLM / trans:pos.zs"])
    with pytest.raises(ConfigurationError, match="steps: got 0"):
        inspect_programs([program], Store(Path("nowhere")))


def test_parts_are_encoders_and_together_everything() -> None:
    (program,) = build_programs(find_studies(["align_mlm/table3"]), scale="tiny", changes={"seeds": [1]})
    store = Store(Path("nowhere"))
    parts = [inspect_programs([program], store, part=(k, 5), check=False).targets for k in range(1, 6)]
    whole = [call for part in parts for call in part]
    assert len(whole) == len(program.targets()) and set(whole) == set(program.targets())
    encoders = [{next(n.step.checkpoint for n in call.needs) for call in part} for part in parts]  # type: ignore[attr-defined]
    assert [len(own) for own in encoders] == [3, 3, 2, 2, 2]
    assert len(set.union(*encoders)) == 12


def test_studies_of_a_paper_share_their_calls() -> None:
    programs = build_programs(
        find_studies(["align_mlm/table2", "align_mlm/table4"]), scale="tiny", changes={}
    )
    assert programs[0].targets() == programs[1].targets()
    assert programs[0].lab is programs[1].lab


def captions(name: str, tmp_path: Path, scale: str = "tiny", **changes: object) -> str:
    (program,) = build_programs(find_studies([name]), scale=scale, changes={"seeds": [1], **changes})
    tables, _ = write_program(program, Store(tmp_path), {})
    return tables[0].caption


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


def test_at_scale_paper_a_caption_says_variant_sizes_and_what_chose_the_checkpoint(tmp_path: Path) -> None:
    told = captions("weam/table2", tmp_path, "paper", variant="literal")
    assert told.startswith("Scale paper, variant literal: the paper's equations and text to the letter. ")
    assert "Sizes: masking 0.3, " in told and "unaligned literal, " in told and "(exclude)" not in told
    assert "TyDiQA-GoldP has no test data of its own" in captions("xlm_align/table17", tmp_path, "paper")


def test_cells_keep_sizes_and_setting(tmp_path: Path) -> None:
    captions("weam/table2", tmp_path, masking=0.2)
    (path,) = tmp_path.glob("*/cells.jsonl")
    assert path.parent.name == "weam_table2_seeds=1_masking=0.2"
    cell = read_cells(path)[0]
    assert (cell.setting, cell.sizes["masking"], cell.paper_sizes["masking"]) == ("masking=0.2", 0.2, 0.3)
    assert cell.sizes["base_steps"] == 3_000 and "seeds" not in cell.sizes


def test_two_settings_of_a_study_are_two_folders_and_two_rows(tmp_path: Path) -> None:
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for seed in lab.seeds:
            call = lab.make(f"one s{seed}", Add, log=str(tmp_path / "log"), number=lab.size["alpha"] * seed)
            lab.cell("mine", row="one", column="sum", value=call.value("sum"), seed=seed)

    made = Study("mine/table", "A table.", table, {"seeds": ([1, 2], [1], [1]), "alpha": (10, 5, 1)}, {})
    store = Store(tmp_path / "out")
    for changes in ({"alpha": 1}, {"alpha": 10}, {"seeds": [1]}):
        (program,) = build_programs([made], scale="tiny", changes=changes)
        make_calls(program.targets(), store.root)
        write_program(program, store, {})
    assert {path.parent.name for path in store.root.glob("*/cells.jsonl")} == {
        "mine_table", "mine_table_alpha=1", "mine_table_seeds=1",
    }  # fmt: skip
    assert {(r.run, r.seed, r.value) for r in read(store.root)} == {
        ("one s1", 1, 10), ("one s2", 2, 20), ("one s1 (alpha=1)", 1, 1), ("one s2 (alpha=1)", 2, 2),
    }  # fmt: skip
    (found,) = compare(read_cells(store.root))
    assert [(row.header, row.cells[0].text) for row in found.rows] == [
        ("one", "15.0"),
        ("one (alpha=1)", "1.5"),
    ]
    assert found.caption.endswith(
        "Sizes (in brackets: at scale paper): unchanged: alpha 10 (1); alpha=1: alpha 1."
    )


@pytest.mark.slow
def test_every_objective_of_align_mlm_runs_under_syntax(tmp_path: Path) -> None:
    """Two steps of each: trees of all tasks, and language embeddings while they are fine-tuned and evaluated."""
    programs = build_programs(
        find_studies(["align_mlm/table3", "align_mlm/table8", "align_mlm/training_time"]),
        scale="tiny",
        changes=SMALL,
        only=["* / trans+syn:xnli.sup", "*MLM / trans+syn:pos.delta", "*lm / trans+syn:alignment", "*:hours"],
    )
    store, notes = Store(tmp_path), _Notes()
    targets = [call for program in programs for call in program.targets()]
    done = make_calls(targets, tmp_path, progress=notes)
    assert done.failed == {} and done.made["pretrain"] == 8
    assert not [text for text in notes.said if "no language embedding" in text]
    for program in programs:
        tables, folder = write_program(program, store, {})
        assert all(cell.value is not None for cell in read_cells(folder / "cells.jsonl")), tables
    ids = {
        (c.name.partition(" ")[0], bool(c.step.check()[1].language_ids))
        for target in targets
        for c in target.needs
        if isinstance(target.step, Evaluate) and isinstance(c.step, Finetune)
    }
    assert ids == {("mlm", False), ("xlm", True), ("dict_mlm", True), ("align_mlm", False)}
    assert not list(tmp_path.glob("finetune/*/checkpoint")), "weights are deleted once they are evaluated"
    assert make_calls(targets, tmp_path).made == {}


class _Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        """Not looked at."""


def test_rows_of_analyses_say_what_was_measured(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    (tmp_path / "log").touch()

    def table(lab: Lab) -> None:
        for number, pair in enumerate(("de-en", "en-fr")):
            call = lab.make(f"hmm {pair}", Add, log=log, number=number, label="hmm")
            value = call.value("sum", row=("word_alignment", pair, "aer"))
            lab.cell("mine", row="hmm", column=pair, value=value)
        layer = lab.make("layer", Add, log=log, number=9).value("sum", row=NO_ROW)
        lab.cell("mine", row="hmm", column="layer", value=layer)

    made = Study("mine/pairs", "Pairs.", table, {"seeds": ([1], [1], [1])}, {"tiny": "Made up."})
    (program,) = build_programs([made], scale="tiny", changes={})
    store = Store(tmp_path / "out")
    make_calls(program.targets(), store.root)
    _, folder = write_program(program, store, {})
    assert [(r.run, r.task, r.language, r.metric, r.value) for r in read(folder)] == [
        ("hmm", "word_alignment", "de-en", "aer", 0),
        ("hmm", "word_alignment", "en-fr", "aer", 1),
    ]
    (empty,) = build_programs([made], scale="tiny", changes={"seeds": [7]})
    write_program(empty, Store(tmp_path / "new"), {})
    old = tmp_path / "new" / "mine_pairs_seeds=7" / "results.jsonl"
    old.write_text((folder / "results.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    write_program(empty, Store(tmp_path / "new"), {})
    assert not old.exists(), "results of what is no longer there are not this study's"


def test_seeds_are_those_of_ablations_too() -> None:
    sizes = {"seeds": ([1], [1], [1]), "ablation_seeds": ([4], [4], [4])}
    assert Lab(sizes, changes={"seeds": [2, 3]}).size["ablation_seeds"] == [2, 3]
    assert Lab(sizes, changes={"seeds": [2, 3], "ablation_seeds": [1]}).size["ablation_seeds"] == [1]
    assert Lab(sizes).size["ablation_seeds"] == [4]
