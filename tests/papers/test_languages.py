"""The data that studies of continued pre-training find at scale paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.papers.languages import task_data
from isoglot.studies.inputs import Input
from isoglot.studies.lab import Lab
from isoglot.studies.task_data import TaskSpec, data_files

OFFICIAL = {
    "pos": {("de", "test"): "UD_German-GSD/de_gsd-ud-test.conllu", ("en", "train"): "en/train.tsv"},
    "ner": {("de", "test"): "de/test.tsv", ("en", "train"): "en/train"},
    "xnli": {
        ("de", "test"): "XNLI-1.0/xnli.test.tsv",
        ("en", "train"): "XNLI-MT-1.0/multinli/multinli.train.en.tsv",
    },
    "pawsx": {("de", "test"): "x-final/de/test_2k.tsv", ("en", "train"): "x-final/en/train.tsv"},
    "xquad": {
        ("de", "test"): "xquad.de.json",
        ("en", "test"): "xquad.en.json",
        ("en", "train"): "squad/train-v1.1.json",
        ("en", "dev"): "squad/dev-v1.1.json",
    },
    "mlqa": {
        ("de", "test"): "MLQA_V1/test/test-context-de-question-de.json",
        ("de", "dev"): "MLQA_V1/dev/dev-context-de-question-de.json",
        ("en", "train"): "train-v1.1.json",
    },
    "tydiqa": {
        ("te", "test"): "tydiqa-goldp-v1.1-dev/tydiqa.goldp.te.dev.json",
        ("en", "train"): "tydiqa-goldp-v1.1-train/tydiqa.goldp.en.train.json",
    },
}
RENAMED = {
    "pos": "{language}.{split}.conllu",
    "ner": "{language}/{split}",
    "xnli": "{language}.{split}.tsv",
    "pawsx": "{language}.{split}.tsv",
    "xquad": "{language}.{split}.json",
    "mlqa": "{language}.{split}.json",
    "tydiqa": "{language}.{split}.json",
}


def found(kind: str, language: str, split: str) -> list[Input]:
    lab = Lab({"seeds": [1]}, scale="paper")
    return list(data_files(TaskSpec(kind=kind, data=task_data(lab, kind)), [language], split, "/studies/"))


@pytest.mark.parametrize("kind", OFFICIAL)
def test_studies_find_official_folders_and_files_named_as_before(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "nli" if kind == "xnli" else kind
    renamed = {place: RENAMED[kind].format(language=place[0], split=place[1]) for place in OFFICIAL[kind]}
    for name, files in (("official", OFFICIAL[kind]), ("renamed", renamed)):
        root = tmp_path / name
        monkeypatch.setenv("ISOGLOT_CORPORA", str(root))
        for file in files.values():
            (root / folder / file).parent.mkdir(parents=True, exist_ok=True)
            (root / folder / file).touch()
        for (language, split), file in files.items():
            expected = [Input(f"${{ISOGLOT_CORPORA}}/{folder}/{file}", there=True)]
            assert found(kind, language, split) == expected, (name, language, split)
    if kind != "xnli":  # one file for all languages
        lacking = Input(f"${{ISOGLOT_CORPORA}}/{folder}: no test data for 'sw'", there=False)
        assert found(kind, "sw", "test") == [lacking]
