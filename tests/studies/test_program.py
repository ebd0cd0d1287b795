"""A study at one scale: which cells it fills, what it reads, and what is written of it."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest
from labelled_files import json_lines
from own_modules import OwnModules
from study_steps import Add, Trained

from isoglot.errors import ConfigurationError
from isoglot.reports.compare import compare
from isoglot.reports.runs import gather
from isoglot.reports.scores import collect
from isoglot.results import read, read_cells
from isoglot.runs.reporter import Silent
from isoglot.studies.analysis_steps import BestLinks, StatisticalAlignment
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.lab import CellPlan, Lab, StudyTask
from isoglot.studies.program import Program, Selection, Tally, inspect_programs, matches, measure
from isoglot.studies.step import Step, UnavailableError, Work
from isoglot.studies.steps import Align, CollectText, Prepare
from isoglot.studies.tables import write_study
from isoglot.studies.training_steps import Evaluate

SMALL = {
    "seeds": [1], "steps": 2, "warmup": 0, "vocabulary": 300, "batch": 4, "text": 200, "dev": 6, "pos": 20, "ner": 20,
    "nli": 20, "tuning_epochs": 1, "tuning_epochs_nli": 1,
}  # fmt: skip


def built(
    study: Study, root: Path | str = "nowhere", only: tuple[str, ...] = (), **changes: object
) -> Program:
    (program,) = Selection([study], root, changes=changes, only=only).programs()
    return program


def made(*programs: Program) -> Tally:
    plan = inspect_programs(programs, check=False)
    return measure(programs, plan, Selection([], "nowhere"), progress=Silent())


def study(tmp_path: Path) -> Study:
    log = str(tmp_path / "log")

    def add(lab: Lab, name: str, number: float, log: str = log) -> float:
        return lab.make(name, Add, log=log, number=number).value("sum")

    def lost() -> float:
        raise UnavailableError("not here")

    def table(lab: Lab) -> None:
        far = partial(add, lab, "far", 1, "/no/such/file")
        for name, number in (("one", 1), ("two", 2)):
            for seed in lab.seeds:
                value = partial(add, lab, f"{name} s{seed}", number * seed)
                lab.cell("mine", row=("all", name), column="sum", value=value, seed=seed)
        lab.cell("mine", row=("all", "lost"), column="sum", value=lost)
        lab.cell("mine", row=("all", "far"), column="sum", value=far)
        lab.figure("shape", partial(shape, lab, far))

    def shape(lab: Lab, far: Callable[[], float]) -> dict[str, object]:
        x = [add(lab, f"x{n}", n) for n in range(3)]
        points = [{"label": "a", "x": x[0], "y": -fmean(x)}, {"label": "b", "x": x[0], "y": far()}]
        return {"kind": "scatter", "title": "Shape", "points": points, "note": ""}

    return Study("mine/table", "A table.", table, {"seeds": ([1, 3], [1], [1])}, {"tiny": "Made up."})


def test_a_study_from_its_function_to_its_files(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    program = built(study(tmp_path), tmp_path / "out")
    plan = inspect_programs([program])
    assert plan.missing() == ["/no/such/file"]
    assert [part.title for part in plan.parts if part.missing] == ["all / far: sum", "shape"]
    made(program)
    for number in range(3):  # of the figure, which lacks a file
        program.lab.is_rehearsal = False
        program.lab.make(f"x{number}", Add, log=str(tmp_path / "log"), number=number)
    program.lab.is_rehearsal = True
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
                value = partial(_sum, lab, name, str(tmp_path / "log"), number)
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


def _sum(lab: Lab, name: str, log: str, number: float, **more: object) -> float:
    return lab.make(name, Add, log=log, number=number, **more).value("sum")


def test_results_of_another_encoder_are_not_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("first", 1), ("moved", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sum").write_text(str(number))

    def table(lab: Lab) -> None:
        lab.cell("mine", row="one", column="sum", value=partial(above, lab))

    def above(lab: Lab) -> float:
        one = lab.make("one", Add, log=os.devnull, number=1, to="${ENCODER}/")
        return _sum(lab, "two", os.devnull, 1, to=one)

    program = built(Study("mine/table", "A table.", table, {"seeds": ([1], [1], [1])}, {}), tmp_path / "out")
    monkeypatch.setenv("ENCODER", str(tmp_path / "first"))
    made(program)
    monkeypatch.setenv("ENCODER", str(tmp_path / "moved"))
    assert not inspect_programs([program]).inputs
    monkeypatch.setenv("ENCODER", str(tmp_path / "other"))
    with pytest.raises(
        ConfigurationError, match=r"analyse one is done, with another \$\{ENCODER\}/ than there is now"
    ):
        inspect_programs([program])


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
    assert str(tmp_path) not in (folder / "runs.json").read_text()


STEP = """
from isoglot.studies.step import Step


class Mine(Step):
    def run(self, folder, report):
        return {"values": {"sum": 1}}
"""


def test_results_of_an_edited_step_are_not_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = OwnModules(tmp_path / "code", monkeypatch)

    def program() -> Program:
        step = importlib.import_module("my_step").Mine

        def table(lab: Lab) -> None:
            lab.cell("mine", row="one", column="sum", value=lambda: lab.make("one", step).value("sum"))

        return built(Study("mine/table", "A table.", table, {"seeds": ([1], [1], [1])}, {}), tmp_path / "out")

    modules.write("my_step.py", STEP)
    made(program())
    modules.forget()
    assert not inspect_programs([program()]).inputs
    modules.write("my_step.py", STEP.replace("1}", "2}"))
    with pytest.raises(
        ConfigurationError, match=r"data one is done, with another .*my_step\.py than there is now"
    ):
        inspect_programs([program()])


def test_cells_are_picked_by_their_labels() -> None:
    place = CellPlan("t", ("XLM / trans",), ("pos.sup",), float, 1, "", True)
    for pattern in ("XLM*", "*trans", "pos.*", "XLM*:pos.*", "*:pos.sup"):
        assert matches(place, pattern)
    for pattern in ("MLM*", "XLM", "XLM*:ner.*", "pos.*:XLM*"):
        assert not matches(place, pattern)


def test_only_some_cells_are_measured(tmp_path: Path) -> None:
    program = built(study(tmp_path), only=("*two:sum",))
    assert {place.row for place in program.cells} == {("all", "two")} and not program.figures
    with pytest.raises(
        ConfigurationError,
        match=r"no cell matches; .* Rows: all / one; all / two; all / lost; all / far\. Columns: sum$",
    ):
        built(study(tmp_path), only=("three",))


def _one_cell(measure: Callable[[Lab], None]) -> Program:
    return built(Study("mine/table", "A table.", measure, {"seeds": ([1], [1], [1])}, {}))


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
        lab.cell("mine", row="one", column="aer", value=lambda: lab.make("one", step, **arguments).value("x"))

    with pytest.raises(ConfigurationError, match=message):
        inspect_programs([_one_cell(measure)])


def test_a_dry_run_refuses_labels_that_the_papers_table_does_not_have() -> None:
    def measure(lab: Lab) -> None:
        value = partial(_sum, lab, "one", os.devnull, 1)
        lab.cell("weam:Table2", row="weaam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="fr", value=value)
        lab.cell("weam:Table9", row="weam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="de", value=value)

    with pytest.raises(ConfigurationError) as raised:
        inspect_programs([_one_cell(measure)])
    assert len(raised.value.problems) == 3
    for text in ("mine/table: weam:Table2: row 'weaam'", "column 'fr'", "'weam:Table9'"):
        assert text in str(raised.value)


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


def test_sizes_that_make_no_sense_are_refused() -> None:
    (table,) = find_studies(["align_mlm/table3"])
    with pytest.raises(ConfigurationError, match=r"align_mlm/table3 with these sizes: data pairs: share: "):
        inspect_programs([built(table, only=("XLM / trans:pos.zs",), parallel=0)])
    with pytest.raises(ConfigurationError, match="steps: got 0"):
        inspect_programs([built(table, only=("MLM / trans:pos.zs",), steps=0)])


def test_parts_are_encoders_and_together_everything() -> None:
    program = built(find_studies(["align_mlm/table3"])[0], seeds=[1])
    parts = [inspect_programs([program], part=(k, 5), check=False).parts for k in range(1, 6)]
    assert sorted(part.number for own in parts for part in own) == list(range(len(program.parts)))
    encoders = [{part.encoder for part in own} for own in parts]
    assert [len(own) for own in encoders] == [3, 3, 2, 2, 2]
    assert len(set.union(*encoders)) == 12


def test_studies_of_a_paper_share_their_steps() -> None:
    studies = find_studies(["align_mlm/table2", "align_mlm/table4"])
    programs = Selection(studies, "nowhere").programs()
    plan = inspect_programs(programs, check=False)
    steps: list[set[Work]] = [set(), set()]
    for part in plan.parts:
        steps[programs.index(part.program)].update(part.steps)
    assert steps[0] == steps[1] and programs[0].lab is programs[1].lab


def captions(name: str, tmp_path: Path, scale: str = "tiny", **changes: object) -> str:
    studies, changes = find_studies([name]), {"seeds": [1], **changes}
    (program,) = Selection(studies, tmp_path, scale, changes).programs()
    return write_study(program).tables[0].caption


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
            value = partial(_sum, lab, f"one s{seed}", str(tmp_path / "log"), lab.size["alpha"] * seed)
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
        ("one s1", 1, 10), ("one s2", 2, 20), ("one s1 (alpha=1)", 1, 1), ("one s2 (alpha=1)", 2, 2),
    }  # fmt: skip
    (found,) = compare(read_cells(root))
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
    only = ["* / trans+syn:xnli.sup", "*MLM / trans+syn:pos.delta", "*lm / trans+syn:alignment", "*:hours"]
    names = ["align_mlm/table3", "align_mlm/table8", "align_mlm/training_time"]
    selection, notes = Selection(names, tmp_path, changes=SMALL, only=only), _Notes()
    programs = selection.programs(notes)
    plan = inspect_programs(programs)
    tally = measure(programs, plan, selection, progress=notes)
    assert tally.failed == {} and tally.made["pretrain"] == 8
    assert not [text for text in notes.said if "no language embedding" in text]
    for program in programs:
        written = write_study(program)
        cells = read_cells(written.folder / "cells.jsonl")
        assert all(cell.value is not None for cell in cells), written.tables
    ids = {
        (work.name.partition(" ")[0], bool(work.step.finetune.check()[1].language_ids))
        for part in plan.parts
        for work in part.steps
        if isinstance(work.step, Evaluate) and work.step.finetune is not None
    }
    assert ids == {("mlm", False), ("xlm", True), ("dict_mlm", True), ("align_mlm", False)}
    assert not list(tmp_path.glob("evaluate/*/finetuned")), "weights are deleted once they are evaluated"
    assert measure(programs, inspect_programs(programs), selection, progress=notes).made == {}
    part = next(part for part in plan.parts if isinstance(part.steps[-1].step, Evaluate))
    evaluation, encoder = part.steps[-1].folder, Path(part.encoder)
    shutil.rmtree(encoder)
    assert measure(programs, inspect_programs(programs), selection, progress=notes).made == {}
    (evaluation / "call.json").unlink()
    again = measure(programs, inspect_programs(programs), selection, progress=notes)
    assert again.made == {"pretrain": 1, "evaluate": 1} and encoder.is_dir(), again


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

    def error(lab: Lab, pair: str, number: int) -> float:
        work = lab.make(f"hmm {pair}", Add, log=log, number=number, label="hmm")
        return work.value("sum", row=("word_alignment", pair, "aer"))

    def table(lab: Lab) -> None:
        for number, pair in enumerate(("de-en", "en-fr")):
            lab.cell("mine", row="hmm", column=pair, value=partial(error, lab, pair, number))
        lab.cell(
            "mine", row="hmm", column="layer", value=partial(_sum, lab, "layer", log, 9), is_result=False
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


def test_seeds_are_those_of_ablations_too() -> None:
    sizes = {"seeds": ([1], [1], [1]), "ablation_seeds": ([4], [4], [4])}
    assert Lab(sizes, changes={"seeds": [2, 3]}).size["ablation_seeds"] == [2, 3]
    assert Lab(sizes, changes={"seeds": [2, 3], "ablation_seeds": [1]}).size["ablation_seeds"] == [1]
    assert Lab(sizes).size["ablation_seeds"] == [4]
