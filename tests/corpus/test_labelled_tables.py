from __future__ import annotations

import json
from pathlib import Path

import pytest
from datasets import Dataset
from labelled_files import text_file
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.labelled_tables import read_table
from isoglot.formats.schema import PAIR, SPAN, TAGGED


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"words": ["a", None], "tags": ["O", "O"]}, "column 'words' has a null"),
        ({"words": ["a"], "tags": ["O"], "language": None}, "column 'language' has a null"),
        ({"words": None, "tags": None}, "words and tags are lists|column 'words' has a null"),
        ({"words": ["a", "b"], "tags": ["O"]}, "jsonl:1: 2 words and 1 tags|row 1 has 2 words and 1 tags"),
    ],
)
@pytest.mark.parametrize("parquet", [False, True])
def test_holes_in_tables(tmp_path: Path, row: dict[str, object], message: str, parquet: bool) -> None:
    path = tmp_path / ("a.parquet" if parquet else "a.jsonl")
    if parquet:
        Dataset.from_list([{"language": "de", **row}], features=TAGGED).to_parquet(path)
    else:
        path.write_text(json.dumps(row))
    with pytest.raises(InputError, match=message):
        read_table(str(path), TAGGED, language="de", split="test", role="sentences")


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_column_of_languages_may_be_called_lang(tmp_path: Path, name: str) -> None:
    rows = [{"words": [lang], "tags": ["X"], "lang": lang} for lang in ("de", "en", "de")]
    path = tmp_path / name
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        Dataset.from_list(rows).to_parquet(path)
    found = read_table(str(path), TAGGED, language="de", split="test", role="data")
    assert list(found["words"]) == [["de"], ["de"]] and set(found["language"]) == {"de"}


def test_a_name_that_stands_twice_in_a_row_is_refused(tmp_path: Path) -> None:
    text = '{"words": ["a"], "tags": ["X"]}\n{"words": ["a"], "tags": ["X"], "tags": ["Y"]}\n'
    with refused(InputError, "a.jsonl:2: ", "'tags'"):
        read_table(
            str(text_file(tmp_path, "a.jsonl", text)), TAGGED, language="en", split="test", role="data"
        )


def test_tables_of_a_schema(tmp_path: Path) -> None:
    rows = {"words": [["a"], ["b"]], "tags": [["X"], ["X"]], "language": ["en", "en-inv"]}
    data = Dataset.from_dict(rows, features=TAGGED)
    data.save_to_disk(tmp_path / "disk")
    data.to_parquet(tmp_path / "a.parquet")
    data.to_json(tmp_path / "a.jsonl")
    for name in ("disk", "a.parquet", "a.jsonl"):
        found = read_table(str(tmp_path / name), TAGGED, language="en-inv", split="test", role="data")
        assert list(found["words"]) == [["b"]]
    with refused(InputError, "/disk: ", "'fr'", "en, en-inv"):
        read_table(str(tmp_path / "disk"), TAGGED, language="fr", split="test", role="data")
    with refused(ConfigurationError, "/disk: ", "'first', 'second', 'label'"):
        read_table(str(tmp_path / "disk"), PAIR, language="en", split="test", role="data")
    path = text_file(tmp_path, "b.jsonl", '{"words": ["a"], "tags": ["X"]}\n{"words": ["a"], "tags": []}\n')
    with refused(InputError, "b.jsonl:2: 1 words and 0 tags"):
        read_table(str(path), TAGGED, language="en", split="test", role="data")


@pytest.mark.parametrize("answers", [{}, [], {"text": ["b"], "start": [None]}, {"text": None, "start": [0]}])
def test_answers_of_another_form_are_told_with_their_line(tmp_path: Path, answers: object) -> None:
    row = {"id": "1", "question": "q?", "context": "abc"}
    good = {**row, "answers": {"text": ["b"], "answer_start": [1]}}
    path = tmp_path / "en.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**row, 'answers': answers})}\n", encoding="utf-8")
    with refused(InputError, "en.jsonl:2: answers ", '{"text": ["..."], "start": [0]}'):
        read_table(str(path), SPAN, language="en", split="test", role="data")
    path.write_text(f"{json.dumps(good)}\n", encoding="utf-8")
    (found,) = read_table(str(path), SPAN, language="en", split="test", role="data")
    assert found["answers"] == {"text": ["b"], "start": [1]}
