"""A study at one scale: which cells it fills, what these read, and what a look at them refuses."""

from __future__ import annotations

import importlib
import os
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from own_modules import OwnModules
from study_programs import add_sum, built, made, study
from study_steps import Add

from isoglot.core.errors import ConfigurationError
from isoglot.results.rows import read_cells
from isoglot.studies.analysis_steps import BestLinks, StatisticalAlignment
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.lab import Lab
from isoglot.studies.making import measure
from isoglot.studies.parts import StudyPart
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.step import Step
from isoglot.studies.steps import Align, CollectText, Prepare
from isoglot.studies.tables import write_study
from isoglot.studies.training_steps import Evaluate

SMALL = {
    "seeds": [1], "steps": 2, "warmup": 0, "vocabulary": 300, "batch": 4, "text": 200, "dev": 6, "pos": 20, "ner": 20,
    "nli": 20, "tuning_epochs": 1, "tuning_epochs_nli": 1,
}  # fmt: skip


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
        return add_sum(lab, "two", os.devnull, 1, to=one)

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
    lab = Lab({"seeds": [1]})
    own = StudyPart(lab, float, ("XLM / trans",), ("pos.sup",), "t")
    for pattern in ("XLM*", "*trans", "pos.*", "XLM*:pos.*", "*:pos.sup", own.title):
        assert own.matches(pattern)
    for pattern in ("MLM*", "XLM", "XLM*:ner.*", "pos.*:XLM*"):
        assert not own.matches(pattern)
    assert not StudyPart(lab, dict, ("figure",)).matches("*")


def test_cells_of_a_paper_are_picked_as_its_table_prints_them() -> None:
    """The label that tables, messages and dry runs print, a part of it, and every attribute of the row."""
    (table,) = find_studies(["weam/table2"])
    (title,) = {part.title for part in built(table, only=("mBERT+WEAM:de",)).parts}
    assert title == "zero-shot / mBERT+WEAM:de"
    for pattern in (title, "weam:de", "mBERT+WEAM / zero-shot / weam:de", "*WEAM:d?"):
        assert {part.title for part in built(table, only=(pattern,)).parts} == {title}
    with pytest.raises(ConfigurationError, match=r"Rows: .*; zero-shot / mBERT\+WEAM\. Columns: en, es"):
        built(table, only=("mBERT+WAEM:de",))


def test_a_cell_that_the_papers_table_lacks_stops_no_selection() -> None:
    lab = Lab({"seeds": [1]})
    misspelt = StudyPart(lab, float, ("weaam",), ("de",), "weam:Table2")
    assert misspelt.matches("weaam:de") and not misspelt.matches("weam")

    def measure(lab: Lab) -> None:
        value = partial(add_sum, lab, "one", os.devnull, 1)
        lab.cell("weam:Table2", row="weaam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="de", value=value)

    program = built(_one_cell(measure).study, only=("weam",))
    assert [part.row for part in program.parts] == [("weam",)]
    with pytest.raises(ConfigurationError, match="row 'weaam'"):
        inspect_programs([built(_one_cell(measure).study, only=("weaam",))])
    with pytest.raises(ConfigurationError, match=r"no cell matches.*weaam"):
        built(_one_cell(measure).study, only=("nothing",))


def test_program_measures_the_chosen_cells_alone(tmp_path: Path) -> None:
    program = built(study(tmp_path), only=("*two:sum",))
    assert {(part.table, part.row) for part in program.parts} == {("mine", ("all", "two"))}
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
            "`method`: unknown method 'otto'; did you mean 'ot'",
        ),
        (
            Evaluate,
            _word_alignment(aligner={"alhpa": 1}),
            "`alhpa`: no aligner has this option; did you mean 'alpha'",
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
        (
            Align,
            {"path": "/none", "source": {}, "method": "hmm", "iteration": 3},
            "did you mean .*iterations",
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
        value = partial(add_sum, lab, "one", os.devnull, 1)
        lab.cell("weam:Table2", row="weaam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="fr", value=value)
        lab.cell("WEAM:Table2", row="nope", column="de", value=value)
        lab.cell("weam:Table9", row="weam", column="de", value=value)
        lab.cell("weam:Table2", row="weam", column="de", value=value)

    with pytest.raises(ConfigurationError) as raised:
        inspect_programs([_one_cell(measure)])
    assert len(raised.value.problems) == 4
    for text in ("mine/table: weam:Table2: row 'weaam'", "row 'nope'", "column 'fr'", "'weam:Table9'"):
        assert text in str(raised.value)


def test_sizes_that_make_no_sense_are_refused() -> None:
    (table,) = find_studies(["align_mlm/table3"])
    with pytest.raises(ConfigurationError, match=r"align_mlm/table3: data pairs: share: "):
        inspect_programs([built(table, only=("XLM / trans:pos.zs",), parallel=0)])
    with pytest.raises(ConfigurationError, match="steps: got 0"):
        inspect_programs([built(table, only=("MLM / trans:pos.zs",), steps=0)])


@pytest.mark.slow
def test_parts_are_encoders_and_together_everything() -> None:
    program = built(find_studies(["align_mlm/table3"])[0], seeds=[1])
    parts = [inspect_programs([program], part_of_encoders=(k, 5), check=False).parts for k in range(1, 6)]
    assert Counter(part for own in parts for part in own) == Counter(program.parts)
    encoders = [{part.encoder for part in own} for own in parts]
    assert [len(own) for own in encoders] == [3, 3, 2, 2, 2]
    assert len(set.union(*encoders)) == 12


def test_studies_of_a_paper_share_their_steps() -> None:
    studies = find_studies(["align_mlm/table2", "align_mlm/table4"])
    programs = Selection(studies, "nowhere").programs()
    inspect_programs(programs, check=False)
    steps = [{work for part in program.parts for work in part.steps} for program in programs]
    assert steps[0] == steps[1] and programs[0].lab is programs[1].lab


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
    (evaluation / "manifest.json").unlink()
    again = measure(programs, inspect_programs(programs), selection, progress=notes)
    assert again.made == {"pretrain": 1, "evaluate": 1} and encoder.is_dir(), again


class _Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        """Not looked at."""


def test_seeds_are_those_of_ablations_too() -> None:
    sizes = {"seeds": ([1], [1], [1]), "ablation_seeds": ([4], [4], [4])}
    assert Lab(sizes, changes={"seeds": [2, 3]}).size["ablation_seeds"] == [2, 3]
    assert Lab(sizes, changes={"seeds": [2, 3], "ablation_seeds": [1]}).size["ablation_seeds"] == [1]
    assert Lab(sizes).size["ablation_seeds"] == [4]


def test_a_step_that_the_study_asks_for_outside_of_its_cells_is_refused(tmp_path: Path) -> None:
    """No cell would need the step, so it would never be made."""

    def table(lab: Lab) -> None:
        one = lab.make("one", Add, log=os.devnull, number=1)
        value = partial(add_sum, lab, "two", os.devnull, 1, to=str(one))
        lab.cell("mine", row="two", column="sum", value=value)

    with pytest.raises(
        ConfigurationError, match="mine/table: asks for the step 'analyse one' outside of its cells"
    ):
        built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")


def test_a_study_without_cells_is_refused_with_the_reason(tmp_path: Path) -> None:
    program = built(Study("mine/table", "A table.", lambda lab: None, {"seeds": [1]}, {}), tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"no cell and no figure; add them with `lab\.cell`"):
        inspect_programs([program]).require_measurable()


def test_a_part_of_the_encoders_reads_what_its_own_cells_need(tmp_path: Path) -> None:
    """Each of three cells without an evaluation counts as an encoder of its own."""

    def table(lab: Lab) -> None:
        for number in range(3):
            value = partial(add_sum, lab, f"add {number}", f"/no/such/{number}", number)
            lab.cell("mine", row=f"{number}", column="sum", value=value)

    program = built(Study("mine/table", "A table.", table, {"seeds": [1]}, {}), tmp_path / "out")
    second = inspect_programs([program], part_of_encoders=(2, 3))
    assert ([part.row for part in second.parts], second.missing()) == ([("1",)], ["/no/such/1"])
    with pytest.raises(ConfigurationError, match="this part has no encoder, because there are only 3"):
        inspect_programs([program], part_of_encoders=(8, 8)).require_measurable()
