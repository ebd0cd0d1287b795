from __future__ import annotations

import pytest
import torch
from word_pairs import linked_sentences, word_vector

from isoglot.modules.encodings import Encodings
from isoglot.objectives.anchor import AnchorObjective
from isoglot.testing import tiny_model


@pytest.fixture
def model():
    return tiny_model("bert").eval()


def test_anchor_is_zero_at_the_start_and_a_loop_later(model):
    batch = linked_sentences()
    objective = AnchorObjective(model)
    assert float(objective(Encodings(model, batch), batch).total.detach()) == pytest.approx(0.0, abs=1e-8)
    before = Encodings(model, batch).last("sentences", "query").detach()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    now, ids = encodings.last("sentences", "query"), batch["sentences"]["query_word_ids"]
    expected, words = torch.zeros(()), 0
    for row in range(2):
        for word in sorted(set(ids[row].tolist()) - {0}):
            difference = word_vector(now, ids, row, word, "last") - word_vector(
                before, ids, row, word, "last"
            )
            expected = expected + (difference**2).mean()
            words += 1
    torch.testing.assert_close(output.total, expected, rtol=1e-4, atol=1e-5)
    assert int(output.count) == words == int(objective.count(batch))


def test_anchor_copy_is_frozen_saved_and_without_dropout(model):
    objective = AnchorObjective(model).train()
    assert not any(p.requires_grad for p in objective.parameters())
    assert not any(m.training for m in objective.initial.modules())
    assert any(k.startswith("initial.") for k in objective.state_dict())


def test_an_untrained_model_with_language_embeddings_is_not_away_from_itself(model):
    batch = linked_sentences()
    for side in ("query", "key"):
        batch["sentences"][f"{side}_language_ids"] = torch.ones_like(batch["sentences"][f"{side}_input_ids"])
    objective, table = AnchorObjective(model), torch.nn.Embedding(2, model.config.hidden_size)
    output = objective(Encodings(model, batch, language_embeddings=table), batch)
    assert float(output.total.detach()) == pytest.approx(0.0, abs=1e-8)
    plain = Encodings(model, batch).last("sentences", "query")
    assert not torch.allclose(
        plain, Encodings(model, batch, language_embeddings=table).last("sentences", "query")
    )
