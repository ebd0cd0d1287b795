"""Store a bitext as word numbers, one flat array per side; notice text whose words a model does not know."""

import hashlib
import json
import logging
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import usable_words
from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import WordPair

_LOG = logging.getLogger(__name__)
_ENOUGH = 100_000
"""After this many words of a side text is taken as known, and no more words are counted."""
Ints = npt.NDArray[np.int64]
Sentences = Sequence[Sequence[str]]
"""The words of each sentence of a side."""


class Vocabulary(tuple[str, ...]):
    """Words by number (``words[3]``), and numbers by word (``words.numbers["house"]``)."""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word; made when it is first asked for."""
        return {word: number for number, word in enumerate(self)}


Vocabularies = tuple[Vocabulary, Vocabulary]
"""The words of two sides: source and target of a model, conditioning and generated side of a direction."""


class FlatSide(NamedTuple):
    """The arrays of one side of a bitext, as the compiled loops take them."""

    ids: npt.NDArray[np.int32]
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Words in each sentence. Shape: (sentences)."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class BitextSide:
    """One side of a bitext as word numbers."""

    words: Vocabulary  # word number ``k`` is ``words[k]``
    # Word numbers of all sentences, one after the other; −1 for a word that is not in ``words``. Shape: (tokens)
    ids: npt.NDArray[np.int32]
    # The words of sentence ``s`` are ``ids[offsets[s]:offsets[s + 1]]``. Shape: (sentences + 1)
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def flat(self) -> FlatSide:
        """``ids`` and ``offsets``, as the compiled loops take a side."""
        return FlatSide(self.ids, self.offsets)

    @property
    def lengths(self) -> Ints:
        """Words in each sentence. Shape: (sentences)."""
        return self.flat.lengths

    def digest(self) -> str:
        """A hash of the sentences."""
        state = hashlib.blake2b(json.dumps(self.words).encode(), digest_size=16)
        for numbers in (self.ids, self.offsets):
            state.update(np.ascontiguousarray(numbers).data)
        return state.hexdigest()

    def rows(self, start: int, stop: int) -> Self:
        """The sentences ``start`` to ``stop`` − 1."""
        first, last = self.offsets[start], self.offsets[stop]
        return replace(self, ids=self.ids[first:last], offsets=self.offsets[start : stop + 1] - first)

    def sentences(self) -> Iterator[list[str]]:
        """The words of each sentence."""
        for start, stop in pairwise(self.offsets.tolist()):
            yield [self.words[k] for k in self.ids[start:stop].tolist()]


class WordNumbers:
    """Number the words of one side in order of appearance, sentence by sentence."""

    def __init__(self, *, lowercase: bool = False) -> None:
        self._known: defaultdict[str, int] = defaultdict()
        self._known.default_factory = self._known.__len__  # a new word's number is how many there are
        self._ids = array("i")
        self._ends = array("q", [0])
        self._lowercase = lowercase

    def add(self, words: Sequence[str]) -> None:
        """Append a sentence."""
        self._ids.extend(map(self._known.__getitem__, map(str.lower, words) if self._lowercase else words))
        self._ends.append(len(self._ids))

    def side(self) -> BitextSide:
        """All sentences. The side shares the memory of this object, so no sentence can be added while it is in use."""
        return BitextSide(
            Vocabulary(self._known),
            np.frombuffer(self._ids, np.int32) if self._ids else np.empty(0, np.int32),
            np.frombuffer(self._ends, np.int64),
        )


def encode(sentences: Iterable[Sequence[str]], *, lowercase: bool = False) -> BitextSide:
    """Number the words of one side in order of appearance."""
    numbers = WordNumbers(lowercase=lowercase)
    for words in sentences:
        numbers.add(words)
    return numbers.side()


def encode_pairs(pairs: Iterable[WordPair], *, lowercase: bool = False) -> tuple[BitextSide, BitextSide]:
    """Number the words of both sides of pairs, which are read once and not kept.

    A pair that is too long to be aligned has no words. Nobody is warned of it here, but where the pairs are aligned.
    """
    source, target = WordNumbers(lowercase=lowercase), WordNumbers(lowercase=lowercase)
    for number, pair in enumerate(pairs, 1):
        source_words, target_words = usable_words(pair, number, lambda *_: None)
        source.add(source_words)
        target.add(target_words)
    return source.side(), target.side()


def pairs_of(source: Sentences, target: Sentences) -> Iterator[WordPair]:
    """Return the sentences of both sides as pairs, and refuse sides of different lengths.

    Raises:
        ConfigurationError: One side has more sentences than the other.
    """
    if len(source) != len(target):
        raise ConfigurationError(
            f"got {len(source)} source but {len(target)} target sentences; check the files for a lost line"
        )
    return zip(source, target, strict=True)


def usable_sides(
    pairs: Iterable[WordPair], first: int, warn: Callable[[int, str], None]
) -> tuple[Sentences, Sentences]:
    """Return the usable words of both sides of pairs, and warn of the pairs that get no links.

    ``first``: Number of pairs before these, for the numbers in warnings.
    """
    usable = [usable_words(pair, number, warn) for number, pair in enumerate(pairs, first + 1)]
    return [source for source, _ in usable], [target for _, target in usable]


def locate_words(known: Vocabulary, words: Sequence[str]) -> Ints:
    """Find the number of each word in a vocabulary, −1 if it is not there."""
    if known is words:
        return np.arange(len(known))
    return np.array([known.numbers.get(word, -1) for word in words], np.int64)


class ForeignText:
    """Warn, once per side, of text of which a model knows less than half of the words so far."""

    def __init__(self, known: tuple[Set[str], Set[str]], *, lowercase: bool) -> None:
        self._known = {"source": known[0], "target": known[1]}
        self._lowercase = lowercase
        self._unknown, self._words = dict.fromkeys(self._known, 0), dict.fromkeys(self._known, 0)

    def look(self, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> None:
        """Look at the words of some pairs."""
        for side, sentences in (("source", source), ("target", target)):
            if self._words[side] >= _ENOUGH:
                continue
            words = [word.lower() if self._lowercase else word for words in sentences for word in words]
            self._unknown[side] += sum(word not in self._known[side] for word in words)
            self._words[side] += len(words)
            if 2 * self._unknown[side] > self._words[side]:
                _LOG.warning(
                    "%d of %d %s words are unknown to the model, and links of such words are guesses; use a model of "
                    "these languages, trained on text that is split into words and cased like this one",
                    self._unknown[side], self._words[side], side,
                )  # fmt: skip
                self._words[side] = _ENOUGH  # once
