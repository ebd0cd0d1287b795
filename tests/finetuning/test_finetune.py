from __future__ import annotations

import json
from pathlib import Path

import pytest
from edits import change_unseen
from labelled_files import tagged_words, text_file
from own_modules import OwnModules
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.finetune import FineTuning
from isoglot.finetuning.options import FinetuneOptions
from isoglot.projection.project import project
from isoglot.results.rows import read
from isoglot.tasks import build_task


def test_pos_from_training_to_results(encoder: Path, tmp_path: Path) -> None:
    train, test = (
        tagged_words(tmp_path / "en.train.tsv", 48),
        tagged_words(tmp_path / "xx.test.tsv", 12, column="target"),
    )
    data = [f"train={train}", f"dev={train}", f"test={test}"]
    settings = FinetuneOptions.build(learning_rate=(1e-6, 5e-3), batch_size=8, epochs=2)
    out = tmp_path / "run"
    checkpoint = finetune(encoder, build_task("pos", data), language="en", seed=3, train=settings, out=out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["learning_rate"] == 5e-3, "the setting that learns wins"
    assert not (out / "work").exists()
    stamp = (checkpoint / "model.safetensors").stat().st_mtime_ns
    again = finetune(encoder, build_task("pos", data), language="en", seed=3, train=settings, out=out)
    assert (again / "model.safetensors").stat().st_mtime_ns == stamp, "a finished run is not run again"
    with refused(ConfigurationError, "different: ", "seed"):
        finetune(encoder, build_task("pos", data), language="en", seed=4, train=settings, out=out)
    fewer = build_task("pos", data, allowed=("DET", "NOUN"))
    with refused(ConfigurationError, "different: ", "task"):
        finetune(encoder, fewer, language="en", seed=3, train=settings, out=out)
    moved = [f"{split}={train.rename(tmp_path / 'moved.tsv')}" for split in ("train",)]
    moved += [f"dev={tmp_path / 'moved.tsv'}"]
    finetune(encoder, build_task("pos", moved), language="en", seed=3, train=settings, out=out)
    text = (tmp_path / "moved.tsv").read_text()
    (tmp_path / "moved.tsv").write_text(text.replace("NOUN", "VERB", 1))
    with refused(ConfigurationError, "different: ", "data"):
        finetune(encoder, build_task("pos", moved), language="en", seed=3, train=settings, out=out)

    options = EvaluateOptions(out=tmp_path / "results.jsonl", predictions=tmp_path / "predictions")
    rows = evaluate_checkpoint(out, build_task("pos", data), languages=["xx"], options=options)
    first = {r.metric: r for r in rows}
    assert (first["f1"].run, first["f1"].seed, first["f1"].examples) == ("tiny", 3, 12)
    assert len(first["f1"].checkpoint_hash) == 16 and not first["f1"].options
    cut = finetune(encoder, build_task("pos", moved), language="en", out=tmp_path / "cut",
                   train=FinetuneOptions.build(epochs=1, batch_size=8, max_length=16))  # fmt: skip
    assert not evaluate_checkpoint(cut, build_task("pos", data), languages=["xx"])[0].options, (
        "as it was trained"
    )
    assert (
        evaluate_checkpoint(cut, build_task("pos", data, overlap=1), languages=["xx"])[0].settings
        == "overlap=1"
    )
    evaluate_checkpoint(out, build_task("pos", data), languages=["xx"], options=options)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "measured once"
    predicted = (tmp_path / "predictions" / "udpos" / "test-xx.tsv").read_text().split("\n\n")
    assert [len(s.split()) for s in predicted] == [
        len(s.split("\n")) for s in test.read_text().strip().split("\n\n")
    ]
    named = FinetuneOptions.build(**settings.model_dump(exclude_unset=True), run="better")
    (tmp_path / "moved.tsv").write_text(text)
    finetune(encoder, build_task("pos", moved), language="en", seed=3, train=named, out=out)
    assert evaluate_checkpoint(out, build_task("pos", data), languages=["xx"])[0].run == "better"
    with refused(ConfigurationError, "/checkpoint ", "pos", "ner"):
        evaluate_checkpoint(out, build_task("ner", data), languages=["xx"])
    with refused(ConfigurationError, "/tiny: ", "pos", "`isoglot finetune ", "--task pos"):
        evaluate_checkpoint(encoder, build_task("pos", data), languages=["xx"])


def test_edited_weights_are_noticed_whatever_the_card_says(encoder: Path, tmp_path: Path) -> None:
    data = [f"train={tagged_words(tmp_path / 'en.train.tsv', 16)}"]
    settings = FinetuneOptions.build(epochs=1, batch_size=8, select="last")

    def tuned(start: Path, out: str) -> Path:
        return finetune(start, build_task("pos", data), language="en", train=settings, out=tmp_path / out)

    first = tuned(encoder, "first")
    assert tuned(tuned(first, "second"), "third") == tuned(tmp_path / "second", "third")
    change_unseen(first / "model.safetensors")
    with refused(ConfigurationError, "first/checkpoint: ", "first to train again"):
        tuned(encoder, "first")
    with refused(ConfigurationError, "/second: ", "different: inputs.checkpoint.weights)"):
        tuned(first, "second")


def test_no_dev_data_is_told(encoder: Path, tmp_path: Path) -> None:
    data = [f"train={tagged_words(tmp_path / 'en.tsv', 10)}"]
    with refused(ConfigurationError, "dev data for 'en'", "en.tsv", "dev_fraction=0.05"):
        finetune(encoder, build_task("pos", data), language="en", out=tmp_path / "run")


def test_settings_that_would_play_no_part_are_refused(encoder: Path, tmp_path: Path) -> None:
    with refused(ConfigurationError, "`select_languages`: ", 'select="joint"'):
        FinetuneOptions.build(select_languages=("de",))
    with refused(ConfigurationError, "`pivot`: ", 'setting="code_switch"'):
        FinetuneOptions.build(pivot="de")
    for schedule in ("foo", "warmup_stable_decay", "reduce_lr_on_plateau"):  # two need arguments of their own
        with refused(ConfigurationError, "schedule", schedule):
            FinetuneOptions.build(schedule=schedule)
    data = [f"{s}={tagged_words(tmp_path / 'en.tsv', 10)}" for s in ("train", "dev")]
    options = FinetuneOptions.build(language_ids={"en": 2})
    with refused(ConfigurationError, "language_ids {'en': 2}", "/tiny "):
        finetune(encoder, build_task("pos", data), language="en", train=options, out=tmp_path / "run")
    ids = EvaluateOptions(language_ids={"de": 2})
    with refused(ConfigurationError, "language_ids", "tatoeba"):
        evaluate_checkpoint(encoder, build_task("tatoeba", [str(tmp_path)]), languages=["de"], options=ids)


def test_translate_train_on_projected_labels(encoder: Path, tmp_path: Path) -> None:
    english = tagged_words(tmp_path / "en.tsv", 48)
    sentences = [block.splitlines() for block in english.read_text().strip().split("\n\n")]
    lines = [" ".join(f"{line.partition(chr(9))[0]}o" for line in block) for block in sentences]
    (tmp_path / "xx.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "links").write_text(
        "".join(" ".join(f"{n}-{n}" for n in range(1, len(block))) + "\n" for block in sentences)
    )
    out = tmp_path / "xx.tsv"
    counts = project(english, tmp_path / "xx.txt", out, kind="pos", words="whitespace",
                     links_file=tmp_path / "links")  # fmt: skip
    assert counts.words - counts.labelled == 48, "the first word of each sentence has no link"
    settings = FinetuneOptions.build(
        learning_rate=5e-3, batch_size=8, epochs=1, setting="translate_train", dev_fraction=0.2
    )
    task = build_task("pos", [f"train={out}"])
    run = finetune(encoder, task, language="xx", seed=3, train=settings, out=tmp_path / "run")
    (tmp_path / "test.tsv").write_text(english.read_text())
    rows = evaluate_checkpoint(run, build_task("pos", [str(tmp_path / "test.tsv")]), languages=["xx"])
    assert {row.metric for row in rows} >= {"f1", "accuracy"}
    assert (
        json.loads((tmp_path / "run" / "manifest.json").read_text())["settings"]["setting"]
        == "translate_train"
    )


def test_every_setting_is_chosen_on_the_same_examples(encoder: Path, tmp_path: Path) -> None:
    train, dev = (text_file(tmp_path, f"{tag}.tsv", f"the\tB-{tag}\nriver\tO\n") for tag in ("PER", "MISC"))
    task = build_task("ner", [f"train={train}", f"dev={dev}"])
    settings = FinetuneOptions.build(learning_rate=(1e-3, 1e-4), epochs=1)
    finetune(encoder, task, language="en", train=settings, out=tmp_path / "run")
    assert (tmp_path / "run" / "grid" / "2" / "manifest.json").is_file(), (
        "its model lacks a tag of the dev data"
    )


def test_one_label_is_nothing_to_learn(encoder: Path, tmp_path: Path) -> None:
    train = FinetuneOptions.build(select="last")
    for task, text, only in (("ner", "the\tO\n", "O"), ("text_classification", "the river\tgood\n", "good")):
        place = [str(text_file(tmp_path, f"{task}.tsv", text))]
        with refused(ConfigurationError, "label", f"'{only}'"):
            finetune(encoder, build_task(task, place), language="en", train=train, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()


STARS = """
from isoglot.tasks.text_classification import TextClassification


class Stars(TextClassification):
    kind = "stars"

    def counts(self, dataset, predictions, *, language):
        found = super().counts(dataset, predictions, language=language)
        return {name: found[name] for name in METRICS}
"""


def test_an_edited_task_of_ones_own_is_another_run_and_measured_again(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules, out = OwnModules(tmp_path / "code", monkeypatch), tmp_path / "run"
    modules.write("my_stars.py", STARS.replace("METRICS", "found"))
    data = tmp_path / "en.train.tsv"
    data.write_text("a broken window\t1\nan old horse\t2\na bright garden\t2\n")
    train = FinetuneOptions.build(epochs=1, batch_size=2, select="last")
    options = EvaluateOptions(out=tmp_path / "rows.jsonl")

    def tuned() -> Path:
        task = build_task("my_stars:Stars", [str(data)])
        return finetune(encoder, task, language="en", train=train, out=out)

    def measured() -> list[str]:
        task = build_task("my_stars:Stars", [f"test={data}"])
        return [row.metric for row in evaluate_checkpoint(out, task, languages=["en"], options=options)]

    tuned()
    assert measured() == ["accuracy", "macro_f1"]
    modules.forget()
    tuned()
    assert measured() == ["accuracy", "macro_f1"] and len(read(options.out or "")) == 2, "recognised"
    modules.write("my_stars.py", STARS.replace("METRICS", "['accuracy']"))
    with refused(ConfigurationError, "different: inputs.code.my_stars.py)"):
        tuned()
    assert measured() == ["accuracy"] and len(read(options.out or "")) == 3


def test_a_grid_without_a_choice_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    data = [f"train={tagged_words(tmp_path / 'en.tsv', 10)}"]
    options = FinetuneOptions.build(learning_rate=(1e-5, 2e-5), select="last")
    with refused(ConfigurationError, "select=last cannot choose among 2 combinations", 'select="source"'):
        FineTuning("no/model", build_task("pos", data), "en", train=options, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
