from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from labelled_files import json_lines

from isoglot.errors import ConfigurationError
from isoglot.tasks import build_task, task_with_data
from isoglot.tasks.base import check_locations, load_rows, locations_of, take_part

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
    with pytest.raises(ConfigurationError, match="have no example"):
        load_rows(build_task("xnli", [f"{pairs}#0:1%"]), "en", "test")


def test_what_a_task_will_read_is_known_before(tmp_path: Path) -> None:
    for name in ("de-test.tsv", "fr-test.tsv", "tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"):
        (tmp_path / name).write_text("")
    tags = build_task("ner", [f"{tmp_path}/{{language}}-{{split}}.tsv"])
    assert [p.path for p in locations_of(tags, "de", "test")] == [str(tmp_path / "de-test.tsv")]
    pairs = build_task("tatoeba", [str(tmp_path)])
    assert [Path(p.path).suffix for p in locations_of(pairs, "de", "test")] == [".deu", ".eng"]
    check_locations(tags, [("de", "test"), ("fr", "test")])
    with pytest.raises(ConfigurationError, match=r"(?s)'sw'.*no dev data for 'fr'"):
        check_locations(tags, [("de", "test"), ("sw", "test"), ("fr", "dev")])


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
    with pytest.raises(ConfigurationError, match=r"unknown splits 'tset' \(2 rows\), 'extra' \(1 rows\)"):
        counts("train", "tset", "tset", "extra")


def test_an_unknown_split_is_refused_before_a_file_is_read_for_it(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "rows.jsonl", {"text": "a", "label": "b"})
    with pytest.raises(ConfigurationError, match=r"unknown split 'tset'; known: train \(training\)"):
        check_locations(build_task("text_classification", [path]), [("de", "tset")])


def test_options_that_do_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'pos'"):
        build_task("poss", [])
    with pytest.raises(ConfigurationError, match="did you mean 'max_length'"):
        build_task("pos", [], max_lenght=3)


def test_parts_keep_groups_whole() -> None:
    data = Dataset.from_dict({"context": list("aaabbccccd")})
    parts = [
        "".join(take_part(data, a, b, group="context")["context"]) for a, b in ((0, 50), (50, 75), (75, 100))
    ]
    assert parts == ["aaabb", "cccc", "d"]
