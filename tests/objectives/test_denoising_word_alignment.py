"""Denoising word alignment against the released criterion's values and a version written with loops."""

from __future__ import annotations

import math

import pytest
import torch
from link_loops import link_sets
from pointer_world import Given, make_batch, shell

from isoglot.errors import ConfigurationError
from isoglot.losses.denoising_word_alignment import pointer_loss
from isoglot.modules.encodings import Encodings
from isoglot.modules.self_labelling import self_label
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignmentObjective
from isoglot.testing import tiny_model

# Random states and weights; the losses were computed with the released XLM-Align criterion. Row 0 holds a
# source token with two links (the last counts).
GOLDEN = {
    "features": [
        [
            [-0.076644294, 0.35988152, -0.782016814, 0.0715277344, 0.664839387, -0.286780298],
            [1.62055075, -1.59670806, -0.0516809635, -0.305975705, 0.248501748, -0.222560838],
            [0.91315192, 0.204341114, 0.573984683, 0.416331291, 0.261501163, 0.931124449],
            [-0.514461994, -1.65166545, 1.04602277, 0.522186995, -0.166809157, 0.0530334003],
            [0.563763022, 2.25655723, 1.86926007, -1.1952343, 0.997922421, 0.459180444],
            [2.43639708, -0.146808177, -0.476030946, -0.292912543, -0.348089308, 0.348746359],
            [0.0370668769, -0.0676855892, 0.429033041, -0.86811924, -0.271214575, 0.141628474],
            [0.129517823, 0.681411088, -0.958300412, 0.0639240816, 0.65891391, 0.8194592],
            [-0.455423951, 2.21241832, -0.376985759, -0.143683925, 0.648020685, -2.3256073],
            [1.26834679, -0.248327091, 0.957780421, -1.28901005, -1.64831591, 0.829036295],
            [-0.837272882, -0.529606998, 1.35442853, 1.37775838, -0.0752025023, -0.423299283],
        ],
        [
            [0.421687037, -0.257645071, -1.58349419, 1.3960104, -1.03188777, 1.13908875],
            [0.512464404, -0.0198454075, -1.12159514, -0.489067137, -0.633627534, -0.78933835],
            [-0.897733271, -1.88757193, 0.187042817, -0.181322813, -0.0913627967, -0.734922707],
            [1.9858762, 0.362475902, -1.38981128, -0.15934585, 0.328966826, 0.332302332],
            [0.302506924, -0.981187463, 1.10384595, -0.0126567641, -0.685114861, -0.309389502],
            [-0.496350229, -0.601576507, -0.477520764, -0.298764795, 0.393155128, 0.918304861],
            [-0.260355592, 0.0509925708, -0.328160495, 1.62163591, 0.85939914, 0.699559867],
            [-1.26673174, 1.27254069, -1.24192941, -0.885262728, -0.381512165, 0.505234361],
            [0.583146334, -0.0215291698, 1.65754414, -0.976216316, -0.511615753, -0.703583241],
            [-0.76575321, -1.58567369, -0.175715312, 1.06139755, 0.190825552, -0.0375907086],
            [-0.0714256912, -1.15178382, 1.42628014, 0.783510745, -0.170672819, 0.104947545],
        ],
    ],
    "q_weight": [
        [0.200798586, 0.394637913, -0.290532202, 0.39811787, 0.061977949, 0.403921336],
        [0.357513219, -0.349540979, 0.30734086, 0.0139655769, 0.103459984, -0.148146942],
        [-0.327228189, 0.039067477, 0.113574058, 0.20530574, -0.342442602, -0.39503482],
        [0.194259837, -0.0817316845, -0.00602896418, -0.105926044, 0.000846172974, 0.0674084052],
        [-0.377030134, 0.150574937, 0.044897195, 0.188502431, -0.210839614, 0.297095805],
        [0.272239059, -0.205026627, 0.357455283, 0.0525411256, 0.36042437, 0.3710967],
    ],
    "q_bias": [0.0640264899, 0.0660193041, 0.127859086, 0.262179494, -0.372786999, 0.002567427],
    "k_weight": [
        [0.390013576, -0.28825143, -0.229937419, 0.0426923372, 0.147614181, 0.219280466],
        [0.0230340865, 0.0963056982, -0.184995353, 0.386743397, -0.269029081, 0.265487432],
        [0.22161667, 0.356546044, 0.36235714, -0.135476544, 0.291636556, -0.297935069],
        [0.284699351, -0.251303673, -0.277487636, -0.276289403, 0.397194684, 0.120625421],
        [-0.284506738, -0.30626604, 0.0422174446, -0.0880554244, 0.106356256, 0.25693202],
        [-0.257913977, -0.370754272, 0.0420622975, 0.272182643, 0.248506397, -0.00585371442],
    ],
    "k_bias": [-0.108899012, 0.130161181, 0.283861697, -0.351662666, -0.0386552177, 0.308673352],
    "spans": [[1, 5, 6, 10], [1, 4, 5, 8]],
    "masked": [[2, 3, 7, 9], [1, 2, 6]],
    "links": [[[1, 6], [2, 7], [2, 8], [4, 9]], [[1, 5], [3, 6]]],
    "forward_sum": 3.277315139770508,
    "backward_sum": 4.060025691986084,
    "count": 5,
    "correct": 1,
}


def naive_loss(objective, hidden, side_ids, labels, alignments):
    """Eq. 11-15 for each masked token on its own; ``alignments`` are sets of (source, target) positions."""
    total, correct, count = 0.0, 0, 0
    query, key = objective.pointer.query, objective.pointer.key
    for b, alignment in enumerate(alignments):
        for position in range(side_ids.shape[1]):
            partners = sorted(
                {j for i, j in alignment if i == position} | {i for i, j in alignment if j == position}
            )
            if labels[b, position] == -100 or not partners:
                continue
            others = [p for p in range(side_ids.shape[1]) if side_ids[b, p] == 3 - side_ids[b, position]]
            q = query(hidden[b, position])
            scores = torch.stack([q @ key(hidden[b, p]) / math.sqrt(len(q)) for p in others])
            answer = partners[-1]  # the last of several
            total = total - scores.log_softmax(0)[others.index(answer)]
            correct += others[int(scores.argmax())] == answer
            count += 1
    return total, correct, count


def corpus_sets(batch):
    return [{tuple(link) for link in row.tolist() if link[0] >= 0} for row in batch["pair"]["link_ids"]]


def test_golden_loss_forward_and_backward():
    objective = DenoisingWordAlignmentObjective(shell(), labels="corpus")
    pointer = objective.pointer
    for parameter, value in zip(
        (pointer.query.weight, pointer.query.bias, pointer.key.weight, pointer.key.bias),
        (GOLDEN["q_weight"], GOLDEN["q_bias"], GOLDEN["k_weight"], GOLDEN["k_bias"]),
        strict=True,
    ):
        parameter.data.copy_(torch.tensor(value))
    features = torch.tensor(GOLDEN["features"])
    side_ids, labels = torch.zeros(2, 11, dtype=torch.int64), torch.full((2, 11), -100)
    for b, (source_from, source_to, target_from, target_to) in enumerate(GOLDEN["spans"]):
        side_ids[b, source_from:source_to], side_ids[b, target_from:target_to] = 1, 2
        labels[b, GOLDEN["masked"][b]] = 7
    links = torch.full((2, 4, 2), -1)
    for b, pairs in enumerate(GOLDEN["links"]):
        links[b, : len(pairs)] = torch.tensor(pairs)
    pair = {"input_ids": labels, "labels": labels, "side_ids": side_ids, "link_ids": links}
    output = objective(Given(features), {"pair": pair})
    forward, backward = GOLDEN["forward_sum"], GOLDEN["backward_sum"]
    assert output.total.item() == pytest.approx(forward + backward, rel=1e-6)
    assert int(output.count) == GOLDEN["count"] and int(objective.count({"pair": pair})) == GOLDEN["count"]
    assert float(output.metrics["accuracy"]) == pytest.approx(GOLDEN["correct"] / GOLDEN["count"])
    one_way = pair | {"labels": labels.masked_fill(side_ids == 2, -100)}
    assert objective(Given(features), {"pair": one_way}).total.item() == pytest.approx(forward, rel=1e-6)
    other_way = pair | {"labels": labels.masked_fill(side_ids == 1, -100)}
    assert objective(Given(features), {"pair": other_way}).total.item() == pytest.approx(backward, rel=1e-6)


@pytest.mark.parametrize("filtering", ["itermax", "intersection", "union"])
def test_self_labels_equal_loops_with_gradients(filtering):
    batch, hidden, clean = make_batch(seed=3)
    hidden.requires_grad_()
    objective = DenoisingWordAlignmentObjective(shell(), filtering=filtering)
    output = objective(Given(hidden, clean), batch)
    pair = batch["pair"]
    sets = link_sets(self_label(clean, pair["side_ids"], filtering=filtering))
    total, correct, count = naive_loss(objective, hidden, pair["side_ids"], pair["labels"], sets)
    assert int(output.count) == count > 8
    torch.testing.assert_close(output.total, total)
    assert float(output.metrics["accuracy"]) == pytest.approx(correct / count)
    assert float(output.metrics["links_per_pair"]) == pytest.approx(sum(map(len, sets)) / len(sets))
    inputs = [hidden, *objective.parameters()]
    for got, want in zip(
        torch.autograd.grad(output.total, inputs), torch.autograd.grad(total, inputs), strict=True
    ):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


def test_corpus_labels_equal_loops():
    batch, hidden, _ = make_batch(seed=5)
    objective = DenoisingWordAlignmentObjective(shell(), labels="corpus")
    batch["pair"]["labels"] = torch.where(batch["pair"]["side_ids"] > 0, 7, -100)
    output = objective(Given(hidden), batch)
    pair = batch["pair"]
    total, _, count = naive_loss(objective, hidden, pair["side_ids"], pair["labels"], corpus_sets(batch))
    assert int(output.count) == count == int(objective.count(batch))
    torch.testing.assert_close(output.total, total)


def test_queries_unmasked_and_all_aligned():
    batch, hidden, clean = make_batch(batch=40, seed=7)
    pair = batch["pair"]
    sets = link_sets(self_label(clean, pair["side_ids"]))
    aligned = {(b, p) for b, links in enumerate(sets) for link in links for p in link}
    unmasked = {(b, p) for b, p in aligned if pair["labels"][b, p] == -100}
    objective = DenoisingWordAlignmentObjective(shell(), queries="unmasked", unmasked_share=0.15)
    counts = []
    for _ in range(20):
        counts.append(int(objective(Given(hidden, clean), batch).count))
        objective.after_step(None)
    assert sum(counts) / len(counts) == pytest.approx(0.15 * len(unmasked), rel=0.25) and len(set(counts)) > 3
    everything = DenoisingWordAlignmentObjective(shell(), queries="unmasked", unmasked_share=1.0)
    assert int(everything(Given(hidden, clean), batch).count) == len(unmasked)
    both = DenoisingWordAlignmentObjective(shell(), queries="all_aligned")
    assert int(both(Given(hidden, clean), batch).count) == sum(map(len, sets))
    queries = both.choose(self_label(clean, pair["side_ids"]), pair["side_ids"], None, pair["original_ids"])
    heads = (pair["side_ids"][queries.rows, queries.positions] == 1).float().mean()
    assert 0.3 < float(heads) < 0.7
    for b, p, target in zip(queries.rows.tolist(), queries.positions.tolist(), queries.targets, strict=True):
        q = int(target.nonzero())
        assert ((p, q) if pair["side_ids"][b, p] == 1 else (q, p)) in sets[b]


@pytest.mark.parametrize("queries", ["masked", "unmasked", "all_aligned"])
def test_padding_and_splits_change_nothing(queries):
    batch, hidden, clean = make_batch(seed=2)
    objective = DenoisingWordAlignmentObjective(shell(), queries=queries, unmasked_share=0.6)
    whole = objective(Given(hidden, clean), batch)
    wide, wide_hidden, wide_clean = make_batch(seed=2, padding=5)
    padded = objective(Given(wide_hidden, wide_clean), wide)
    torch.testing.assert_close(padded.total, whole.total)
    assert int(padded.count) == int(whole.count) > 3
    parts = [
        objective(Given(hidden[part], clean[part]), {"pair": {k: v[part] for k, v in batch["pair"].items()}})
        for part in (slice(0, 2), slice(2, 5))
    ]
    torch.testing.assert_close(sum(p.total for p in parts), whole.total)
    assert sum(int(p.count) for p in parts) == int(whole.count)


def test_nothing_to_point_at_is_an_exact_zero_with_a_graph():
    batch, hidden, clean = make_batch()
    hidden.requires_grad_()
    batch["pair"]["link_ids"] = torch.full((5, 1, 2), -1)
    cases = [
        (DenoisingWordAlignmentObjective(shell(), labels="corpus"), batch),
        (
            DenoisingWordAlignmentObjective(shell()),
            {"pair": batch["pair"] | {"labels": torch.full((5, 14), -100)}},
        ),
        (
            DenoisingWordAlignmentObjective(shell()),
            {"pair": batch["pair"] | {"side_ids": torch.zeros(5, 14).long()}},
        ),
    ]
    for objective, given in cases:
        output = objective(Given(hidden, clean), given)
        assert output.total.item() == 0.0 and int(output.count) == 0 and output.loss.item() == 0.0
        output.total.backward()
        for parameter in objective.parameters():
            assert parameter.grad is not None and not bool(parameter.grad.any())
        assert set(output.metrics) == {"accuracy", "queries_per_pair", "links_per_pair"}


def test_steps_change_the_labels():
    batch, hidden, clean = make_batch(seed=4)
    objective = DenoisingWordAlignmentObjective(shell(), labels="corpus_then_self", self_after_step=1)
    seen = []
    for _ in range(2):
        seen.append(float(objective(Given(hidden, clean), batch).total.detach()))
        objective.after_step(None)
    corpus = DenoisingWordAlignmentObjective(shell(), labels="corpus")(Given(hidden), batch).total
    own = DenoisingWordAlignmentObjective(shell())(Given(hidden, clean), batch).total
    assert seen == [pytest.approx(corpus.item()), pytest.approx(own.item())] and seen[0] != seen[1]
    fresh = DenoisingWordAlignmentObjective(shell(), labels="corpus_then_self", self_after_step=1)
    fresh.load_state_dict(objective.state_dict())
    assert fresh(Given(hidden, clean), batch).total.item() == seen[1] and int(fresh.step) == 2


def test_one_shared_forward_and_one_to_the_labelling_layer():
    model = tiny_model("bert").train()
    batch, _, _ = make_batch()
    batch["pair"]["input_ids"] = batch["pair"]["input_ids"].clone()
    batch["pair"]["input_ids"][batch["pair"]["labels"] != -100] = 4
    encodings = Encodings(model, batch)
    encodings.last("pair")
    objective = DenoisingWordAlignmentObjective(model, label_layer=1)
    output = objective(encodings, batch)
    assert encodings.forwards == 2 and model.training
    output.total.backward()
    assert all(p.grad is not None for p in objective.parameters())
    assert model.get_input_embeddings().weight.grad.abs().sum() > 0


def test_half_precision_and_large_scores():
    batch, hidden, clean = make_batch(seed=6)
    objective = DenoisingWordAlignmentObjective(shell())
    full = objective(Given(hidden, clean), batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = objective(Given(hidden.bfloat16(), clean), batch)
    assert half.total.dtype == torch.float32
    assert half.total.item() == pytest.approx(full.total.item(), rel=0.02)
    assert bool(torch.isfinite(objective(Given(hidden * 1e4, clean), batch).total))


def test_all_same_pointer_learns_the_links():
    batch, hidden, clean = make_batch(batch=6, seed=8)
    objective = DenoisingWordAlignmentObjective(shell())
    optimiser = torch.optim.Adam(objective.parameters(), lr=0.05)
    for _ in range(150):
        output = objective(Given(hidden, clean), batch)
        optimiser.zero_grad()
        output.loss.backward()
        optimiser.step()
    assert float(output.metrics["accuracy"]) > 0.9


@pytest.mark.parametrize(("depth", "layer"), [(12, 10), (24, 20), (6, 5), (4, 3), (1, 1)])
def test_the_label_layer_is_by_default_as_deep_as_the_papers(depth, layer):
    assert DenoisingWordAlignmentObjective(shell(layers=depth)).label_layer == layer


def test_the_pointers_layer_is_saved_beside_it():
    state = DenoisingWordAlignmentObjective(shell(layers=6), layer=4).state_dict()
    assert int(state["pointer_layer"]) == 4
    assert "pointer.query.weight" in state


def test_mistakes_are_named():
    with pytest.raises(ConfigurationError, match=r"label_layer: 10 given; this encoder has layers 0 .* to 2"):
        DenoisingWordAlignmentObjective(shell(layers=2), label_layer=10)
    assert DenoisingWordAlignmentObjective(shell(layers=2), labels="corpus", label_layer=10).layer == 2
    with pytest.raises(ConfigurationError, match="layer: 13 given"):
        DenoisingWordAlignmentObjective(shell(), layer=13)
    with pytest.raises(ConfigurationError, match=r"(?s)queries: 'all' given.*labels: 'gold' given"):
        DenoisingWordAlignmentObjective(shell(), queries="all", labels="gold")
    with pytest.raises(ConfigurationError, match="corpus_then_self needs a step"):
        DenoisingWordAlignmentObjective(shell(), labels="corpus_then_self")
    with pytest.raises(ConfigurationError, match="filtering: 'gdfa' given"):
        DenoisingWordAlignmentObjective(shell(), filtering="gdfa")
    with pytest.raises(ConfigurationError, match="unmasked_share: 15 given"):
        DenoisingWordAlignmentObjective(shell(), unmasked_share=15)
    batch, hidden, _ = make_batch()
    del batch["pair"]["link_ids"]
    with pytest.raises(ConfigurationError, match=r"no word links; .*isoglot align"):
        DenoisingWordAlignmentObjective(shell(), labels="corpus")(Given(hidden), batch)
    del batch["pair"]["side_ids"]
    with pytest.raises(ConfigurationError, match=r"side_ids is needed; .*masked_pair"):
        DenoisingWordAlignmentObjective(shell())(Given(hidden), batch)


def test_pointer_loss_reads_only_the_other_sentence():
    batch, hidden, clean = make_batch(seed=9)
    side_ids = batch["pair"]["side_ids"]
    objective = DenoisingWordAlignmentObjective(shell())
    queries = objective.choose(self_label(clean, side_ids), side_ids, batch["pair"]["labels"])
    total, _ = pointer_loss(objective.pointer, hidden, side_ids, queries)
    noisy = torch.where((side_ids == 0)[..., None], torch.full_like(hidden, 1e3), hidden)
    torch.testing.assert_close(pointer_loss(objective.pointer, noisy, side_ids, queries)[0], total)
