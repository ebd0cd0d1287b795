from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refused
from safetensors.torch import load_file
from sklearn.utils.class_weight import compute_class_weight
from transformers import AutoModelForTokenClassification

from isoglot.core.errors import ConfigurationError
from isoglot.finetuning.api import finetune
from isoglot.finetuning.class_weights import require_labels, weight_of_items, weighted_loss, weights_of
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task
from isoglot.tasks.features import IGNORED, EncodedRow
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

LABELS = ["a", "b", "never"]


def _rows(*labels: Any) -> list[EncodedRow]:
    return [
        EncodedRow({"input_ids": np.zeros(3), "labels": one}, number) for number, one in enumerate(labels)
    ]


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    targets = [0] * 13 + [1] * 2
    expected = compute_class_weight("balanced", classes=np.array([0, 1]), y=targets)
    found = weights_of("balanced", LABELS, _rows(*targets)).tolist()
    assert found == pytest.approx([*expected, 1.0]), "a class without examples is not counted"
    tagged = _rows(np.array([IGNORED, 0, 0]), np.array([1, 0, IGNORED]))
    words = compute_class_weight("balanced", classes=np.array([0, 1]), y=[0, 0, 1, 0])
    assert weights_of("balanced", LABELS, tagged).tolist() == pytest.approx([*words, 1.0]), "words count"
    assert weights_of({"b": 5.0}, LABELS, tagged).tolist() == [1.0, 5.0, 1.0]


def test_the_loss_is_the_weighted_mean_of_a_naive_loop() -> None:
    tokenizer = tiny_tokenizer("bert")
    encoder = tiny_model("bert", tokenizer=tokenizer)
    model = AutoModelForTokenClassification.from_config(encoder.config).eval()
    weights = torch.tensor([0.5, 3.0])
    ids = torch.randint(5, 90, (3, 6), generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[0, 1, IGNORED, 0, 1, 0], [IGNORED] * 5 + [1], [0] * 6])
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    loss, outputs = weighted_loss(model, batch, weights)
    total = share = 0.0
    for row, row_labels in zip(outputs["logits"].tolist(), labels.tolist(), strict=True):
        for scores, label in zip(row, row_labels, strict=True):
            if label == IGNORED:
                continue
            log_sum = math.log(sum(math.exp(score) for score in scores))
            total += weights[label].item() * (log_sum - scores[label])
            share += weights[label].item()
    assert loss.item() == pytest.approx(total / share, rel=1e-5)
    assert weight_of_items(labels, weights).item() == pytest.approx(share)
    usual = torch.nn.CrossEntropyLoss(weight=weights)(outputs["logits"].flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(usual.item(), rel=1e-6)


def _tickets(folder: Path, name: str) -> Path:
    """Texts or tagged sentences with a rare class, as many as divide by the ranks."""
    sentences = tiny_bitext(32)["source"]
    path = folder / f"{name}.tsv"
    if name == "xnli":
        sentences = tiny_bitext(33)["source"]
        labels = ["neutral" if n % 8 else "entailment" for n in range(32)]
        rows = [f"{a}\t{b}\t{label}\n" for (a, b), label in zip(pairwise(sentences), labels, strict=True)]
    else:
        rows = [
            "".join(f"{word}\t{'B-LOC' if len(word) > 6 else 'O'}\n" for word in sentence.split()) + "\n"
            for sentence in sentences
        ]
    path.write_text("".join(rows))
    return path


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("name", ["xnli", "ner"])
def test_weighted_steps_do_not_depend_on_how_a_batch_is_divided(
    encoder: Path, tmp_path: Path, name: str
) -> None:
    task = build_task(name, [f"train={_tickets(tmp_path, name)}"])
    settings = FinetuneOptions.build(
        learning_rate=0.1, batch_size=8, epochs=1, dropout=0, select="last", adam_epsilon=1
    )  # a large epsilon, so that the size of a gradient shows in the weights
    weights = {}
    for forwards, class_weight in ((1, "balanced"), (4, "balanced"), (1, None)):
        train = settings.changed(gradient_accumulation=forwards, class_weight=class_weight)
        out = tmp_path / f"{forwards}{class_weight}"
        weights[forwards, class_weight] = load_file(
            finetune(encoder, task, train=train, out=out) / "model.safetensors"
        )
    for key, one in weights[1, "balanced"].items():
        torch.testing.assert_close(one, weights[4, "balanced"][key], atol=1e-6, rtol=0)
    unweighted = weights[1, None]["classifier.weight"]
    assert not torch.allclose(weights[1, "balanced"]["classifier.weight"], unweighted, atol=1e-4)


@pytest.mark.slow
def test_weighted_steps_do_not_depend_on_the_number_of_processes(encoder: Path, tmp_path: Path) -> None:
    data = f"train={_tickets(tmp_path, 'ner')}"
    found = []
    for ranks in (1, 2):
        out = tmp_path / f"ranks{ranks}"
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port",
                   "29741", "-m", "isoglot.cli", "finetune", str(encoder), "--task", "ner", "--data", data, "--out",
                   str(out), "--epochs", "1"]  # fmt: skip
        settings = {"batch_size": 8 // ranks, "bucket": 1, "dropout": 0, "select": "last", "learning_rate": 0.1,
                    "adam_epsilon": 1.0, "class_weight": "balanced"}  # fmt: skip
        command += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment, timeout=250
        )
        assert done.returncode == 0, done.stderr
        assert json.loads((out / "manifest.json").read_text())["steps"] == 4
        found.append(load_file(out / "checkpoint" / "model.safetensors"))
    for key, one in found[0].items():
        torch.testing.assert_close(one, found[1][key], atol=1e-5, rtol=0)


def test_unknown_classes_are_refused_before_anything_is_trained(encoder: Path, tmp_path: Path) -> None:
    task = build_task("xnli", [f"train={_tickets(tmp_path, 'xnli')}"])
    with refused(
        ConfigurationError, "`class_weight`: ", "'compliment'", "entailment, neutral, contradiction"
    ):
        finetune(
            encoder, task, out=tmp_path / "run", select="last", class_weight={"compliment": 2, "neutral": 1}
        )
    assert not (tmp_path / "run").exists()
    with refused(ConfigurationError, "`class_weight`: squad "):
        require_labels("balanced", None, "squad")
    with refused(ConfigurationError, "`class_weight`: got 0; "):
        FinetuneOptions.build(class_weight={"neutral": 0})
    assert FinetuneOptions.build(class_weight={1: 2}).class_weight == {"1": 2.0}, (
        "labels in memory are numbers"
    )
