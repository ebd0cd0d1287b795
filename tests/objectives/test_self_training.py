"""awesome-align's objective against loops over pairs, pieces and links."""

from __future__ import annotations

import math

import pytest
import torch
from refusals import refused
from torch import nn

from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.core.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.objectives.self_training import SelfTrainingObjective
from isoglot.testing import tiny_model

SIDES = {
    "query": torch.tensor([[0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0]]),
    "key": torch.tensor([[0, 2, 2, 2, 2, 0], [0, 2, 2, 2, 0, 0]]),
}
LENGTHS = {"query": [5, 4], "key": [6, 5]}
LINKS = [[(1, 1), (1, 2), (3, 4)], [(2, 3)]]


@pytest.fixture
def model():
    return tiny_model("bert").eval()


def make_batch(*, links=LINKS, seed=0):
    generator = torch.Generator().manual_seed(seed)
    view = {}
    for side, ids in SIDES.items():
        view[f"{side}_input_ids"] = torch.randint(5, 90, ids.shape, generator=generator)
        mask = torch.arange(ids.size(1))[None] < torch.tensor(LENGTHS[side])[:, None]
        view[f"{side}_attention_mask"] = mask.long()
        view[f"{side}_side_ids"] = ids
    width = max(map(len, links))
    view["link_ids"] = torch.tensor([[*pairs, *[(-1, -1)] * (width - len(pairs))] for pairs in links])
    return {"sentences": view}


def directions(encodings, row, *, layer, compare, temperature):
    """P and Q of one pair as dictionaries of piece positions, by loops."""
    states = {side: encodings.hidden("sentences", layer, side=side)[row].detach() for side in SIDES}
    places = {side: (SIDES[side][row] > 0).nonzero().flatten().tolist() for side in SIDES}

    def similarity(i, j):
        a, b = states["query"][i], states["key"][j]
        value = a @ b if compare == "dot" else a @ b / (a.norm() * b.norm())
        return math.exp(float(value) / temperature)

    table = {(i, j): similarity(i, j) for i in places["query"] for j in places["key"]}
    forward = {(i, j): v / sum(table[i, k] for k in places["key"]) for (i, j), v in table.items()}
    backward = {(i, j): v / sum(table[k, j] for k in places["query"]) for (i, j), v in table.items()}
    return forward, backward, places


@pytest.mark.parametrize("compare", ["dot", "cosine"])
@pytest.mark.parametrize("loss", ["probability", "likelihood"])
@pytest.mark.parametrize("consistency", [0.0, 0.5])
def test_loss_equals_loops(model, compare, loss, consistency):
    temperature = 5.0 if compare == "dot" else 0.2
    objective = SelfTrainingObjective(
        model,
        layer=1,
        labels="corpus",
        compare=compare,
        loss=loss,
        temperature=temperature,
        consistency=consistency,
    )
    batch = make_batch()
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    total, count, agreement = 0.0, 0, 0.0
    for row, links in enumerate(LINKS):
        p, q, places = directions(encodings, row, layer=1, compare=compare, temperature=temperature)
        n, m = len(places["query"]), len(places["key"])
        linked = len({i for i, _ in links}) + len({j for _, j in links})
        weight = 1 if loss == "probability" else linked
        agreement += weight * sum(p[cell] * q[cell] for cell in p) / min(n, m)
        if loss == "probability":
            total -= sum(p[link] / n + q[link] / m for link in links)
            count += 1
            continue
        for i in places["query"]:
            if any(link[0] == i for link in links):
                total -= math.log(sum(p[link] for link in links if link[0] == i))
                count += 1
        for j in places["key"]:
            if any(link[1] == j for link in links):
                total -= math.log(sum(q[link] for link in links if link[1] == j))
                count += 1
    total -= consistency * agreement
    assert output.total.item() == pytest.approx(total, rel=1e-4)
    assert int(output.count) == count == int(objective.count(batch))


def test_one_step_makes_the_links_more_probable(model):
    objective = SelfTrainingObjective(
        model, labels="corpus", loss="likelihood", compare="cosine", temperature=0.1
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batch = make_batch()
    losses = []
    for _ in range(3):
        output = objective(Encodings(model, batch), batch)
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(output.loss.item())
    assert losses[2] < losses[1] < losses[0]


def test_own_labels_are_the_aligners_links_without_dropout(model):
    model.train()
    objective = SelfTrainingObjective(model, layer=2, compare="cosine", temperature=0.1, loss="likelihood")
    batch = make_batch()
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    clean = [
        nn.functional.normalize(encodings.layer("sentences", 2, clean=True, side=s), dim=-1) for s in SIDES
    ]
    mask = (SIDES["query"] > 0)[:, :, None] & (SIDES["key"] > 0)[:, None]
    scores = (clean[0] @ clean[1].transpose(1, 2) / 0.1).masked_fill(~mask, -1e9)
    links = (scores.softmax(2) * scores.softmax(1)).sqrt().where(mask, 0.0) > 0.4
    assert links.any()
    assert int(output.count) == int(links.any(2).sum() + links.any(1).sum())
    assert output.metrics["links_per_pair"] == links.sum() / 2
    assert model.training
    output.total.backward()


def test_labels_change_after_a_step_which_a_checkpoint_keeps(model):
    objective = SelfTrainingObjective(
        model, labels="corpus_then_self", self_after_step=2, loss="likelihood", layer=1
    )
    batch = make_batch(links=[[(1, 1)], [(1, 1)]])
    known = [int(objective.count(batch))]
    objective.after_step(model)
    known.append(int(objective.count(batch)))
    objective.after_step(model)
    assert known == [4, 4]
    assert objective.count(batch) is None
    resumed = SelfTrainingObjective(
        model, labels="corpus_then_self", self_after_step=2, loss="likelihood", layer=1
    )
    resumed.load_state_dict(objective.state_dict())
    assert resumed.count(batch) is None


@pytest.mark.parametrize("loss", ["probability", "likelihood"])
def test_padding_changes_nothing(model, loss):
    batch = make_batch()
    wider = {
        key: nn.functional.pad(value, (0, 0, 0, 1), value=-1)
        if key == "link_ids"
        else nn.functional.pad(value, (0, 3))
        for key, value in batch["sentences"].items()
    }
    objective = SelfTrainingObjective(model, labels="corpus", loss=loss, temperature=5.0, consistency=1.0)
    first, second = (objective(Encodings(model, b), b) for b in (batch, {"sentences": wider}))
    torch.testing.assert_close(first.total, second.total, rtol=1e-4, atol=1e-5)


def test_self_training_without_links_is_zero_and_connected(model):
    batch = make_batch(links=[[(-1, -1)], [(-1, -1)]])
    output = SelfTrainingObjective(model, labels="corpus", loss="likelihood")(Encodings(model, batch), batch)
    assert output.total.item() == 0.0
    assert int(output.count) == 0
    output.total.backward()


def test_an_unlikely_link_has_a_finite_loss(model):
    batch = make_batch()
    objective = SelfTrainingObjective(model, labels="corpus", loss="likelihood", temperature=1e-4)
    output = objective(Encodings(model, batch), batch)
    assert torch.isfinite(output.total)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "corpora"}, "labels"),
        ({"layer": 9}, "layer"),
        ({"labels": "corpus_then_self"}, "self_after_step"),
        ({"self_after_step": 3}, "self_after_step"),
        ({"temperature": 0.0}, "temperature"),
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": 0.1, "compare": "cosine"}, "only compare: dot"),
        ({"consistency": -1.0}, "consistency"),
    ],
)
def test_options_out_of_range_are_refused(model, options, message):
    with pytest.raises(ConfigurationError, match=message):
        SelfTrainingObjective(model, **options)


def test_corpus_labels_need_links(model):
    batch = make_batch()
    del batch["sentences"]["link_ids"]
    with refused(ConfigurationError, "'sentences'", "word links", "isoglot align", "`kind: aligned`"):
        SelfTrainingObjective(model, labels="corpus")(Encodings(model, batch), batch)


def test_the_aligner_gets_the_objectives_own_links(model):
    cosine = SelfTrainingObjective(model, layer=1, compare="cosine", temperature=0.05).aligner_options()
    assert {**cosine, "min_probability": 0.0} == {
        "method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.05, "min_probability": 0.0,
        "word_weights": True, "alone": 0.5,
    }  # fmt: skip
    assert 0 < EmbeddingOptions.build(**cosine).min_probability < cosine["alone"]
    assert (
        EmbeddingOptions.build(**SelfTrainingObjective(model, threshold=0.01).aligner_options()).threshold
        == 0.01
    )


@pytest.mark.parametrize("loss", ["probability", "likelihood"])
def test_the_loss_of_a_batch_is_that_of_its_parts(model, loss):
    objective = SelfTrainingObjective(model, labels="corpus", loss=loss, temperature=5.0, consistency=1.0)
    batch = make_batch()
    parts = [
        {"sentences": {k: v[n : n + 1] for k, v in batch["sentences"].items()}} for n in range(len(LINKS))
    ]
    whole, *single = (objective(Encodings(model, b), b) for b in (batch, *parts))
    torch.testing.assert_close(whole.total, sum(one.total for one in single), rtol=1e-4, atol=1e-5)
    assert int(whole.count) == sum(int(one.count) for one in single)


def test_self_training_without_options_has_the_labels_of_awesome_align(model):
    """Dot products at two thirds of the depth, links above 0.001 in both directions."""
    objective, batch = SelfTrainingObjective(model), make_batch()
    encodings = Encodings(model, batch)
    output = objective(encodings, batch)
    assert objective.layer == 2
    mask = (SIDES["query"] > 0)[:, :, None] & (SIDES["key"] > 0)[:, None]
    query, key = (encodings.layer("sentences", 2, clean=True, side=side) for side in ("query", "key"))
    scores = (query @ key.transpose(1, 2)).masked_fill(~mask, -1e9)
    forward, backward = scores.softmax(2).where(mask, 0.0), scores.softmax(1).where(mask, 0.0)
    links = (forward > 1e-3) & (backward > 1e-3)
    assert links.any()
    assert output.metrics["links_per_pair"] == links.sum() / 2
    expected = ((forward + backward) * links).sum() / (2 * links.sum())
    torch.testing.assert_close(output.metrics["probability"], expected.detach(), rtol=1e-4, atol=1e-5)


def test_links_that_are_found_ahead_are_counted_and_give_the_same_loss(model):
    objective = SelfTrainingObjective(model, layer=1, loss="likelihood", threshold=1e-3)
    batch = make_batch()
    encodings = Encodings(model, batch)
    assert objective.count(batch) is None
    expected = objective(encodings, batch)
    ahead = {"sentences": dict(batch["sentences"])}
    objective.look_ahead(encodings, ahead)
    found = objective(Encodings(model, ahead), ahead)
    assert objective.count(ahead) == expected.count > 0
    torch.testing.assert_close(found.total, expected.total)
