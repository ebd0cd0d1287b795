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
_ZERO_ROW = -1
"""Row of a window's table for a word without a known piece: the last row of the table, which is all 0."""


@torch.inference_mode()
def word_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Pieces],
    wanted_words: Sequence[Sequence[int]],
    *,
    layers: Sequence[int],
    progress: Progress | None = None,
) -> tuple[dict[int, Tensor], Tensor]:
    """Encode sentences, and take the mean piece vector of some words of each.

    ``wanted_words``: For each sentence the numbers of the words that are wanted: ``[[0, 2], [1]]`` of two sentences.

    Returns:
        By layer, the vectors of all wanted words in order (float32, CPU, shape (words, hidden)); and for each wanted
        word whether it has any known piece. The vector of a word that has none is 0.
    """
    # Both begin with an empty part, so that no sentence at all gives empty tensors.
    vectors = {layer: [torch.zeros(0, int(model.config.hidden_size))] for layer in layers}
    rows_of_words = [torch.zeros(0, dtype=torch.long)]
    for start in range(0, len(sentences), _WINDOW):
        window = list(sentences[start : start + _WINDOW])
        rows = _rows_of_words(window, wanted_words[start : start + _WINDOW])  # the same at every layer
        rows_of_words.append(rows)
        states = layer_states(model, tokenizer, window, layers=list(vectors))
        for layer, states_of_layer in states.items():
            means, _ = word_states(states_of_layer, window)
            table = means.table.float().cpu()  # a row for each known word of the window
            table = torch.nn.functional.pad(table, (0, 0, 0, 1))  # one more row at the end: _ZERO_ROW
            vectors[layer].append(table[rows])
        if progress is not None:
            progress(min(start + _WINDOW, len(sentences)), len(sentences))
    is_known = torch.cat(rows_of_words) != _ZERO_ROW
    return {layer: torch.cat(parts) for layer, parts in vectors.items()}, is_known


def _rows_of_words(window: Sequence[Pieces], wanted_words: Sequence[Sequence[int]]) -> Tensor:
    """Find the row of each wanted word in the table of a window; ``_ZERO_ROW`` for words without a known piece.

    The table is that of :func:`~isoglot.aligners.embedding.piece_states.word_states`: the known words of the first
    sentence, then those of the second, and so on. With the known words 0 and 2 in the first sentence, and 0 and 1 in
    the second, it has 4 rows, and word 1 of the second sentence is row 3.
    """
    rows: list[int] = []
    first_row = 0  # of a sentence
    for sentence_pieces, wanted in zip(window, wanted_words, strict=True):
        known_words = sentence_pieces.known_words
        row_of = {word: first_row + place for place, word in enumerate(known_words)}
        rows += [row_of.get(word, _ZERO_ROW) for word in wanted]
        first_row += len(known_words)
    return torch.tensor(rows, dtype=torch.long)


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
    words = [[0]] * len(texts)  # each text was cut as one word, number 0
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
    return _choose_rows(source, both_known), _choose_rows(target, both_known)


def _choose_rows(vectors: dict[int, Tensor], chosen: Tensor) -> dict[int, Tensor]:
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
    """Take vectors of texts, of their words (cut at spaces and tabs) or of their pieces; draw ``limit`` at random.

    A text, word or piece is a unit here; the vectors are not scaled to length 1. Those of all layers are of the same
    units.
    """
    require_options(unit_vectors, unit=unit)
    if unit == "sentence":
        cut_texts = [[text] for text in texts]  # the whole text is one word
    else:
        cut_texts = [split_words(text, mode="whitespace") for text in texts]
    pieces = cut_known_words(tokenizer, cut_texts)
    if unit == "piece":
        pieces = [_each_a_word(sentence_pieces) for sentence_pieces in pieces]
    known_units: list[tuple[int, int]] = []  # a sentence, and a word of it
    for sentence, sentence_pieces in enumerate(pieces):
        known_units += [(sentence, word) for word in sentence_pieces.known_words]
    if not known_units:
        raise ConfigurationError("the texts have no known piece in this tokenizer; give other texts")
    drawn = torch.randperm(len(known_units), generator=generator)[:limit].sort().values.tolist()
    drawn_words: list[list[int]] = [[] for _ in pieces]  # of each sentence
    for number in drawn:
        sentence, word = known_units[number]
        drawn_words[sentence].append(word)
    sentences = [sentence for sentence, words in enumerate(drawn_words) if words]  # others are not encoded
    vectors, _ = word_vectors(
        model,
        tokenizer,
        [pieces[sentence] for sentence in sentences],
        [drawn_words[sentence] for sentence in sentences],
        layers=layers,
        progress=progress,
    )
    return vectors


def _each_a_word(pieces: Pieces) -> Pieces:
    """Make each piece a word of its own, also one that belongs to no word; pieces of unknown words stay unknown."""
    words = [place if word != UNKNOWN else UNKNOWN for place, word in enumerate(pieces.words)]
    return Pieces(pieces.ids, words)
