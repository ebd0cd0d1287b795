"""Alignment error rate by layer, from one run of the encoder (XLM-Align, Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from isoglot.aligners.embedding.aligner import UNLINKED, EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.piece_states import Pieces
from isoglot.aligners.files.gold import GoldPairs
from isoglot.aligners.scoring import score_pair
from isoglot.checks import shortened
from isoglot.corpus.encode.unknown import OnUnknown, counted, ignored
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore
from isoglot.modules.encoder import layer_number, num_layers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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
    unknown: OnUnknown | None = None,
) -> list[dict[int, AlignmentScore]]:
    """Score the links of several aligners of one encoder at each layer, by default all.

    Each ``window`` of pairs is encoded once for all aligners that encode alike, and its states are held ``layers``
    times. ``unknown`` receives the words that the vocabulary does not know; by default a warning counts them.
    """
    wanted = wanted_layers(aligners[0].model, layers)
    totals = [dict.fromkeys(wanted, AlignmentScore()) for _ in aligners]
    with counted(unknown, UNLINKED) as receive:
        for start in range(0, len(pairs.words), window):
            words = pairs.words[start : start + window]
            gold = pairs.gold[start : start + window]
            encoded: list[tuple[EmbeddingOptions, Any]] = []
            for aligner, total in zip(aligners, totals, strict=True):
                own = next((held for how, held in encoded if _alike(how, aligner.options, held[1])), None)
                if own is None:  # the same words are unknown to all of them
                    own = aligner.encode(words, wanted, first=start, unknown=ignored if encoded else receive)
                    encoded.append((aligner.options, own))
                for layer, table in aligner.extract(*own).items():
                    for links, right in zip(aligner.pair_links(table, words, own[1]), gold, strict=True):
                        total[layer] += score_pair(frozenset(links.links), right)
            if progress is not None:
                progress(min(start + window, len(pairs.words)), len(pairs.words))
    return totals


def wanted_layers(model: PreTrainedModel, layers: Iterable[int] | None) -> list[int]:
    """The layers that are asked for, each once, by default all of the encoder's."""
    if layers is None:
        return list(range(num_layers(model) + 1))
    try:
        wanted = list(dict.fromkeys(map(index, layers)))
    except TypeError:
        wanted = []
    if not wanted:
        raise ConfigurationError(
            f"layers must be numbers, one or more, such as [6, 7, 8], got {shortened(layers)}"
        )
    for layer in wanted:
        layer_number(model, layer, name="layers")
    return wanted


def _alike(one: EmbeddingOptions, other: EmbeddingOptions, pieces: Sequence[Pieces]) -> bool:
    """Whether these sentences have the same states by both."""
    windows = {one.window(), other.window()}
    narrow = min((window for window in windows if window is not None), default=0)
    return one.encode == other.encode and (len(windows) == 1 or max(map(len, pieces)) <= narrow)
