from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file

from isoglot.errors import ConfigurationError
from isoglot.finetuning.evaluate import EvaluateOptions, evaluate
from isoglot.finetuning.finetune import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.modules.encoder import input_embeddings
from isoglot.tasks import build_task
from isoglot.tasks.features import Rows, predict_rows
from isoglot.tasks.language_vectors import LanguageVectors, attach, attached, number_rows, read_vectors
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
    got = model(input_ids=ids, attention_mask=mask, language_ids=torch.tensor([1, 2, -1])).logits
    torch.testing.assert_close(got, expected)
    assert torch.equal(model(input_ids=ids, attention_mask=mask).logits, plain), "without ids as before"
    got.sum().backward()
    held = attached(model)
    assert held is not None
    assert held.weight.grad is not None
    assert held.weight.grad[1:].abs().sum() > 0


def test_rows_are_numbered_by_their_examples_language() -> None:
    rows = Rows([{"input_ids": [1]}] * 3, [0, 0, 1], [None] * 3)
    dataset = Dataset.from_dict({"language": ["xx", "fr"]})
    vectors = LanguageVectors({"xx": 2}, torch.zeros(3, 4))
    assert number_rows(rows, dataset, None) == set()
    assert "language_ids" not in rows[0]
    assert number_rows(rows, dataset, vectors) == {"fr"}
    assert [row["language_ids"] for row in rows.inputs] == [2, 2, -1]
    with pytest.raises(ConfigurationError, match="ids 0 to 2"):
        vectors.with_ids({"de": 3})


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

    def predict(model: Any, rows: Rows, *args: Any, **kwargs: Any) -> Any:
        seen.append({row["language_ids"] for row in rows.inputs})
        assert attached(model) is not None
        return predict_rows(model, rows, *args, **kwargs)

    monkeypatch.setattr("isoglot.finetuning.evaluate.predict_rows", predict)
    for ids in (None, {"xx": 2}):
        evaluate(done, build_task("pos", data), languages=["xx"], options=EvaluateOptions(language_ids=ids))
    assert seen == [{3}, {2}]
    without = finetune(run, build_task("pos", data), language="en", train=options.changed(language_ids={}),
                       out=tmp_path / "without")  # fmt: skip
    assert read_vectors(without) is None
