from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from refusals import refused
from safetensors.torch import load_file, save_file

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.modules.encoder import add_language_embeddings, input_embeddings
from isoglot.tasks import build_task, language_vectors
from isoglot.tasks.code_switching import code_switch, with_ids
from isoglot.tasks.features import EncodedRow, RowCollator, predict_rows
from isoglot.tasks.language_vectors import (
    LanguageVectors,
    add_language_ids,
    attach,
    attached,
    chosen_vectors,
    read_vectors,
    write_vectors,
)
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_each_row_gets_its_language_and_an_unknown_one_the_mean(family: str) -> None:
    tokenizer = tiny_tokenizer(family)
    model = tiny_model(family, tokenizer=tokenizer).eval()
    vectors = LanguageVectors({"en": 1, "xx": 2}, torch.randn(3, input_embeddings(model).embedding_dim))
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 7, int(tokenizer.pad_token_id or 0)], [9, 8, 7, 6]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]])
    added = torch.stack([vectors.weight[1], vectors.weight[2], vectors.weight[1:].mean(0)])[:, None]
    embedded = input_embeddings(model)(ids) + added
    expected = model(inputs_embeds=embedded, attention_mask=mask).logits
    plain = model(input_ids=ids, attention_mask=mask).logits
    attach(model, vectors)
    got = model(
        input_ids=ids, attention_mask=mask, language_ids=torch.tensor([[1], [2], [-1]]).expand(3, 4)
    ).logits
    torch.testing.assert_close(got, expected)
    assert torch.equal(model(input_ids=ids, attention_mask=mask).logits, plain), "without ids as before"
    got.sum().backward()
    held = attached(model)
    assert held is not None
    assert held.weight.grad is not None
    assert held.weight.grad[1:].abs().sum() > 0


def test_rows_are_numbered_by_their_examples_language(tmp_path: Path) -> None:
    rows = [EncodedRow({"input_ids": [1] * n}, example) for n, example in ((1, 0), (3, 0), (2, 1))]
    dataset = Dataset.from_dict({"language": ["xx", "fr"]})
    vectors = LanguageVectors({"xx": 2}, torch.zeros(3, 4))
    assert add_language_ids(rows, dataset, None) == set()
    assert "language_ids" not in rows[0].inputs
    assert add_language_ids(rows, dataset, vectors) == {"fr"}
    assert [row.inputs["language_ids"].tolist() for row in rows] == [[2], [2, 2, 2], [-1, -1]]
    write_vectors(vectors, tmp_path)
    with refused(ConfigurationError, "language_ids: ", "{'de': 3}", "0 to 2"):
        chosen_vectors(tmp_path, {"de": 3})
    chosen = chosen_vectors(tmp_path, {"de": 1})
    assert chosen is not None and chosen.ids == {"de": 1}
    assert chosen_vectors(tmp_path, {}) is None


def _switched(kind: str, tmp_path: Path) -> tuple[Any, Dataset]:
    """A task and code-switched data of it, in English (en) and another language (xx)."""
    halves = {"en": ("the river", "the mountain is old"), "xx": ("a captain and a library", "old questions")}
    sides = []
    for language, (first, second) in halves.items():
        if kind == "xnli":
            row: dict[str, Any] = {"first": first, "second": second, "label": "neutral"}
        else:
            context = f"{second} {second} {second}"
            row = {"id": "1", "question": first, "context": context,
                   "answers": {"text": [context[:3]], "start": [0]}}  # fmt: skip
        (tmp_path / f"{language}.jsonl").write_text(json.dumps({**row, "language": language}) + "\n")
    task = build_task(kind, [f"{tmp_path}/{{language}}.jsonl"], max_length=20,
                      **({} if kind == "xnli" else {"stride": 2, "max_question_length": 8}))  # fmt: skip
    sides = [task.load(language, "train") for language in ("xx", "en")]
    return task, code_switch(*with_ids(*sides))


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
@pytest.mark.parametrize("kind", ["xnli", "xquad"])
def test_each_half_of_a_code_switched_row_has_its_own_language(
    kind: str, family: str, tmp_path: Path
) -> None:
    task, data = _switched(kind, tmp_path)
    tokenizer = tiny_tokenizer(family)
    model = tiny_model(family, tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(task.labels(data) or ()))
    rows = task.encode(data, tokenizer, model, training=True)
    assert add_language_ids(rows, data, LanguageVectors({"en": 4, "xx": 7}, torch.zeros(8, 4))) == set()
    seen = set()
    for row in rows:
        ids, found = row.inputs["input_ids"].tolist(), row.inputs["language_ids"].tolist()
        # [CLS] a [SEP] b, and <s> a </s></s> b
        first = ids.index(tokenizer.sep_token_id) + (1 if family == "bert" else 2)
        language = {"first": data[row.example]["first_language"], "second": data[row.example]["language"]}
        assert language["first"] != language["second"]
        number = {"en": 4, "xx": 7}
        expected = [
            number[language["first"]] if at < first else number[language["second"]] for at in range(len(ids))
        ]
        assert found == expected
        seen.add((language["first"], language["second"]))
    assert seen == {("en", "xx"), ("xx", "en")}
    batch = RowCollator(tokenizer)([row.inputs for row in rows])
    assert batch["language_ids"].shape == batch["input_ids"].shape


def test_questions_and_contexts_of_mlqa_have_their_own_languages(tmp_path: Path) -> None:
    context = "the river and the mountain " * 4
    asked = [
        {
            "context": context,
            "qas": [{"id": "1", "question": "who?", "answers": [{"text": "the", "answer_start": 0}]}],
        }
    ]
    (tmp_path / "test-context-de-question-es.json").write_text(json.dumps({"data": [{"paragraphs": asked}]}))
    task = build_task("mlqa", [str(tmp_path)], max_length=24, stride=4, max_question_length=6)
    data = task.load("de-es", "test")
    tokenizer = tiny_tokenizer("bert")
    rows = task.encode(data, tokenizer, tiny_model("bert", tokenizer=tokenizer), training=False)
    assert len(rows) > 1
    assert add_language_ids(rows, data, LanguageVectors({"de": 1}, torch.zeros(2, 4))) == {"es"}
    for row in rows:
        length, first = len(row.inputs["input_ids"]), row.detail.first
        assert row.inputs["language_ids"].tolist() == [-1] * first + [1] * (length - first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xnli", "xquad"])
def test_fine_tuning_and_evaluation_give_the_model_each_positions_language(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _switched(kind, tmp_path)
    run, tokenizer = tmp_path / "run", tiny_tokenizer("bert")
    model = tiny_model("bert", tokenizer=tokenizer)
    model.save_pretrained(run / "checkpoint")
    tokenizer.save_pretrained(run / "checkpoint")
    weight = torch.randn(4, input_embeddings(model).embedding_dim)
    save_file({"language_embeddings.weight": weight}, run / "checkpoint" / "objectives.safetensors")
    (run / "recipe.yaml").write_text("name: x\nstreams:\n  a: {pack: {language_ids: {en: 2, xx: 3}}}\n")
    seen: list[set[int]] = []
    add = add_language_embeddings

    def spy(embedded: torch.Tensor, numbers: torch.Tensor, table: Any) -> torch.Tensor:
        assert numbers.shape == embedded.shape[:2]
        seen.append(set(numbers.unique().tolist()) - {0})
        return add(embedded, numbers, table)

    monkeypatch.setattr(language_vectors, "add_language_embeddings", spy)
    options = {} if kind == "xnli" else {"stride": 2, "max_question_length": 8}
    task = build_task(kind, [f"{tmp_path}/{{language}}.jsonl"], **options)
    train = FinetuneOptions.build(setting="code_switch", select="last", batch_size=2, epochs=1, max_length=20)
    tuned = finetune(run, task, language="xx", train=train, out=tmp_path / "tuned")
    assert set.union(*seen) == {2, 3}, "both languages in training"
    seen.clear()
    evaluate_checkpoint(tuned, task, languages=["xx"], split="test")
    assert seen and set.union(*seen) == {3}


@pytest.mark.slow
def test_an_encoder_of_a_run_with_language_embeddings_is_fine_tuned_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, run = tiny_tokenizer("bert"), tmp_path / "run"
    model = tiny_model("bert", tokenizer=tokenizer)
    model.save_pretrained(run / "checkpoint")
    tokenizer.save_pretrained(run / "checkpoint")
    weight = torch.randn(4, input_embeddings(model).embedding_dim)
    save_file({"language_embeddings.weight": weight}, run / "checkpoint" / "objectives.safetensors")
    (run / "recipe.yaml").write_text("name: x\nstreams:\n  a: {pack: {language_ids: {en: 2, xx: 3}}}\n")
    found = read_vectors(run / "checkpoint")
    assert found is not None
    assert (found.ids, found.weight.tolist()) == ({"en": 2, "xx": 3}, weight.tolist())
    for split, column in (("train", "source"), ("test", "target")):
        lines = [
            "".join(f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}\n" for w in s.split())
            for s in tiny_bitext(16)[column]
        ]
        (tmp_path / f"{split}.tsv").write_text("\n".join(lines))
    data = [f"train={tmp_path}/train.tsv", f"dev={tmp_path}/train.tsv", f"test={tmp_path}/test.tsv"]
    options = FinetuneOptions.build(learning_rate=1e-2, batch_size=8, epochs=1)
    done = finetune(run, build_task("pos", data), language="en", train=options, out=tmp_path / "pos")
    trained = read_vectors(done)
    assert trained is not None
    assert trained.ids == {"en": 2, "xx": 3}
    assert not torch.equal(trained.weight[2], weight[2])
    assert "language_embeddings.weight" not in load_file(done / "model.safetensors")
    seen: list[set[int]] = []

    def predict(model: Any, rows: list[EncodedRow], *args: Any, **kwargs: Any) -> Any:
        seen.append({int(number) for row in rows for number in row.inputs["language_ids"]})
        assert attached(model) is not None
        return predict_rows(model, rows, *args, **kwargs)

    monkeypatch.setattr("isoglot.evaluation.head.predict_rows", predict)
    for ids in (None, {"xx": 2}):
        evaluate_checkpoint(
            done, build_task("pos", data), languages=["xx"], options=EvaluateOptions(language_ids=ids)
        )
    assert seen == [{3}, {2}]
    without = finetune(run, build_task("pos", data), language="en", train=options.changed(language_ids={}),
                       out=tmp_path / "without")  # fmt: skip
    assert read_vectors(without) is None
