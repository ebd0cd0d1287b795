from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from encoder_decoders import saved

import isoglot as iso
from isoglot.modules.checkpoint import new_weights
from isoglot.tasks import build_task

WORDS = ["river", "mountain", "horse", "winter", "house", "bread"]
NLI = [
    {
        "first": f"the old {a}",
        "second": f"the {b}",
        "label": "entailment" if b in WORDS[:3] else "contradiction",
    }
    for a in WORDS
    for b in WORDS
]
"""The second text tells the label."""
QUESTIONS = [
    {
        "id": f"{first}{second}",
        "question": f"what sees the {second}",
        "context": f"the {first} sees a {second}",
        "answers": {"text": [first], "answer_start": [4]},
    }
    for first in WORDS
    for second in WORDS
]
"""The answer is the second word of the context."""


@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "MT5EncoderModel"])
@pytest.mark.parametrize("kind", ["xnli", "xquad"])
def test_head_stands_on_the_encoder_of_the_checkpoint(name: str, kind: str, tmp_path: Path) -> None:
    """Every weight of the encoder is the checkpoint's, and padding changes no output."""
    folder, model, _ = saved(name, tmp_path)
    task: Any = build_task(kind, [])
    labels = ["a", "b", "c"] if kind == "xnli" else None
    headed = task.head(folder, labels=labels, seed=1)
    assert new_weights(headed) == {"classifier.weight", "classifier.bias"}
    assert headed.classifier.weight.std() < 0.5, "a head of T5's tags would begin at 1"
    given = model.get_encoder().state_dict()
    for key, value in headed.transformer.encoder.state_dict().items():
        assert torch.equal(value, given[key]), key

    ids = torch.tensor([[5, 6, 7, 1]])
    padded = torch.tensor([[5, 6, 7, 1, 0, 0]])
    with torch.no_grad():
        alone = headed.eval()(ids, torch.ones_like(ids))
        beside = headed(padded, (padded != 0).long())
        states = headed.transformer(ids)[0]
    if kind == "xnli":
        torch.testing.assert_close(alone.logits, beside.logits)
        torch.testing.assert_close(alone.logits, headed.classifier(states.mean(1)))
    else:
        torch.testing.assert_close(alone.start_logits, beside.start_logits[:, :4])
        torch.testing.assert_close(torch.stack(tuple(alone.values()), -1), headed.classifier(states))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rows"), [("xnli", NLI), pytest.param("xquad", QUESTIONS, marks=pytest.mark.slow)]
)
def test_encoder_half_learns_is_saved_measured_and_predicts(
    kind: str, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    folder, _, _ = saved("MT5ForConditionalGeneration", tmp_path / "mt5")
    settings: dict[str, Any] = {
        "epochs": 40,
        "batch_size": 12,
        "learning_rate": 5e-3,
        "evaluate_every": 50,
        "warmup": 0.1,
    }
    run = iso.finetune(folder, kind, data={"train": rows, "dev": rows}, out=tmp_path / "run", **settings)
    (row, *_) = iso.evaluate(run, kind, languages="en", data=rows)
    assert row.value > 80
    said = iso.predict(run, kind, rows)
    assert len(said) == len(rows)
    if kind == "xnli":
        assert np.mean([one["prediction"] == one["label"] for one in said]) == pytest.approx(row.value / 100)
