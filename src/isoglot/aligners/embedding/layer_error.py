"""Alignment error rate by layer, from one run of the encoder (XLM-Align, Fig. 2)."""

from collections.abc import Callable, Sequence
from typing import Any

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.files.gold import GoldPairs
from isoglot.aligners.scoring import score_pair
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore
from isoglot.modules.encoder import num_layers


def layer_error(aligner: EmbeddingAligner, pairs: GoldPairs, **how: Any) -> dict[int, AlignmentScore]:
    """Score the aligner's links at each layer; see :func:`layer_errors`, whose options it takes."""
    return layer_errors([aligner], pairs, **how)[0]


def layer_errors(
    aligners: Sequence[EmbeddingAligner],
    pairs: GoldPairs,
    *,
    layers: Sequence[int] | None = None,
    window: int = 128,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[int, AlignmentScore]]:
    """Score the links of several aligners of one encoder at each layer, by default all.

    Each ``window`` of pairs is encoded once for all aligners that encode alike, and its states are held ``layers``
    times.
    """
    if len(pairs.words) != len(pairs.gold):
        raise ConfigurationError(
            f"{len(pairs.words)} sentence pairs and {len(pairs.gold)} gold alignments given; give one a pair"
        )
    wanted = list(dict.fromkeys(range(num_layers(aligners[0].model) + 1) if layers is None else layers))
    totals = [dict.fromkeys(wanted, AlignmentScore()) for _ in aligners]
    for start in range(0, len(pairs.words), window):
        words = pairs.words[start : start + window]
        gold = pairs.gold[start : start + window]
        encoded: dict[str, Any] = {}
        for aligner, total in zip(aligners, totals, strict=True):
            how = aligner.options.encode
            if how not in encoded:
                encoded[how] = aligner.encode(words, wanted, first=start)
            for layer, table in aligner.extract(*encoded[how]).items():
                for links, own in zip(aligner.pair_links(table, words), gold, strict=True):
                    total[layer] += score_pair(frozenset(links.links), own)
        if progress is not None:
            progress(min(start + window, len(pairs.words)), len(pairs.words))
    return totals
