"""One set of gold links held for decoders: weights of words from the states of one run of the encoder, padded."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, pad
from torch.nn.utils.rnn import pad_sequence

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.files.gold import gold_pairs
from isoglot.modules.extraction import softmax_probabilities


class Held:
    """One set: the cosines of its pieces by layer, which piece is of which word, and its gold links, all padded."""

    def __init__(
        self, aligner: EmbeddingAligner, file: Path, most: int | None, layers: tuple[int, ...]
    ) -> None:
        gold = gold_pairs(file)
        words, links = gold.words[:most], gold.gold[:most]
        states, pieces = aligner.encode(words, layers)
        sides = [pieces[0::2], pieces[1::2]]
        sizes = [max(len(pair[k]) for pair in words) for k in (0, 1)]
        owners = [
            pad_sequence([torch.tensor(p.words) for p in side], batch_first=True, padding_value=-1)
            for side in sides
        ]
        self.members = [
            (o[:, None] == torch.arange(n)[None, :, None]).float() for o, n in zip(owners, sizes, strict=True)
        ]
        self.pieces = (owners[0] >= 0)[:, :, None] & (owners[1] >= 0)[:, None]
        table = {layer: normalize(found.table.float(), dim=-1) for layer, found in states.items()}
        cut = {layer: t.split(np.diff(states[layer].offsets).tolist()) for layer, t in table.items()}
        self.vectors = {
            layer: [pad_sequence(list(parts[k::2]), batch_first=True) for k in (0, 1)]
            for layer, parts in cut.items()
        }
        lengths = [torch.tensor([len(pair[k]) for pair in words]) for k in (0, 1)]
        real = [torch.arange(n)[None] < length[:, None] for n, length in zip(sizes, lengths, strict=True)]
        self.mask = real[0][:, :, None] & real[1][:, None]
        place = [
            torch.arange(n)[None] / (x - 1).clamp(min=1)[:, None] for n, x in zip(sizes, lengths, strict=True)
        ]
        self.off_diagonal = (place[0][:, :, None] - place[1][:, None]).abs()
        self.sure, self.possible = torch.zeros_like(self.mask), torch.zeros_like(self.mask)
        for b, own in enumerate(links):
            for i, j in own.sure:
                self.sure[b, i, j] = True
            for i, j in own.possible:
                self.possible[b, i, j] = True
        touched = self.possible.any(2, keepdim=True) | self.possible.any(1, keepdim=True)
        self.counted = self.mask & touched if "pud" in file.name else self.mask

    @cache  # noqa: B019 - the sets live as long as the program
    def weights(
        self, layer: int = 8, temperature: float = 0.05, hubs: float = 0.0, centre: float = 0.0, null: float = -9.0,
        iterations: int = 0,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Softmax over rows and over columns as weights of words."""
        vectors = self.vectors[layer]
        if centre:  # of each language
            seen = [v.abs().sum(2, keepdim=True) > 0 for v in vectors]
            means = [v.sum((0, 1)) / s.sum() for v, s in zip(vectors, seen, strict=True)]
            vectors = [
                normalize((v - centre * m) * s, dim=-1) for v, m, s in zip(vectors, means, seen, strict=True)
            ]
        scores = (vectors[0] @ vectors[1].transpose(1, 2)).masked_fill(~self.pieces, -9.0)
        if hubs:
            near = [scores.topk(3, dim).values.mean(dim, keepdim=True) for dim in (2, 1)]
            scores = (scores - hubs * (near[0] + near[1])).masked_fill(~self.pieces, -9.0)
        scores = pad(scores, (0, 1, 0, 1), value=null) / temperature
        scores[:, -1, -1] = -9.0 / temperature
        for _ in range(iterations):  # Sinkhorn with a null word on each side
            scores[:, :-1] -= torch.logsumexp(scores, 2, keepdim=True)[:, :-1]
            scores[:, :, :-1] -= torch.logsumexp(scores, 1, keepdim=True)[:, :, :-1]
        forward, backward = (
            w[:, :-1, :-1] for w in softmax_probabilities(scores, pad(self.pieces, (0, 1, 0, 1), value=True))
        )
        source, target = self.members
        means = [m / m.sum(2, keepdim=True).clamp(min=1.0) for m in self.members]
        return (
            means[0] @ (forward * self.pieces) @ target.transpose(1, 2),
            source @ (backward * self.pieces) @ means[1].transpose(1, 2),
        )

    def aer(self, links: Tensor) -> float:
        """Alignment error rate (%); of a set that links content words, over the links that touch one."""
        found = links & self.counted
        right = (found & self.sure).sum() + (found & self.possible).sum()
        return 100 * (1 - float(right) / float(found.sum() + self.sure.sum()))
