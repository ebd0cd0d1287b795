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
from isoglot.aligners.alignment import MOST_ENTRIES, LinkTable, starts_and_end, with_links
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.loading import load_for_aligning, load_pointer
from isoglot.aligners.embedding.options import Attach, EmbeddingOptions, Values, values_of
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
from isoglot.modules.isolation import isolated_precision

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_LOG = logging.getLogger(__name__)

# Cells of the padded similarity matrices of one extraction batch. On a CPU 128 KB in float32, which stay in its
# second cache (0.10 ms a pair for itermax against 0.27 with 4 MB); elsewhere what makes a kernel worth its launch.
_CELLS, _CELLS_DEVICE = 32_000, 4_000_000
# Pairs that are encoded and linked together; more on a device that is fast enough to wait for the tokenizer.
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
        **overrides: options by name, in place of ``options``; with a ``method``, nothing that was chosen is taken.

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
        """How many pairs are encoded and linked together by default."""
        return _WINDOW if self.model.device.type == "cpu" else _WINDOW_DEVICE

    def _choose(self, options: EmbeddingOptions) -> None:
        self.options, self._pointer = options, None
        self.values: Values = values_of(options)
        layers, layer = num_layers(self.model), options.layer
        if options.method == "pointer":
            self._pointer, trained_on = load_pointer(self._source, self.model)
            if layer is None:
                layer = layers if trained_on is None else trained_on
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

        def run(source: list[list[str]], target: list[list[str]]) -> dict[str, list[Any]]:
            nonlocal number
            unlinked = [SentencePair(words=words) for words in zip(source, target, strict=True)]
            pairs = list(self._links(unlinked, unknown, number))
            number += len(pairs)
            return {
                "links": [[list(pair) for pair in f.links] for f in pairs],
                "link_probabilities": [f.probabilities for f in pairs],
                "alignment_score": [f.score for f in pairs],
            }

        # Nothing short names an encoder's weights, so no cached result is to be taken for this one's.
        with counted(None, UNLINKED) as unknown:
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
        """The states of several layers from one run of the encoder, and their pieces, for :meth:`extract`.

        The states of all pairs are in memory, ``layers`` times.
        """
        pieces = cut_known_words(self.tokenizer, [words for pair in pairs for words in pair])
        with counted(unknown, UNLINKED) as receive:
            for row, pair in enumerate(pairs):
                self._check(first + row + 1, pair, pieces, 2 * row, receive)
        states = layer_states(
            self.model,
            self.tokenizer,
            pieces,
            layers=layers,
            joint=self.options.encode == "joint",
            max_tokens=self.options.max_tokens,
            window=self.options.window(),
        )
        return states, pieces

    @isolated_precision()
    @torch.inference_mode()
    def extract(self, states: Mapping[int, PieceStates], pieces: list[Pieces]) -> dict[int, LinkTable]:
        """The links by the states of each layer, with probabilities; any aligner of the same encoding may do it."""
        units = word_states if self.options.level == "word" else known_states
        return {layer: self._extract(*units(table, pieces)) for layer, table in states.items()}

    def with_links(
        self, pairs: Sequence[SentencePair], table: LinkTable, pieces: Sequence[Pieces]
    ) -> Iterator[SentencePair]:
        """The pairs with their links of a table of :meth:`extract`; those below the least score get none."""
        lengths = ([len(pair.words[side]) for pair in pairs] for side in (0, 1))
        linked = with_links(pairs, table, *lengths, min_score=self.options.min_score)
        if (how := self.options.attach) is None:
            yield from linked
            return
        for row, pair in enumerate(linked):
            source, target = (  # those without a known piece are empty
                [word if number in cut.words else "" for number, word in enumerate(words)]
                for words, cut in zip(pair.words, pieces[2 * row : 2 * row + 2], strict=True)
            )
            yield attach(pair, how, words=(source, target))

    def _links(
        self, pairs: Sequence[SentencePair], unknown: OnUnknown, first: int = 0
    ) -> Iterator[SentencePair]:
        words = [pair.words for pair in pairs]
        states, pieces = self.encode(words, (self.layer,), first=first, unknown=unknown)
        return self.with_links(pairs, self.extract(states, pieces)[self.layer], pieces)

    def _extract(self, states: PieceStates, pieces: list[Pieces]) -> LinkTable:
        """Similarities, links and their words, for batches of pairs of like size."""
        table = states.table.float()
        if getattr(self.options, "compare", None) == "cosine":
            table = torch.nn.functional.normalize(table, dim=-1, eps=1e-12)
        states = PieceStates(table, states.offsets)
        words = np.fromiter(itertools.chain.from_iterable(p.words for p in pieces), np.int64)
        lengths = np.diff(states.offsets)
        cells = _CELLS if states.table.device.type == "cpu" else _CELLS_DEVICE
        none = np.zeros(0, np.int64)
        columns: list[tuple[np.ndarray[Any, Any], ...]] = [(none, none, none, np.zeros(0, np.float32))]
        for batch in _matrix_batches(lengths[0::2], lengths[1::2], cells):
            source, target = (_gather(states, words, 2 * batch + side) for side in (0, 1))
            mask = pair_mask(source.mask, target.mask)
            links, probability = score_links(self.options, source, target, mask, self._pointer)
            require_finite(probability[mask], f"link scores of {self.options.method}")
            b, i, j = links.nonzero().T
            linked = source.words[b, i], target.words[b, j], probability[b, i, j].float()
            columns.append((batch[b.cpu().numpy()], *(part.cpu().numpy() for part in linked)))
        sentence, source_word, target_word, value = (
            np.concatenate(part) for part in zip(*columns, strict=True)
        )
        # Piece links as word links: a word is linked if any of its pieces is, with the best piece link's probability.
        order = np.lexsort((-value, target_word, source_word, sentence))
        real = (source_word >= 0) & (target_word >= 0) & (value >= self.options.min_probability)
        order = order[real[order]]
        sentence, source_word, target_word = sentence[order], source_word[order], target_word[order]
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(sentence) != 0) | (np.diff(source_word) != 0) | (np.diff(target_word) != 0)
        offsets = starts_and_end(np.bincount(sentence[new], minlength=len(pieces) // 2))
        ends = source_word[new].astype(np.int32), target_word[new].astype(np.int32)
        return LinkTable(offsets, *ends, value[order][new])

    def _check(self, number: int, pair: WordPair, pieces: list[Pieces], row: int, unknown: OnUnknown) -> None:
        """Warn of empty sides, report unknown words; a pair that is too long loses its pieces."""
        for side, words, cut in zip(("source", "target"), pair, pieces[row : row + 2], strict=True):
            if not words:
                self._warn(number, f"the {side} side is empty; it gets no links")
            elif missing := sorted(set(range(len(words))) - set(cut.words)):
                known = (piece for piece, word in zip(cut.ids, cut.words, strict=True) if word >= 0)
                whole = not any(map(self._known.letters, known))
                unknown(number, [words[word] for word in missing], whole)
        n, m = (len(cut.ids) for cut in pieces[row : row + 2])
        if n * m > MOST_ENTRIES:
            pieces[row : row + 2] = Pieces([], []), Pieces([], [])
            self._warn(number, f"{n:,} × {m:,} pieces are too long for one pair; it gets no links: split it")


def attach(pair: SentencePair, how: Attach, *, words: WordPair | None = None) -> SentencePair:
    """Give words without a link those of a longer neighbour: an article or a preposition has its noun's.

    For English *teams* and Spanish *los equipos* an aligner links the nouns, and annotators differ on *los*. That a
    word is shorter than its neighbour stands for a function word beside its head, and needs no list of words.
    Punctuation stays without links. A link that is taken over has the probability of the neighbour's; the pair's
    score remains that of the links that were found. ``words``: Those of the pair, or an empty one for each that gets no
    link.

    Example:
        >>> pair = SentencePair.of(["teams"], ["los", "equipos"], links=[(0, 1)], probabilities=[0.9])
        >>> attach(pair, "target_next").links
        [(0, 0), (0, 1)]
    """
    side, step = int(how.startswith("target")), 1 if how.endswith("next") else -1
    candidates = (words or pair.words)[side]
    linked = {link[side] for link in pair.links}
    more = []
    for link, probability in zip(pair.links, pair.probabilities, strict=True):
        number = link[side] - step
        if not 0 <= number < len(candidates) or number in linked or not candidates[number][:1].isalnum():
            continue
        if len(candidates[number]) < len(candidates[link[side]]):
            more.append(((link[0], number) if side else (number, link[1]), probability))
    links = sorted([*zip(pair.links, pair.probabilities, strict=True), *more])
    pair.links, pair.probabilities = [link for link, _ in links], [value for _, value in links]
    return pair


def _matrix_batches(
    n: np.ndarray[Any, Any], m: np.ndarray[Any, Any], cells: int
) -> Iterator[np.ndarray[Any, Any]]:
    """Pairs with both sides filled, of like size, cut so that the padded matrices stay in the budget."""
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
    """The states and words of some sentences, padded to the longest."""
    starts, lengths = states.offsets[sentences], np.diff(states.offsets)[sentences]
    column = np.arange(lengths.max())
    mask = column[None] < lengths[:, None]
    rows = np.where(mask, starts[:, None] + column[None], 0)
    of_word = np.where(mask, words[rows], -1)
    index, real, word = (torch.from_numpy(a).to(states.table.device) for a in (rows, mask, of_word))
    return Side(states.table[index], real, word)
