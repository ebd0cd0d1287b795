"""What would give a figure of other examples than those asked for is refused, or read right."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from datasets import Dataset, DatasetDict

from isoglot.cli.console import print_results
from isoglot.corpus.labelled.questions import read_questions
from isoglot.corpus.labelled.tags import read_tags
from isoglot.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.data import dev_sets, training_rows
from isoglot.finetuning.finetune import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results import Result, read
from isoglot.schema import SPAN
from isoglot.tasks import build_task
from isoglot.tasks.base import load_rows
from isoglot.tasks.description import identify
from isoglot.tasks.head_task import HeadTask, model_labels
from isoglot.testing import tiny_model, tiny_tokenizer


def _lines(path: Path, *rows: dict) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def _pair(source: str, target: str, languages: str) -> dict:
    own, other = languages.split()
    return {"source": source, "target": target, "source_language": own, "target_language": other}


@pytest.mark.parametrize("name", ["word_alignment", "lexicon_induction"])
def test_one_whole_file_is_read_where_no_more_is(tmp_path: Path, name: str) -> None:
    row = {"src": ["a"], "tgt": ["b"], "sure": [[0, 0]]}
    files = [_lines(tmp_path / f"{pair}.jsonl", row) for pair in ("de-en", "fr-en")]
    with pytest.raises(ConfigurationError, match="given for 'fr-en'"):
        build_task(name, files).load("fr-en", "test")
    with pytest.raises(ConfigurationError, match="0:50% given for 'de-en'"):
        build_task(name, [f"{files[0]}#0:50%"]).load("de-en", "test")


def test_tables_of_pairs_give_the_languages_that_are_asked_for(tmp_path: Path) -> None:
    rows = [
        _pair("house", "Haus", "en de"),
        _pair("house", "maison", "en fr"),
        _pair("book", "Buch", "en deu"),
    ]
    table = _lines(tmp_path / "pairs.jsonl", *rows)
    german = build_task("tatoeba", [table]).load("de", "test")
    assert german["source"][:] == ["Haus", "Buch"], "the language first, whichever way the rows are"
    assert german["target"][:] == ["house", "book"]
    with pytest.raises(
        InputError, match="no row from 'it' to 'en'; the pairs there are en-de, en-deu, en-fr"
    ):
        build_task("tatoeba", [table]).load("it", "test")
    lexicon = build_task("lexicon_induction", [table], words="0:0")
    assert lexicon.load("en-fr", "test")["target"][:] == ["maison"]
    with pytest.raises(InputError, match="no row from 'fr' to 'en'"):
        lexicon.load("fr-en", "test")


def test_tables_have_the_tags_and_labels_of_the_model(tmp_path: Path) -> None:
    tagged = _lines(tmp_path / "ner.jsonl", {"words": ["a", "b"], "tags": ["B-LOC", "O"]})
    task = build_task("ner", [tagged])
    assert len(task.load("en", "test")) == 1
    task.know(["O", "B-PER", "I-PER"])
    with pytest.raises(ConfigurationError, match="tag 'B-LOC' given, but the tags here are B-PER, I-PER, O"):
        task.load("en", "test")
    pairs = _lines(tmp_path / "nli.jsonl", {"first": "a", "second": "b", "label": "neutral"})
    task = build_task("xnli", [pairs])
    assert task.load("en", "test")["label"][:] == ["neutral"]
    task.know(["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(ConfigurationError, match="label 'neutral' is not of the model's id2label, LABEL_0"):
        task.load("en", "test")


@pytest.mark.parametrize(
    ("names", "numbers", "message"),
    [
        ({0: "a", 1: "b", 2: "c"}, {"a": 2, "b": 1, "c": 0}, "'a' is 0 in id2label and 2 in label2id"),
        ({0: "a", 1: "b"}, {"a": 0, "b": 1, "c": 2}, "'c' is not there in id2label and 2 in label2id"),
        ({0: "a", 1: "a"}, None, "id2label names several outputs 'a'"),
        ({0: "a", 2: "b"}, None, "id2label numbers the outputs 0, 2, and they count from 0"),
    ],
)
def test_a_head_whose_labels_contradict_each_other_is_refused(
    encoder: Path, tmp_path: Path, names: dict[int, str], numbers: dict[str, int] | None, message: str
) -> None:
    task = build_task("xnli", [])
    assert isinstance(task, HeadTask)
    model = task.head(encoder, labels=list(names.values()), seed=1)
    model.save_pretrained(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config |= {"id2label": names, "label2id": numbers}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigurationError, match=f"{message}; correct its config.json"):
        task.trained(tmp_path / "model")
    config |= {"id2label": {0: "a", 1: "b"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    if len(names) == 2:
        assert model_labels(task.trained(tmp_path / "model")) == ["a", "b"]


def test_no_example_gives_no_figure(tmp_path: Path) -> None:
    pairs = _lines(
        tmp_path / "nli.jsonl", *[{"first": str(n), "second": "b", "label": "0"} for n in range(9)]
    )
    assert len(load_rows(build_task("xnli", [f"{pairs}#0:50%"]), "en", "test")) == 4
    with pytest.raises(ConfigurationError, match="have no example"):
        load_rows(build_task("xnli", [f"{pairs}#0:1%"]), "en", "test")


def test_questions_of_one_id_are_refused_where_they_are_scored() -> None:
    tokenizer = tiny_tokenizer("bert")
    model = tiny_model("bert", tokenizer=tokenizer)
    row = {"id": "1", "question": "who ?", "context": "the dog", "language": "en",
           "answers": {"text": ["dog"], "start": [4]}}  # fmt: skip
    data = Dataset.from_list([row, {**row, "context": "the old dog"}], features=SPAN)
    task = build_task("squad", [], max_length=32, stride=4, max_question_length=8)
    with pytest.raises(ConfigurationError, match="stand for several questions"):
        task.encode(data, tokenizer, model, training=False)
    assert len(task.encode(data, tokenizer, model, training=True)) == 2


def test_three_letters_name_the_same_language(tmp_path: Path) -> None:
    row = {"id": "1", "question": "q", "context": "das Haus", "language": "de",
           "answers": {"text": ["Haus"], "start": [4]}}  # fmt: skip
    data = Dataset.from_list([row], features=SPAN)
    for name in ("mlqa", "xquad"):
        task = build_task(name, [])
        assert task.score(data, {"1": "das Haus"}, language="deu") == task.score(
            data, {"1": "das Haus"}, language="de"
        )
    qas = [{"id": "finnish-1", "question": "q", "answers": []}]
    document = {"data": [{"paragraphs": [{"context": "c", "qas": qas}]}]}
    (tmp_path / "tydi.json").write_text(json.dumps(document))
    assert len(read_questions(tmp_path / "tydi.json", language="fin")) == 1
    lines = ["1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_", "1\tde\tde\tADP\t_\t_\t0\troot\t_\t_",
             "2\tel\tel\tDET\t_\t_\t0\troot\t_\t_", "3\tno\tno\tADV\t_\t_\t0\troot\t_\t_"]  # fmt: skip
    (tmp_path / "es.conllu").write_text("\n".join(lines) + "\n\n")
    own, same = (read_tags(tmp_path / "es.conllu", language=c, surface=True)["tags"] for c in ("es", "spa"))
    assert own == same


def test_training_data_are_no_dev_data_unless_named_so(tmp_path: Path) -> None:
    rows = [{"first": f"{n}", "second": "b", "label": "0"} for n in range(10)]
    own, dev = _lines(tmp_path / "de.jsonl", *rows), _lines(tmp_path / "dev.jsonl", *rows[:2])
    held = FinetuneOptions.build(dev_fraction=0.2)
    data, held_out = training_rows(build_task("xnli", [own]), ["de"], held, seed=1)
    assert (len(data), len(held_out["de"])) == (8, 2)
    for specs in ([own, f"dev={dev}"], [own, f"dev={own}"], [f"train={own}", f"dev={dev}"]):
        assert not training_rows(build_task("xnli", specs), ["de"], held, seed=1)[1]
    with pytest.raises(ConfigurationError, match="no dev data for 'de' to choose the checkpoint by"):
        dev_sets(build_task("xnli", [own]), ["de"], FinetuneOptions.build(), {})


def test_a_data_set_has_its_own_splits(tmp_path: Path) -> None:
    part = Dataset.from_list([{"first": "a", "second": "b", "label": "0", "language": "de"}])
    part.save_to_disk(tmp_path / "one")
    DatasetDict({"train": part, "validation": part}).save_to_disk(tmp_path / "divided")
    one, divided, hub = (
        build_task("xnli", [str(p)]) for p in (tmp_path / "one", tmp_path / "divided", "hub")
    )
    assert [task.data.has_dev("de") for task in (one, divided, hub)] == [False, True, True]
    assert [identify(t, "de", "train") == identify(t, "de", "dev") for t in (one, divided, hub)] == [
        True,
        False,
        False,
    ]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    tokenizer = tiny_tokenizer("bert")
    for part in (tiny_model("bert", tokenizer=tokenizer), tokenizer):
        part.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_an_evaluation_is_of_its_own_data(encoder: Path, tmp_path: Path) -> None:
    rows = [
        {"src": ["the", "river"], "tgt": ["ta", "potamo"], "sure": [[n, 1 - n], [1 - n, n]]} for n in (0, 0)
    ]
    tasks = [
        build_task("word_alignment", [_lines(tmp_path / f"{name}.jsonl", *own)], method="argmax", layer=0)
        for name, own in (("a", rows), ("b", [{**rows[0], "sure": [[0, 0], [1, 1]]}]))
    ]
    options = EvaluateOptions(out=tmp_path / "results.jsonl")

    def measured(task: object, languages: list[str]) -> list[Result]:
        return evaluate(encoder, task, languages=languages, options=options)  # type: ignore[arg-type]

    first, other, again = (measured(task, ["de-en", "de-en"]) for task in (*tasks, tasks[0]))
    assert [row.examples for row in first] == [2] * 4, "a language that is named twice counts once"
    assert [row.examples for row in other] == [1] * 4
    assert again == first, "not the rows of what was measured in between"
    with pytest.raises(ConfigurationError, match="read for 'fr-en' and for 'it-en', with the same rows"):
        measured(tasks[0], ["de-en", "fr-en", "it-en"])
    with pytest.raises(ConfigurationError, match="precision given, but word_alignment measures"):
        evaluate(encoder, tasks[0], languages=["de-en"], options=EvaluateOptions(precision="bfloat16"))


def test_a_test_on_training_data_is_told(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "0"} for n in range(8)]
    files = [_lines(tmp_path / f"{name}.jsonl", *own) for name, own in (("a", rows), ("b", rows[:4]))]
    train = FinetuneOptions.build(epochs=1, batch_size=8, select="last")
    out = finetune(
        encoder, build_task("xnli", [f"{files[0]}#0:50%"]), language="en", train=train, out=tmp_path / "r"
    )
    told = []
    first = f"{files[0]}#25:75%"
    for spec, language in ((first, "en"), (first, "de"), (f"{files[0]}#50:100%", "en"), (files[1], "en")):
        reporter = Mock()
        evaluate(out, build_task("xnli", [spec]), languages=[language], progress=reporter)
        told.append("training data of this model" in str(reporter.note.call_args_list))
    assert told == [True, False, False, False]


def test_checkpoints_of_one_name_are_no_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    row = Result(run="tlm", task="pos", language="de", metric="f1", value=80, examples=9, checkpoint_hash="a")
    other = row.model_copy(update={"value": 90.0, "checkpoint_hash": "b"})
    print_results([row, row, other])
    told = capsys.readouterr().out
    assert "90.0" in told and "±" not in told and "1 results were measured again with another value" in told
    seeds = [row.model_copy(update={"seed": 1}), other.model_copy(update={"seed": 2})]
    print_results(seeds)
    assert "85.0 ±7.1" in capsys.readouterr().out


def test_options_that_are_given_hold_also_where_they_are_the_defaults(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "0"} for n in range(8)]
    data = [_lines(tmp_path / "a.jsonl", *rows)]
    train = FinetuneOptions.build(epochs=1, batch_size=8, select="last", max_length=16)
    out = finetune(encoder, build_task("xnli", data), language="en", train=train, out=tmp_path / "r")
    found = [
        evaluate(out, build_task("xnli", data, **given), languages=["en"])[0].options
        for given in ({}, {"max_length": 128}, {"max_length": 16})
    ]
    assert found == [{}, {"max_length": 128}, {}]


def test_predictions_are_of_the_checkpoint_that_is_asked_for(encoder: Path, tmp_path: Path) -> None:
    for label in "12":
        rows = [{"first": f"the {n}", "second": "b", "label": label} for n in range(16)]
        data = [_lines(tmp_path / f"{label}.jsonl", *rows)]
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


def test_a_no_break_space_is_part_of_a_token(tmp_path: Path) -> None:
    (tmp_path / "fr.txt").write_text("10\u00a0000 CD O\nParis NNP B-LOC\n\u3000 SP O\n")
    assert read_tags(tmp_path / "fr.txt", language="fr")["words"][0] == ["10\u00a0000", "Paris", "\u3000"]


def test_rows_of_a_table_may_name_the_language_by_another_code(tmp_path: Path) -> None:
    rows = [{"words": [code], "tags": ["NOUN"], "language": code} for code in ("deu", "DE", "fr")]
    found = build_task("pos", [_lines(tmp_path / "a.jsonl", *rows)]).load("de", "test")
    assert (found["words"][:], found["language"][:]) == ([["deu"], ["DE"]], ["de", "de"])


def test_a_model_whose_labels_are_renamed_is_measured_again(encoder: Path, tmp_path: Path) -> None:
    rows = [{"first": f"the {n}", "second": "b", "label": "1"} for n in range(16)]
    task = build_task("xnli", [_lines(tmp_path / "a.jsonl", *rows)])
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
