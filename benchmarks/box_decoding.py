"""How the similarities of word states become links: decoders tried on development links, from one run of the encoder.

    python box_decoding.py DATA [MODEL] [--pud N] [--only NAME ...]

For each family of decoders: the least mean error over the sets, the mean when each set is measured with the
parameters that are best on the others, and the same for XL-WA's three sets and PUD's four. No test set is read.
"""

import argparse
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import max_pool2d, pad

from box_held import Held
from box_measure import DEVELOPMENT, short
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.modules.adjacent import adjacent_links, adjacent_weights
from isoglot.modules.extraction import intersection_links, joined_links

SETS = (*DEVELOPMENT, "en-fr.pud")


def mean(forward: Tensor, backward: Tensor, power: float = 0.0) -> Tensor:
    """Power mean of the directions: 0 geometric, 1 arithmetic, -1 harmonic, below -9 the smaller one."""
    if power < -9:
        return torch.minimum(forward, backward)
    if power == 0:
        return (forward * backward).sqrt()
    return ((forward.clamp(min=1e-9) ** power + backward.clamp(min=1e-9) ** power) / 2) ** (1 / power)


def kept(probability: Tensor, least: float, alone: float) -> Tensor:
    return joined_links(probability >= least, probability >= alone)


def directions(held: Held, least: float, alone: float = 0.5, power: float = 0.0, **how: Any) -> Tensor:
    return kept(mean(*held.weights(**how), power), least, alone)


def layers(held: Held, least: float, share: float, lower: int) -> Tensor:
    both = [mean(*held.weights(layer)) for layer in (8, lower)]
    return kept(share * both[0] + (1 - share) * both[1], least, 0.5)


def kernel(held: Held, least: float, diagonal: float, side: float, position: float) -> Tensor:
    p = mean(*held.weights())
    near = pad(p, (1, 1, 1, 1))
    along = near[:, :-2, :-2] + near[:, 2:, 2:]
    beside = near[:, 1:-1, :-2] + near[:, 1:-1, 2:] + near[:, :-2, 1:-1] + near[:, 2:, 1:-1]
    raised = torch.logit(p, 1e-6) + diagonal * along + side * beside - position * held.off_diagonal
    return kept(raised.sigmoid(), least, 0.5)


def posterior(weights: Tensor, real: Tensor, floor: float, width: float) -> Tensor:
    """Forward-backward over the last dimension; jumps around +1 and 0 decay, none is below the floor."""
    states, count = weights.shape[1:]
    jump = torch.arange(states)[None] - torch.arange(states)[:, None]
    jumps = torch.where(jump == 0, 1.0, torch.exp(-(jump - 1).abs() / width)) + floor
    emission = torch.where(real.any(1, keepdim=True), weights + 0.003, 1.0) * real.any(2)[:, :, None]
    a, b = [emission[:, :, 0]], [real.any(2).float()]
    for j in range(1, count):
        step = (a[-1] @ jumps) * emission[:, :, j]
        a.append(step / step.sum(1, keepdim=True))
    for j in range(count - 1, 0, -1):
        step = ((b[-1] * emission[:, :, j]) @ jumps.T) * real.any(2)
        step = torch.where(
            real.any(1)[:, j, None], step, real.any(2).float()
        )  # nothing stands behind the last word
        b.append(step / step.sum(1, keepdim=True))
    found = torch.stack(a, 2) * torch.stack(b[::-1], 2)
    return found / found.sum(1, keepdim=True).clamp(min=1e-30) * real


def hmm(held: Held, least: float, floor: float, share: float) -> Tensor:
    forward, backward = held.weights()
    p = posterior(forward.transpose(1, 2), held.mask.transpose(1, 2), floor, 3.0).transpose(1, 2)
    q = posterior(backward, held.mask, floor, 3.0)
    return kept((1 - share) * mean(forward, backward) + share * mean(p, q), least, 0.5)


def growing(held: Held, least: float, lower: float, sides: str) -> Tensor:
    """Words without a link take one beside their neighbour's, from their own direction alone."""
    forward, backward = held.weights()
    links = kept(mean(forward, backward), least, 0.5)
    near = [max_pool2d(links.float(), window, 1, p) > 0 for window, p in (((3, 1), (1, 0)), ((1, 3), (0, 1)))]
    source = ~links.any(2, keepdim=True) & (forward >= lower) & near[0]
    target = ~links.any(1, keepdim=True) & (backward >= lower) & near[1]
    return links | target | source if sides == "both" else links | target


def mutual(held: Held, least: float, lower: float) -> Tensor:
    p = mean(*held.weights())
    return kept(p, least, 0.5) | (intersection_links(p, held.mask) & (p >= lower))


def relative(held: Held, least: float, share: float) -> Tensor:
    p = mean(*held.weights())
    best = torch.minimum(*(p / p.amax(dim, keepdim=True).clamp(min=1e-9) for dim in (2, 1)))
    return joined_links((p >= least) & (best >= share), p >= 0.5)


def adjacent(held: Held, least: float, bonus: float, alone: float, first: bool = True) -> Tensor:
    forward, backward = held.weights()
    if first:
        forward = adjacent_weights(forward)
        backward = adjacent_weights(backward.transpose(1, 2)).transpose(1, 2)
    return kept(adjacent_links(mean(forward, backward), bonus), least, max(alone, least))


LEAST = [0.2, 0.25, 0.3, 0.35]
FAMILIES: dict[str, tuple[Callable[..., Tensor], dict[str, list[Any]]]] = {
    "threshold": (directions, {"least": [*LEAST, 0.4], "alone": [0.0]}),
    "links beside links": (directions, {"least": LEAST, "alone": [0.4, 0.5, 0.6]}),
    "mean of directions": (directions, {"least": [0.1, 0.15, *LEAST, 0.5], "power": [-10.0, -1.0, 0.0, 0.5, 1.0]}),
    "temperature": (directions, {"least": LEAST, "temperature": [0.04, 0.045, 0.05, 0.055, 0.06, 0.07]}),
    "hubs": (directions, {"least": LEAST, "hubs": [0.1, 0.25, 0.5]}),
    "centred languages": (directions, {"least": LEAST, "centre": [0.5, 1.0], "temperature": [0.05, 0.06]}),
    "Sinkhorn with null": (directions, {"least": LEAST, "null": [0.0, 0.2, 0.3], "iterations": [0, 1, 3]}),
    "two layers": (layers, {"least": LEAST, "lower": [6, 7], "share": [0.5, 0.7, 0.85]}),
    "kernel": (kernel, {"least": LEAST, "diagonal": [0.0, 0.3, 1.0], "side": [-0.3, 0.0, 0.3], "position": [0.0]}),
    "position": (kernel, {"least": LEAST, "diagonal": [0.0], "side": [0.0], "position": [0.5, 1.0, 2.0]}),
    "HMM": (hmm, {"least": LEAST, "floor": [0.1, 0.3], "share": [0.3, 0.5, 1.0]}),
    "mutual argmax": (mutual, {"least": LEAST, "lower": [0.05, 0.1, 0.2, 0.3]}),
    "relative": (relative, {"least": [0.1, *LEAST], "share": [0.2, 0.4, 0.6]}),
    "words without links": (growing, {"least": LEAST, "lower": [0.1, 0.3, 0.5, 0.9], "sides": ["target", "both"]}),
    "adjacent, links alone": (
        adjacent, {"least": [0.35, 0.4], "bonus": [1.0, 2.0, 3.0], "alone": [0.0, 0.5], "first": [False]},
    ),
    "adjacent": (adjacent, {"least": [0.3, 0.35, 0.4], "bonus": [1.0, 2.0, 3.0], "alone": [0.0, 0.5]}),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("model", nargs="?", default="box")
    parser.add_argument("--pud", type=int, default=300)
    parser.add_argument("--only", nargs="*", default=list(FAMILIES))
    given = parser.parse_args()
    aligner = EmbeddingAligner(given.model, options=EmbeddingOptions.build(dtype="float32"))
    held = [
        Held(
            aligner,
            given.data / "wordalign" / f"{name}.jsonl",
            given.pud if "pud" in name else None,
            (6, 7, 8),
        )
        for name in SETS
    ]
    print("family | best | left out | XL-WA: best, by PUD | PUD: best, by XL-WA |", *map(short, SETS))
    for name in given.only:
        decode, grid = FAMILIES[name]
        tried = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        error = np.array([[own.aer(decode(own, **how)) for own in held] for how in tried])
        left = [error[np.delete(error, k, 1).mean(1).argmin(), k] for k in range(len(held))]
        one, other = error[:, :3].mean(1), error[:, 3:].mean(1)
        best = error.mean(1).argmin()
        print(
            f"{name} | {error[best].mean():.2f} | {np.mean(left):.2f} | {one.min():.2f}, {one[other.argmin()]:.2f} |",
            f"{other.min():.2f}, {other[one.argmin()]:.2f} |", *(f"{value:.1f}" for value in error[best]),
            json.dumps(tried[best]), flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
