"""What studies train and measure: the recipe, settings and files of each, before it runs and as it runs."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from own_modules import OwnModules

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import dump_yaml
from isoglot.recipe.source import read_document
from isoglot.studies.analysis_steps import DrawFigure, ScoreEmbeddings
from isoglot.studies.inputs import Input
from isoglot.studies.lab import Lab
from isoglot.studies.step import Step
from isoglot.studies.task_data import TaskSpec
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

STUDIES = "/studies/"


def test_a_recipes_sections_are_laid_over_it_and_its_files_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs.tsv").touch()
    monkeypatch.setenv("ISOGLOT_CORPORA", str(tmp_path))
    stream = {"path": "${ISOGLOT_CORPORA}/pairs.tsv", "target_language": "de"}
    sections = {"model": {"path": "/nowhere/bert"}, "streams": {"bitext": stream}, "train": {"fp16": None}}
    step = Pretrain(recipe="tlm", sections=sections, label="mine")
    assert step.values() == {"extends": "tlm", "name": "mine", "seed": 1, **sections}
    assert step.files(STUDIES) == [
        Input("${ISOGLOT_CORPORA}/pairs.tsv", there=True),
        Input("/nowhere/bert", there=False),
    ]
    step.check()
    with pytest.raises(ConfigurationError, match="did you mean 'probability'"):
        Pretrain(recipe="tlm", sections={**sections, "views": {"pair": {"probabilty": 1}}}).check()


def test_a_recipe_of_one_s_own_is_a_file_that_a_run_depends_on(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text("extends: tlm\nseed: 2\nstreams: {bitext: {path: /nowhere/pairs.tsv}}\n")
    files = Pretrain(recipe=str(own), sections={"steps": 3}).files(STUDIES)
    assert files == [Input("/nowhere/pairs.tsv", there=False), Input(str(own), there=True)]
    before = files[1].content
    own.write_text(own.read_text().replace("seed", "steps"))
    assert files[1].content != before


def test_a_recipe_beside_the_study_is_found_and_what_is_written_runs_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study" / "elsewhere").mkdir(parents=True)
    own = tmp_path / "study" / "mine.yaml"
    own.write_text("extends: tlm\nseed: 2\nstreams: {bitext: {path: /nowhere/pairs.tsv}}\n")
    lab = Lab({"seeds": [1]}, root=tmp_path / "out", home=own.parent)
    monkeypatch.chdir(own.parent / "elsewhere")
    step = lab.pretrain("mine", "mine.yaml", {}).step
    assert isinstance(step, Pretrain) and step.values()["extends"] == str(own)
    monkeypatch.chdir(own.parent)
    assert Pretrain(recipe="mine.yaml", sections={}).values()["extends"] == str(own)
    written = tmp_path / "written.yaml"
    written.write_text(dump_yaml(step.values()))
    assert step.explicit()["streams"]["bitext"]["path"] == "/nowhere/pairs.tsv"
    assert (
        read_document(written).problems == [] and "masked_lm" in read_document(written).values["objectives"]
    )


def test_a_variable_of_a_recipe_is_part_of_what_a_run_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        "extends: tlm\nstreams: {bitext: {path: /nowhere/pairs.tsv}}\ntrain: {learning_rate: '${RATE}'}\n"
    )
    monkeypatch.setenv("RATE", "1e-4")
    rate = Pretrain(recipe=str(own), sections={}).files(STUDIES)[0]
    assert rate == Input("${RATE}", there=True)
    before = rate.content
    monkeypatch.setenv("RATE", "1e-5")
    assert rate.content != before


def test_a_folder_that_was_opened_is_the_same_input(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a")
    before = Input.of(str(tmp_path / "data")).content
    (tmp_path / "data" / ".cache").mkdir()
    (tmp_path / "data" / ".cache" / "rows.arrow").touch()
    assert Input.of(str(tmp_path / "data")).content == before
    (tmp_path / "data" / "b.txt").touch()
    assert Input.of(str(tmp_path / "data")).content != before


def test_a_change_in_the_middle_of_a_large_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(bytes(3 << 20))
    before = Input.of(str(path)).content
    with path.open("r+b") as file:
        file.seek(3 << 19)
        file.write(b"x")
    os.utime(path, (0, 0))  # clocks of file systems tick slowly
    assert Input.of(str(path)).content != before


def test_fine_tuning_reads_what_it_trains_on_and_chooses_by() -> None:
    task = TaskSpec(kind="xnli", data=["/no/{language}.{split}"])

    def paths(**train: object) -> list[str]:
        step = Finetune(checkpoint="/no/bert", task=task, preset="xtreme", train=train, language="de", seed=1)
        return [one.path for one in step.files(STUDIES)]

    assert paths() == ["/no/bert", "/no/de.train", "/no/de.dev"]
    assert paths(select="last") == ["/no/bert", "/no/de.train"]
    assert paths(select="last", setting="code_switch") == ["/no/bert", "/no/de.train", "/no/en.train"]
    assert paths(select="joint", select_languages=["es"])[2:] == ["/no/es.dev"]
    assert paths(dev_fraction=0.1) == ["/no/bert", "/no/de.train"]
    step = Evaluate(checkpoint=f"{STUDIES}pretrain/a-0123/checkpoint", task=task, languages=["de"])
    assert [one.path for one in step.files(STUDIES)] == ["/no/de.test"]


def test_options_are_checked_before_anything_runs() -> None:
    task = TaskSpec(kind="pos", data=["x"])
    wrong = [
        (TaskSpec(kind="poss", data=["x"]), {}, "did you mean 'pos'"),
        (
            TaskSpec(kind="ner", data=["x"], options={"words": "written"}),
            {},
            "fine-tuning on ner has no setting 'words'",
        ),
        (task, {"epoch": 1}, "did you mean 'epochs'"),
    ]
    for data, train, message in wrong:
        with pytest.raises(ConfigurationError, match=message):
            Finetune(checkpoint="x", task=data, preset="xtreme", train=train, language="en", seed=1).check()
    with pytest.raises(ConfigurationError, match="include_speical"):
        options = {"include_speical": 1}
        Lab({"seeds": [1]}).make("one", ScoreEmbeddings, checkpoint="x", vocabulary="y", options=options)
    with pytest.raises(ConfigurationError, match="cuont"):
        DrawFigure(type="map", name="f", panels={"a": "x"}, options={"corpus": ["y"], "cuont": 3}).check()
    DrawFigure(type="layers", name="f", panels={"a": "x"}, options={"gold": ["y"]}).check()


def test_code_of_ones_own_is_a_file_that_a_step_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = OwnModules(tmp_path, monkeypatch)
    objective = "import my_parts\n\n\nclass Hinge(my_parts.PartsOfSpeech):\n    ...\n"
    hinge = modules.write("my_hinge.py", objective)
    parts = modules.write(
        "my_parts.py",
        "from isoglot.tasks.tagging import PartsOfSpeech\n\n\nclass Tags(PartsOfSpeech):\n    ...\n",
    )
    step = modules.write(
        "my_step.py", "from isoglot.studies.step import Step\n\n\nclass Mine(Step):\n    ...\n"
    )

    def code(one: Step) -> list[str]:
        return [read.path for read in one.reads(STUDIES) if read not in one.files(STUDIES)]

    sections = {
        "objectives": {"hinge": {"type": "my_hinge:Hinge"}},
        "streams": {"bitext": {"path": "/no/pairs.tsv"}},
    }
    assert code(Pretrain(recipe="tlm", sections=sections)) == [str(hinge), str(parts)]
    assert code(Pretrain(recipe="tlm", sections={})) == []
    task = TaskSpec(kind="my_parts:Tags", data=["/no/{language}.tsv"])
    assert code(Evaluate(checkpoint="/no", task=task, languages=["en"])) == [str(parts)]
    tuned = Finetune(
        checkpoint="/no", task=task, preset="xtreme", train={"select": "last"}, language="en", seed=1
    )
    assert code(tuned) == [str(parts)]
    assert code(importlib.import_module("my_step").Mine()) == [str(step)]
