"""Hidden states of the pieces of many sentences: batched by token budget, stopped at the layer that is needed.

A sentence that is too long for the encoder is cut into overlapping parts. The state of each piece is taken from the
part in which the piece stands most centrally, so every piece has a state that saw text on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from isoglot.aligners.alignment import starts_and_end
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.templates import single_template
from isoglot.corpus.encode.unknown import KnownPieces
from isoglot.modules.encoder import base_of, dropout_off, encode, hidden_size, max_length
from isoglot.modules.finite import require_finite
from isoglot.modules.isolation import isolated_computation

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Pieces:
    """One sentence's pieces without special tokens."""

    ids: list[int]  # piece ids
    words: list[int]  # 0-based word of each piece, −1 where a piece belongs to no word, or UNKNOWN

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def known_words(self) -> list[int]:
        """The numbers of the words that have a known piece, ascending."""
        return sorted({word for word in self.words if word >= 0})


@dataclass(frozen=True, slots=True)
class PieceStates:
    """The states of many sentences in one table."""

    table: Tensor  # (pieces of all sentences, hidden)
    offsets: npt.NDArray[np.int64]  # sentence ``s`` owns the rows ``offsets[s]:offsets[s + 1]``


UNKNOWN = -2
"""Takes the place of the word number of a piece that is encoded with the others, but whose state is not used."""
_MULTIPLE = 8
"""Inputs are as wide as a multiple of this, where their width must not depend on the batch."""


class _Part(NamedTuple):
    """The pieces ``start`` up to ``stop`` of one sentence in an encoder input; kept are the states of some of them."""

    sentence: int
    start: int
    stop: int
    keep_from: int  # number of the first piece whose state is kept
    keep_to: int  # and of the one after the last


def cut_words(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
    """Cut sentences that are given as words into pieces, without special tokens.

    The words are joined by single spaces and found again by character offsets, so byte-level tokenizers see the
    spaces they were trained with, and a word that vanishes in normalisation (a zero-width space, a control
    character) shifts nothing: it just has no piece.
    """
    encoder = PieceEncoder(tokenizer, shared=True)
    side = encoder.word_lists(sentences, [" ".join(words) for words in sentences])
    bounds = starts_and_end(side.lengths).tolist()
    ids, words = side.ids.tolist(), side.word_ids.tolist()
    return [Pieces(ids[a:b], words[a:b]) for a, b in pairwise(bounds)]


def cut_known_words(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
    """Cut sentences as :func:`cut_words` does, and mark the pieces of unknown words as :data:`UNKNOWN`.

    :class:`KnownPieces` decides which pieces count: known ones, of a word that is known by half of its letters or more.
    """
    decide, pieces = KnownPieces(tokenizer), cut_words(tokenizer, sentences)
    for row, (words, cut) in enumerate(zip(sentences, pieces, strict=True)):
        texts = [*words, ""]  # the last one is the text of "word" -1, to which the pieces of no word belong
        is_counted = decide(cut.ids, cut.words, texts.__getitem__)  # type: ignore[arg-type]
        if is_counted is not None:  # None: all pieces count
            numbers = [
                word if counts else UNKNOWN for word, counts in zip(cut.words, is_counted, strict=True)
            ]
            pieces[row] = Pieces(cut.ids, numbers)
    return pieces


@isolated_computation()
def layer_states(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Pieces],
    *,
    layers: Sequence[int],
    joint: bool = False,
    max_tokens: int | None = None,
    max_pieces: int | None = None,
) -> dict[int, PieceStates]:
    """Return the states of several layers from one run of the encoder, which stops at the last of these layers.

    Args:
        model: The encoder.
        tokenizer: Its tokenizer.
        sentences: Pieces of each sentence; with ``joint`` source and target sentences in turns.
        layers: Numbers of the layers.
        joint: Encode source and target as one sequence, ``[CLS] source [SEP] target [SEP]``, as XLM-Align does. A
            sequence that is too long is cut into parts at the same relative places of both sides. By default each
            sentence is encoded alone, ``[CLS] pieces [SEP]``, as SimAlign and awesome-align do.
        max_tokens: Maximum of tokens in a batch, with padding.
        max_pieces: Maximum of pieces of a sentence that are encoded together; by default as many as the encoder takes.
            Not with ``joint``.
    """
    longest, size = max_length(model), hidden_size(model)
    device, dtype = model.device, model.dtype
    opening, closing = _marks(tokenizer)
    # Encoder inputs: the parts of each, one for each side. `room` is how many pieces fit beside the special tokens.
    room = None if longest is None else longest - len(opening) - (2 if joint else 1) * len(closing)
    if max_pieces is not None and not joint:
        room = max_pieces if room is None else min(max_pieces, room)
    inputs: list[list[_Part]] = []
    for s in range(0, len(sentences), 2 if joint else 1):
        if joint:
            inputs += _parts_of_pair(s, len(sentences[s]), len(sentences[s + 1]), room=room)
        else:
            inputs += [[part] for part in _parts_of_sentence(s, len(sentences[s]), room=room)]
    padding = tokenizer.pad_token_id or 0  # without a padding token any id will do: padding is masked
    # The table of each layer, which is filled batch by batch: one row a piece, sentence after sentence.
    offsets = starts_and_end([len(s) for s in sentences])
    shape = (int(offsets[-1]), size)
    tables = {layer: torch.empty(shape, dtype=dtype, device=device) for layer in layers}
    lengths = [
        len(opening) + sum(part.stop - part.start + len(closing) for part in parts) for parts in inputs
    ]
    # In half precision on a CPU the amount of padding changes how attention rounds, and that is enough to change links.
    # There the width follows from the input alone, and a batch holds inputs of one width.
    fixed_width = device.type == "cpu" and dtype != torch.float32
    widths = lengths
    if fixed_width:
        widths = [-(-length // _MULTIPLE) * _MULTIPLE for length in lengths]
        if longest is not None:
            widths = [max(n, min(width, longest)) for n, width in zip(lengths, widths, strict=True)]
    budget = max_tokens or (2048 if device.type == "cpu" else 32_768)
    for batch in length_batches(widths, budget, equal=fixed_width):
        width = max(widths[i] for i in batch)
        rows = [inputs[i] for i in batch]
        # The state at (row, column) of the batch goes to row `slot` of the tables.
        ids, *indices = _assemble((opening, closing), padding, sentences, rows, offsets, width)
        row, column, slot = (torch.from_numpy(index).to(device) for index in indices)
        real = torch.arange(ids.shape[1])[None] < torch.tensor([lengths[i] for i in batch])[:, None]
        tensors = {"input_ids": ids.to(device), "attention_mask": real.long().to(device)}
        with torch.no_grad(), dropout_off(base_of(model)):
            layered = encode(model, tensors, layers=tuple(layers))
        for layer, states in layered.items():
            tables[layer][slot] = require_finite(states[row, column], f"hidden states of layer {layer}")
    return {layer: PieceStates(table, offsets) for layer, table in tables.items()}


def known_states(states: PieceStates, pieces: list[Pieces]) -> tuple[PieceStates, list[Pieces]]:
    """Leave out the pieces that are :data:`UNKNOWN`, and their states."""
    if not any(UNKNOWN in sentence.words for sentence in pieces):
        return states, pieces
    known = []
    for sentence in pieces:
        kept = [number for number, word in enumerate(sentence.words) if word != UNKNOWN]
        known.append(Pieces([sentence.ids[k] for k in kept], [sentence.words[k] for k in kept]))
    rows = np.flatnonzero(np.fromiter(chain.from_iterable(s.words for s in pieces), np.int64) != UNKNOWN)
    table = states.table[torch.from_numpy(rows).to(states.table.device)]
    return PieceStates(table, starts_and_end([len(s) for s in known])), known


def word_states(states: PieceStates, pieces: list[Pieces]) -> tuple[PieceStates, list[Pieces]]:
    """Return the mean vector of the pieces of each word, in float32, as if every word were one piece.

    A word without a known piece has no row.
    """
    # The row of the new table that each piece is added to, -1 for pieces of no known word.
    slots, words_of = [], []
    total = 0
    for sentence in pieces:
        present = sentence.known_words
        slot_of = {word: total + k for k, word in enumerate(present)}
        slots += [slot_of.get(word, -1) for word in sentence.words]
        words_of.append(Pieces([0] * len(present), present))  # nobody reads the ids
        total += len(present)
    device = states.table.device
    slot = torch.tensor(slots, dtype=torch.long, device=device)
    used = slot >= 0
    table = states.table.new_zeros((total, states.table.shape[1]), dtype=torch.float32)
    table.index_add_(0, slot[used], states.table[used].float())
    table /= torch.bincount(slot[used], minlength=total).clamp(min=1)[:, None]
    return PieceStates(table, starts_and_end([len(p) for p in words_of])), words_of


def _spread_parts(sentence: int, length: int, size: int, count: int) -> list[_Part]:
    """Cut a sentence into ``count`` overlapping parts of ``size`` pieces, spread evenly.

    The states of two neighbouring parts are kept up to the middle of their overlap. Of 10 pieces in 2 parts of 6, the
    first is 0 to 6 and keeps 0 to 5, the second is 4 to 10 and keeps 5 to 10.
    """
    starts = np.linspace(0, length - size, count).round().astype(int).tolist()
    meets = [0, *((a + size + b) // 2 for a, b in pairwise(starts)), length]
    return [_Part(sentence, a, a + size, meets[k], meets[k + 1]) for k, a in enumerate(starts)]


def _parts_of_sentence(sentence: int, length: int, *, room: int | None) -> list[_Part]:
    """Return the parts of a sentence that is encoded alone: one, or several that overlap by half or more."""
    if room is None or length <= room:
        return _spread_parts(sentence, length, length, 1) if length else []
    # Each further part reaches half of a part further, rounded up.
    further = -(-(length - room) // (room // 2))
    return _spread_parts(sentence, length, room, further + 1)


def _parts_of_pair(sentence: int, source: int, target: int, *, room: int | None) -> list[list[_Part]]:
    """Return the inputs of a pair that is encoded as one sequence, each with a part of both sides.

    ``sentence``: Number of the source sentence; the target sentence is the next one. ``source``, ``target``: Pieces.
    """
    if room is None or source + target <= room:
        # One input with both sides; an empty side has no part.
        whole = _parts_of_sentence(sentence, source, room=None)
        whole += _parts_of_sentence(sentence + 1, target, room=None)
        return [whole] if whole else []
    if not (source and target):
        # One side alone, and too long: each part is an input.
        alone = _parts_of_sentence(sentence, source, room=room)
        alone += _parts_of_sentence(sentence + 1, target, room=room)
        return [[part] for part in alone]
    # Both sides are cut into the same number of parts, the fewest that fit, so that part k of one side stands beside
    # part k of the other. With `count` parts that overlap by half, a part has 2 / (count + 1) of the sentence.
    count = 2
    while True:
        # Rounded up, as -(-a // b) does.
        source_size = min(source, -(-2 * source // (count + 1)))
        target_size = min(target, -(-2 * target // (count + 1)))
        if source_size + target_size <= room:
            break
        count += 1
    source_parts = _spread_parts(sentence, source, source_size, count)
    target_parts = _spread_parts(sentence + 1, target, target_size, count)
    return [list(both) for both in zip(source_parts, target_parts, strict=True)]


def length_batches(lengths: list[int], max_tokens: int, *, equal: bool = False) -> Iterator[list[int]]:
    """Yield the numbers of the rows of each batch, the longest rows first.

    A batch has at most ``max_tokens`` with padding, but one row at least; with ``equal`` all its rows are equally long.

    Example:
        >>> list(length_batches([2, 9, 3, 3], 9)), list(length_batches([2, 9, 3, 3], 9, equal=True))
        ([[1], [2, 3, 0]], [[1], [2, 3], [0]])
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        batch = order[start : start + max(1, max_tokens // longest)]
        if equal:
            batch = [row for row in batch if lengths[row] == longest]
        yield batch
        start += len(batch)


def _assemble(
    marks: tuple[list[int], list[int]],
    padding: int,
    sentences: Sequence[Pieces],
    inputs: list[list[_Part]],
    offsets: npt.NDArray[np.int64],
    width: int,
) -> tuple[Tensor, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Build the encoder inputs of a batch.

    Returns the padded ids, and for each state that is kept: its row and column in the batch, and its row in the table.
    """
    opening, closing = marks
    ids = np.full((len(inputs), width), padding, np.int64)
    rows, columns, where = [], [], []
    for row, parts in enumerate(inputs):
        ids[row, : len(opening)] = opening
        column = len(opening)  # where the next part begins
        for part in parts:
            size = part.stop - part.start
            ids[row, column : column + size] = sentences[part.sentence].ids[part.start : part.stop]
            ids[row, column + size : column + size + len(closing)] = closing
            positions = np.arange(part.keep_from, part.keep_to)
            rows.append(np.full(len(positions), row))
            columns.append(positions - part.start + column)
            where.append(positions + offsets[part.sentence])
            column += size + len(closing)
    return torch.from_numpy(ids), np.concatenate(rows), np.concatenate(columns), np.concatenate(where)


def _marks(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Return the special tokens before and behind a sentence: [CLS] and [SEP], or those that the tokenizer puts there.

    T5 has `</s>` behind a sentence and nothing before it. mBART and NLLB have a code of the language beside `</s>`,
    and a [CLS] and [SEP] that their encoders have never read.
    """
    has_language = getattr(tokenizer, "src_lang", None) is not None
    if not has_language and None not in (tokenizer.cls_token_id, tokenizer.sep_token_id):
        return [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    template = single_template(tokenizer)
    if not template.suffix.size:
        raise ConfigurationError(
            f"the tokenizer puts {len(template.prefix)} specials before a sentence and 0 after it, but one after it is "
            "needed; set its cls_token and sep_token"
        )
    return template.prefix.tolist(), template.suffix.tolist()
