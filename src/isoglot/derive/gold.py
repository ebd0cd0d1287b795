"""The gold lexicon of a derived language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from isoglot.derive.sharing import draw_shared
from isoglot.errors import ConfigurationError
from isoglot.seeding import seed_for

__all__ = ["gold_lexicon", "word_pairs"]


def word_pairs(aligned: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """How often each word is linked to each word of the derived language, in ALIGNED rows."""
    found: Counter[tuple[str, str]] = Counter()
    for row in aligned:
        source, target = row["source_words"], row["target_words"]
        found.update([(source[i], target[j]) for i, j in row["links"]])
    return found


def gold_lexicon(
    pairs: Mapping[tuple[str, str], int], *, share: float = 1.0, seed: int = 0
) -> list[tuple[str, str]]:
    """The word pairs, or a drawn part of them.

    ``pairs``: word pairs with their counts, see :func:`word_pairs`. Words that are alike in both languages are left
    out: they teach nothing.
    ``share``: the part that is drawn: 0.25, 0.5 and 1 in the paper.

    Returns:
        Words and their translations, the most frequent first.

    Source: Tang et al. 2022, Tables 4 and 5.
    """
    if not 0 < share <= 1:
        raise ConfigurationError(f"lexicon share {share!r} given; it is a part in (0, 1], for example 0.25")
    ordered = sorted(((n, s, t) for (s, t), n in pairs.items() if s != t), key=lambda e: (-e[0], e[1], e[2]))
    if share < 1:
        chosen = draw_shared(len(ordered), overlap=share, seed=seed_for(seed, "gold lexicon"))
        ordered = [ordered[i] for i in chosen]
    return [(s, t) for _, s, t in ordered]
