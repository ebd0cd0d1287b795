"""Denoising word alignment against the released criterion's values and a version written with loops."""

from __future__ import annotations

import math

import pytest
import torch
from link_loops import link_sets
from pointer_world import Given, make_batch, shell
from references import reference
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.losses.denoising_word_alignment import pointer_loss
from isoglot.modules.encodings import Encodings
from isoglot.modules.self_labelling import self_label
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignmentObjective
from isoglot.testing import tiny_model

# Computed with the released XLM-Align criterion. Row 0 holds a source token with two links (the last counts).
GOLDEN = reference("golden")["dwa"]


def naive_loss(objective, hidden, side_ids, labels, alignments):
    """Eq. 11-15 for each masked token on its own; ``alignments`` are sets of (source, target) positions."""
    total, correct, count = torch.zeros(()), 0, 0
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
    spans = zip(*GOLDEN["offsets_src_fr_to_trg_fr_to"], strict=True)
    for b, (source_from, source_to, target_from, target_to) in enumerate(spans):
        side_ids[b, source_from:source_to], side_ids[b, target_from:target_to] = 1, 2
        labels[b, GOLDEN["masked_positions"][b]] = 7
    links = torch.full((2, 4, 2), -1)
    for b, pairs in enumerate(GOLDEN["links"]):
        links[b, : len(pairs)] = torch.tensor(pairs)
    pair = {"input_ids": labels, "labels": labels, "side_ids": side_ids, "link_ids": links}
    output = objective(Given(features), {"pair": pair})
    forward, backward = GOLDEN["loss_fwd_sum"], GOLDEN["loss_bwd_sum"]
    assert output.total.item() == pytest.approx(forward + backward, rel=1e-6)
    count = GOLDEN["n_fwd"] + GOLDEN["n_bwd"]
    assert int(output.count) == count and int(objective.count({"pair": pair})) == count
    assert float(output.metrics["accuracy"]) == pytest.approx(GOLDEN["correct"] / count)
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
    for b, p, q in zip(*(part.tolist() for part in queries), strict=True):
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


def test_denoising_word_alignment_with_nothing_to_point_at_is_an_exact_zero_with_a_graph():
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
    with refused(ConfigurationError, "label_layer: got 10, ", "0 (embeddings) to 2"):
        DenoisingWordAlignmentObjective(shell(layers=2), label_layer=10)
    assert DenoisingWordAlignmentObjective(shell(layers=2), labels="corpus", label_layer=10).layer == 2
    with refused(ConfigurationError, "layer: got 13, ", "0 (embeddings) to 12"):
        DenoisingWordAlignmentObjective(shell(), layer=13)
    with refused(
        ConfigurationError,
        "queries: ",
        "'all'",
        "all_aligned, masked, unmasked",
        "labels: ",
        "'gold'",
        "corpus, corpus_then_self, self",
    ):
        DenoisingWordAlignmentObjective(shell(), queries="all", labels="gold")
    with refused(
        ConfigurationError, "labels: ", "corpus_then_self", "self_after_step: None", "self_after_step: 10000"
    ):
        DenoisingWordAlignmentObjective(shell(), labels="corpus_then_self")
    with refused(ConfigurationError, "filtering: ", "'gdfa'", "intersection, itermax"):
        DenoisingWordAlignmentObjective(shell(), filtering="gdfa")
    with refused(ConfigurationError, "unmasked_share: got 15; "):
        DenoisingWordAlignmentObjective(shell(), unmasked_share=15)
    batch, hidden, _ = make_batch()
    del batch["pair"]["link_ids"]
    with refused(ConfigurationError, "'pair'", "word links", "isoglot align", "`kind: aligned`"):
        DenoisingWordAlignmentObjective(shell(), labels="corpus")(Given(hidden), batch)
    del batch["pair"]["side_ids"]
    with refused(ConfigurationError, "'pair'", "side_ids", "`view:`", "masked_pair"):
        DenoisingWordAlignmentObjective(shell())(Given(hidden), batch)


def test_pointer_loss_reads_only_the_other_sentence():
    batch, hidden, clean = make_batch(seed=9)
    side_ids = batch["pair"]["side_ids"]
    objective = DenoisingWordAlignmentObjective(shell())
    queries = objective.choose(self_label(clean, side_ids), side_ids, batch["pair"]["labels"])
    total, _ = pointer_loss(objective.pointer, hidden, side_ids, queries)
    noisy = torch.where((side_ids == 0)[..., None], torch.full_like(hidden, 1e3), hidden)
    torch.testing.assert_close(pointer_loss(objective.pointer, noisy, side_ids, queries)[0], total)
