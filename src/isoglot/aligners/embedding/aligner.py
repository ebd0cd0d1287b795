"""Word links from an encoder's hidden states: SimAlign, awesome-align, XLM-Align's optimal transport, pointers."""

from __future__ import annotations

import copy
import itertools
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch

from isoglot.aligners.aligner import is_corpus
from isoglot.aligners.alignment import MOST_ENTRIES, LinkTable, give_links, starts_and_end
from isoglot.aligners.embedding.attach import attach, known_words
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.loading import load_for_aligning, load_pointer
from isoglot.aligners.embedding.options import EmbeddingOptions, Values, values_of
from isoglot.aligners.embedding.piece_states import (
    Pieces,
    PieceStates,
    cut_known_words,
    known_states,
    layer_states,
    word_states,
)
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.embedding.scores import Side, score_links
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.unknown import UNLINKED, KnownPieces, OnUnknown, counted
from isoglot.formats.sentence_pair import SentencePair, WordPair, require_words
from isoglot.formats.words import WordMode
from isoglot.modules.allocator import return_free_memory
from isoglot.modules.encoder import layer_number, num_layers
from isoglot.modules.extraction import pair_mask
from isoglot.modules.finite import require_finite
from isoglot.modules.isolation import isolated_computation

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_LOG = logging.getLogger(__name__)

# Maximum cells of the padded similarity matrices of one batch of pairs whose links are extracted. On a CPU 32,000 cells
# take 128 KB in float32 and stay in its L2 cache (0.10 ms a pair for itermax, against 0.27 with 4 MB). Other devices
# need many cells to be worth a launch.
_CELLS, _CELLS_DEVICE = 32_000, 4_000_000
# Pairs of a window, which are encoded and linked together. Other devices are so fast that they would wait for the
# tokenizer, so they get more.
_WINDOW, _WINDOW_DEVICE = 256, 4096


class EmbeddingAligner:
    """Links words whose contextual vectors are similar.

    A word that the vocabulary does not know has no vector and gets no link, and the pair's score counts it as
    unaligned; of a word that it knows by half or more of its letters the known pieces count. A run ends with one
    :class:`~isoglot.core.errors.UnknownWordsWarning`.

    Args:
        model: an encoder, or the folder or hub name of one.
        tokenizer: its fast tokenizer; by default loaded from the same place.
        options: everything else; see :class:`EmbeddingOptions`. By default those that were chosen for an encoder, which
            ``aligner.json`` beside it has and ``"box"`` too, and else ``itermax``.
        warn: called with the 1-based number of a pair and a message, for pairs that cannot be aligned; by default
            they are logged.
        **overrides: options by name, in place of ``options``. Without ``method`` those that were chosen for the encoder
            are added. With ``method`` nothing is added, not even the chosen layer: all others have their defaults.

    Example:
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> aligner = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2)
        >>> len(aligner.align_words(["the", "river"], ["ta", "potamo"]).links) > 0
        True

    Raises:
        ConfigurationError: an unknown option, a layer that the model does not have, a checkpoint without a pointer.

    Source: Jalili Sabet et al. 2020 (argmax, itermax, match); Dou and Neubig 2021 (softmax, entmax); Chi et al. 2021
    (optimal transport, pointer).
    """

    learns: bool = False
    languages: tuple[str, str] = ("", "")
    words: WordMode | None = None

    def __init__(
        self,
        model: PreTrainedModel | str | Path,
        *,
        tokenizer: PreTrainedTokenizerBase | None = None,
        options: EmbeddingOptions | None = None,
        warn: Callable[[int, str], None] | None = None,
        **overrides: Any,
    ) -> None:
        if options is not None and overrides:
            raise ConfigurationError(
                "got both options= and single options; put everything in EmbeddingOptions(...)"
            )
        if options is None:
            # With a method `with_kept` is not asked, although it would add the kept layer, as the verbs do: code that
            # names a method gets the same links whatever is kept beside the encoder.
            if isinstance(model, str | Path) and "method" not in overrides:
                overrides = with_kept(model, overrides)
            options = EmbeddingOptions.build(**overrides)
        self.model, self.tokenizer = load_for_aligning(
            model, tokenizer, dtype=options.resolved_dtype(), device=options.device
        )
        self._source, self._known = model, KnownPieces(self.tokenizer)
        self._choose(options)
        self._warn = warn or partial(_LOG.warning, "pair %d: %s")

    def with_options(self, options: EmbeddingOptions) -> EmbeddingAligner:
        """The same aligner with other options; the encoder is shared, so its dtype and device stay as they are."""
        aligner = copy.copy(self)
        aligner._choose(options)
        return aligner

    @property
    def window(self) -> int:
        """Number of pairs that are encoded and linked together by default."""
        return _WINDOW if self.model.device.type == "cpu" else _WINDOW_DEVICE

    def _choose(self, options: EmbeddingOptions) -> None:
        """Take options over: the layer to read, and the pointer network of method ``pointer``.

        The layer is the one that ``options`` names, else the one that the pointer was trained on (if that is not
        recorded, the last one), else 8 or the last one of a smaller encoder.
        """
        self.options, self._pointer = options, None
        self.values: Values = values_of(options)
        layers, layer = num_layers(self.model), options.layer
        if options.method == "pointer":
            self._pointer, trained_on = load_pointer(self._source, self.model)
            if layer is None:
                layer = layers if trained_on is None else trained_on
        # 8: the layer that SimAlign reads.
        self.layer = layer_number(self.model, min(8, layers) if layer is None else layer)

    @overload
    def align(self, bitext: Iterable[SentencePair]) -> Iterator[SentencePair]: ...

    @overload
    def align(self, bitext: Dataset, *, batch_size: int = 1000) -> Dataset: ...

    def align(
        self, bitext: Dataset | Iterable[SentencePair], *, batch_size: int = 1000
    ) -> Dataset | Iterator[SentencePair]:
        """Link the words of pairs, or of a BITEXT corpus (or ALIGNED, whose words are kept), which becomes ALIGNED.

        Text of pairs is cut as running text. ``batch_size``: Pairs of a corpus in memory at a time.

        **Columns** read of a corpus: those of BITEXT, and ``source_words`` and ``target_words`` where it has them.
        Added: ``link_probabilities`` (one a link) and ``alignment_score`` (one a pair).
        """
        if not is_corpus(bitext):
            return align_running(self, (pair.cut("unicode") for pair in bitext))
        from isoglot.aligners.words import add_links  # noqa: PLC0415 - loads datasets

        number = 0
        with counted(None, UNLINKED) as unknown:

            def run(source: list[list[str]], target: list[list[str]]) -> dict[str, list[Any]]:
                nonlocal number
                unlinked = [SentencePair(words=words) for words in zip(source, target, strict=True)]
                pairs = list(self._links(unlinked, unknown, number))
                number += len(pairs)
                return {
                    "links": [[list(link) for link in pair.links] for pair in pairs],
                    "link_probabilities": [pair.probabilities for pair in pairs],
                    "alignment_score": [pair.score for pair in pairs],
                }

            # A random key, so that `datasets` never takes a cached result: no short key stands for the weights.
            return add_links(bitext, run, batch_size=batch_size, key=uuid.uuid4().hex)

    def align_words(self, source: Sequence[str], target: Sequence[str]) -> SentencePair:
        """Link one sentence pair given as words."""
        with counted(None, UNLINKED) as unknown:
            return next(self._links([require_words((source, target))], unknown))

    def align_pairs(
        self,
        pairs: Iterable[SentencePair | WordPair],
        *,
        window: int | None = None,
        first: int = 0,
        unknown: OnUnknown | None = None,
    ) -> Iterator[SentencePair]:
        """Link any number of pairs with words, in order, at most ``window`` of them in memory at a time.

        ``first`` is how many pairs came before these, for the numbers in warnings. ``unknown`` receives the words that
        the vocabulary does not know; by default one warning at the end counts them.
        """
        iterator, window = map(require_words, pairs), window or self.window
        with counted(unknown, UNLINKED) as receive:
            while chunk := list(itertools.islice(iterator, window)):
                yield from self._links(chunk, receive, first)
                first += len(chunk)
                return_free_memory()

    @torch.inference_mode()
    def encode(
        self,
        pairs: Sequence[WordPair],
        layers: Sequence[int],
        *,
        first: int = 0,
        unknown: OnUnknown | None = None,
    ) -> tuple[dict[int, PieceStates], list[Pieces]]:
        """Return the states of several layers from one run of the encoder, and the pieces, for :meth:`extract`.

        The pieces are those of the source of pair 0, its target, the source of pair 1, and so on. The states of all
        pairs are in memory at once, for each of the layers.
        """
        sentences = list(itertools.chain.from_iterable(pairs))
        pieces = cut_known_words(self.tokenizer, sentences)
        with counted(unknown, UNLINKED) as receive:
            for row, pair in enumerate(pairs):
                number, sides = first + row + 1, slice(2 * row, 2 * row + 2)
                self._report_unlinked(number, pair, pieces[sides], receive)
                n, m = map(len, pieces[sides])
                if n * m > MOST_ENTRIES:
                    pieces[sides] = Pieces([], []), Pieces([], [])
                    self._warn(
                        number, f"{n:,} × {m:,} pieces are too long for one pair; it gets no links: split it"
                    )
        states = layer_states(
            self.model,
            self.tokenizer,
            pieces,
            layers=layers,
            joint=self.options.encode == "joint",
            max_tokens=self.options.max_tokens,
            max_pieces=self.options.max_pieces(),
        )
        return states, pieces

    @isolated_computation()
    @torch.inference_mode()
    def extract(self, states: Mapping[int, PieceStates], pieces: list[Pieces]) -> dict[int, LinkTable]:
        """Return the links that each layer gives, with probabilities.

        1. Pieces of unknown words are left out. With ``level="word"`` each word then counts as one piece in all that
           follows, and its state is the mean of the states of its pieces.
        2. With ``compare="cosine"`` each of these states is divided by its length.
        3. Pieces are linked by the method (``scores.py``).
        4. Links of pieces become links of words, and those below ``min_probability`` are left out.

        The states may come from :meth:`encode` of another aligner whose options encode in the same way.
        """
        select_states = word_states if self.options.level == "word" else known_states  # 1
        links = {}
        for layer, all_states in states.items():
            compared_states, compared_pieces = select_states(all_states, pieces)
            links[layer] = self._extract(compared_states, compared_pieces)  # 2, 3, 4
        return links

    def with_links(
        self, pairs: Sequence[SentencePair], table: LinkTable, pieces: Sequence[Pieces]
    ) -> Iterator[SentencePair]:
        """Give pairs the links of a table that :meth:`extract` made; none to a pair whose score is too low.

        With the option ``attach`` unlinked words then take over links of a neighbour, if the encoder knows them.
        """
        source_lengths = [len(pair.words[0]) for pair in pairs]
        target_lengths = [len(pair.words[1]) for pair in pairs]
        linked = give_links(pairs, table, source_lengths, target_lengths, min_score=self.options.min_score)
        if self.options.attach is None:
            yield from linked
            return
        for row, pair in enumerate(linked):
            source = known_words(pair.words[0], pieces[2 * row])
            target = known_words(pair.words[1], pieces[2 * row + 1])
            yield attach(pair, self.options.attach, words=(source, target))

    def _links(
        self, pairs: Sequence[SentencePair], unknown: OnUnknown, first: int = 0
    ) -> Iterator[SentencePair]:
        """Link the words of pairs, all at once; ``first``: Number of pairs before them."""
        words = [pair.words for pair in pairs]
        states, pieces = self.encode(words, (self.layer,), first=first, unknown=unknown)
        return self.with_links(pairs, self.extract(states, pieces)[self.layer], pieces)

    def _extract(self, states: PieceStates, pieces: list[Pieces]) -> LinkTable:
        """Return the word links of all pairs, by one layer; pairs of similar size are compared in one batch."""
        # Vectors of length 1, so that their products are cosines.
        table = states.table.float()
        if getattr(self.options, "compare", None) == "cosine":
            table = torch.nn.functional.normalize(table, dim=-1, eps=1e-12)
        states = PieceStates(table, states.offsets)
        words = np.fromiter(itertools.chain.from_iterable(p.words for p in pieces), np.int64)
        lengths = np.diff(states.offsets)
        cells = _CELLS if states.table.device.type == "cpu" else _CELLS_DEVICE

        # Links of pieces, as columns: pair, source word, target word, probability. The first, empty ones stand for a
        # text without any batch.
        none = np.zeros(0, np.int64)
        columns: list[tuple[np.ndarray[Any, Any], ...]] = [(none, none, none, np.zeros(0, np.float32))]
        # Sources and targets take turns in the table: sentence 2k is the source of pair k, 2k + 1 its target.
        for batch in _matrix_batches(lengths[0::2], lengths[1::2], cells):
            source, target = _gather(states, words, 2 * batch), _gather(states, words, 2 * batch + 1)
            mask = pair_mask(source.mask, target.mask)
            links, probability = score_links(self.options, source, target, mask, self._pointer)
            require_finite(probability[mask], f"link scores of {self.options.method}")
            # Link k is between source piece i[k] and target piece j[k] of pair b[k] of the batch.
            b, i, j = links.nonzero().T
            pair_number = batch[b.cpu().numpy()]
            source_word = source.words[b, i].cpu().numpy()
            target_word = target.words[b, j].cpu().numpy()
            value = probability[b, i, j].float().cpu().numpy()
            columns.append((pair_number, source_word, target_word, value))
        return self._links_of_words(columns, len(pieces) // 2)

    def _links_of_words(self, columns: Sequence[tuple[np.ndarray[Any, Any], ...]], pairs: int) -> LinkTable:
        """Turn links of pieces into links of words.

        1. Two words are linked if any of their pieces are, with the probability of the best link between their pieces.
        2. Links of pieces that belong to no word (whose word is negative) are left out.
        3. Links below ``min_probability`` are left out.

        ``columns``: Pair, source word, target word and probability of links of pieces, batch by batch. ``pairs``:
        Number of all pairs.
        """
        pair_number, source_word, target_word, value = (
            np.concatenate(column) for column in zip(*columns, strict=True)
        )
        # Sorted so that the links between two words stand together, the best one first.
        order = np.lexsort((-value, target_word, source_word, pair_number))
        kept = (source_word >= 0) & (target_word >= 0) & (value >= self.options.min_probability)  # 2, 3
        order = order[kept[order]]
        pair_number, source_word, target_word = pair_number[order], source_word[order], target_word[order]
        # 1: the first link between two words is their best one.
        is_first = np.ones(len(order), bool)
        is_first[1:] = (np.diff(pair_number) != 0) | (np.diff(source_word) != 0) | (np.diff(target_word) != 0)
        offsets = starts_and_end(np.bincount(pair_number[is_first], minlength=pairs))
        source_words = source_word[is_first].astype(np.int32)
        target_words = target_word[is_first].astype(np.int32)
        return LinkTable(offsets, source_words, target_words, value[order][is_first])

    def _report_unlinked(
        self, number: int, pair: WordPair, pieces: Sequence[Pieces], unknown: OnUnknown
    ) -> None:
        """Warn of an empty side, and report the words of which no piece is known.

        ``number``: 1-based number of the pair. ``pieces``: Those of its source and of its target.
        """
        for side, words, cut in zip(("source", "target"), pair, pieces, strict=True):
            if not words:
                self._warn(number, f"the {side} side is empty; it gets no links")
                continue
            missing = sorted(set(range(len(words))) - set(cut.words))
            if missing:
                # Whether no letter of the sentence is known, which speaks for an encoder of other scripts.
                known = (piece for piece, word in zip(cut.ids, cut.words, strict=True) if word >= 0)
                is_unknown = not any(map(self._known.letters, known))
                unknown(number, [words[word] for word in missing], is_unknown)


def _matrix_batches(
    n: np.ndarray[Any, Any], m: np.ndarray[Any, Any], cells: int
) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the numbers of pairs that are compared together: as many as fit into ``cells`` when padded, at least one.

    ``n``, ``m``: Source and target pieces of each pair. Pairs are sorted by size, so that little is padding. Pairs with
    an empty side are left out.
    """
    filled = np.flatnonzero((n > 0) & (m > 0))
    order = filled[np.lexsort((m[filled], n[filled]))]
    start = 0
    while start < len(order):
        height, width, stop = 0, 0, start
        while stop < len(order):
            height, width = max(height, n[order[stop]]), max(width, m[order[stop]])
            if stop > start and (stop + 1 - start) * height * width > cells:
                break
            stop += 1
        yield order[start:stop]
        start = stop


def _gather(states: PieceStates, words: np.ndarray[Any, Any], sentences: np.ndarray[Any, Any]) -> Side:
    """Return the states and words of some sentences, padded to the longest of them.

    ``words``: The word of each row of the table.
    """
    starts, lengths = states.offsets[sentences], np.diff(states.offsets)[sentences]
    column = np.arange(lengths.max())
    mask = column[None] < lengths[:, None]
    rows = np.where(mask, starts[:, None] + column[None], 0)  # padding reads row 0, which the mask hides
    of_word = np.where(mask, words[rows], -1)
    device = states.table.device
    padded = states.table[torch.from_numpy(rows).to(device)]
    return Side(padded, torch.from_numpy(mask).to(device), torch.from_numpy(of_word).to(device))
