from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from datasets import Dataset
from edits import change_unseen
from safetensors.torch import load_file

from isoglot.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.data import grouped, hold_out, training_rows
from isoglot.finetuning.finetune import finetune
from isoglot.finetuning.options import FinetuneOptions, task_with_settings
from isoglot.report.papers import paper_table
from isoglot.results import read
from isoglot.tasks import build_task
from isoglot.tasks.code_switching import code_switch
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import tiny_bitext, tiny_lexicon, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder") / "tiny"
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tags(path: Path, count: int, *, column: str = "source") -> Path:
    """Words tagged by their length: learnable."""
    lines = []
    for row in tiny_bitext(count)[column]:
        lines += [f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}" for w in row.rstrip(".!?").split()]
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pos_from_training_to_results(encoder: Path, tmp_path: Path) -> None:
    train, test = _tags(tmp_path / "en.train.tsv", 48), _tags(tmp_path / "xx.test.tsv", 12, column="target")
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
    with pytest.raises(ConfigurationError, match="holds another fine-tuning run"):
        finetune(encoder, build_task("pos", data), language="en", seed=4, train=settings, out=out)
    moved = [f"{split}={train.rename(tmp_path / 'moved.tsv')}" for split in ("train",)]
    moved += [f"dev={tmp_path / 'moved.tsv'}"]
    finetune(encoder, build_task("pos", moved), language="en", seed=3, train=settings, out=out)
    text = (tmp_path / "moved.tsv").read_text()
    (tmp_path / "moved.tsv").write_text(text.replace("NOUN", "VERB", 1))
    with pytest.raises(ConfigurationError, match="holds another fine-tuning run"):
        finetune(encoder, build_task("pos", moved), language="en", seed=3, train=settings, out=out)

    options = EvaluateOptions(out=tmp_path / "results.jsonl", predictions=tmp_path / "predictions")
    rows = evaluate(out, build_task("pos", data), languages=["xx"], options=options)
    first = {r.metric: r for r in rows}
    assert (first["f1"].run, first["f1"].seed, first["f1"].examples) == ("tiny", 3, 12)
    assert len(first["f1"].checkpoint_hash) == 16 and not first["f1"].options
    cut = finetune(encoder, build_task("pos", moved), language="en", out=tmp_path / "cut",
                   train=FinetuneOptions.build(epochs=1, batch_size=8, max_length=16))  # fmt: skip
    assert not evaluate(cut, build_task("pos", data), languages=["xx"])[0].options, "as it was trained"
    assert evaluate(cut, build_task("pos", data, overlap=1), languages=["xx"])[0].settings == "overlap=1"
    evaluate(out, build_task("pos", data), languages=["xx"], options=options)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "measured once"
    predicted = (tmp_path / "predictions" / "udpos" / "test-xx.tsv").read_text().split("\n\n")
    assert [len(s.split()) for s in predicted] == [
        len(s.split("\n")) for s in test.read_text().strip().split("\n\n")
    ]
    named = FinetuneOptions.build(**settings.model_dump(exclude_unset=True), run="better")
    (tmp_path / "moved.tsv").write_text(text)
    finetune(encoder, build_task("pos", moved), language="en", seed=3, train=named, out=out)
    assert evaluate(out, build_task("pos", data), languages=["xx"])[0].run == "better"
    with pytest.raises(ConfigurationError, match="fine-tuned for pos"):
        evaluate(out, build_task("ner", data), languages=["xx"])
    with pytest.raises(ConfigurationError, match="run `isoglot finetune"):
        evaluate(encoder, build_task("pos", data), languages=["xx"])


def test_edited_weights_are_noticed_whatever_the_card_says(encoder: Path, tmp_path: Path) -> None:
    data = [f"train={_tags(tmp_path / 'en.train.tsv', 16)}"]
    settings = FinetuneOptions.build(epochs=1, batch_size=8, select="last")

    def tuned(start: Path, out: str) -> Path:
        return finetune(start, build_task("pos", data), language="en", train=settings, out=tmp_path / out)

    first = tuned(encoder, "first")
    assert tuned(tuned(first, "second"), "third") == tuned(tmp_path / "second", "third")
    change_unseen(first / "model.safetensors")
    with pytest.raises(ConfigurationError, match=r"first.checkpoint: was changed after it was trained"):
        tuned(encoder, "first")
    with pytest.raises(ConfigurationError, match=r"different: inputs\.checkpoint\.weights"):
        tuned(first, "second")


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
    with pytest.raises(ConfigurationError, match="even number"):
        odd = settings.changed(batch_size=7)
        finetune(encoder, task, language="xx", train=odd, out=tmp_path / "odd")


def test_retrieval_of_equal_sentences_is_perfect(encoder: Path, tmp_path: Path) -> None:
    lines = "\n".join(dict.fromkeys(tiny_bitext(30)["source"])) + "\n"
    for code in ("deu", "eng"):
        (tmp_path / f"tatoeba.deu-eng.{code}").write_text(lines)
    task = build_task("tatoeba", [str(tmp_path)], layer=1)
    out = EvaluateOptions(out=tmp_path / "results.jsonl")
    rows = evaluate(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows)
    evaluate(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "measured once"
    (tmp_path / ".results.jsonl.done").unlink()  # as after a kill between the rows and the note of them
    evaluate(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "rows are not written twice"
    (tmp_path / "tatoeba.deu-eng.deu").write_text("x\n" + "\n".join(lines.split("\n")[1:]))
    evaluate(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == 2 * len(rows), "an edited file is measured again"
    assert {r.settings for r in rows} == {"layer=1"}
    other = evaluate(
        encoder, build_task("tatoeba", [str(tmp_path)], pooling="cls"), languages=["de"], options=out
    )
    assert {r.settings for r in other} == {"pooling=cls"}, "data and defaults are no settings"
    known = evaluate(encoder, task, languages=["de"], options=out)
    assert {r.settings for r in known} == {"layer=1"}, "each finds its own rows again"
    assert len(read(tmp_path / "results.jsonl")) == 3 * len(rows)
    values = {r.metric: r.value for r in rows}
    assert values["accuracy"] == values["reverse_mrr"] == values["csls_accuracy"] == 100.0


@pytest.mark.parametrize("over", ["asked", "all"])
def test_words_translations_are_those_of_a_loop(encoder: Path, tmp_path: Path, over: str) -> None:
    lexicon = tiny_lexicon()
    pairs = list(zip(lexicon["source"], lexicon["target"], strict=True))
    pairs += [(pairs[0][0], pairs[3][1]), (pairs[2][0], pairs[5][1])]  # two words have two translations
    (tmp_path / "en-xx.txt").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    task = build_task("lexicon_induction", [str(tmp_path / "en-xx.txt")], words="2:9", csls_over=over)
    found = {r.metric: r.value for r in evaluate(encoder, task, languages=["en-xx"])}
    words, candidates = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    asked = words[2:9]
    encode = TextEncoder(encoder, layer="static")
    x, y = (encode(side).double().numpy() for side in (words, candidates))
    cosine = (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T
    near = np.sort(cosine, axis=1)[:, -10:].mean(1)[:, None]
    hubs = np.sort(cosine if over == "all" else cosine[2:9], axis=0)[-10:].mean(0)
    for stem, scores in (("", cosine), ("csls_", 2 * cosine - near - hubs)):
        for k in (1, 5):
            hits = [
                any((word, candidates[j]) in pairs for j in np.argsort(-scores[words.index(word)])[:k])
                for word in asked
            ]
            assert found[f"{stem}precision_at_{k}"] == pytest.approx(100 * sum(hits) / len(asked))
    with pytest.raises(ConfigurationError, match="first:last"):
        evaluate(
            encoder,
            build_task("lexicon_induction", [str(tmp_path / "en-xx.txt")], words="9"),
            languages=["en-xx"],
        )
    with pytest.raises(ConfigurationError, match="known: all, asked"):
        build_task("lexicon_induction", [], csls_over="some")


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (["de", "sw", "yo"], "(?s)no test data for 'sw'.*no test data for 'yo'"),
        (["de", "fr", "it"], r"fr\.tsv:1: "),
        (["de", "../de"], r"'\.\./de' is not a language code"),
    ],
)
def test_all_languages_are_looked_at_before_one_is_measured(
    encoder: Path, tmp_path: Path, languages: list[str], message: str
) -> None:
    for code in ("deu", "eng"):
        _tags(tmp_path / f"{code[:2]}.tsv", 6)
    for code in ("fr", "it"):
        (tmp_path / f"{code}.tsv").write_text("word\tNOTAG\n")
    data = [f"{tmp_path}/{{language}}.tsv"]
    train = FinetuneOptions.build(epochs=1, select="last")
    options = EvaluateOptions(out=tmp_path / "rows.jsonl")
    tuned = finetune(encoder, build_task("pos", data), language="en", train=train, out=tmp_path / "run")
    with pytest.raises((ConfigurationError, InputError), match=message):
        evaluate(tuned, build_task("pos", data), languages=languages, options=options)
    assert not (tmp_path / "rows.jsonl").exists(), "nothing was measured"
    if "fr" not in languages:
        with pytest.raises(ConfigurationError, match=message.replace("test", "train")):
            finetune(
                encoder,
                build_task("pos", data),
                language=",".join(languages),
                train=train,
                out=tmp_path / "o",
            )
        assert not (tmp_path / "o").exists()


def test_a_language_is_not_its_own_pivot(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.eng").write_text("a\n")
    with pytest.raises(ConfigurationError, match="both sides are in 'en'"):
        evaluate(encoder, build_task("tatoeba", [str(tmp_path)]), languages=["en"])


def test_no_dev_data_is_told(encoder: Path, tmp_path: Path) -> None:
    data = [f"train={_tags(tmp_path / 'en.tsv', 10)}"]
    with pytest.raises(ConfigurationError, match="dev_fraction"):
        finetune(encoder, build_task("pos", data), language="en", out=tmp_path / "run")


def test_settings_that_would_play_no_part_are_refused(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="select_languages given with select=source; add --set select=joint"
    ):
        FinetuneOptions.build(select_languages=("de",))
    with pytest.raises(
        ConfigurationError, match="pivot=de given with setting=zero_shot; add --set setting=code"
    ):
        FinetuneOptions.build(pivot="de")
    for schedule in ("foo", "warmup_stable_decay", "reduce_lr_on_plateau"):  # two need arguments of their own
        with pytest.raises(ConfigurationError, match=f"schedule.*{schedule}"):
            FinetuneOptions.build(schedule=schedule)
    data = [f"{s}={_tags(tmp_path / 'en.tsv', 10)}" for s in ("train", "dev")]
    options = FinetuneOptions.build(language_ids={"en": 2})
    with pytest.raises(ConfigurationError, match="has no language embeddings; leave them out"):
        finetune(encoder, build_task("pos", data), language="en", train=options, out=tmp_path / "run")
    ids = EvaluateOptions(language_ids={"de": 2})
    with pytest.raises(ConfigurationError, match="language_ids given, but tatoeba measures an encoder"):
        evaluate(encoder, build_task("tatoeba", [str(tmp_path)]), languages=["de"], options=ids)


def test_held_out_groups_stay_whole() -> None:
    data = Dataset.from_dict({"first": list("aabbccddee"), "n": list(range(10))})
    kept, held = hold_out(data, 0.4, group="first", seed=1)
    assert len(held) == 4
    assert not set(kept["first"]) & set(held["first"])


def _printed(value: object) -> tuple[float, ...]:
    """``{5,...,9}e-6`` as numbers."""
    text = str(value)
    found = re.fullmatch(r"\{(.*)\}(e-\d)?", text)
    if found is None:
        return (float(text),)
    numbers = found[1].replace("...", "").split(",")
    if "" in numbers:
        numbers = [str(n) for n in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return tuple(float(n + (found[2] or "")) for n in numbers)


def preset(paper: str, task: str, **changes: Any) -> FinetuneOptions:
    """A paper's settings of fine-tuning."""
    return task_with_settings(task, [], paper=paper, **changes)[1]


@pytest.mark.parametrize("task", ["pos", "ner", "xquad", "mlqa", "tydiqa", "xnli", "pawsx"])
def test_xlm_aligns_settings_are_those_of_its_table_12(task: str) -> None:
    rows = {row.label: row.values[task] for row in paper_table("xlm_align:12").rows}
    found = preset("xlm_align", task)
    for label, name in (("Batch size", "batch_size"), ("Learning rate", "learning_rate"), ("Epochs", "epochs"),
                        ("Weight decay", "weight_decay")):  # fmt: skip
        value = getattr(found, name)
        assert (value if isinstance(value, tuple) else (value,)) == pytest.approx(_printed(rows[label])), (
            label
        )
    warmup = {"10%": 0.1, "12,500 steps": 12_500}[str(rows["Warmup"])]
    assert (found.warmup, found.schedule, found.select) == (warmup, str(rows["LR schedule"]).lower(), "joint")


@pytest.mark.parametrize("task", ["xnli", "ner", "pos"])
def test_align_mlms_settings_are_those_of_its_table_11(task: str) -> None:
    values = next(row.values for row in paper_table("align_mlm:11").rows if row.label.lower() == task)
    found = preset("align_mlm", task)
    assert (found.learning_rate, found.epochs, found.batch_size) == (
        values["learning_rate"], values["epochs"], values["batch_size"],
    )  # fmt: skip
    assert found.max_length == values["max_seq_length"]
    assert found.select == "last", "the dev data are what the paper reports on"


def test_xtremes_and_ppas_settings() -> None:
    for task, rate, epochs in (
        ("xnli", 2e-5, 5),
        ("pawsx", 2e-5, 5),
        ("ner", 2e-5, 10),
        ("pos", 2e-5, 10),
        ("xquad", 3e-5, 3),
    ):
        found = preset("xtreme", task)
        assert (found.learning_rate, found.epochs, found.batch_size) == (rate, epochs, 32)
        assert preset("weam", task) == found
    assert [preset("xtreme", task).evaluate_every for task in ("xnli", "pawsx", "pos")] == [200, 100, None]
    questions = preset("xtreme", "tydiqa")
    assert (questions.warmup, questions.weight_decay, questions.max_length) == (500, 1e-4, 384)
    for task, rate, length in (("xnli", 5e-5, 128), ("mlqa", 3e-5, 386)):
        found = preset("ppa", task)
        assert (found.learning_rate, found.batch_size, found.epochs) == (rate, 32, 2)
        assert (found.max_length, found.warmup, found.weight_decay) == (length, 1000, 0.01)
        assert (found.schedule, found.select, found.precision) == ("linear", "source", "mixed")


def test_presets() -> None:
    assert preset("ppa", "mlqa").max_length == 386
    assert preset("xtreme", "xquad", epochs=1).epochs == 1
    assert len(preset("xlm_align", "mlqa").grid()) == 9
    assert preset("xlm_align", "xnli").warmup == 12_500
    for wrong in (
        {"epochs": 0},
        {"learning_rate": -1},
        {"learning_rate": float("nan")},
        {"batch_size": (8, 0)},
    ):
        with pytest.raises(ConfigurationError, match=f"setting {next(iter(wrong))}: "):
            preset("xtreme", "pos", **wrong)
    with pytest.raises(ConfigurationError, match="has no settings for pos"):
        preset("ppa", "pos")
    with pytest.raises(ConfigurationError, match="did you mean 'learning_rate'"):
        preset("xtreme", "pos", learning_rat=1)


def _xnli(folder: Path) -> Path:
    rows = [f"{a}\t{b}\t{i % 3}" for i, (a, b) in enumerate(pairwise(tiny_bitext(36)["source"]))]
    (folder / "en.tsv").write_text("\n".join(rows) + "\n")
    return folder / "en.tsv"


def _ner(folder: Path) -> Path:
    """Sentences of one to nine words, so that forwards of as many rows have other numbers of tags."""
    words = " ".join(tiny_bitext(60)["source"]).split()
    starts = np.cumsum([0, *(1 + i % 9 for i in range(34))])
    lines = [
        "".join(f"{w}\t{'B-LOC' if len(w) > 4 else 'O'}\n" for w in words[a:b])
        for a, b in pairwise(starts.tolist())
    ]
    (folder / "en.tsv").write_text("\n".join(lines) + "\n")
    return folder / "en.tsv"


def _squad(folder: Path) -> Path:
    """Rows of one length: the head's softmax runs over padding too, which a forward of other rows has more of."""
    (text,) = tiny_bitext(1)["source"]
    words = text.split()
    answers = [{"text": word, "answer_start": text.index(word)} for word in words]
    questions = [
        {"id": str(i), "question": words[0], "answers": [answers[i % len(words)]]} for i in range(35)
    ]
    (folder / "en.json").write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": [{"context": text, "qas": questions}]}]})
    )
    return folder / "en.json"


@pytest.mark.parametrize(("name", "write"), [("xnli", _xnli), ("ner", _ner), ("squad", _squad)])
def test_steps_in_several_forwards_learn_the_same(
    encoder: Path, tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    """Also where items are not as many in each forward: tags, or the rows of the last step of an epoch."""
    task, weights, told = build_task(name, [f"train={write(tmp_path)}"]), [], []
    settings = FinetuneOptions.build(
        learning_rate=0.1, batch_size=8, epochs=1, dropout=0, select="last", warmup=8, adam_epsilon=1
    )  # so that the size of a gradient tells
    for forwards in (1, 4):
        train, notes, out = settings.changed(gradient_accumulation=forwards), Mock(), tmp_path / str(forwards)
        found = finetune(encoder, task, language="en,en", train=train, out=out, progress=notes)
        weights.append(load_file(found / "model.safetensors"))
        told += [call.args[0] for call in notes.note.call_args_list]
    for key, one in weights[0].items():
        torch.testing.assert_close(one, weights[1][key], atol=1e-6, rtol=0)
    assert [line[:81] for line in told] == [
        "warm-up of 8 steps, training of 5: the learning rate only rises, to 62% of its pe"
    ] * 2, "a language that is named twice counts once"
