"""Equal fields are one folder and are checked once; what a key leaves out, and what it does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from study_steps import Trains

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import write_json
from isoglot.runs.fingerprint import key_of
from isoglot.studies.lab import Lab
from isoglot.studies.step import Step
from isoglot.studies.step_folders import StepFolders
from isoglot.studies.steps import SamplePairs, WriteGold

FIELDS = {"source": "en.txt", "target": "de.txt"}


def test_equal_fields_are_one_step_and_one_folder(tmp_path: Path) -> None:
    folders = StepFolders(tmp_path)
    first = folders.find("first name", SamplePairs, FIELDS)
    assert folders.find("second name", SamplePairs, dict(FIELDS)) is first
    assert first.folder == tmp_path / "data" / "first-name-aefd9c1d6b35ae3a"
    labelled = folders.find("third", SamplePairs, {**FIELDS, "label": "for people", "share": 1.0})
    assert labelled.folder == first.folder and labelled.step.label == "for people"
    assert folders.find("half", SamplePairs, {**FIELDS, "share": 0.5}).folder != first.folder


def test_the_order_of_inputs_stays_with_the_step() -> None:
    folders = StepFolders(Path("nowhere"))
    corpora = {"de": "a", "fr": "b"}
    back = dict(reversed(corpora.items()))
    steps = [folders.find("gold", WriteGold, {"corpora": given}).step for given in (corpora, back)]
    assert [list(step.model_dump()["corpora"]) for step in steps] == [["de", "fr"], ["fr", "de"]]


def test_a_moved_root_has_the_same_keys_and_folders_keep_their_names(tmp_path: Path) -> None:
    names = []
    for root in (tmp_path / "here", tmp_path / "there"):
        fields = {"source": f"{root}/data/en.txt", "target": "de.txt"}
        names.append(StepFolders(root).find("pairs", SamplePairs, fields).folder.name)
    assert names[0] == names[1]
    existing = tmp_path / "data" / "an-older-name-aefd9c1d6b35ae3a"
    existing.mkdir(parents=True)
    assert StepFolders(tmp_path).find("new name", SamplePairs, FIELDS).folder == existing


def test_fields_that_json_does_not_have_are_checked_each_time(tmp_path: Path) -> None:
    folders = StepFolders(tmp_path)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="data pairs: source"):
            folders.find("pairs", SamplePairs, {**FIELDS, "source": {1, 2}})


def test_a_manifest_is_read_once_in_a_look_and_again_after_it(tmp_path: Path) -> None:
    lab = Lab({"seeds": [1]}, root=tmp_path)
    pairs = lab.make("pairs", SamplePairs, **FIELDS)
    with lab.manifests_read_once(), lab.manifests_read_once():
        assert not lab.make("pairs", SamplePairs, **FIELDS).manifest
        pairs.folder.mkdir(parents=True)
        write_json(pairs.folder / "manifest.json", {"step": {"pairs": 3}})
        assert not lab.make("pairs", SamplePairs, **FIELDS).manifest
    assert lab.make("pairs", SamplePairs, **FIELDS).fact("pairs") == 3


def test_lost_weights_are_not_cleared_under_another_process_that_makes_them_again(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    lab = Lab({"seeds": [1]}, root=tmp_path / "out")
    fields = {"log": str(tmp_path / "log"), "number": 1}
    lab.run(lab.make("first", Trains, **fields))
    lost = lab.make("first", Trains, **fields)
    shutil.rmtree(lost.folder / "checkpoint")
    assert lost.has_lost_weights
    # The other process emptied the folder, and its run has begun.
    (lost.folder / "manifest.json").unlink()
    (lost.folder / "run.json").write_text("{}")
    assert lab.run(lost) and (lost.folder / "run.json").exists()


class Repeats(Step):
    keep: int


def test_a_field_that_an_evaluation_does_not_hash_counts_in_other_steps() -> None:
    folders = StepFolders(Path("nowhere"))
    assert len({folders.find("repeats", Repeats, {"keep": keep}).folder for keep in (1, 2)}) == 2


def test_a_root_with_other_letters_can_be_moved_and_its_older_folders_are_kept(tmp_path: Path) -> None:
    root = tmp_path / "jörg"
    fields = {"source": f"{root}/data/en.txt", "target": "de.txt"}
    new = StepFolders(root).find("pairs", SamplePairs, fields).folder
    moved = {**fields, "source": f"{tmp_path}/data/en.txt"}
    assert new.name == StepFolders(tmp_path).find("pairs", SamplePairs, moved).folder.name
    former_key = key_of(["SamplePairs", json.dumps(fields, sort_keys=True)])
    former = root / "data" / f"pairs-{former_key}"
    former.mkdir(parents=True)
    assert StepFolders(root).find("pairs", SamplePairs, fields).folder == former != new
