from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from hypothesis import given
from hypothesis import strategies as st
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions, task_with_settings
from isoglot.formats.schema import LABELLED
from isoglot.tasks import build_task
from isoglot.testing import tiny_model, tiny_tokenizer

ROWS = [("the river", "geography"), ('a "quiet" horse, again', "animals"), ("the winter", "geography")]


def _files(folder: Path) -> dict[str, str]:
    """The same rows in each format."""
    quoted = "".join(f'"{text.replace(chr(34), chr(34) * 2)}",{label}\n' for text, label in ROWS)
    (folder / "a.csv").write_text(f"text,label\n{quoted}")
    (folder / "sib.tsv").write_text(
        "index_id\tcategory\ttext\n"
        + "".join(f"{n}\t{label}\t{text}\n" for n, (text, label) in enumerate(ROWS))
    )
    with gzip.open(folder / "bare.tsv.gz", "wt") as file:
        file.write("".join(f"{text}\t{label}\n" for text, label in ROWS))
    massive = [
        {"id": str(n), "locale": "de-DE", "partition": "test", "intent": label, "utt": text, "slots": []}
        for n, (text, label) in enumerate(ROWS)
    ]
    training = {**massive[0], "partition": "train", "utt": "not of the test"}
    json_lines(folder / "massive.jsonl", training, *massive)
    numbers = {"animals": 0, "geography": 1}
    table = Dataset.from_dict(
        {
            "sentence": [text for text, _ in ROWS],
            "label": [numbers[label] for _, label in ROWS],
            "more": [1, 2, 3],
        },
        features=Features(
            {"sentence": Value("string"), "label": ClassLabel(names=list(numbers)), "more": Value("int64")}
        ),
    )
    table.to_parquet(folder / "a.parquet")
    DatasetDict(test=table).save_to_disk(folder / "saved")
    names = ("a.csv", "sib.tsv", "bare.tsv.gz", "massive.jsonl", "a.parquet", "saved")
    return {name: str(folder / name) for name in names}


@pytest.mark.parametrize("name", ["a.csv", "sib.tsv", "bare.tsv.gz", "massive.jsonl", "a.parquet", "saved"])
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    found = build_task("text_classification", [_files(tmp_path)[name]]).load("de", "test")
    assert list(zip(found["text"], found["label"], strict=True)) == ROWS
    assert set(found["language"]) == {"de"} and set(LABELLED) <= set(found.features)


def test_columns_of_any_name_can_be_read(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "a.jsonl", {"Review": "good", "stars": 5, "text": "x", "label": "y"})
    task = build_task("text_classification", [path], text="Review", label="stars")
    assert task.load("en", "test").to_list() == [{"text": "good", "label": "5", "language": "en"}]
    with refused(InputError, "a.jsonl:1: ", "text (body)", "review, stars, text, label"):
        build_task("text_classification", [path], text="body").load("en", "test")
    Dataset.from_dict({"body": ["good"], "stars": [5]}).to_parquet(tmp_path / "b.parquet")
    task = build_task("text_classification", [str(tmp_path / "b.parquet")], text="body", label="stars")
    assert task.load("en", "test")["label"][:] == ["5"]


def test_rows_of_the_language_and_split_alone_are_taken(tmp_path: Path) -> None:
    rows = [{"text": f"{code} {split}", "label": "a", "language": code, "split": split}
            for code in ("de", "fr") for split in ("train", "validation", "test")]  # fmt: skip
    task = build_task("text_classification", [json_lines(tmp_path / "all.jsonl", *rows)])
    assert task.load("de", "dev")["text"][:] == ["de validation"]
    assert task.load("fra", "test")["text"][:] == ["fr test"]
    with refused(InputError, "all.jsonl: ", "'it'", "de, fr"):
        task.load("it", "test")
    (tmp_path / "none.csv").write_text("text,label\n")
    with refused(InputError, "none.csv: "):
        build_task("text_classification", [str(tmp_path / "none.csv")]).load("de", "test")
    (tmp_path / "torn.csv").write_text("text,label\na,b\nc\n")
    with refused(InputError, "torn.csv:3: 1 columns", "(text, label)"):
        build_task("text_classification", [str(tmp_path / "torn.csv")]).load("de", "test")


def test_the_hubs_configuration_and_columns_are_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(name: str, config: str | None, *, split: str) -> Dataset:
        asked.append((name, config, split))
        return Dataset.from_dict(
            {"text": ["a"], "label": [3], "label_text": ["alarm"], "category": ["science"]}
        )

    monkeypatch.setattr("datasets.load_dataset", load)
    assert build_task("text_classification", ["hub"]).load("de", "test")["label"][:] == ["alarm"]
    sib = build_task("text_classification", ["hub:mteb/sib200:{code}"], label="category")
    assert sib.load("de", "dev")["label"][:] == ["science"]
    assert asked == [("mteb/amazon_massive_intent", "de", "test"), ("mteb/sib200", "deu_Latn", "dev")]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12))
def test_macro_f1_is_the_mean_over_the_labels_that_occur(pairs: list[tuple[str, str]]) -> None:
    gold, guessed = zip(*pairs, strict=True)
    task = build_task("text_classification", [])
    task.know(["a", "b", "c", "never"])
    f1 = []
    for label in set(gold) | set(guessed):
        right = sum(g == p == label for g, p in pairs)
        f1.append(100 * 2 * right / (gold.count(label) + guessed.count(label)))
    scores = task.score(Dataset.from_dict({"label": gold}), list(guessed), language="de")
    assert scores["macro_f1"] == pytest.approx(np.mean(f1))
    assert scores["accuracy"] == pytest.approx(100 * sum(g == p for g, p in pairs) / len(pairs))


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_row_is_the_tokenizers_own(family: str) -> None:
    tokenizer, task = tiny_tokenizer(family), build_task("text_classification", [], max_length=9)
    model = tiny_model(family, tokenizer=tokenizer)
    model.config.id2label = {0: "a", 1: "b"}
    data = Dataset.from_dict({"text": ["the river", " ".join(["mountain"] * 9)], "label": ["b", "a"]})
    rows = task.encode(data, tokenizer, model, training=True)
    whole = tokenizer(data["text"][:], truncation=True, max_length=9)["input_ids"]
    assert [row.inputs["input_ids"].tolist() for row in rows] == whole
    assert [row.inputs["labels"] for row in rows] == [1, 0]


TOPICS = {"en": {"river": "water", "mountain": "land"}, "xx": {"potamo": "water", "bergoto": "land"}}


def _labelled(path: Path, language: str, count: int = 24) -> None:
    words = [[*TOPICS[language]][n % 2] for n in range(count)]
    path.write_text(
        "".join(f"{' '.join([w] * (1 + n % 5))}\t{TOPICS[language][w]}\n" for n, w in enumerate(words))
    )


@pytest.mark.slow
def test_zero_shot_and_translate_train(encoder: Path, tmp_path: Path) -> None:
    for code in TOPICS:
        for split in ("train", "dev", "test"):
            _labelled(tmp_path / f"{code}.{split}.tsv", code)
    task, _ = task_with_settings("text_classification", [str(tmp_path)], paper="xtreme")
    for setting, language in (("zero_shot", "en"), ("translate_train", "en,xx")):
        train = FinetuneOptions.build(
            epochs=6, learning_rate=5e-3, batch_size=8, select="last", setting=setting
        )
        checkpoint = finetune(encoder, task, language=language, train=train, out=tmp_path / setting)
        assert json.loads((checkpoint / "config.json").read_text())["label2id"] == {"land": 0, "water": 1}
        rows = evaluate_checkpoint(checkpoint, task, languages=["en", "xx"])
        scores = {(row.language, row.metric): row.value for row in rows}
        assert {metric for _, metric in scores} == {"accuracy", "macro_f1"}
        assert scores["en", "macro_f1"] > 90, "two words can be distinguished"
    assert scores["xx", "macro_f1"] > 90
    other = tmp_path / "other.tsv"
    other.write_text("the river\texclamation\n")
    with refused(ConfigurationError, "text_classification: ", "'exclamation'", "id2label, land, water"):
        evaluate_checkpoint(checkpoint, build_task("text_classification", [str(other)]), languages=["en"])
