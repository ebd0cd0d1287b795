"""Encode one batch of a corpus as one batch of a stream.

The pieces of all sentences of a side are one flat array, with the number of pieces of each sentence beside it
(:class:`~isoglot.corpus.encode.pieces.SidePieces`), so that numpy works on the whole batch at once. Here, a *length* is
always a number of pieces: ``side.lengths`` before any limit, ``fitting_lengths`` within the limits, ``kept_lengths``
with 0 for rows that are dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from isoglot.core.errors import InputError
from isoglot.core.options import Options
from isoglot.corpus.encode.links import Subword, index_words, project_links, sort_links
from isoglot.corpus.encode.pieces import PieceEncoder, SidePieces
from isoglot.corpus.encode.store import list_array
from isoglot.formats.words import WordMode

EncodableKind = Literal["text", "bitext", "aligned", "lexicon"]
"""Kinds of corpora that can be encoded."""

_Int = NDArray[np.int64]


class EncodeOptions(Options):
    """Options by which a corpus becomes a stream.

    Attributes:
        kind: ``text``, ``bitext``, ``aligned`` or ``lexicon``; by default the columns tell. A lexicon has the columns
            of a bitext, so it must be named.
        max_length: Longest example in pieces, both sides together, special tokens included; ``None`` for no limit, if
            the stream is packed into blocks afterwards.
        max_side: Longest side of a pair in pieces, without special tokens (XLM-Align's data: 254).
        overlong: ``drop`` the example, or ``truncate``: each side to ``max_side``, then the longer side until the pair
            fits. Links to pieces that were cut off are dropped and counted.
        pair_template: Special tokens of a pair that count: those of the tokenizer (``hf``), or one separator
            (``single``).
        words: Way of cutting raw text into words: ``unicode`` or ``whitespace``.
        subword: Pieces of linked words that are linked (:func:`isoglot.corpus.encode.links.project_links`).
        align_on: ``words`` for links between words; ``pieces`` for links that were made between pieces already.
        drop_identical: Drop links between words that are spelt alike (Cao et al. 2020).
    """

    kind: EncodableKind | None = None
    max_length: int | None = Field(default=128, ge=3)
    max_side: int | None = Field(default=None, ge=1)
    overlong: Literal["drop", "truncate"] = "drop"
    pair_template: Literal["hf", "single"] = "hf"
    words: WordMode = "unicode"
    subword: Subword = "all"
    align_on: Literal["words", "pieces"] = "words"
    drop_identical: bool = False


@dataclass(frozen=True)
class BatchEncoder:
    """Encodes batches of one kind of corpus.

    Args:
        kind: The kind.
        options: How texts are cut to length, and which pieces are linked.
        pieces: Cuts texts into pieces.
        specials: Special tokens that an example has: they count for ``max_length``.
    """

    kind: EncodableKind
    options: EncodeOptions
    pieces: PieceEncoder
    specials: int

    def encode(self, columns: Mapping[str, Any], *, first_row: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Encode a batch: the columns of a corpus become the columns of a stream.

        Args:
            columns: Arrow arrays of the corpus.
            first_row: Number of the batch's first row in the corpus.

        Returns:
            Arrow arrays of the stream, and counts of what was kept, dropped and cut.
        """
        names = ("text",) if self.kind == "text" else ("source", "target")
        sides = [self._side(name, columns) for name in names]

        # Rows that are kept: both sides have pieces, and nothing is too long, or what is too long is cut.
        fitting_lengths = self._fitting_lengths(sides)
        has_pieces = np.all([side.lengths > 0 for side in sides], axis=0)
        exceeds = np.zeros(len(has_pieces), dtype=bool)
        for side, lengths in zip(sides, fitting_lengths, strict=True):
            exceeds |= lengths != side.lengths
        too_long = has_pieces & exceeds
        drops = self.options.overlong == "drop"
        is_kept = has_pieces & ~too_long if drops else has_pieces
        rows = np.flatnonzero(is_kept)
        kept_lengths = [np.where(is_kept, lengths, 0) for lengths in fitting_lengths]

        counts = {
            "examples": len(has_pieces),
            "kept": len(rows),
            "empty": int((~has_pieces).sum()),
            "overlong": int(too_long.sum()) if drops else 0,
            "truncated": 0 if drops else int(too_long.sum()),
            "pieces": int(sum(lengths.sum() for lengths in kept_lengths)),
            # Sentences, not words; the name is that in manifests.
            "words_not_located": sum(side.not_located for side in sides),
        }
        stream = {"length": pa.array(np.sum(kept_lengths, axis=0)[rows]), "row": pa.array(rows + first_row)}
        for name, side, lengths in zip(names, sides, kept_lengths, strict=True):
            # Each sentence keeps its first pieces.
            first_pieces = np.cumsum(side.lengths) - side.lengths
            place_in_sentence = np.arange(len(side.ids)) - np.repeat(first_pieces, side.lengths)
            kept_pieces = place_in_sentence < np.repeat(lengths, side.lengths)
            prefix = "" if self.kind == "text" else f"{name}_"
            ids_name = "input_ids" if self.kind == "text" else f"{name}_ids"
            stream[f"{prefix}language"] = columns[f"{prefix}language"].take(pa.array(rows))
            stream[ids_name] = list_array(side.ids[kept_pieces], lengths[rows])
            stream[f"{prefix}word_ids"] = list_array(side.word_ids[kept_pieces], lengths[rows])

        if self.kind == "aligned":
            source, target = sides
            links = self._piece_links(columns, source, target, first_row, counts)
            # Links to pieces that are not kept are dropped. Of a dropped row no piece is kept.
            row, source_piece, target_piece = links.T
            source_lengths, target_lengths = kept_lengths
            is_inside = (source_piece < source_lengths[row]) & (target_piece < target_lengths[row])
            counts["links_cut"] = int((~is_inside & is_kept[row]).sum())
            counts["piece_links"] = int(is_inside.sum())
            links_per_row = np.bincount(row[is_inside], minlength=len(is_kept))
            stream["links"] = list_array(links[is_inside, 1:], links_per_row[rows], width=2)
        return stream, counts

    def _side(self, name: str, columns: Mapping[str, Any]) -> SidePieces:
        """Cut one side of the batch (``text``, ``source`` or ``target``) into pieces.

        1. The words of the corpus are encoded if the links count these words, or if the corpus has no text.
        2. An entry of a lexicon is encoded as a word that stands in a sentence.
        3. Any other text is encoded as it is; so is the text of a corpus whose links count pieces (``align_on``).
        """
        texts = columns[name].to_pylist() if name in columns else None
        links_count_words = self.kind == "aligned" and self.options.align_on == "words"
        if texts is None or links_count_words:
            words = columns["words" if name == "text" else f"{name}_words"]
            return self.pieces.word_lists(words.to_pylist(), texts)  # 1
        if self.kind == "lexicon":
            return self.pieces.entries(texts)  # 2
        return self.pieces.texts(texts)  # 3

    def _fitting_lengths(self, sides: Sequence[SidePieces]) -> list[_Int]:
        """The number of pieces of each sentence that are within the limits, for each side."""
        max_length, max_side = self.options.max_length, self.options.max_side
        budget = None if max_length is None else max(max_length - self.specials, 0)
        if len(sides) == 2:
            source, target = sides
            return list(fit_pair(source.lengths, target.lengths, max_side=max_side, budget=budget))
        lengths = sides[0].lengths
        for limit in (max_side, budget):
            if limit is not None:
                lengths = np.minimum(lengths, limit)
        return [lengths]

    def _piece_links(
        self,
        columns: Mapping[str, Any],
        source: SidePieces,
        target: SidePieces,
        first_row: int,
        counts: dict[str, int],
    ) -> _Int:
        """Read the links of the batch, and turn them into links between pieces, before any piece is cut off.

        ``counts`` receives the numbers of links.

        **Shape**: (links, 3), as in :mod:`isoglot.corpus.encode.links`.
        """
        on_words = self.options.align_on == "words"
        links = _read_links(columns["links"], first_row)
        sizes = (source.word_counts, target.word_counts) if on_words else (source.lengths, target.lengths)
        _check_links(links, sizes, unit="word" if on_words else "piece", first_row=first_row)
        links = sort_links(links)
        counts["links"] = len(links)
        if self.options.drop_identical and on_words:
            source_words, target_words = (
                columns["source_words"].to_pylist(),
                columns["target_words"].to_pylist(),
            )
            identical = [source_words[row][i] == target_words[row][j] for row, i, j in links.tolist()]
            links = links[~np.array(identical, dtype=bool)]
        counts["links_filtered"] = counts["links"] - len(links)
        if not on_words:
            counts["links_without_pieces"] = 0
            return links

        # Words of zero-width characters have no piece, and their links are lost.
        source_index, target_index = (
            index_words(side.word_ids, side.lengths, side.word_counts) for side in (source, target)
        )
        row, source_word, target_word = links.T
        without_pieces = source_index.counts_of(row, source_word) == 0
        without_pieces |= target_index.counts_of(row, target_word) == 0
        counts["links_without_pieces"] = int(without_pieces.sum())
        return project_links(links, source_index, target_index, subword=self.options.subword)


def fit_pair(source: _Int, target: _Int, *, max_side: int | None, budget: int | None) -> tuple[_Int, _Int]:
    """Limit the lengths of pairs.

    1. Each side keeps at most ``max_side`` pieces.
    2. If both together exceed ``budget``, the longer side is cut until they fit: with a budget of 8, lengths 9 and 3
       become 5 and 3, and 3 and 9 become 3 and 5.
    3. If both are longer than half of the budget, both become half of it, the source one longer if it is odd: with a
       budget of 7, lengths 9 and 8 become 4 and 3, and so do 8 and 9.

    **Shape**: source, target and both results (pairs,).
    """
    if max_side is not None:
        source, target = np.minimum(source, max_side), np.minimum(target, max_side)
    if budget is None:
        return source, target
    larger_half = budget - budget // 2
    # The source may have its half, or more if the target leaves more: of a budget of 8, it may have 4 beside a target
    # of 9, and 5 beside a target of 3. The target may have the rest.
    most_of_source = np.maximum(budget - target, larger_half)
    source = np.minimum(source, most_of_source)
    return source, np.minimum(target, budget - source)


def _read_links(column: Any, first_row: int) -> _Int:
    """Read a column of lists of links ``[source, target]``. **Shape**: (links, 3), with the row in front."""
    links_per_row = np.diff(column.offsets.to_numpy())
    pairs = column.flatten()
    widths = np.diff(pairs.offsets.to_numpy())
    rows = np.repeat(np.arange(len(links_per_row), dtype=np.int64), links_per_row)
    wrong = np.flatnonzero(widths != 2)
    if len(wrong):
        row, width = int(rows[wrong[0]]) + first_row, int(widths[wrong[0]])
        raise InputError(
            f"corpus row {row}: a link has {width} numbers; it must be [source word, target word]"
        )
    source_and_target = pairs.flatten().to_numpy(zero_copy_only=False).astype(np.int64).reshape(-1, 2)
    return np.column_stack([rows, source_and_target])


def _check_links(links: _Int, sizes: tuple[_Int, _Int], *, unit: str, first_row: int) -> None:
    """Refuse links outside their sentences, whose sizes are given for each side."""
    rows = links[:, 0]
    for name, values, size in zip(("source", "target"), links[:, 1:].T, sizes, strict=True):
        wrong = np.flatnonzero((values < 0) | (values >= size[rows]))
        if len(wrong):
            row, *link = links[wrong[0]].tolist()
            raise InputError(
                f"corpus row {row + first_row}: link {link} is too high, the {name} side has {int(size[row])} {unit}s "
                f"(0-based); check that links and {unit}s belong together"
            )
