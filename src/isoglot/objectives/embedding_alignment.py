"""ALIGN-MLM's auxiliary loss: translations should have the same input embeddings."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

import torch
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, PositiveShare
from isoglot.core.seeding import generator_for
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.formats.schema import LEXICON, require
from isoglot.losses.base import LossOutput
from isoglot.losses.embedding_alignment import EmbeddingAlignment, WordPieces
from isoglot.modules.encoder import input_embeddings
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, Objective


@dataclass(eq=False, repr=False)
class EmbeddingAlignmentObjective(EmbeddingAlignment, Objective):
    """Minus the mean cosine of the embeddings of each dictionary pair: :class:`~isoglot.losses.EmbeddingAlignment`.

    The options of the loss are options here too: its ``lexicon_seed`` also draws the ``share`` of the dictionary.

    Args:
        model: encoder with its masked-LM head.
        tokenizer: needed with ``lexicon``, to cut its entries into pieces.
        lexicon: a bilingual lexicon (MUSE and the like): a data set with the columns of
            :data:`isoglot.formats.schema.LEXICON`.
        copied_vocabulary: instead of a lexicon: the size ``V`` of a vocabulary whose copy stands at ``id + V``, as
            in transliterated derived languages.
        share: the part of the dictionary that is drawn at random and kept; the paper's default is 25 %.
        pieces: ``mean`` averages the embeddings of the pieces of a longer entry; ``single`` leaves out pairs in which
            a side has several pieces.

    Raises:
        ConfigurationError: not exactly one dictionary is given, or no entry can be used.
    """

    top_layer = 0
    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    tokenizer: InitVar[PreTrainedTokenizerBase | None] = None
    lexicon: Dataset | None = field(default=None, repr=False)
    copied_vocabulary: Count | None = None
    share: PositiveShare = 0.25
    pieces: Literal["mean", "single"] = "mean"
    pairs: Sequence[tuple[WordPieces, WordPieces]] = field(init=False)

    def __post_init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self.settle()
        pairs = self._drawn_pairs(input_embeddings(model).num_embeddings, tokenizer)
        self.lexicon = None  # only the pieces of its entries are needed from here on
        if not pairs:
            raise ConfigurationError(
                "embedding_alignment: the dictionary has no entry that this tokenizer can use (every entry is "
                "unknown to it, has equal pieces on both sides or, with `pieces: single`, several pieces); give "
                "another lexicon, set `pieces: mean`, or raise `share`"
            )
        self.set_dictionary(pairs)

    def check_options(self) -> None:
        """Require one dictionary, not none and not two."""
        if (self.lexicon is None) == (self.copied_vocabulary is None):
            raise ConfigurationError(
                "embedding_alignment: give exactly one dictionary, `lexicon: STREAM` or `copied_vocabulary: SIZE`"
            )

    def _drawn_pairs(
        self, rows: int, tokenizer: PreTrainedTokenizerBase | None
    ) -> list[tuple[WordPieces, WordPieces]]:
        """The drawn part of the dictionary; ``rows`` is the number of rows of the encoder's embedding table."""
        if self.copied_vocabulary is not None:
            special = set() if tokenizer is None else set(tokenizer.all_special_ids)
            if rows < 2 * self.copied_vocabulary:
                raise ConfigurationError(
                    f"embedding_alignment: a copied vocabulary needs {2 * self.copied_vocabulary} embedding rows, the "
                    f"model has {rows}; build it with the doubled vocabulary"
                )
            return copied_vocabulary_pairs(
                self.copied_vocabulary, share=self.share, seed=self.lexicon_seed, special=special
            )
        if tokenizer is None:
            raise ConfigurationError("embedding_alignment: a lexicon needs the tokenizer as well")
        usable = lexicon_pairs(self.lexicon, tokenizer, single=self.pieces == "single")
        count = max(1, int(len(usable) * self.share))
        return [usable[i] for i in _draw(len(usable), count, self.lexicon_seed)]

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs read in a step."""
        return torch.tensor(self.pairs_per_step)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum minus the cosine over the dictionary."""
        return self.measure(encodings.table(input_embeddings(encodings.model).weight))

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Advance the step that draws the sample."""
        self.advance()


def lexicon_pairs(
    lexicon: Dataset, tokenizer: PreTrainedTokenizerBase, *, single: bool = False
) -> list[tuple[WordPieces, WordPieces]]:
    """The usable entries of a lexicon as piece ids, in the lexicon's order, each once.

    Entries are cut as words inside a sentence: *Haus* and *house* may become ``([512], [733])``, *Hausboot* and
    *houseboat* ``([512, 98], [733, 41])``. An entry is left out

    1. if a side is empty;
    2. if both sides have the same pieces: their cosine is 1 already;
    3. if a side holds the unknown token;
    4. with ``single``, if a side has several pieces.
    """
    require(lexicon, LEXICON, role="the lexicon of embedding_alignment")
    piece_encoder = PieceEncoder(tokenizer)
    sources = entry_pieces(piece_encoder, list(lexicon["source"]))
    targets = entry_pieces(piece_encoder, list(lexicon["target"]))
    unknown = tokenizer.unk_token_id
    usable: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}  # a set that keeps the order
    for source, target in zip(sources, targets, strict=True):
        if not source or not target or source == target:  # 1, 2
            continue
        if unknown in source or unknown in target:  # 3
            continue
        if single and (len(source) > 1 or len(target) > 1):  # 4
            continue
        usable[tuple(source), tuple(target)] = None
    return [(list(source), list(target)) for source, target in usable]


def entry_pieces(piece_encoder: PieceEncoder, texts: Sequence[str]) -> list[WordPieces]:
    """The pieces of a dictionary's words, cut as inside a sentence; an empty text has none."""
    words = [text.strip() for text in texts]
    encoded = piece_encoder.entries(words)
    # `encoded.ids` has the pieces of all words in one array.
    ids: list[int] = encoded.ids.tolist()
    ends = encoded.lengths.cumsum().tolist()
    lengths = encoded.lengths.tolist()
    return [
        ids[end - length : end] if word else []
        for word, end, length in zip(words, ends, lengths, strict=True)
    ]


def copied_vocabulary_pairs(
    size: int, *, share: float, seed: int, special: set[int] | None = None
) -> list[tuple[WordPieces, WordPieces]]:
    """A random part of the pairs ``(id, id + size)``: ``([7], [407])`` for a vocabulary of 400.

    Special tokens are removed *after* the draw, as in ALIGN-MLM's code, so there may be fewer than ``share · size``
    pairs.
    """
    left_out = special or set()
    drawn = _draw(size, int(size * share), seed)
    return [([i], [i + size]) for i in drawn if i not in left_out]


def _draw(size: int, count: int, seed: int) -> list[int]:
    """Draw ``count`` different numbers below ``size``, ascending; equal seeds draw the same."""
    order = torch.randperm(size, generator=generator_for(seed, "dictionary"))
    return sorted(order[:count].tolist())
