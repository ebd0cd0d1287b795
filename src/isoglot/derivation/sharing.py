"""Draws: the part of a vocabulary that both languages share, and the part of the gold lexicon that is written."""

from collections.abc import Collection, Mapping

import numpy as np

from isoglot.core.seeding import seed_for

COPY_FILE = "vocabulary_copy.json"
"""File of a folder that a :class:`~isoglot.derivation.vocabulary.VocabularyCopy` was saved to.

The name stands here because its own module loads the library of tokenizers, and whoever looks for the file may not
need the library.
"""


def draw_positions(
    size: int,
    *,
    share: float,
    seed: int,
    with_replacement: bool = False,
    eligible: Collection[int] | None = None,
) -> list[int]:
    """Draw a share of the positions ``0`` to ``size − 1``, sorted: entries of a vocabulary, or of a lexicon.

    ``share``: The share that is drawn, from 0 to 1; exact up to rounding.
    ``with_replacement``: Draw ``share · size`` times with replacement, as the paper's code does, so that
    duplicates leave 1 − e^−share: 22.1 % where 25 % is asked for, 39.4 % for 50 %.
    ``eligible``: Positions that can be drawn at all. ``share`` is still a share of ``size``; if fewer positions are
    eligible, all of them are drawn. With replacement, draws of other positions are lost.

    Source: Tang et al. 2022, Table 7 (0, 25 and 50 %).
    """
    generator = np.random.default_rng(seed_for(seed, "overlap"))
    if with_replacement:
        if size == 0:
            return []
        drawn = set(generator.integers(size, size=int(share * size)).tolist())
        return sorted(drawn if eligible is None else drawn & set(eligible))
    # All positions in random order: a larger share of the same size contains a smaller one.
    order: list[int] = generator.permutation(size).tolist()
    if eligible is not None:
        drawable = set(eligible)
        order = [position for position in order if position in drawable]
    return sorted(order[: round(share * size)])


def gold_lexicon(
    pairs: Mapping[tuple[str, str], int], *, share: float = 1.0, seed: int = 0
) -> list[tuple[str, str]]:
    """List words and their translations, or a drawn share of them.

    ``pairs``: How often each word is linked to each word of the derived language. Words that are
    alike in both languages are left out: they teach nothing.
    ``share``: The share that is drawn: 0.25, 0.5 and 1 in the paper.

    Returns:
        Words and their translations, the most frequent first; equally frequent ones by alphabet.

    Example:
        >>> gold_lexicon({("a", "ա"): 2, ("cab", "գաբ"): 3, ("中", "中"): 9})
        [('cab', 'գաբ'), ('a', 'ա')]

    Source: Tang et al. 2022, Tables 4 and 5.
    """
    different = [pair for pair in pairs if pair[0] != pair[1]]
    entries = sorted(different, key=lambda pair: (-pairs[pair], pair))
    if share < 1:
        drawn = draw_positions(len(entries), share=share, seed=seed_for(seed, "gold lexicon"))
        entries = [entries[position] for position in drawn]
    return entries
