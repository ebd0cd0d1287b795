"""The alignment score as a loop over rows."""

from __future__ import annotations

import math


def cosine(a: list[float], b: list[float]) -> float:
    norm = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / max(norm, 1e-12)


def looped(table: list[list[float]], pairs: list[tuple[int, int]]) -> tuple[float, float]:
    sources, targets = sorted({s for s, _ in pairs}), sorted({t for _, t in pairs})
    forward = [(s, max(targets, key=lambda t: (cosine(table[s], table[t]), -t))) in pairs for s in sources]
    backward = [(max(sources, key=lambda s: (cosine(table[s], table[t]), -s)), t) in pairs for t in targets]
    return 100 * sum(forward) / len(forward), 100 * sum(backward) / len(backward)
