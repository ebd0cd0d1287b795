from __future__ import annotations

import pytest
import torch
from references import reference

from isoglot.core.errors import ConfigurationError
from isoglot.losses import (
    DenoisingWordAlignment,
)
from isoglot.modules.self_labelling import corpus_links


def test_queries_that_are_drawn_need_the_pair() -> None:
    loss = DenoisingWordAlignment(4, queries="all_aligned")
    side_ids = torch.tensor([[0, 1, 2, 0]])
    with pytest.raises(ConfigurationError, match="all_aligned needs input_ids"):
        loss(torch.randn(1, 4, 4), side_ids, torch.tensor([[[1, 2]]]))


NO_QUERY = 1_000_000


def test_pointer_losses_and_their_queries() -> None:
    values = reference("golden")["dwa"]
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
        queries = loss.choose(corpus_links(links, side_ids), side_ids, one_way)
        found = list(zip(*(part.tolist() for part in queries), strict=True))
        asked, answers = values[f"query_{direction}"], values[f"label_{direction}"]
        expected = [
            (b, q, a) for b in range(rows) for q, a in zip(asked[b], answers[b], strict=True) if q != NO_QUERY
        ]
        assert found == expected
        output = loss.measure(states, side_ids, links, one_way)
        assert output.total.item() == pytest.approx(values[f"loss_{direction}_sum"], rel=1e-6)
        assert int(output.count) == values[f"n_{direction}"]
        right += float(output.metrics["accuracy"]) * int(output.count)
    assert right == pytest.approx(values["correct"])
