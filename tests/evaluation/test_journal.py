from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import json_lines

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results.example_counts import CountsFile
from isoglot.results.rows import read
from isoglot.tasks import build_task
from isoglot.tasks.base import Task
from isoglot.testing import tiny_bitext


def test_retrieval_of_equal_sentences_is_perfect(encoder: Path, tmp_path: Path) -> None:
    lines = "\n".join(dict.fromkeys(tiny_bitext(30)["source"])) + "\n"
    for code in ("deu", "eng"):
        (tmp_path / f"tatoeba.deu-eng.{code}").write_text(lines)
    task = build_task("tatoeba", [str(tmp_path)], layer=1)
    out = EvaluateOptions(out=tmp_path / "results.jsonl")
    rows = evaluate_checkpoint(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows)
    evaluate_checkpoint(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "measured once"
    (tmp_path / ".results.jsonl.done").unlink()  # as after a kill between the rows and the note of them
    evaluate_checkpoint(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == len(rows), "rows are not written twice"
    (tmp_path / "tatoeba.deu-eng.deu").write_text("x\n" + "\n".join(lines.split("\n")[1:]))
    evaluate_checkpoint(encoder, task, languages=["de"], options=out)
    assert len(read(tmp_path / "results.jsonl")) == 2 * len(rows), "an edited file is measured again"
    assert {r.settings for r in rows} == {"layer=1"}
    other = evaluate_checkpoint(
        encoder, build_task("tatoeba", [str(tmp_path)], pooling="cls"), languages=["de"], options=out
    )
    assert {r.settings for r in other} == {"pooling=cls"}, "data and defaults are no settings"
    known = evaluate_checkpoint(encoder, task, languages=["de"], options=out)
    assert {r.settings for r in known} == {"layer=1"}, "each finds its own rows again"
    assert len(read(tmp_path / "results.jsonl")) == 3 * len(rows)
    values = {r.metric: r.value for r in rows}
    assert values["accuracy"] == values["reverse_mrr"] == values["csls_accuracy"] == 100.0


@pytest.fixture
def tuned(encoder: Path, tmp_path: Path) -> dict[str, tuple[Path, Task]]:
    """Two models, each of which knows one label, and its data."""
    models: dict[str, tuple[Path, Task]] = {}
    for label in "12":
        rows = [{"first": f"the {n}", "second": "b", "label": label} for n in range(16)]
        task = build_task("xnli", [json_lines(tmp_path / f"{label}.jsonl", *rows)])
        train = FinetuneOptions.build(epochs=2, batch_size=4, learning_rate=0.01, select="last", run=label)
        models[label] = finetune(encoder, task, language="en", train=train, out=tmp_path / label), task
    return models


def test_a_folder_has_the_predictions_of_one_model(
    tuned: dict[str, tuple[Path, Task]], tmp_path: Path
) -> None:
    folder, out = tmp_path / "predictions", tmp_path / "results.jsonl"
    options = EvaluateOptions(out=out, predictions=folder)
    file = folder / "xnli" / "test-en.tsv"
    evaluate_checkpoint(*tuned["1"], languages=["en"], options=options)
    first, counts = file.read_text(), file.with_suffix(".counts.safetensors").read_bytes()
    assert first.split()[0] == "neutral"
    for again in (False, True):
        with pytest.raises(
            ConfigurationError, match=r"test-en: predictions of another model .* one per model"
        ):
            evaluate_checkpoint(
                *tuned["2"], languages=["en"], options=options.model_copy(update={"again": again})
            )
    assert (file.read_text(), file.with_suffix(".counts.safetensors").read_bytes()) == (first, counts)
    assert len(read(out)) == 1, "it was refused before it was measured"
    rest = options.model_copy(update={"predictions": tmp_path / "second"})
    evaluate_checkpoint(*tuned["2"], languages=["en"], options=rest)
    assert (tmp_path / "second" / "xnli" / "test-en.tsv").read_text().split()[0] == "contradiction"

    file.write_text("kept")
    evaluate_checkpoint(*tuned["1"], languages=["en"], options=options)
    assert file.read_text() == "kept", "what is there is not measured again"
    task = build_task("xnli", [json_lines(tmp_path / "1.jsonl", {"first": "a", "second": "b", "label": "1"})])
    evaluate_checkpoint(tuned["1"][0], task, languages=["en"], options=options)
    assert file.read_text() == "neutral\n", "those of one model on other data are made anew"


@pytest.mark.slow
def test_a_stopped_evaluation_and_files_of_others_are_told_apart(
    tuned: dict[str, tuple[Path, Task]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "predictions"
    options = EvaluateOptions(predictions=folder)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(CountsFile, "write", _interrupted)
        evaluate_checkpoint(*tuned["1"], languages=["en"], options=options)
    assert (folder / "xnli" / "test-en.tsv").is_file()
    evaluate_checkpoint(*tuned["1"], languages=["en"], options=options)
    assert (folder / "xnli" / "test-en.counts.safetensors").is_file()
    (tmp_path / ".predictions.done").unlink()
    with pytest.raises(ConfigurationError, match="predictions of another model"):
        evaluate_checkpoint(*tuned["1"], languages=["en"], options=options)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_model_whose_labels_are_renamed_is_measured_again(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "1"} for n in range(16)]
    task = build_task("xnli", [json_lines(tmp_path / "a.jsonl", *rows)])
    train = FinetuneOptions.build(epochs=2, batch_size=4, learning_rate=0.01, select="last")
    out = finetune(encoder, task, language="en", train=train, out=tmp_path / "r")
    options, values = EvaluateOptions(out=tmp_path / "results.jsonl"), []
    for names in (["entailment", "neutral", "contradiction"], ["neutral", "entailment", "contradiction"]):
        config = json.loads((out / "config.json").read_text())
        config["id2label"] = {str(i): name for i, name in enumerate(names)}
        config["label2id"] = {name: i for i, name in enumerate(names)}
        (out / "config.json").write_text(json.dumps(config))
        values += [
            evaluate_checkpoint(out, task, languages=["en"], options=options)[0].value for _ in range(2)
        ]
    assert values == [100, 100, 0, 0]
    journal = tmp_path / ".results.jsonl.done"
    assert len(read(options.out)) == 2 == len(journal.read_text().splitlines())
    journal.write_text("\n".join(line.partition("+")[0] for line in journal.read_text().splitlines()))
    evaluate_checkpoint(out, task, languages=["en"], options=options)
    assert len(read(options.out)) == 2, "rows of earlier versions, which noted no files"
