from __future__ import annotations

import json
from pathlib import Path

from labelled_files import json_lines

from isoglot.evaluation.evaluate import evaluate
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.finetune import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results import read
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext


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


def test_predictions_are_of_the_checkpoint_that_is_asked_for(encoder: Path, tmp_path: Path) -> None:
    for label in "12":
        rows = [{"first": f"the {n}", "second": "b", "label": label} for n in range(16)]
        data = [json_lines(tmp_path / f"{label}.jsonl", *rows)]
        train = FinetuneOptions.build(epochs=2, batch_size=4, learning_rate=0.01, select="last", run=label)
        finetune(encoder, build_task("xnli", data), language="en", train=train, out=tmp_path / label)
    place = tmp_path / "predictions"
    options = EvaluateOptions(out=tmp_path / "results.jsonl", predictions=place)
    texts = []
    for label in "121":
        evaluate(tmp_path / label, build_task("xnli", data), languages=["en"], options=options)
        texts.append((place / "xnli" / "test-en.tsv").read_text().split()[0])
    assert texts == ["neutral", "contradiction", "neutral"]
    assert len(read(tmp_path / "results.jsonl")) == 2, "measured again for the predictions, not noted again"
    (place / "xnli" / "test-en.tsv").write_text("kept")
    evaluate(tmp_path / "1", build_task("xnli", data), languages=["en"], options=options)
    assert (place / "xnli" / "test-en.tsv").read_text() == "kept", "what is there is not measured again"


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
        values += [evaluate(out, task, languages=["en"], options=options)[0].value for _ in range(2)]
    assert values == [100, 100, 0, 0]
    journal = tmp_path / ".results.jsonl.done"
    assert len(read(options.out)) == 2 == len(journal.read_text().splitlines())
    journal.write_text("\n".join(line.partition("+")[0] for line in journal.read_text().splitlines()))
    evaluate(out, task, languages=["en"], options=options)
    assert len(read(options.out)) == 2, "rows of earlier versions, which noted no files"
