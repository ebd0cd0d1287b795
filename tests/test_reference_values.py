"""Every vector that was computed with the authors' own functions, where the file of them is at hand.

The tests beside the code hold copies of some; this one runs through all cases of the file, however many it has.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.scoring import GoldAlignment, score
from isoglot.derive.base import Sentence
from isoglot.derive.labels import flip_runs, make_tags_consistent
from isoglot.derive.order import Inversion, sentence_bounds
from isoglot.losses import DenoisingWordAlignment, KeyQueueContrast
from isoglot.modules.extraction import (
    backward_links,
    distort,
    forward_links,
    intersection_links,
    itermax_links,
    max_weight_links,
    union_links,
)
from isoglot.modules.self_labelling import corpus_grid
from isoglot.modules.sinkhorn import sinkhorn
from isoglot.tasks.metrics.chunks import pos_chunk_score

NO_QUERY = 1_000_000


@pytest.fixture(scope="module")
def golden() -> Any:
    root = os.environ.get("ISOGLOT_DATA")
    path = None if root is None else Path(root).parent / "reference" / "golden.json"
    if path is None or not path.exists():
        pytest.skip("no reference values beside ISOGLOT_DATA")
    return json.loads(path.read_text())


def padded(cases: list[Any], *, extra: int, fill: float) -> tuple[Tensor, Tensor]:
    """All matrices in one batch; the padding would win every argmax."""
    matrices = [np.array(case["similarity"]) for case in cases]
    n, m = (max(s.shape[axis] for s in matrices) + extra for axis in (0, 1))
    batch = torch.full((len(matrices), n, m), fill, dtype=torch.float64)
    mask = torch.zeros(batch.shape, dtype=torch.bool)
    for b, s in enumerate(matrices):
        batch[b, : s.shape[0], : s.shape[1]] = torch.from_numpy(s)
        mask[b, : s.shape[0], : s.shape[1]] = True
    return batch, mask


@pytest.mark.parametrize("extra", [0, 3])
def test_self_labels(golden: Any, extra: int) -> None:
    cases = golden["xlm_align_self_label"]["cases"]
    batch, mask = padded(cases, extra=extra, fill=50.0)
    for b, case in enumerate(cases):
        pi, xi = sinkhorn(batch, mask, iterations=case["sinkhorn_iter"])
        n, m = np.array(case["similarity"]).shape
        np.testing.assert_allclose(pi[b, :n, :m], case["pi"], rtol=1e-9)
        np.testing.assert_allclose(xi[b, :n, :m], case["xi"], rtol=1e-9)
        assert itermax_links(pi, mask)[b].nonzero().tolist() == sorted(case["itermax_links"])
        assert intersection_links(pi, mask, xi)[b].nonzero().tolist() == sorted(case["inter_pi_xi"])
        assert union_links(pi, mask)[b].nonzero().tolist() == sorted(case["union_argmax"])


@pytest.mark.parametrize("extra", [0, 2])
def test_matchers(golden: Any, extra: int) -> None:
    cases = golden["simalign"]["cases"]
    batch, mask = padded(cases, extra=extra, fill=9.0)
    found = {
        "fwd": forward_links,
        "rev": backward_links,
        "inter": intersection_links,
        "itermax2": itermax_links,
        "itermax3": partial(itermax_links, max_count=3),
        "mwmf": max_weight_links,
    }
    distorted = distort(batch, mask, ratio=0.5)
    for name, extract in found.items():
        links = extract(batch, mask)
        for b, case in enumerate(cases):
            assert links[b].nonzero().tolist() == sorted(case[name]), (name, b)
    for b, case in enumerate(cases):
        n, m = np.array(case["similarity"]).shape
        np.testing.assert_allclose(distorted[b, :n, :m], case["distortion_0_5"], atol=1e-9)


def test_alignment_error_rate(golden: Any) -> None:
    values = golden["aer"]
    gold = [GoldAlignment.of(sure, possible) for sure, possible in values["gold"]]
    total = score([Alignment(frozenset(map(tuple, links))) for links in values["hypothesis"]], gold)
    found = [100 * value for value in (total.precision, total.recall, total.f1, total.aer)]
    assert found == pytest.approx(values["precision_recall_f1_aer"])


def test_pointer_losses_and_their_queries(golden: Any) -> None:
    values = golden["dwa"]
    states = torch.tensor(values["features"])
    rows, length, width = states.shape
    loss = DenoisingWordAlignment(width)
    for layer, name in ((loss.pointer.query, "q"), (loss.pointer.key, "k")):
        layer.weight.data.copy_(torch.tensor(values[f"{name}_weight"]))
        layer.bias.data.copy_(torch.tensor(values[f"{name}_bias"]))
    side_ids, labels = torch.zeros(rows, length, dtype=torch.int64), torch.full((rows, length), -100)
    links = torch.full((rows, max(map(len, values["links"])), 2), -1)
    spans = zip(*values["offsets_src_fr_to_trg_fr_to"], strict=True)
    for b, (source, source_end, target, target_end) in enumerate(spans):
        side_ids[b, source:source_end], side_ids[b, target:target_end] = 1, 2
        labels[b, values["masked_positions"][b]] = 7
        links[b, : len(values["links"][b])] = torch.tensor(values["links"][b])
    right = 0.0
    for direction, own in (("fwd", 1), ("bwd", 2)):
        one_way = labels.masked_fill(side_ids != own, -100)
        queries = loss.choose(corpus_grid(links, side_ids), side_ids, one_way)
        answer = queries.targets.int().argmax(1)
        found = list(zip(queries.rows.tolist(), queries.positions.tolist(), answer.tolist(), strict=True))
        asked, answers = values[f"query_{direction}"], values[f"label_{direction}"]
        expected = [
            (b, q, a) for b in range(rows) for q, a in zip(asked[b], answers[b], strict=True) if q != NO_QUERY
        ]
        assert found == expected and bool((queries.targets.sum(1) == 1).all())
        output = loss.measure(states, side_ids, links, one_way)
        assert output.total.item() == pytest.approx(values[f"loss_{direction}_sum"], rel=1e-6)
        assert int(output.count) == values[f"n_{direction}"]
        right += float(output.metrics["accuracy"]) * int(output.count)
    assert right == pytest.approx(values["correct"])


def test_momentum_contrast(golden: Any) -> None:
    values = golden["moco"]
    start = {name: torch.tensor(value) for name, value in values["initial"].items()}
    loss = KeyQueueContrast(
        start["w_q"].shape[1],
        projection="linear",
        projection_size=values["dim"],
        normalize_h=False,
        normalize_z=True,
        temperature=values["T"],
        queue_size=values["K"],
        momentum=values["m"],
    )
    slow, queue = loss.momentum_projection.module, loss.queue
    loss.head.maps[0].weight.data = start["w_q"].clone()
    slow.maps[0].weight.data = start["w_k"].clone()
    queue.keys.copy_(start["queue"])
    for step in values["steps"]:
        loss.advance()
        inputs = torch.tensor(step["x_q"]), torch.tensor(step["x_k"])
        queries, keys = loss.project(inputs[0], loss.head), loss.project(inputs[1], slow)
        scores = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ queue.keys.T], 1) / values["T"]
        torch.testing.assert_close(scores.detach(), torch.tensor(step["logits"]), rtol=1e-5, atol=1e-5)
        assert loss(*inputs).item() == pytest.approx(step["loss"], rel=1e-5)
        torch.testing.assert_close(queue.keys, torch.tensor(step["queue_after"]))
        torch.testing.assert_close(slow.maps[0].weight.detach(), torch.tensor(step["w_k_after"]))
        assert int(queue.pointer) == step["ptr_after"]


def test_chunk_f1_of_parts_of_speech(golden: Any) -> None:
    for case in golden["pos_f1"]["cases_seqeval_0_0_12"]:
        assert pos_chunk_score(case["gold"], case["pred"])["f1"] == pytest.approx(100 * case["f1"])


def test_labels_of_derived_languages(golden: Any) -> None:
    for tags, expected in golden["ner_consistency"]["cases"]:
        assert make_tags_consistent(tags) == expected
    for words, tags, derived_words, derived_tags in golden["inversion_ner"]["cases"]:
        derived = Inversion()(Sentence(tuple(words)))
        assert list(derived.words) == derived_words
        assert flip_runs([tags[o] for o in derived.origin]) == derived_tags


def test_inverted_sentences(golden: Any) -> None:
    for text, expected in golden["inversion_xnli"]["cases"]:
        assert " ".join(Inversion(literal=True)(Sentence(tuple(text.split(" ")))).words) == expected
    for text, expected in golden["inversion_pretrain"]["cases"]:
        words = tuple(text.split())
        parts = [words[start:stop] for start, stop in sentence_bounds(words)]
        found = [[" ".join(part), " ".join(Inversion()(Sentence(part)).words)] for part in parts]
        assert found == expected
