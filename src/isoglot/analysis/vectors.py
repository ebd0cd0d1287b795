"""Vectors of words, pieces and sentences at several layers, from one run of the encoder a sentence."""

from collections.abc import Callable, Sequence
from typing import Literal

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
from isoglot.core.errors import ConfigurationError
from isoglot.formats.words import split_words
from isoglot.recipe.spec import require_options

Unit = Literal["sentence", "word", "piece"]
Progress = Callable[[int, int], None]

_WINDOW = 256


@torch.inference_mode()
def word_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Pieces],
    words: Sequence[Sequence[int]],
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
        window, window_words = list(sentences[start : start + _WINDOW]), words[start : start + _WINDOW]
        states = layer_states(model, tokenizer, window, layers=list(vectors))
        for number, (layer, table_states) in enumerate(states.items()):
            means, known = word_states(table_states, window)
            if number == 0:
                numbers = list[int]()
                for pieces, first, chosen in zip(
                    known, means.offsets[:-1].tolist(), window_words, strict=True
                ):
                    row_of = {word: first + k for k, word in enumerate(pieces.words)}
                    numbers += [row_of.get(word, -1) for word in chosen]  # −1 where it has no known piece
                rows.append(torch.tensor(numbers, dtype=torch.long))
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
    words = [[0]] * len(texts)
    vectors, present = word_vectors(model, tokenizer, pieces, words, layers=layers, progress=progress)
    if not bool(present.all()):
        number = int((~present).nonzero()[0])
        raise ConfigurationError(
            f"sentence {number + 1} ({texts[number]!r}) has no known piece in this tokenizer; take it out of the corpus"
        )
    return vectors


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
        words = [[link[side] for link in sentence_links] for sentence_links in links]
        sides.append(word_vectors(model, tokenizer, pieces, words, layers=layers, progress=progress))
    both = sides[0][1] & sides[1][1]
    source, target = ({layer: v[both] for layer, v in vectors.items()} for vectors, _ in sides)
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
    every = [(s, word) for s, cut in enumerate(pieces) for word in sorted(set(cut.words) - {-1, UNKNOWN})]
    if not every:
        raise ConfigurationError("the texts have no known piece in this tokenizer; give other texts")
    drawn = torch.randperm(len(every), generator=generator)[:limit].sort().values.tolist()
    chosen: list[list[int]] = [[] for _ in pieces]
    for number in drawn:
        sentence, word = every[number]
        chosen[sentence].append(word)
    sentences = [s for s, cut in enumerate(chosen) if cut]
    vectors, _ = word_vectors(
        model,
        tokenizer,
        [pieces[s] for s in sentences],
        [chosen[s] for s in sentences],
        layers=layers,
        progress=progress,
    )
    return vectors
