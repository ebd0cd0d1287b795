"""Which part of a vocabulary the original and the derived language share, and which part a lexicon lists."""

from collections.abc import Collection, Mapping

import numpy as np

from isoglot.core.seeding import seed_for

COPY_FILE = "vocabulary_copy.json"
"""The file by which the folder of a :class:`~isoglot.derivation.vocabulary.VocabularyCopy` is known."""


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
    generator = np.random.default_rng(seed_for(seed, "overlap"))
    if with_replacement:
        drawn = set(generator.integers(size, size=int(overlap * size)).tolist()) if size else set()
        return sorted(drawn if eligible is None else drawn & set(eligible))
    order: list[int] = generator.permutation(size).tolist()
    if eligible is not None:
        chosen = set(eligible)
        order = [i for i in order if i in chosen]
    return sorted(order[: round(overlap * size)])


def gold_lexicon(
    pairs: Mapping[tuple[str, str], int], *, share: float = 1.0, seed: int = 0
) -> list[tuple[str, str]]:
    """The word pairs, or a drawn part of them.

    ``pairs``: how often each word is linked to each word of the derived language. Words that are
    alike in both languages are left out: they teach nothing.
    ``share``: the part that is drawn: 0.25, 0.5 and 1 in the paper.

    Returns:
        Words and their translations, the most frequent first.

    Source: Tang et al. 2022, Tables 4 and 5.
    """
    ordered = sorted(((n, s, t) for (s, t), n in pairs.items() if s != t), key=lambda e: (-e[0], e[1], e[2]))
    if share < 1:
        chosen = draw_shared(len(ordered), overlap=share, seed=seed_for(seed, "gold lexicon"))
        ordered = [ordered[i] for i in chosen]
    return [(s, t) for _, s, t in ordered]
