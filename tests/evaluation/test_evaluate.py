from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from labelled_files import json_lines, tagged_words

from isoglot.cli.console import print_results
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results.rows import Result
from isoglot.tasks import build_task


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
        tagged_words(tmp_path / f"{code[:2]}.tsv", 6)
    for code in ("fr", "it"):
        (tmp_path / f"{code}.tsv").write_text("word\tNOTAG\n")
    data = [f"{tmp_path}/{{language}}.tsv"]
    train = FinetuneOptions.build(epochs=1, select="last")
    options = EvaluateOptions(out=tmp_path / "rows.jsonl")
    tuned = finetune(encoder, build_task("pos", data), language="en", train=train, out=tmp_path / "run")
    with pytest.raises((ConfigurationError, InputError), match=message):
        evaluate_checkpoint(tuned, build_task("pos", data), languages=languages, options=options)
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


def test_an_evaluation_is_of_its_own_data(encoder: Path, tmp_path: Path) -> None:
    rows = [
        {"src": ["the", "river"], "tgt": ["ta", "potamo"], "sure": [[n, 1 - n], [1 - n, n]]} for n in (0, 0)
    ]
    tasks = [
        build_task("word_alignment", [json_lines(tmp_path / f"{name}.jsonl", *own)], method="argmax", layer=0)
        for name, own in (("a", rows), ("b", [{**rows[0], "sure": [[0, 0], [1, 1]]}]))
    ]
    options = EvaluateOptions(out=tmp_path / "results.jsonl")

    def measured(task: object, languages: list[str]) -> list[Result]:
        return evaluate_checkpoint(encoder, task, languages=languages, options=options)

    first, other, again = (measured(task, ["de-en", "de-en"]) for task in (*tasks, tasks[0]))
    assert [row.examples for row in first] == [2] * 4, "a language that is named twice counts once"
    assert [row.examples for row in other] == [1] * 4
    assert again == first, "not the rows of what was measured in between"
    with pytest.raises(ConfigurationError, match="read for 'fr-en' and for 'it-en', with the same rows"):
        measured(tasks[0], ["de-en", "fr-en", "it-en"])
    with pytest.raises(ConfigurationError, match="got precision, but word_alignment measures"):
        evaluate_checkpoint(
            encoder, tasks[0], languages=["de-en"], options=EvaluateOptions(precision="bfloat16")
        )


def test_a_test_on_training_data_is_told(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "0"} for n in range(8)]
    files = [json_lines(tmp_path / f"{name}.jsonl", *own) for name, own in (("a", rows), ("b", rows[:4]))]
    train = FinetuneOptions.build(epochs=1, batch_size=8, select="last")
    out = finetune(
        encoder, build_task("xnli", [f"{files[0]}#0:50%"]), language="en", train=train, out=tmp_path / "r"
    )
    told = []
    first = f"{files[0]}#25:75%"
    for spec, language in ((first, "en"), (first, "de"), (f"{files[0]}#50:100%", "en"), (files[1], "en")):
        reporter = Mock()
        evaluate_checkpoint(out, build_task("xnli", [spec]), languages=[language], progress=reporter)
        told.append("training data of this model" in str(reporter.note.call_args_list))
    assert told == [True, False, False, False]


def test_rows_of_another_split_of_the_training_file_are_no_training_data(
    encoder: Path, tmp_path: Path
) -> None:
    rows = [{"text": f"the {n}", "label": "ab"[n % 2], "split": ["train", "test"][n > 3]} for n in range(6)]
    task = build_task("text_classification", [json_lines(tmp_path / "a.jsonl", *rows)])
    train = FinetuneOptions.build(epochs=1, batch_size=8, select="last")
    out = finetune(encoder, task, language="en", train=train, out=tmp_path / "r")
    told = []
    for split in ("train", "test"):
        reporter = Mock()
        (first, *_) = evaluate_checkpoint(out, task, languages=["en"], split=split, progress=reporter)
        told.append((first.examples, "training data of this model" in str(reporter.note.call_args_list)))
    assert told == [(4, True), (2, False)]


def test_checkpoints_of_one_name_are_no_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    row = Result(run="tlm", task="pos", language="de", metric="f1", value=80, examples=9, checkpoint_hash="a")
    other = row.model_copy(update={"value": 90.0, "checkpoint_hash": "b"})
    print_results([(row, Path("a")), (row, Path("a")), (other, Path("b"))])
    told = capsys.readouterr().out
    assert "tlm (a) (1 seed)   80.0" in told and "tlm (b) (1 seed)  *90.0" in told and "±" not in told
    seeds = [row.model_copy(update={"seed": 1}), other.model_copy(update={"seed": 2})]
    print_results([(seed, Path("a")) for seed in seeds])
    assert "85.0 ±7.1" in capsys.readouterr().out


@pytest.mark.slow
def test_a_packed_aligner_goes_by_its_own_name(tmp_path: Path) -> None:
    row = {"src": ["the", "house"], "tgt": ["das", "Haus"], "sure": [[0, 0], [1, 1]]}
    task = build_task("word_alignment", [json_lines(tmp_path / "en-de.jsonl", row)])
    assert {found.run for found in evaluate_checkpoint("box", task, languages=["en-de"])} == {"box"}
    named = EvaluateOptions(run="mine")
    assert {found.run for found in evaluate_checkpoint("box", task, languages=["en-de"], options=named)} == {
        "mine"
    }


def test_predictions_never_replace_the_data(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "udpos").mkdir()
    data = tagged_words(tmp_path / "udpos" / "test-en.tsv", 2)
    text = data.read_text()
    options = EvaluateOptions(predictions=tmp_path)
    with pytest.raises(ConfigurationError, match=r"test-en\.tsv: is also an input"):
        evaluate_checkpoint(encoder, build_task("pos", [str(data)]), languages=["en"], options=options)
    assert data.read_text() == text
