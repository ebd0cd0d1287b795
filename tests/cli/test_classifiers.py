"""The commands of classifiers: from labels with a rare class to probabilities and a confusion."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_outcome import Isoglot
from tuned_models import TAGGED, TOPICS, tuned

import isoglot as iso
from isoglot.core.errors import InputError
from isoglot.formats.row_files import read_rows


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tuned("text_classification", TOPICS, tmp_path_factory.mktemp("classifier") / "run")


def test_a_rare_class_is_weighed_and_chosen_by_from_the_command_line(
    isoglot: Isoglot, encoder: Path, tmp_path: Path
) -> None:
    rows = [{"text": text, "label": label} for text, label in zip(*TOPICS.values(), strict=True)]
    data = tmp_path / "en.jsonl"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ["finetune", encoder, "--task", "text_classification", "--data", f"train={data}", "--data", f"dev={data}",
             "--out", tmp_path / "run", "--set", "class_weight={water: 5, animals: 0.5}", "--set",
             "select_metric=recall_water", "--set", "patience=1", "--epochs", "2"]  # fmt: skip
    done = isoglot(*map(str, words))
    assert done.returncode == 0, done.stderr
    assert "dev recall_water" in done.stderr
    train = json.loads((tmp_path / "run" / "manifest.json").read_text())["inputs"]["train"]
    assert train["class_weight"] == {"water": 5.0, "animals": 0.5}
    wrong = isoglot(*map(str, words), "--set", "dropout=0", "--set", "class_weight=even")
    assert wrong.returncode == 2 and "class_weight" in wrong.stderr


def test_rows_of_a_file_get_labels_and_probabilities(isoglot: Isoglot, model: Path, tmp_path: Path) -> None:
    body = tmp_path / "tickets.csv"
    body.write_text('id,body\n007,"a river, again"\n008,the horse\n')
    words = ["predict", str(model), str(body), "--task", "text_classification", "--column", "text=body"]
    done = isoglot(*words, "--probabilities")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == iso.predict(
        model, "text_classification", read_rows(str(body)), columns={"text": "body"}, probabilities=True
    )
    assert [row["id"] for row in rows] == ["007", "008"] and [*rows[0]["probabilities"]] == [
        "animals",
        "water",
    ]
    out = tmp_path / "out.jsonl"
    assert isoglot(*words, "--out", str(out)).returncode == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert written == [{name: v for name, v in row.items() if name != "probabilities"} for row in rows]
    refused = isoglot(*words, "--out", str(body))
    assert (
        refused.returncode == 2 and "tickets.csv" in refused.stderr and body.read_text().startswith("id,body")
    )


def test_the_confusion_is_printed_and_stands_on_the_page(
    isoglot: Isoglot, model: Path, tmp_path: Path
) -> None:
    data = tmp_path / "xx.jsonl"
    rows = [{"text": text, "label": label} for text, label in zip(*TOPICS.values(), strict=True)]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    predictions = tmp_path / "predictions"
    done = isoglot("evaluate", str(model), "--task", "text_classification", "--data", str(data), "--languages", "xx",
                   "--out", str(tmp_path / "results.jsonl"), "--predictions", str(predictions))  # fmt: skip
    assert done.returncode == 0, done.stderr
    counted = iso.confusion(predictions)
    shown = isoglot("report", "confusion", str(predictions), "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    table = list(csv.reader(io.StringIO(shown.stdout[shown.stdout.index("label,") :])))
    by_label = counted.to_dict()["xx"]
    found = {row[0]: row for row in table[1:] if row}
    assert [*found] == [label for label, row in by_label.items() if any(row.values())]
    for label, (_, _, language, *cells) in found.items():
        assert language == "xx" and [float(cell) for cell in cells[:2]] == [
            *map(float, by_label[label].values())
        ]
    page = tmp_path / "page.html"
    assert isoglot("report", str(predictions), "--out", str(page)).returncode == 0
    assert "text_classification: confusion of" in page.read_text()
    nothing = isoglot("report", "confusion", str(tmp_path / "results.jsonl"))
    assert nothing.returncode == 2 and "no counts of classes" in nothing.stderr


def test_words_of_a_file_are_tagged(isoglot: Isoglot, tmp_path: Path) -> None:
    tagger = tuned("pos", TAGGED, tmp_path / "pos")
    file = tmp_path / "words.jsonl"
    file.write_text("".join(f"{json.dumps({'words': words})}\n" for words in TAGGED["words"]))
    done = isoglot("predict", str(tagger), str(file), "--task", "pos", "--probabilities")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == iso.predict(tagger, "pos", TAGGED["words"], probabilities=True)


def test_files_of_rows_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one, two\nthree\n")
    assert read_rows(str(tmp_path / "a.txt")) == [{"text": "one, two"}, {"text": "three"}]
    (tmp_path / "a.tsv").write_text('\ufefftext\tid\n"one"\t01\n\nthree\t2\n')
    assert read_rows(str(tmp_path / "a.tsv")) == [{"text": "one", "id": "01"}, {"text": "three", "id": "2"}]
    (tmp_path / "a.csv").write_text("text;id\na, b;1\nc;2\n")
    assert read_rows(str(tmp_path / "a.csv")) == [{"text": "a, b", "id": "1"}, {"text": "c", "id": "2"}]
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"text": ["a"], "n": [1]}), tmp_path / "a.parquet")
    assert read_rows(str(tmp_path / "a.parquet")) == [{"text": "a", "n": 1}]
    (tmp_path / "torn.csv").write_text("text,id\na,1\nb\n")
    with pytest.raises(InputError, match=r"torn\.csv:3: 1 columns, and the header has 2"):
        read_rows(str(tmp_path / "torn.csv"))
    (tmp_path / "empty.csv").write_text("text,id\n")
    with pytest.raises(InputError, match=r"empty\.csv: holds no rows"):
        read_rows(str(tmp_path / "empty.csv"))
