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
"""Sentences that are encoded at once, whose hidden states are in memory together."""


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
    """Encode sentences, and take the mean piece vector of some words of each.

    ``words``: The numbers of the words that are wanted of each sentence.

    Returns:
        By layer, the vectors of all wanted words in order (float32, CPU, shape (words, hidden)); and for each word
        whether it has any known piece. The vector of a word that has none is 0.
    """
    vectors = {layer: [torch.zeros(0, int(model.config.hidden_size))] for layer in layers}
    rows = [torch.zeros(0, dtype=torch.long)]
    for start in range(0, len(sentences), _WINDOW):
        window, window_words = list(sentences[start : start + _WINDOW]), words[start : start + _WINDOW]
        states = layer_states(model, tokenizer, window, layers=list(vectors))
        for number, (layer, table_states) in enumerate(states.items()):
            means, known = word_states(table_states, window)
            if number == 0:
                # The rows of wanted words in the table of means, which are those of every layer.
                numbers: list[int] = []
                first_rows = means.offsets[:-1].tolist()
                for pieces, first, wanted in zip(known, first_rows, window_words, strict=True):
                    row_of = {word: first + place for place, word in enumerate(pieces.words)}
                    numbers += [row_of.get(word, -1) for word in wanted]  # −1 where it has no known piece
                rows.append(torch.tensor(numbers, dtype=torch.long))
            table = torch.nn.functional.pad(
                means.table.float().cpu(), (0, 0, 0, 1)
            )  # a vector of 0 at row −1
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
    """Take the mean piece vector of each text, without special tokens. **Shape**: (texts, hidden) by layer."""
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
    """Take the contextual vectors of linked words: of the source words, and of the target words.

    Both are by layer, of shape (links, hidden). A link is ``[source word, target word]``; a link of which a word has no
    known piece is left out.
    """
    sides = []
    for side in (0, 1):
        pieces = cut_known_words(tokenizer, [pair[side] for pair in pairs])
        words = [[link[side] for link in sentence_links] for sentence_links in links]
        sides.append(word_vectors(model, tokenizer, pieces, words, layers=layers, progress=progress))
    (source, source_known), (target, target_known) = sides
    both_known = source_known & target_known
    return _rows(source, both_known), _rows(target, both_known)


def _rows(vectors: dict[int, Tensor], chosen: Tensor) -> dict[int, Tensor]:
    """Some rows of each layer."""
    return {layer: table[chosen] for layer, table in vectors.items()}


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
    """Take vectors of texts, of their words (cut at spaces and tabs) or of their pieces: ``limit`` drawn at random.

    The generator draws the same ones at every layer.
    """
    require_options(unit_vectors, unit=unit)
    if unit == "sentence":
        cut_texts = [[text] for text in texts]  # the whole text is one word
    else:
        cut_texts = [split_words(text, mode="whitespace") for text in texts]
    pieces = cut_known_words(tokenizer, cut_texts)
    if unit == "piece":
        pieces = list(map(_each_a_word, pieces))
    every: list[tuple[int, int]] = []  # a sentence, and a word of it
    for sentence, cut in enumerate(pieces):
        known = set(cut.words) - {-1, UNKNOWN}
        every += [(sentence, word) for word in sorted(known)]
    if not every:
        raise ConfigurationError("the texts have no known piece in this tokenizer; give other texts")
    drawn = torch.randperm(len(every), generator=generator)[:limit].sort().values.tolist()
    chosen: list[list[int]] = [[] for _ in pieces]
    for number in drawn:
        sentence, word = every[number]
        chosen[sentence].append(word)
    sentences = [sentence for sentence, words in enumerate(chosen) if words]  # the others need not be encoded
    vectors, _ = word_vectors(
        model,
        tokenizer,
        [pieces[sentence] for sentence in sentences],
        [chosen[sentence] for sentence in sentences],
        layers=layers,
        progress=progress,
    )
    return vectors


def _each_a_word(pieces: Pieces) -> Pieces:
    """Make each known piece a word of its own."""
    words = [place if word != UNKNOWN else UNKNOWN for place, word in enumerate(pieces.words)]
    return Pieces(pieces.ids, words)
