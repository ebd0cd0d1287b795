"""WEAM's exchange written with a full matrix, and a batch of linked pairs."""

from __future__ import annotations

import torch


def linked_pairs(model, *, batch=3, length=11, seed=0, links=True):
    generator = torch.Generator().manual_seed(seed)
    vocabulary = model.config.vocab_size
    input_ids = torch.randint(5, vocabulary, (batch, length), generator=generator)
    labels = torch.where(torch.rand((batch, length), generator=generator) < 0.5, input_ids, -100)
    labels[:, 0] = labels[:, 5] = labels[:, -1] = -100
    pair = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids), "labels": labels}
    if links:
        # One-to-many, many-to-one, a doubled link, unaligned positions, an example without links.
        pair["link_ids"] = torch.tensor(
            [
                [[1, 6], [1, 7], [2, 8], [3, 8], [2, 8]],
                [[4, 9], [3, 6], [-1, -1], [-1, -1], [-1, -1]],
                [[-1, -1]] * 5,
            ]
        )[:batch]
    return {"pair": pair}


def literal_matrix(links, length):
    """A of Eq. 5: symmetric, 0/1."""
    matrix = torch.zeros(length, length)
    for i, j in links.tolist():
        if i >= 0:
            matrix[i, j] = matrix[j, i] = 1.0
    return matrix


def swapped_states(hidden, batch, many, unaligned):
    rows, items = [], []
    labels, links = batch["pair"]["labels"], batch["pair"]["link_ids"]
    length = labels.size(1)
    for b in range(labels.size(0)):
        matrix = literal_matrix(links[b], length)
        if many == "one_to_one":
            single = matrix.sum(0) == 1
            matrix = matrix * single[:, None] * single[None, :]
        swapped = matrix.T @ hidden[b]
        for p in range(length):
            degree = int(matrix[p].sum())
            if labels[b, p] == -100 or (degree == 0 and unaligned == "exclude"):
                continue
            rows.append(swapped[p] / max(degree, 1) if many == "mean" else swapped[p])
            items.append(b * length + p)
    return (torch.stack(rows) if rows else hidden.new_zeros(0, hidden.size(-1))), items
