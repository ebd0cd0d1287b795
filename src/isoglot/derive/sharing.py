"""Which part of a vocabulary the original and the derived language share, and which part a lexicon lists."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from isoglot.errors import ConfigurationError
from isoglot.seeding import seed_for

__all__ = ["COPY_FILE", "draw_shared"]

COPY_FILE = "vocabulary_copy.json"
"""The file by which the folder of a :class:`~isoglot.derive.vocabulary.VocabularyCopy` is known."""


def draw_shared(
    size: int,
    *,
    overlap: float,
    seed: int,
    with_replacement: bool = False,
    eligible: Collection[int] | None = None,
) -> list[int]:
    """Positions that both languages share, sorted.

    ``overlap``: the part that is shared, from 0 to 1; exact up to rounding.
    ``with_replacement``: as the paper's code: ``overlap · size`` draws with replacement, so that 25 % and 50 % really
    are 1 − e^−overlap = 22.1 % and 39.4 %.
    ``eligible``: positions that can be shared at all; the part still refers to ``size``, as far as they go.

    Source: Tang et al. 2022, Table 7 (0, 25 and 50 %).
    """
    if not 0 <= overlap <= 1:
        raise ConfigurationError(f"overlap {overlap!r} given; it is a part from 0 to 1, for example 0.25")
    generator = np.random.default_rng(seed_for(seed, "overlap"))
    if with_replacement:
        drawn = set(generator.integers(size, size=int(overlap * size)).tolist()) if size else set()
        return sorted(drawn if eligible is None else drawn & set(eligible))
    order: list[int] = generator.permutation(size).tolist()
    if eligible is not None:
        kept = set(eligible)
        order = [i for i in order if i in kept]
    return sorted(order[: round(overlap * size)])
