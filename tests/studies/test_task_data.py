"""The files that a task reads from outside a study, found or missing, by language and split."""

from pathlib import Path

import pytest

from isoglot.studies.inputs import Input
from isoglot.studies.task_data import TaskSpec, data_files

STUDIES = "/studies/"


def test_data_of_a_task_are_looked_for_by_language_and_split(tmp_path: Path) -> None:
    (tmp_path / "en.train.tsv").touch()
    data = [f"{tmp_path}/{{language}}.{{split}}.tsv", f"{STUDIES}data/en-0123/{{language}}/derived.jsonl"]
    task = TaskSpec(kind="xnli", data=data)
    assert list(data_files(task, ["en", "de"], "train", STUDIES)) == [
        Input(f"{tmp_path}/en.train.tsv", there=True)
    ]
    alone = TaskSpec(kind="xnli", data=data[:1])
    assert list(data_files(alone, ["en", "de"], "train", STUDIES))[1] == Input(
        f"{tmp_path}/de.train.tsv", there=False
    )


def test_data_in_a_folder_are_named_by_file_and_a_language_without_data_by_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_CORPORA", str(tmp_path))
    task = TaskSpec(kind="pos", data=["${ISOGLOT_CORPORA}/pos"])
    nothing = "${ISOGLOT_CORPORA}/pos: no test data for 'de'"
    assert list(data_files(task, ["de"], "test", STUDIES)) == [Input(nothing, there=False)]
    for name in (
        "UD_German-GSD/de_gsd-ud-test.conllu",
        "en/test.tsv",
        "fr_gsd-ud-test.conllu",
        "fr_pud-ud-test.conllu",
    ):
        (tmp_path / "pos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pos" / name).touch()
    assert list(data_files(task, ["de", "en", "es", "fr"], "test", STUDIES)) == [
        Input("${ISOGLOT_CORPORA}/pos/UD_German-GSD/de_gsd-ud-test.conllu", there=True),
        Input("${ISOGLOT_CORPORA}/pos/en/test.tsv", there=True),
        Input("${ISOGLOT_CORPORA}/pos: no test data for 'es'", there=False),
        Input(
            "${ISOGLOT_CORPORA}/pos has 2 test files of 'fr' (fr_gsd-ud-test.conllu, fr_pud-ud-test.conllu)",
            there=False,
        ),
    ]


def test_files_that_a_task_finds_in_a_folder_are_there(tmp_path: Path) -> None:
    for name in ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"):
        (tmp_path / name).write_text("one\n")
    task = TaskSpec(kind="tatoeba", data=[str(tmp_path)])
    found = data_files(task, ["de", "fr"], "test", STUDIES)
    assert list(found) == [
        Input(f"{tmp_path}/tatoeba.deu-eng.deu", there=True),
        Input(f"{tmp_path}/tatoeba.deu-eng.eng", there=True),
        Input(f"{tmp_path}: no test data for 'fr'", there=False),
    ]


def test_data_that_are_named_twice_are_missing_once_looked_for() -> None:
    task = TaskSpec(kind="pos", data=["/none/pos", "/none/pos"])
    missing = Input("/none/pos: no test data for 'de'", there=False)
    assert list(data_files(task, ["de"], "test", STUDIES)) == [missing]
