from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.analysis.transfer import TransferOptions, run_folders, transfer
from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.reports.runs import gather
from isoglot.reports.scores import Measure, collect
from isoglot.results.rows import read
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture
def world(tmp_path: Path) -> Any:
    """A model, and tags by the length of words in English and two languages that share none of its words."""
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    pairs = tiny_bitext(40)
    sides = {"en": pairs["source"], "en-x-trans": pairs["target"], "en-x-trans-inv": pairs["target"]}
    for language, sentences in sides.items():
        words = [s.split()[::-1] if language.endswith("inv") else s.split() for s in sentences]
        lines = ["".join(f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}\n" for w in own) for own in words]
        for split in ("train", "dev"):
            (tmp_path / f"{split}-{language}.tsv").write_text("\n".join(lines))
    return build_task("pos", [f"{tmp_path}/{{split}}-{{language}}.tsv"])


@pytest.mark.slow
def test_transfer_gap_is_supervised_minus_zero_shot_with_one_source_model(
    tmp_path: Path, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = TransferOptions(FinetuneOptions.build(learning_rate=5e-3, batch_size=8, epochs=3))
    out, languages = tmp_path / "out", ("en", "en-x-trans", "en-x-trans-inv")
    rows = transfer(tmp_path / "model", world, languages=languages, options=settings, out=out)
    values = {(row.language, row.metric): row.value for row in rows}
    gaps = []
    for target in languages[1:]:
        gap = values[target, "f1_supervised"] - values[target, "f1_zero_shot"]
        assert values[target, "f1_delta"] == pytest.approx(gap)
        gaps.append(gap)
    assert max(gaps) > 0, "words that were never seen are harder"
    folders = sorted(p.name for p in out.iterdir() if p.is_dir())
    assert folders == [f"trained-on-{language}" for language in languages]
    assert {row.seed for row in rows} == {1} and {row.split for row in rows} == {"dev"}
    assert not list(out.rglob("*.safetensors")), "weights are deleted"
    monkeypatch.setattr("isoglot.finetuning.finetune.FineTuning.run", None)
    assert transfer(tmp_path / "model", world, languages=languages, options=settings, out=out) == rows
    assert len(read(out / "results.jsonl")) == 6, "done once"
    material = gather([out])
    assert len(material.rows) == 6, "nothing is shown twice"
    found = collect(material.rows)
    assert not found.repeated
    assert next(iter(found.values)) == Measure("pos", "dev", "f1_zero_shot")


@pytest.mark.slow
def test_transfer_adds_a_language_and_keeps_weights_if_asked(tmp_path: Path, world: Any) -> None:
    train = FinetuneOptions.build(learning_rate=5e-3, batch_size=8, epochs=1)
    out, languages = tmp_path / "out", ("en", "en-x-trans", "en-x-trans-inv")
    first = transfer(
        tmp_path / "model", world, languages=languages[:2], options=TransferOptions(train), out=out
    )
    both = transfer(
        tmp_path / "model", world, languages=languages, options=TransferOptions(train, keep=True), out=out
    )
    assert [row.model_copy(update={"checkpoint_hash": ""}) for row in both[:3]] == [
        row.model_copy(update={"checkpoint_hash": ""}) for row in first
    ], "trained anew, with the same result"
    weights = {path.parent.parent.name for path in out.rglob("*.safetensors")}
    assert weights == {"trained-on-en", "trained-on-en-x-trans-inv"}, (
        "the other one was tested and deleted before"
    )


@pytest.mark.parametrize("languages", [(), ("en",), ("en", "en"), ("en", "de", "de")])
def test_transfer_refuses_one_language(tmp_path: Path, world: Any, languages: tuple[str, ...]) -> None:
    with refused(ConfigurationError, "got languages ", 'languages=("en", "en-x-trans-inv")'):
        transfer(tmp_path / "model", world, languages=languages, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_transfer_names_missing_data_before_it_trains(tmp_path: Path, world: Any) -> None:
    with refused(ConfigurationError, "train data for 'sw'", "dev data for 'sw'"):
        transfer(tmp_path / "model", world, languages=("en", "en-x-trans", "sw"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_transfer_refuses_one_file_for_two_languages(tmp_path: Path, world: Any) -> None:
    for split in ("train", "dev"):
        (tmp_path / f"all-{split}.tsv").write_bytes((tmp_path / f"{split}-en.tsv").read_bytes())
    task = build_task("pos", [f"{tmp_path}/all-{{split}}.tsv"])
    with refused(ConfigurationError, "all-train.tsv: ", "'en'", "'de'", "{language} in `data`"):
        transfer(tmp_path / "model", task, languages=("en", "de"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_run_folders_have_names_that_differ(tmp_path: Path, world: Any) -> None:
    model = tmp_path / "model"
    assert run_folders([model]) == {"model": model}
    assert run_folders([model, model], ["a", "b"]) == {"a": model, "b": model}
    with refused(ConfigurationError, "/model ", "/model ", "`runs`"):
        run_folders([model, model])
    with refused(ConfigurationError, "1 names", "2 checkpoints", "`runs`"):
        run_folders([model, model], ["a"])


def test_transfer_refuses_several_processes(
    tmp_path: Path, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with refused(ConfigurationError, "torchrun", "transfer"):
        transfer(tmp_path / "model", world, languages=("en", "en-x-trans"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_transfer_leaves_the_task_of_the_caller_unchanged(tmp_path: Path, world: Any) -> None:
    task = world
    before = copy.copy(task)
    settings = FinetuneOptions.build(max_length=16, batch_size=8, epochs=1)
    tuned = finetune(tmp_path / "model", task, language="en", train=settings, out=tmp_path / "tuned")
    assert task == before
    evaluate_checkpoint(
        tuned, task, languages=["en"], split="dev", options=EvaluateOptions(out=tmp_path / "rows.jsonl")
    )
    assert task == before
