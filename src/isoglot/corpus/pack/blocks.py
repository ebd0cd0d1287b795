"""Texts on their way into blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from isoglot.errors import ConfigurationError

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
        yield from map(Text, *(table.column(name).to_numpy() for name in names))  # lists as arrays


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


def language_id(language_ids: Mapping[str, int], language: Any) -> int:
    """The id of a language."""
    if language is None:
        raise ConfigurationError(
            "language_ids needs a 'language' column, which the stream does not have; encode it with its language"
        )
    if language not in language_ids:
        raise ConfigurationError(
            f"language_ids: no id for {language!r}, the language of the stream, in {dict(language_ids)}; "
            f"add `{language}: {max(language_ids.values(), default=-1) + 1}`"
        )
    return int(language_ids[language])
