"""Draws: the part of a vocabulary that both languages share, and the part of the gold lexicon that is written."""

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
    """Draw the positions of a vocabulary that both languages share, sorted.

    ``size``: Positions in all.
    ``overlap``: The part that is shared, from 0 to 1; exact up to rounding.
    ``with_replacement``: Draw ``overlap · size`` times with replacement, as the paper's code does, so that 25 % and
    50 % really are 1 − e^−overlap = 22.1 % and 39.4 %.
    ``eligible``: Positions that can be shared at all. ``overlap`` is still a part of ``size``; if fewer are eligible,
    all of them are shared.

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
    """List words and their translations, or a drawn part of them.

    ``pairs``: How often each word is linked to each word of the derived language. Words that are
    alike in both languages are left out: they teach nothing.
    ``share``: The part that is drawn: 0.25, 0.5 and 1 in the paper.

    Returns:
        Words and their translations, the most frequent first.

    Source: Tang et al. 2022, Tables 4 and 5.
    """
    different = [pair for pair in pairs if pair[0] != pair[1]]
    entries = sorted(different, key=lambda pair: (-pairs[pair], pair))
    if share < 1:
        chosen = draw_shared(len(entries), overlap=share, seed=seed_for(seed, "gold lexicon"))
        entries = [entries[position] for position in chosen]
    return entries
