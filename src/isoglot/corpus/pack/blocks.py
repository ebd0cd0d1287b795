"""Gather the texts of a stream in blocks: which texts share a block, and how their words are numbered there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Text(NamedTuple):
    """The pieces of one text, or of one side of a pair, with or without special tokens."""

    ids: Ints
    word_ids: Ints  # word of each piece, from 0; −1 for none
    language: str


@dataclass
class Block:
    """Texts gathered for one block, or for one half of an instance of pairs; ``size`` counts their tokens."""

    texts: list[Text] = field(default_factory=list)
    size: int = 0

    def add(self, text: Text) -> None:
        """Put a text at the end."""
        self.texts.append(text)
        self.size += len(text.ids)


def fill_blocks(rows: Iterable[tuple[Text, ...]], room: int) -> Iterator[tuple[Block, ...]]:
    """Gather rows in blocks, in their order and without looking ahead.

    A row is a text, or a text and its translation; each side has a block of its own. With room for 10 tokens, pairs of
    (4, 5), (4, 6) and (3, 2) tokens become the blocks (4, 5) and (4 + 3, 6 + 2).

    1. Rows of each language, or pair of languages, have blocks of their own. Several may be open at a time.
    2. A row goes into the open blocks of its languages if every side fits.
    3. If a side does not fit, the open blocks are finished and the row begins the next ones. A later, shorter row does
       not go back to them.
    4. At the end the blocks that are still open come in the order in which their languages were first met.
    """
    opened: dict[tuple[str, ...], tuple[Block, ...]] = {}
    for sides in rows:
        languages = tuple(side.language for side in sides)
        blocks = opened.get(languages)
        if blocks is not None:
            sizes = [block.size + len(side.ids) for block, side in zip(blocks, sides, strict=True)]
            if max(sizes) > room:
                yield blocks
                blocks = None
        if blocks is None:
            blocks = opened[languages] = tuple(Block() for _ in sides)
        for block, side in zip(blocks, sides, strict=True):
            block.add(side)
    yield from opened.values()


def texts_of(stream: Dataset, side: str = "") -> Iterator[Text]:
    """Yield the texts of a stream, or of one side of a stream of pairs (``source_`` or ``target_``)."""
    ids_name = f"{side}ids" if side else "input_ids"
    names = [ids_name, f"{side}word_ids", f"{side}language"]
    for table in stream.select_columns(names).with_format("arrow").iter(batch_size=1_000):
        yield from map(Text, *(table.column(name).to_numpy() for name in names))  # lists as arrays


def slice_text(text: Text, start: int, stop: int) -> Text:
    """The tokens from ``start`` to before ``stop``."""
    return text._replace(ids=text.ids[start:stop], word_ids=text.word_ids[start:stop])


def renumbered_words(texts: Sequence[Text], text_of_token: Ints) -> Ints:
    """Number the words of all texts of a block from 0 and without gaps; tokens without a word keep −1.

    The word ids ``-1 0 0 1 -1`` and ``-1 1 3 -1`` become ``-1 0 0 1 -1 -1 2 3 -1``.
    """
    word_ids = np.concatenate([text.word_ids for text in texts])
    has_word = word_ids >= 0
    # One number for each pair of text and word, ascending through the block.
    words_of_text = int(word_ids.max(initial=-1)) + 1
    keys = text_of_token[has_word] * words_of_text + word_ids[has_word]
    _, renumbered = np.unique(keys, return_inverse=True)
    word_ids[has_word] = renumbered
    return word_ids
