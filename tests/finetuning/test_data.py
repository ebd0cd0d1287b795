from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from datasets import Dataset
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.finetuning.api import finetune
from isoglot.finetuning.data import dev_sets, grouped, hold_out, training_rows
from isoglot.finetuning.finetune import FineTuning
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task, task_with_data
from isoglot.tasks.code_switching import code_switch
from isoglot.testing import tiny_bitext, tiny_tokenizer


def test_training_data_are_no_dev_data_unless_named_so(tmp_path: Path) -> None:
    rows = [{"first": f"{n}", "second": "b", "label": "0"} for n in range(10)]
    own, dev = json_lines(tmp_path / "de.jsonl", *rows), json_lines(tmp_path / "dev.jsonl", *rows[:2])
    held = FinetuneOptions.build(dev_fraction=0.2)
    data, held_out = training_rows(build_task("xnli", [own]), ["de"], held, seed=1)
    assert (len(data), len(held_out["de"])) == (8, 2)
    for specs in ([own, f"dev={dev}"], [own, f"dev={own}"], [f"train={own}", f"dev={dev}"]):
        assert not training_rows(build_task("xnli", specs), ["de"], held, seed=1)[1]
    with refused(ConfigurationError, "dev data for 'de'", "de.jsonl", "dev_fraction=0.05", 'select="last"'):
        dev_sets(build_task("xnli", [own]), ["de"], FinetuneOptions.build(), {})


@pytest.mark.parametrize("form", ["file", "memory"])
def test_rows_that_name_their_split_are_learned_from_or_chosen_by(tmp_path: Path, form: str) -> None:
    names = ["train"] * 6 + ["validation"] * 3 + ["test"] * 4
    rows = [{"text": str(n), "label": "ab"[n % 2], "split": split} for n, split in enumerate(names)]
    path = json_lines(tmp_path / "a.jsonl", *rows)
    task = task_with_data("text_classification", Dataset.from_list(rows) if form == "memory" else path)
    options = FinetuneOptions.build()
    train, held_out = training_rows(task, ["de"], options, seed=1)
    ((_, dev),) = dev_sets(task, ["de"], options, held_out)
    assert (train["text"][:], dev["text"][:]) == ([*"012345"], [*"678"])
    joint = FinetuneOptions.build(select="joint", select_languages=["fr"])
    assert len(dev_sets(task, ["de"], joint, {})[0][1]) == 3
    rows = [row for row in rows if row["split"] != "validation"]
    path = json_lines(tmp_path / "b.jsonl", *rows)
    task = task_with_data("text_classification", Dataset.from_list(rows) if form == "memory" else path)
    with refused(ConfigurationError, "dev data for 'de'", "dev_fraction=0.05", 'select="last"'):
        dev_sets(task, ["de"], options, training_rows(task, ["de"], options, seed=1)[1])
    train, held_out = training_rows(task, ["de"], FinetuneOptions.build(dev_fraction=0.5), seed=1)
    assert sorted([*train["text"], *held_out["de"]["text"]]) == [*"012345"], "rows of the test set stay out"


@pytest.mark.parametrize("select", ["source", "last"])
def test_no_share_is_held_out_beside_rows_that_are_named_dev(tmp_path: Path, select: str) -> None:
    names = ["train"] * 8 + ["dev"] * 2
    rows = [{"text": str(n), "label": "ab"[n % 2], "split": split} for n, split in enumerate(names)]
    task = build_task("text_classification", [json_lines(tmp_path / "a.jsonl", *rows)])
    options = FinetuneOptions.build(dev_fraction=0.25, select=select)
    train, held_out = training_rows(task, ["de"], options, seed=1)
    assert (train["text"][:], held_out["de"]["text"][:]) == ([*"01234567"], [*"89"])


def test_held_out_groups_stay_whole() -> None:
    data = Dataset.from_dict({"first": list("aabbccddee"), "n": list(range(10))})
    kept, held = hold_out(data, 0.4, together="first", seed=1)
    assert len(held) == 4
    assert not set(kept["first"]) & set(held["first"])


def test_code_switched_pairs_share_a_batch(encoder: Path, tmp_path: Path) -> None:
    for language, column in (("en", "source"), ("xx", "target")):
        rows = tiny_bitext(20)[column]
        lines = [
            f"{a}\t{b}\t{'neutral' if i % 2 else 'entailment'}" for i, (a, b) in enumerate(pairwise(rows))
        ]
        (tmp_path / f"{language}.train.tsv").write_text("\n".join(lines) + "\n")
    task = build_task("xnli", [f"{tmp_path}/{{language}}.{{split}}.tsv"])
    settings = FinetuneOptions.build(setting="code_switch", select="last", batch_size=8, epochs=1)
    checkpoint = finetune(encoder, task, language="xx", train=settings, out=tmp_path / "run")
    assert json.loads((checkpoint / "config.json").read_text())["id2label"]["2"] == "contradiction"
    switched = code_switch(task.load("xx", "train"), task.load("en", "train"))
    tokenizer, model = tiny_tokenizer("bert"), task.trained(checkpoint)
    items = grouped(task.encode(switched, tokenizer, model, training=True), switched)
    assert len(items) == 19
    assert all(len(items[i]) == 2 and items[i][0]["labels"] == items[i][1]["labels"] for i in range(19))
    data, held_out = training_rows(task, ["xx"], settings.changed(dev_fraction=0.2, select="source"), seed=1)
    held = set(held_out["xx"]["first"])
    rows = {language: list(task.load(language, "train")) for language in ("en", "xx")}
    expected = [
        pair
        for own, other in zip(rows["xx"], rows["en"], strict=True)
        if own["first"] not in held
        for pair in ((own["first"], other["second"]), (other["first"], own["second"]))
    ]
    assert held and expected, "matched by their order though some are held out"
    assert list(zip(data["first"], data["second"], strict=True)) == expected
    kept = settings.changed(setting="code_switch_and_originals", batch_size=6)
    data, _ = training_rows(task, ["xx"], kept, seed=1)
    assert list(data["first"])[2::3] == [row["first"] for row in rows["xx"]], (
        "translations beside both copies"
    )
    items = grouped(task.encode(data, tokenizer, model, training=True), data)
    assert [len(item) for item in items] == [3] * 19
    with refused(ConfigurationError, "code_switch", "batch_size", " 2 ", " 7"):
        odd = settings.changed(batch_size=7)
        finetune(encoder, task, language="xx", train=odd, out=tmp_path / "odd")


def test_the_first_examples_are_as_many_as_asked_for(tmp_path: Path) -> None:
    for code in ("de", "fr"):
        rows = [{"first": f"{code} {n}", "second": "b", "label": "0"} for n in range(5)]
        json_lines(tmp_path / f"{code}.jsonl", *rows)
    task = build_task("xnli", [f"{tmp_path}/{{language}}.jsonl"])
    for most, expected in ((3, {"de": 3}), (7, {"de": 3, "fr": 3}), (90, {"de": 5, "fr": 5})):
        data, _ = training_rows(task, list(expected), FinetuneOptions.build(max_train_examples=most), seed=1)
        assert Counter(text[:2] for text in data["first"]) == expected
    switched = FinetuneOptions.build(max_train_examples=3, setting="code_switch", pivot="fr")
    assert len(training_rows(task, ["de"], switched, seed=1)[0]) == 2, "both copies of an original"
    triple = switched.changed(max_train_examples=2, setting="code_switch_and_originals")
    three_languages = triple.changed(setting="zero_shot", pivot="en")
    for too_few, languages in ((triple, "de"), (three_languages, "de,fr,en")):
        with refused(ConfigurationError, "max_train_examples 2 is too small", "makes 3 rows"):
            FineTuning("no/model", task, languages, train=too_few)


def test_a_file_is_not_learned_from_twice(tmp_path: Path) -> None:
    own = json_lines(tmp_path / "all.jsonl", *({"first": "a", "second": "b", "label": n} for n in "01"))
    with refused(ConfigurationError, "all.jsonl: ", "'de'", "'fr'", "{language} in `data`"):
        training_rows(build_task("xnli", [own]), ["de", "fr"], FinetuneOptions.build(), seed=1)
