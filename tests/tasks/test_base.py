from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError, IsoglotError
from isoglot.formats.labelled.sources import DataSource
from isoglot.formats.schema import SPAN
from isoglot.tasks import build_task, task_with_data
from isoglot.tasks.base import check_locations, load_rows, locations_of, split_pair, take_part

ROWS: dict[str, dict[str, Any]] = {
    "text_classification": {"text": "a", "label": "b"},
    "pos": {"words": ["a"], "tags": ["NOUN"]},
    "xnli": {"first": "a", "second": "b", "label": "neutral"},
    "pawsx": {"sentence1": "a", "sentence2": "b", "label": "0"},
    "xquad": {"question": "q", "context": "c", "answers": {"text": ["c"], "start": [0]}},
    "tatoeba": {"target": "b", "source_language": "de", "target_language": "en"},
    "lexicon_induction": {"target": "b", "source_language": "de", "target_language": "en"},
    "word_alignment": {"src": ["a"], "tgt": ["b"], "sure": [[0, 0]], "possible": []},
}
"""A row of each task, but for what tells rows apart."""


def test_no_example_gives_no_figure(tmp_path: Path) -> None:
    pairs = json_lines(
        tmp_path / "nli.jsonl", *[{"first": str(n), "second": "b", "label": "0"} for n in range(9)]
    )
    assert len(load_rows(build_task("xnli", [f"{pairs}#0:50%"]), "en", "test")) == 4
    with refused(ConfigurationError, "xnli: ", "'en'", "nli.jsonl#0:1%"):
        load_rows(build_task("xnli", [f"{pairs}#0:1%"]), "en", "test")


def test_files_that_a_task_will_read_are_known_before(tmp_path: Path) -> None:
    for name in ("de-test.tsv", "fr-test.tsv", "tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"):
        (tmp_path / name).write_text("")
    tags = build_task("ner", [f"{tmp_path}/{{language}}-{{split}}.tsv"])
    assert [p.path for p in locations_of(tags, "de", "test")] == [str(tmp_path / "de-test.tsv")]
    pairs = build_task("tatoeba", [str(tmp_path)])
    assert [Path(p.path).suffix for p in locations_of(pairs, "de", "test")] == [".deu", ".eng"]
    check_locations(tags, [("de", "test"), ("fr", "test")])
    with refused(ConfigurationError, "test data for 'sw'", "dev data for 'fr'"):
        check_locations(tags, [("de", "test"), ("sw", "test"), ("fr", "dev")])


@pytest.mark.fast_variants(16)
@pytest.mark.parametrize("task", ROWS)
@pytest.mark.parametrize("form", ["jsonl", "parquet", "memory"])
@pytest.mark.parametrize("column", ["split", "partition"])
def test_rows_of_unknown_splits_are_refused(tmp_path: Path, task: str, form: str, column: str) -> None:
    """With one misspelt name the same rows would be learned from and measured."""
    language = "de-en" if task in ("lexicon_induction", "word_alignment") else "de"
    if form == "parquet" and task in ("pawsx", "word_alignment"):
        pytest.skip("is not read from Parquet")

    def counts(*splits: str) -> list[int]:
        rows = [
            {**ROWS[task], "id": str(number), "source": f"a{number}", column: split}
            for number, split in enumerate(splits)
        ]
        if form == "memory":
            own = task_with_data(task, Dataset.from_list(rows))
        else:
            path = tmp_path / f"rows.{form}"
            if form == "jsonl":
                json_lines(path, *rows)
            else:
                Dataset.from_list([{"language": "de", **row} for row in rows]).to_parquet(path)
            own = build_task(task, [str(path)])
        loaded = [own.load(language, split) for split in ("train", "test")]
        return [sum(rows["asked"]) if "asked" in rows.features else len(rows) for rows in loaded]

    assert counts("train", "validation", "test", "test", "training", "train") == [3, 2]
    with refused(ConfigurationError, f"{task}: ", "'tset' (2 rows), 'extra' (1 rows)", "train (training)"):
        counts("train", "tset", "tset", "extra")


def test_an_unknown_split_is_refused_before_a_file_is_read_for_it(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "rows.jsonl", {"text": "a", "label": "b"})
    with refused(ConfigurationError, "'tset'; ", "train (training)"):
        check_locations(build_task("text_classification", [path]), [("de", "tset")])


def test_options_that_do_not_exist() -> None:
    with refused(ConfigurationError, "'poss'", "'pos'"):
        build_task("poss", [])
    with refused(ConfigurationError, "task pos: max_lenght: ", "'max_length'"):
        build_task("pos", [], max_lenght=3)


def test_parts_keep_groups_whole() -> None:
    data = Dataset.from_dict({"context": list("aaabbccccd")})
    parts = [
        "".join(take_part(data, a, b, group="context")["context"]) for a, b in ((0, 50), (50, 75), (75, 100))
    ]
    assert parts == ["aaabb", "cccc", "d"]


@pytest.mark.parametrize("task", ["squad", "xquad", "mlqa", "tydiqa"])
@pytest.mark.parametrize("answers", [[], [{"text": "", "answer_start": 0}]])
def test_questions_whose_answers_are_withheld_are_refused(
    tmp_path: Path, task: str, answers: list[dict[str, Any]]
) -> None:
    question = {"id": "q", "question": "What?", "answers": answers}
    file = tmp_path / "test-en.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "A b.", "qas": [question]}]}]}))
    with refused(ConfigurationError, f"{task} data", "test-en.json", "answer", 'split="dev"'):
        load_rows(build_task(task, [str(file)]), "en", "test")


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("xnli", "A b\tC d\nE\tF\n"), ("pawsx", "A b\tC d\t?\nE\tF\t?\n"),
        ("ner", "A\nb\n\nc\n"), ("pos", "A\nb\n\nc\n"), ("pos", "A\t_\nb\t_\n"),
    ],
)  # fmt: skip
def test_withheld_labels_are_not_lines_to_fix(tmp_path: Path, task: str, text: str) -> None:
    (tmp_path / "test-de.tsv").write_text(text)
    with refused(IsoglotError, tmp_path.name, "labels", 'split="dev"') as raised:
        load_rows(build_task(task, [str(tmp_path)]), "de", "test")
    assert "fix the line" not in str(raised.value)


def test_one_pair_without_a_label_is_named(tmp_path: Path) -> None:
    (tmp_path / "test-de.tsv").write_text("A\tB\tneutral\nC\tD\t\n")
    with refused(InputError, "test-de.tsv:2: ", "label"):
        load_rows(build_task("xnli", [str(tmp_path)]), "de", "test")


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_is_sorted_alone_is_refused(tmp_path: Path, side: int) -> None:
    draw = random.Random(side)
    lines = [" ".join(draw.choices("abcdefg", k=draw.randint(1, 20))) for _ in range(60)]
    sides = [lines, [line.upper() for line in lines]]
    task = build_task("tatoeba", [str(tmp_path)])

    def write(pair: list[list[str]]) -> None:
        for code, texts in zip(("de", "en"), pair, strict=True):
            (tmp_path / f"test.{code}").write_text("\n".join(texts) + "\n")

    write(sides)
    assert len(load_rows(task, "de", "test")) == 60
    write([sorted(texts) for texts in sides])
    assert len(load_rows(task, "de", "test")) == 60, "sorted together"
    sides[side] = sorted(sides[side])
    write(sides)
    with refused(ConfigurationError, "tatoeba ", f"{['source', 'target'][side]} side", "correlate by"):
        load_rows(task, "de", "test")


_XNLI = "language\tgold_label\tsentence1\tsentence2\nde\tneutral\ta\tb\n"


@pytest.mark.parametrize(
    ("task", "language", "split", "file", "text"),
    [
        *[("pawsx", "de", split, f"x-final/de/{name}.tsv", "id\tsentence1\tsentence2\tlabel\n1\ta\tb\t1\n")
          for split, name in (("train", "translated_train"), ("dev", "dev_2k"), ("test", "test_2k"))],
        *[("xnli", "de", split, f"XNLI-1.0/xnli.{split}.tsv", _XNLI)
          for split in ("dev", "test")],
        ("xnli", "en", "train", "multinli/multinli.train.en.tsv", "premise\thypo\tlabel\na\tb\tcontradictory\n"),
    ],
)  # fmt: skip
def test_official_folders_are_found(
    tmp_path: Path, task: str, language: str, split: str, file: str, text: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    if "xnli." in file:
        path.with_suffix(".jsonl").write_text("{}")  # published beside it
    assert len(load_rows(build_task(task, [str(tmp_path)]), language, split)) == 1


def test_squad_is_found_and_is_english(tmp_path: Path) -> None:
    for split in ("train", "dev"):
        (tmp_path / f"{split}-v1.1.json").write_text("{}")
    source = DataSource([str(tmp_path)])
    found = [Path(source.single_file("en", split).path).name for split in ("train", "dev", "test")]
    assert found == ["train-v1.1.json", "dev-v1.1.json", "dev-v1.1.json"]
    assert not source.has_data("de", "train")


def test_a_script_is_part_of_its_language(tmp_path: Path) -> None:
    languages = {"source_language": "zh-Hant", "target_language": "en"}
    table = json_lines(tmp_path / "pairs.jsonl", {"source": "a", "target": "b", **languages})
    for asked in ("zh-Hant", "zh-Hant-en"):
        rows = build_task("tatoeba", [table]).load(asked, "test")
        assert (rows["source_language"][0], rows["target_language"][0]) == ("zh-Hant", "en")
    question = {"id": "1", "question": "q", "context": "c", "answers": {"text": ["c"], "start": [0]}}
    path = json_lines(tmp_path / "questions.jsonl", {**question, "language": "zh-Hant"})
    assert build_task("mlqa", [path]).load("zh-Hant", "test").column_names == [*SPAN]
    assert split_pair("DE-EN") == ("DE", "EN")
    assert split_pair("pt-BR-en-x-trans") == ("pt-BR", "en-x-trans")
