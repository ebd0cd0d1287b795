"""Transformations of order: inversion and permutation, each inside a sentence."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.derivation.base import DerivedSentence, Sentence
from isoglot.derivation.options import TransformOptions

END_MARKS = ".!?"
"""Tokens that end a sentence. The paper says "the period token"; its code has all three."""


def sentence_bounds(words: Sequence[str], marks: str = END_MARKS) -> Iterator[tuple[int, int]]:
    """Yield ``[start, stop)`` of the sentences of a tokenised text: each ends after a token that is one of ``marks``.

    Example:
        >>> list(sentence_bounds("It rains . Why ?".split()))
        [(0, 3), (3, 5)]
    """
    return _bounds_after(len(words), (i for i, word in enumerate(words) if word in {*marks}))


def _bounds_after(size: int, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield ``[start, stop)`` of the sentences in ``size`` words; these words end one, and the last word does."""
    start = 0
    for stop in sorted({*(end + 1 for end in ends), size}):
        if stop > start:
            yield start, stop
            start = stop


def _bounds(sentence: Sentence, split: bool, marks: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences in a :class:`Sentence`; without ``split`` it is one, whatever marks it has."""
    if not split:
        return _bounds_after(len(sentence.words), ())
    if sentence.ends is None:
        return sentence_bounds(sentence.words, marks)
    return _bounds_after(len(sentence.words), sentence.ends)


class Inversion:
    """The words of a sentence in reverse order, its final punctuation last.

    ``w_1 … w_n .  →  w_n … w_1 .``

    The options decide what a word, a sentence and a final mark are:

    - ``level="token"`` is the older variant of Deshpande et al. 2021: the derived words are pieces, and the origin of a
      piece is its word.
    - ``split``: the words may hold several sentences, each inverted by itself. Off for NLI, NER and POS, where the
      whole string is one sentence.
    - ``attached``: the mark at the end of ``mat.`` is final too, and moves to the new last word. On for running text;
      off where words carry labels, so that an abbreviation keeps its period.
    - ``literal``: ALIGN-MLM's XNLI code with its quirks; words are those between single spaces.

    Source: Tang et al. 2022, App. F and its code.
    """

    def __init__(self, options: TransformOptions) -> None:
        self.split, self.literal, self.end_marks = options.split, options.literal, options.end_marks
        end_marks = re.escape(options.end_marks)
        attached_mark = re.compile(rf"(?<=[^{end_marks}])[{end_marks}]+$")
        self._attached_mark = attached_mark if options.attached else None
        self._backend = None
        if options.level == "token":
            if options.tokenizer is None:
                raise ConfigurationError(
                    "inversion of tokens needs the tokenizer that makes them; give tokenizer=..."
                )
            from isoglot.corpus.encode.pieces import fast_backend  # noqa: PLC0415 - heavy

            self._backend = fast_backend(options.tokenizer)

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """Invert a sentence; ``key`` has no effect."""
        del key
        words = sentence.words
        if self._backend is not None:
            return self._inverted_pieces(sentence, self._backend)
        if self.literal:
            return _literal(words)
        if not self.split:
            return self._inverted(words)
        derived: list[str] = []
        origin: list[int] = []
        for start, stop in _bounds(sentence, self.split, self.end_marks):
            ends_with_mark = sentence.ends is not None and stop - 1 in sentence.ends
            part = self._inverted(words[start:stop], ends_with_mark=ends_with_mark)
            derived.extend(part.words)
            origin.extend([start + number for number in part.origin])
        return DerivedSentence(tuple(derived), tuple(origin))

    def _inverted(self, words: tuple[str, ...], *, ends_with_mark: bool = False) -> DerivedSentence:
        """Invert one sentence; ``ends_with_mark`` says that its last word is a final mark, whatever it looks like."""
        last = len(words) - 1
        if last < 1:
            return DerivedSentence(words, tuple(range(last + 1)))
        reverse = tuple(range(last, -1, -1))
        if ends_with_mark or words[last] in {*self.end_marks}:
            order = (*reverse[1:], last)
            return DerivedSentence(tuple([words[i] for i in order]), order)
        mark = None if self._attached_mark is None else self._attached_mark.search(words[last])
        if mark is None:
            return DerivedSentence(words[::-1], reverse)
        # `sat on the mat.` becomes `mat the on sat.`
        without_mark, middle, first = words[last][: mark.start()], words[1:last], words[0]
        return DerivedSentence((without_mark, *middle[::-1], first + mark.group()), reverse)

    def _inverted_pieces(self, sentence: Sentence, backend: Any) -> DerivedSentence:
        pieces: list[str] = []
        origin: list[int] = []
        for start, stop in _bounds(sentence, self.split, self.end_marks):
            words = sentence.words[start:stop]
            encoding = backend.encode(" ".join(words), add_special_tokens=False)
            tokens, last = encoding.tokens, len(encoding.tokens) - 1
            # The word of a piece is the one in which the piece's last character stands.
            word_starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
            word_of = [bisect_right(word_starts, max(end - 1, 0)) - 1 for _, end in encoding.offsets]
            order = list(range(last, -1, -1))
            # `##` is WordPiece's mark inside a word; Ġ and ▁ begin a word of byte-level BPE and of SentencePiece.
            if tokens and tokens[last].removeprefix("##").lstrip("Ġ▁") in {*self.end_marks}:
                order = [*order[1:], last]
            pieces.extend([tokens[i] for i in order])
            origin.extend([start + word_of[i] for i in order])
        return DerivedSentence(tuple(pieces), tuple(origin))


def _literal(words: tuple[str, ...]) -> DerivedSentence:
    """ALIGN-MLM's inversion of XNLI sentences with all its quirks.

    The words, cut at single spaces, are one sentence, even if the string has several.

    1. One final *character* of ``. ! ?`` is split off and comes back without a space: ``really ?`` becomes
       `` really?``.
    2. A single word without one gets a space before it.
    3. A mark that begins a string without a final one joins the word that comes before it: ``? who`` becomes ``who?``.

    Source: the paper's code, ``invert_xnli_data``.
    """
    if not words or words == ("",):
        return DerivedSentence(words, tuple(range(len(words))))
    order = range(len(words) - 1, -1, -1)
    if words[-1] and words[-1][-1] in {*END_MARKS}:  # 1
        mark = words[-1][-1]
        inverted = [words[-1][:-1], *words[-2::-1]]
        inverted[-1] += mark
        return DerivedSentence(tuple(inverted), tuple(order))
    if len(words) == 1:  # 2
        return DerivedSentence(("", words[0]), (0, 0))
    if words[0] in {
        *END_MARKS
    }:  # 3: it comes to stand last, and the paper's code takes it for the final character
        return DerivedSentence((*words[:1:-1], words[1] + words[0]), tuple(order[:-1]))
    return DerivedSentence(words[::-1], tuple(order))


class Permutation:
    """The words of a sentence in a random order.

    Source: Deshpande et al. 2021; Tang et al. 2022, caption of Table 9.
    """

    def __init__(self, options: TransformOptions) -> None:
        self.seed, self.split, self.keep_final = options.seed, options.split, options.keep_final

    def __call__(self, sentence: Sentence, *, key: int) -> DerivedSentence:
        """Permute a sentence; the order is drawn for ``(seed, key)``."""
        generator = random.Random(seed_for(self.seed, "permutation", key))
        origin: list[int] = []
        for start, stop in _bounds(sentence, self.split, END_MARKS):
            last = stop - 1
            last_stays = self.keep_final and last > start and sentence.words[last] in {*END_MARKS}
            order = list(range(start, last if last_stays else stop))
            generator.shuffle(order)
            origin.extend(order)
            if last_stays:
                origin.append(last)
        return DerivedSentence(tuple([sentence.words[o] for o in origin]), tuple(origin))
