"""Alignment error rate by layer, from one run of the encoder (XLM-Align, Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isoglot.align.alignment import Alignment
from isoglot.align.embedding.aligner import EmbeddingAligner
from isoglot.align.scoring import AlignmentScore, GoldAlignment, score
from isoglot.errors import ConfigurationError
from isoglot.modules.encoder import num_layers

__all__ = ["GoldPairs", "chosen_layers", "layer_error"]


@dataclass(frozen=True)
class GoldPairs:
    """Sentence pairs with gold links.

    Args:
        words: source and target words of each pair.
        gold: their links.
    """

    words: Sequence[tuple[Sequence[str], Sequence[str]]]
    gold: Sequence[GoldAlignment]


def layer_error(
    aligner: EmbeddingAligner,
    pairs: GoldPairs,
    *,
    layers: Sequence[int] | None = None,
    window: int = 128,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, AlignmentScore]:
    """Score the aligner's links at each layer; each window of pairs is encoded once for all of them.

    Args:
        aligner: its own layer plays no part.
        pairs: with gold links; counts are summed over all of them.
        layers: hidden states' numbers; by default all, 0 (embeddings) to the last.
        window: pairs whose states are held at a time, ``layers`` times.
        progress: called with the pairs done and in all.

    Returns:
        Layer to counts, in the order asked for.

    Raises:
        ConfigurationError: no such layer, or as many gold alignments as pairs are not there.
    """
    if len(pairs.words) != len(pairs.gold):
        raise ConfigurationError(
            f"{len(pairs.words)} sentence pairs and {len(pairs.gold)} gold alignments given; give one a pair"
        )
    wanted = list(chosen_layers(aligner, layers))
    total = dict.fromkeys(wanted, AlignmentScore())
    for start in range(0, len(pairs.words), window):
        words = pairs.words[start : start + window]
        tables = aligner.tables(words, wanted, first=start)
        gold = pairs.gold[start : start + window]
        for layer, table in tables.items():
            found = [Alignment(frozenset(links.links)) for links in aligner.pair_links(table, words)]
            total[layer] += score(found, gold)
        if progress is not None:
            progress(min(start + window, len(pairs.words)), len(pairs.words))
    return total


def chosen_layers(aligner: EmbeddingAligner, layers: Sequence[int] | None) -> Sequence[int]:
    """The layers asked for, each once, or all."""
    return range(num_layers(aligner.model) + 1) if layers is None else list(dict.fromkeys(layers))
