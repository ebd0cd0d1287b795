"""Texts on their way into blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from isoglot.corpus.encode.store import flat_array

Ints = NDArray[np.int64]
"""Flat whole numbers."""


class Text(NamedTuple):
    """Pieces of one text (or row), with specials or not; words count from 0."""

    ids: Ints
    words: Ints
    language: str


@dataclass
class Block:
    """Texts gathered for one block (or half); ``size`` counts their tokens."""

    texts: list[Text] = field(default_factory=list)
    size: int = 0

    def add(self, text: Text) -> None:
        """Put a text at the end."""
        self.texts.append(text)
        self.size += len(text.ids)


def rows_of(stream: Dataset, side: str = "") -> Iterator[Text]:
    """The examples of a stream (or of one side of it)."""
    ids_name = f"{side}ids" if side else "input_ids"
    names = [ids_name, f"{side}word_ids", f"{side}language"]
    for table in stream.select_columns(names).with_format("arrow").iter(batch_size=1_000):
        ids, bounds = _flat(table.column(ids_name))
        words, _ = _flat(table.column(f"{side}word_ids"))
        languages = table.column(f"{side}language").to_pylist()
        for i, language in enumerate(languages):
            part = slice(bounds[i], bounds[i + 1])
            yield Text(ids[part], words[part], language)


def _flat(column: Any) -> tuple[Ints, Ints]:
    array = flat_array(column)
    offsets = array.offsets.to_numpy().astype(np.int64)
    return array.flatten().to_numpy(zero_copy_only=False).astype(np.int64), offsets - offsets[0]


def slice_text(text: Text, start: int, stop: int) -> Text:
    """The tokens from ``start`` to before ``stop``."""
    return text._replace(ids=text.ids[start:stop], words=text.words[start:stop])


def renumbered(texts: list[Text], number: Ints) -> Ints:
    """Word ids counted through the whole block, from 0 and without gaps."""
    words = np.concatenate([text.words for text in texts])
    has_word = words >= 0
    stride = int(words.max(initial=-1)) + 1
    keys = number[has_word] * stride + words[has_word]
    words = words.copy()
    words[has_word] = np.unique(keys, return_inverse=True)[1]
    return words
