"""In-batch contrast: its loss written out, its layers and limits. Over ranks: test_sentence_contrast.py."""

from __future__ import annotations

import pytest
import torch
from sentence_pairs import make_batch
from torch import nn

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.objectives.in_batch_contrast import InBatchContrastObjective
from isoglot.testing import tiny_model


def test_in_batch_contrast_trains_both_sides():
    model, batch = tiny_model("bert").eval(), make_batch()
    objective = InBatchContrastObjective(model)
    assert not list(objective.parameters()) and not list(objective.buffers())
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    z = [nn.functional.normalize(encodings.last("sentences", side)[:, 0], dim=1) for side in ("query", "key")]
    scores = z[0] @ z[1].T / 0.05
    expected = sum(
        nn.functional.cross_entropy(s, torch.arange(4), reduction="sum") for s in (scores, scores.T)
    )
    torch.testing.assert_close(output.total, expected / 2)
    assert encodings.forwards == 2
    objective.after_step(model)


def test_layers_pooling_and_mistakes():
    model, batch = tiny_model("bert").eval(), make_batch()
    objective = InBatchContrastObjective(model, layer=1, pooling="mean", temperature=1.0)
    encodings = Encodings(model, batch)
    z = []
    for side in ("query", "key"):
        mask = batch["sentences"][f"{side}_attention_mask"][:, :, None]
        mean = (encodings.hidden("sentences", 1, side=side) * mask).sum(1) / mask.sum(1)
        z.append(mean / mean.norm(dim=1, keepdim=True))
    output = objective(encodings, batch)
    torch.testing.assert_close(output.metrics["positive"], (z[0] * z[1]).sum(1).mean().detach())
    assert int(output.count) == int(objective.count(batch)) == 4
    for options, message in (
        ({"layer": 9}, "layer: got 9, but"),
        ({"temperature": 0.0}, "temperature: got 0.0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            InBatchContrastObjective(model, **options)
