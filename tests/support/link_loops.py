"""Links of a grid as sets."""

from __future__ import annotations


def link_sets(grid):
    sets = [set() for _ in range(grid.batch)]
    for b, i, j in zip(*(x.tolist() for x in grid.tensors()), strict=True):
        sets[b].add((i, j))
    return sets
