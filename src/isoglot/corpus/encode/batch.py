"""One batch of a corpus to one batch of a stream, in flat arrays."""

from collections.abc import Mapping
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

Kind = Literal["text", "bitext", "aligned", "lexicon"]
"""Kinds of corpora that can be encoded."""

_Int = NDArray[np.int64]


class EncodeOptions(Options):
    """Options by which a corpus becomes a stream.

    Attributes:
        kind: ``text``, ``bitext``, ``aligned`` or ``lexicon``; read from the columns if not given (a lexicon has a
            bitext's columns, so it must be named).
        max_length: longest example in pieces, both sides together, specials included; ``None`` for no limit, as text
            that is packed into blocks afterwards wants it.
        max_side: longest side of a pair in pieces, without specials (XLM-Align's data: 254).
        overlong: ``drop`` the example, or ``truncate``: each side to ``max_side``, then the longer side until the pair
            fits. Links to pieces that were cut off are dropped and counted.
        pair_template: whose specials are counted: the tokenizer's own (``hf``) or one separator (``single``).
        words: what a word of raw text is: ``unicode`` or ``whitespace``.
        subword: which pieces of linked words are linked (:func:`isoglot.corpus.encode.links.project_links`).
        align_on: ``words`` for links between words; ``pieces`` for links that were made between pieces already.
        drop_identical: drop links between words that are spelt alike (Cao et al. 2020).
    """

    kind: Kind | None = None
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
    """Encodes batches of one kind of corpus."""

    kind: Kind
    options: EncodeOptions
    pieces: PieceEncoder
    specials: int

    def encode(self, columns: Mapping[str, Any], *, first_row: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Stream columns of corpus columns as Arrow arrays, and what was counted."""
        text = self.kind == "text"
        names = ("text",) if text else ("source", "target")
        sides = []
        for name in names:
            texts = columns[name].to_pylist() if name in columns else None
            # Links between pieces count the pieces of the raw text: its words are of no use then.
            if texts is None or (self.kind == "aligned" and self.options.align_on == "words"):
                words = columns["words" if text else f"{name}_words"]
                sides.append(self.pieces.word_lists(words.to_pylist(), texts))
            else:
                sides.append(
                    self.pieces.entries(texts) if self.kind == "lexicon" else self.pieces.texts(texts)
                )
        longest, most = self.options.max_length, self.options.max_side
        budget = None if longest is None else max(longest - self.specials, 0)
        limits = [limit for limit in (most, budget) if limit is not None]
        if not text:
            fitted = list(fit_pair(sides[0].lengths, sides[1].lengths, side=most, budget=budget))
        else:
            fitted = [np.minimum(sides[0].lengths, min(limits)) if limits else sides[0].lengths]
        filled = np.all([side.lengths > 0 for side in sides], axis=0)
        cut = filled & np.any([n != side.lengths for side, n in zip(sides, fitted, strict=True)], axis=0)
        drop = self.options.overlong == "drop"
        keep = filled & ~cut if drop else filled
        lengths = [np.where(keep, length, 0) for length in fitted]
        rows = np.flatnonzero(keep)
        counts = {
            "examples": len(filled),
            "kept": len(rows),
            "empty": int((~filled).sum()),
            "overlong": int(cut.sum()) if drop else 0,
            "truncated": 0 if drop else int(cut.sum()),
            "pieces": int(sum(length.sum() for length in lengths)),
            "words_not_located": sum(side.not_located for side in sides),
        }
        stream = {"length": pa.array(np.sum(lengths, axis=0)[rows]), "row": pa.array(rows + first_row)}
        for name, side, length in zip(names, sides, lengths, strict=True):
            prefix = "" if text else f"{name}_"
            first = np.cumsum(side.lengths) - side.lengths
            local = np.arange(len(side.ids)) - np.repeat(first, side.lengths)
            chosen = local < np.repeat(length, side.lengths)  # each sentence keeps its first pieces
            stream[f"{prefix}language"] = columns[f"{prefix}language"].take(pa.array(rows))
            stream[f"{prefix or 'input_'}ids"] = list_array(side.ids[chosen], length[rows])
            stream[f"{prefix}word_ids"] = list_array(side.word_ids[chosen], length[rows])
        if self.kind == "aligned":
            source, target = sides
            links = self._piece_links(columns, source, target, first_row, counts)
            row, i, j = links.T
            inside = (i < lengths[0][row]) & (j < lengths[1][row])
            counts["links_cut"] = int((~inside & keep[row]).sum())
            counts["piece_links"] = int(inside.sum())
            per_row = np.bincount(row[inside], minlength=len(keep))
            stream["links"] = list_array(links[inside, 1:], per_row[rows], width=2)
        return stream, counts

    def _piece_links(
        self,
        columns: Mapping[str, Any],
        source: SidePieces,
        target: SidePieces,
        first_row: int,
        counts: dict[str, int],
    ) -> _Int:
        """The batch's links between pieces, before anything is cut."""
        on_words = self.options.align_on == "words"
        links = _read_links(columns["links"], first_row)
        sizes = (source.word_counts, target.word_counts) if on_words else (source.lengths, target.lengths)
        _check_links(links, sizes, unit="word" if on_words else "piece", first_row=first_row)
        links = sort_links(links)
        counts["links"] = len(links)
        if self.options.drop_identical and on_words:
            words = columns["source_words"].to_pylist(), columns["target_words"].to_pylist()
            alike = (words[0][row][i] == words[1][row][j] for row, i, j in links.tolist())
            links = links[~np.fromiter(alike, dtype=bool, count=len(links))]
        counts["links_filtered"] = counts["links"] - len(links)
        if not on_words:
            counts["links_without_pieces"] = 0
            return links
        index = [index_words(side.word_ids, side.lengths, side.word_counts) for side in (source, target)]
        ends = zip(index, links[:, 1:].T, strict=True)
        bare = [side.counts[side.rows[links[:, 0]] + word] == 0 for side, word in ends]
        counts["links_without_pieces"] = int(np.any(bare, axis=0).sum())
        return project_links(links, *index, subword=self.options.subword)


def fit_pair(source: _Int, target: _Int, *, side: int | None, budget: int | None) -> tuple[_Int, _Int]:
    """Lengths that fit: each side held to ``side``, then the longer one cut until both together fit ``budget``.

    Where both are longer than half the budget they end equal, the source one longer if it is odd.
    """
    if side is not None:
        source, target = np.minimum(source, side), np.minimum(target, side)
    if budget is None:
        return source, target
    source = np.minimum(source, np.maximum(budget - target, budget - budget // 2))
    return source, np.minimum(target, budget - source)


def _read_links(column: Any, first_row: int) -> _Int:
    per_row = np.diff(column.offsets.to_numpy())
    pairs = column.flatten()
    widths = np.diff(pairs.offsets.to_numpy())
    rows = np.repeat(np.arange(len(per_row), dtype=np.int64), per_row)
    if (widths != 2).any():
        row = int(rows[np.flatnonzero(widths != 2)[0]]) + first_row
        raise InputError(
            f"corpus row {row}: a link has {int(widths[widths != 2][0])} numbers; it must be [source word, target word]"
        )
    ends = pairs.flatten().to_numpy(zero_copy_only=False).astype(np.int64).reshape(-1, 2)
    return np.column_stack([rows, ends])


def _check_links(links: _Int, sizes: tuple[_Int, _Int], *, unit: str, first_row: int) -> None:
    rows = links[:, 0]
    for name, values, size in zip(("source", "target"), links[:, 1:].T, sizes, strict=True):
        wrong = np.flatnonzero((values < 0) | (values >= size[rows]))
        if len(wrong):
            row, *link = links[wrong[0]].tolist()
            raise InputError(
                f"corpus row {row + first_row}: link {link} is too high, the {name} side has {int(size[row])} {unit}s "
                f"(0-based); check that links and {unit}s belong together"
            )
