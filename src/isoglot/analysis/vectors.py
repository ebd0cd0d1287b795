"""Vectors of words, pieces and sentences at several layers, from one run of the encoder a sentence."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.piece_states import (
    UNKNOWN,
    Pieces,
    cut_known_words,
    layer_states,
    word_states,
)
from isoglot.corpus.encode.words import split_words
from isoglot.errors import ConfigurationError
from isoglot.recipe.spec import require_options

Unit = Literal["sentence", "word", "piece"]
Progress = Callable[[int, int], None]

_WINDOW = 256


@torch.inference_mode()
def word_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Pieces],
    wanted: Sequence[Sequence[int]],
    *,
    layers: Sequence[int],
    progress: Progress | None = None,
) -> tuple[dict[int, Tensor], Tensor]:
    """The mean piece vector of the ``wanted`` words of each sentence, which is encoded alone.

    Returns:
        Layer to the vectors of all wanted words in order (float32, CPU, shape (words, hidden)); and whether each word
        has any known piece. Those that have none are null.
    """
    vectors = {layer: [torch.zeros(0, int(model.config.hidden_size))] for layer in layers}
    rows = [torch.zeros(0, dtype=torch.long)]
    for start in range(0, len(sentences), _WINDOW):
        own, asked = list(sentences[start : start + _WINDOW]), wanted[start : start + _WINDOW]
        states = layer_states(model, tokenizer, own, layers=list(vectors))
        for number, (layer, found) in enumerate(states.items()):
            means, kept = word_states(found, own)
            if number == 0:
                rows.append(torch.tensor(_rows(kept, means.offsets, asked), dtype=torch.long))
            table = torch.nn.functional.pad(means.table.float().cpu(), (0, 0, 0, 1))  # a null vector at −1
            vectors[layer].append(table[rows[-1]])
        if progress is not None:
            progress(min(start + _WINDOW, len(sentences)), len(sentences))
    return {layer: torch.cat(parts) for layer, parts in vectors.items()}, torch.cat(rows) >= 0


def sentence_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    layers: Sequence[int],
    progress: Progress | None = None,
) -> dict[int, Tensor]:
    """The mean piece vector of each text, special tokens left out. **Shape**: (texts, hidden) a layer."""
    pieces = cut_known_words(tokenizer, [[text] for text in texts])
    wanted = [[0]] * len(texts)
    found, present = word_vectors(model, tokenizer, pieces, wanted, layers=layers, progress=progress)
    if not bool(present.all()):
        number = int((~present).nonzero()[0])
        raise ConfigurationError(
            f"sentence {number + 1} ({texts[number]!r}) has no known piece in this tokenizer; take it out of the corpus"
        )
    return found


def linked_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    links: Sequence[Sequence[Sequence[int]]],
    *,
    layers: Sequence[int],
    progress: Progress | None = None,
) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """Layer to contextual vectors of the source words of links, and of their target words. Shape: (links, hidden).

    A link is ``[source word, target word]``; one whose word has no known piece is left out.
    """
    sides = []
    for side in (0, 1):
        pieces = cut_known_words(tokenizer, [pair[side] for pair in pairs])
        wanted = [[link[side] for link in own] for own in links]
        sides.append(word_vectors(model, tokenizer, pieces, wanted, layers=layers, progress=progress))
    both = sides[0][1] & sides[1][1]
    source, target = ({layer: v[both] for layer, v in found.items()} for found, _ in sides)
    return source, target


def unit_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    unit: Unit,
    layers: Sequence[int],
    limit: int,
    generator: torch.Generator,
    progress: Progress | None = None,
) -> dict[int, Tensor]:
    """Vectors of texts, of their words (cut at spaces and tabs) or of their pieces, at most ``limit`` drawn at random.

    The generator draws the same ones at every layer.
    """
    require_options(unit_vectors, unit=unit)
    pieces = cut_known_words(
        tokenizer, [[t] if unit == "sentence" else split_words(t, mode="whitespace") for t in texts]
    )
    if unit == "piece":
        pieces = [Pieces(p.ids, [k if w != UNKNOWN else w for k, w in enumerate(p.words)]) for p in pieces]
    every = [(s, word) for s, own in enumerate(pieces) for word in sorted(set(own.words) - {-1, UNKNOWN})]
    if not every:
        raise ConfigurationError("the texts have no known piece in this tokenizer; give other texts")
    drawn = torch.randperm(len(every), generator=generator)[:limit].sort().values.tolist()
    wanted: list[list[int]] = [[] for _ in pieces]
    for number in drawn:
        sentence, word = every[number]
        wanted[sentence].append(word)
    asked = [s for s, own in enumerate(wanted) if own]
    found, _ = word_vectors(
        model, tokenizer, [pieces[s] for s in asked], [wanted[s] for s in asked], layers=layers, progress=progress
    )  # fmt: skip
    return found


def _rows(kept: Sequence[Pieces], offsets: np.ndarray, wanted: Sequence[Sequence[int]]) -> list[int]:
    """Where each wanted word stands in the table of words, −1 where it has no known piece."""
    rows = []
    for own, start, words in zip(kept, offsets[:-1].tolist(), wanted, strict=True):
        place = {word: start + k for k, word in enumerate(own.words)}
        rows += [place.get(word, -1) for word in words]
    return rows
