"""Alignment error rate by layer, from one run of the encoder (XLM-Align, Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.align.alignment import Alignment
from isoglot.align.embedding.aligner import EmbeddingAligner
from isoglot.align.files.formats import read_links
from isoglot.align.scoring import AlignmentScore, GoldAlignment, score
from isoglot.corpus.manifest import load_corpus
from isoglot.errors import ConfigurationError
from isoglot.modules.encoder import num_layers
from isoglot.schema import ALIGNED, require

__all__ = ["GoldPairs", "chosen_layers", "gold_pairs", "layer_error"]


@dataclass(frozen=True)
class GoldPairs:
    """Sentence pairs with gold links.

    Args:
        words: source and target words of each pair.
        gold: their links.
    """

    words: Sequence[tuple[Sequence[str], Sequence[str]]]
    gold: Sequence[GoldAlignment]


def gold_pairs(path: str | Path, *, limit: int = 500, **reading: Any) -> GoldPairs:
    """Sentence pairs and links to measure an aligner on.

    Args:
        path: JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``; or a folder that
            ``isoglot align --format corpus`` wrote, whose links then count as sure ones.
        limit: Pairs to take from such a folder; of a file all are taken.
        **reading: ``name`` and ``base`` of :func:`~isoglot.align.files.formats.read_links`.

    Raises:
        ConfigurationError: the file has no words.
        InputError: it cannot be read.
    """
    if Path(path).is_dir():
        corpus = load_corpus(path)
        rows = require(corpus, ALIGNED, role=str(path)).select(range(min(limit, len(corpus))))
        words = list(zip(rows["source_words"], rows["target_words"], strict=True))
        return GoldPairs(words, [GoldAlignment.of(links, []) for links in rows["links"]])
    found = read_links(path, **reading)
    if found.words is None:
        raise ConfigurationError(
            f"{path}: has links but no words to align; give JSON lines with src and tgt, sure and possible"
        )
    return GoldPairs(found.words, found.gold)


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
