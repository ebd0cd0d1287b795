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
_NO_WORD = -1
"""Number of the word of a piece that belongs to no word; :data:`UNKNOWN` is that of a piece of an unknown word."""
_ZERO_ROW = -1
"""Row of a window's table for a word without a known piece: its last row, which is all 0."""


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

    ``words``: For each sentence the numbers of the words that are wanted: ``[[0, 2], [1]]`` of two sentences.

    Returns:
        By layer, the vectors of all wanted words in order (float32, CPU, shape (words, hidden)); and for each wanted
        word whether it has any known piece. The vector of a word that has none is 0.
    """
    # Both begin with an empty part, so that no sentence at all gives empty tensors.
    vectors = {layer: [torch.zeros(0, int(model.config.hidden_size))] for layer in layers}
    rows_of_words = [torch.zeros(0, dtype=torch.long)]
    for start in range(0, len(sentences), _WINDOW):
        window, wanted_words = list(sentences[start : start + _WINDOW]), words[start : start + _WINDOW]
        states = layer_states(model, tokenizer, window, layers=list(vectors))
        # The rows of the wanted words in the table of a layer, the same at every layer.
        rows: Tensor | None = None
        for layer, states_of_layer in states.items():
            # `means`: a table with a row for each known word of the window; its offsets are the first row of each
            # sentence. `known`: for each sentence a `Pieces` in which each known word is one piece. Only its `words`,
            # the numbers of the known words in the order of the rows, are read.
            means, known = word_states(states_of_layer, window)
            if rows is None:
                known_words = [sentence_words.words for sentence_words in known]
                first_rows = means.offsets[:-1].tolist()
                rows = _rows_of_words(known_words, first_rows, wanted_words)
                rows_of_words.append(rows)
            table = means.table.float().cpu()
            table = torch.nn.functional.pad(table, (0, 0, 0, 1))  # one more row at the end: _ZERO_ROW
            vectors[layer].append(table[rows])
        if progress is not None:
            progress(min(start + _WINDOW, len(sentences)), len(sentences))
    is_known = torch.cat(rows_of_words) != _ZERO_ROW
    return {layer: torch.cat(parts) for layer, parts in vectors.items()}, is_known


def _rows_of_words(
    known_words: Sequence[Sequence[int]], first_rows: Sequence[int], wanted_words: Sequence[Sequence[int]]
) -> Tensor:
    """Find the row of each wanted word in the table of a window; ``_ZERO_ROW`` for words without a known piece.

    With the known words 0 and 2 in the first sentence, 0 and 1 in the second one, the table has 4 rows; word 1 of the
    second sentence is row 3.

    ``known_words``: The numbers of the known words of each sentence: ``[[0, 2], [0, 1]]``.
    ``first_rows``: The row of the first known word of each sentence.
    """
    rows: list[int] = []
    for known, first_row, wanted in zip(known_words, first_rows, wanted_words, strict=True):
        row_of = {word: first_row + place for place, word in enumerate(known)}
        rows += [row_of.get(word, _ZERO_ROW) for word in wanted]
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
    known_words: list[tuple[int, int]] = []  # a sentence, and a word of it
    for sentence, sentence_pieces in enumerate(pieces):
        known = set(sentence_pieces.words) - {_NO_WORD, UNKNOWN}
        known_words += [(sentence, word) for word in sorted(known)]
    if not known_words:
        raise ConfigurationError("the texts have no known piece in this tokenizer; give other texts")
    drawn = torch.randperm(len(known_words), generator=generator)[:limit].sort().values.tolist()
    drawn_words: list[list[int]] = [[] for _ in pieces]  # of each sentence
    for number in drawn:
        sentence, word = known_words[number]
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
