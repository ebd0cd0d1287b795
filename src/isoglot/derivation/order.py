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
    """``[start, stop)`` of the sentences of a tokenised text: each ends after a token that is one of ``marks``.

    Example:
        >>> list(sentence_bounds("It rains . Why ?".split()))
        [(0, 3), (3, 5)]
    """
    return _spans(len(words), (i for i, word in enumerate(words) if word in {*marks}))


def _spans(size: int, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """``[start, stop)`` of sentences in this many words: each ends with one of these, the last with the last word."""
    start = 0
    for stop in sorted({*(end + 1 for end in ends), size}):
        if stop > start:
            yield start, stop
            start = stop


def _bounds(sentence: Sentence, split: bool, marks: str) -> Iterator[tuple[int, int]]:
    if split and sentence.ends is None:
        return sentence_bounds(sentence.words, marks)
    return _spans(len(sentence.words), sentence.ends or () if split else ())


class Inversion:
    """The words of a sentence in reverse order, its final punctuation last.

    ``w_1 … w_n .  →  w_n … w_1 .``

    Pieces (``level: token``) are the older variant of Deshpande et al. 2021: the derived words are then pieces, and
    each piece's origin is its word. ``split`` is off for NLI, NER and POS, where the whole string is one sentence;
    ``attached`` (``mat.``: the mark moves to the new last word) is on for running text, and off where words carry
    labels, so that an abbreviation's period stays with it. ``literal`` is ALIGN-MLM's XNLI code as it is: words are
    those between single spaces.

    Source: Tang et al. 2022, App. F and its code.
    """

    def __init__(self, options: TransformOptions) -> None:
        self.split, self.literal, self.end_marks = options.split, options.literal, options.end_marks
        end_marks = re.escape(options.end_marks)
        self._attached = re.compile(rf"(?<=[^{end_marks}])[{end_marks}]+$") if options.attached else None
        self._backend = None
        if options.level == "token":
            if options.tokenizer is None:
                raise ConfigurationError(
                    "inversion of tokens needs the tokenizer that makes them; give tokenizer=..."
                )
            from isoglot.corpus.encode.pieces import fast_backend  # noqa: PLC0415 - heavy

            self._backend = fast_backend(options.tokenizer)

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """The inverted sentence; ``key`` has no effect."""
        del key
        words = sentence.words
        if self._backend is not None:
            return self._tokens(sentence, self._backend)
        if self.literal:
            return _literal(words)
        if not self.split:
            return self._whole(words)
        out: list[str] = []
        origin: list[int] = []
        for start, stop in _bounds(sentence, self.split, self.end_marks):
            known = sentence.ends is not None and stop - 1 in sentence.ends
            part = self._whole(words[start:stop], final=known)
            out.extend(part.words)
            origin.extend([start + o for o in part.origin] if start else part.origin)
        return DerivedSentence(tuple(out), tuple(origin))

    def _whole(self, words: tuple[str, ...], *, final: bool = False) -> DerivedSentence:
        last = len(words) - 1
        if last < 1:
            return DerivedSentence(words, tuple(range(last + 1)))
        if final or words[last] in {*self.end_marks}:
            return DerivedSentence(words[-2::-1] + words[-1:], (*range(last - 1, -1, -1), last))
        mark = None if self._attached is None else self._attached.search(words[last])
        if mark is None:
            return DerivedSentence(words[::-1], tuple(range(last, -1, -1)))
        stem, end = words[last][: mark.start()], mark.group()
        return DerivedSentence((stem, *words[last - 1 : 0 : -1], words[0] + end), tuple(range(last, -1, -1)))

    def _tokens(self, sentence: Sentence, backend: Any) -> DerivedSentence:
        pieces: list[str] = []
        owner: list[int] = []
        for start, stop in _bounds(sentence, self.split, self.end_marks):
            words = sentence.words[start:stop]
            encoding = backend.encode(" ".join(words), add_special_tokens=False)
            tokens, last = encoding.tokens, len(encoding.tokens) - 1
            starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
            word_of = [bisect_right(starts, max(end - 1, 0)) - 1 for _, end in encoding.offsets]
            order = list(range(last, -1, -1))
            if tokens and tokens[last].removeprefix("##").lstrip("Ġ▁") in {*self.end_marks}:
                order = [*order[1:], last]
            pieces.extend([tokens[i] for i in order])
            owner.extend([start + word_of[i] for i in order])
        return DerivedSentence(tuple(pieces), tuple(owner))


def _literal(words: tuple[str, ...]) -> DerivedSentence:
    """ALIGN-MLM's inversion of XNLI sentences with all its quirks.

    The words, cut at single spaces, are one sentence, however many they hold. One final *character* of ``. ! ?`` is
    split off and comes back without a space, so ``really ?`` becomes `` really?``; a single word without one gets a
    space before it, and a mark that begins a string without a final one joins the word that comes before it: ``? who``
    becomes ``who?``.

    Source: the paper's code, ``invert_xnli_data``.
    """
    if not words or words == ("",):
        return DerivedSentence(words, tuple(range(len(words))))
    order = range(len(words) - 1, -1, -1)
    if words[-1] and words[-1][-1] in {*END_MARKS}:
        parts = [*words[:-1], words[-1][:-1]]
        turned = [parts[i] for i in order]
        turned[-1] += words[-1][-1]
        return DerivedSentence(tuple(turned), tuple(order))
    if len(words) == 1:
        return DerivedSentence(("", words[0]), (0, 0))
    if words[0] in {*END_MARKS}:  # it comes to stand last, and its code takes it for the final character
        return DerivedSentence((*words[:1:-1], words[1] + words[0]), tuple(order[:-1]))
    return DerivedSentence(words[::-1], tuple(order))


class Permutation:
    """The words of a sentence in a random order.

    Source: Deshpande et al. 2021; Tang et al. 2022, caption of Table 9.
    """

    def __init__(self, options: TransformOptions) -> None:
        self.seed, self.split, self.keep_final = options.seed, options.split, options.keep_final

    def __call__(self, sentence: Sentence, *, key: int) -> DerivedSentence:
        """A permutation drawn for ``(seed, key)``."""
        generator = random.Random(seed_for(self.seed, "permutation", key))
        origin: list[int] = []
        for start, stop in _bounds(sentence, self.split, END_MARKS):
            fixed = self.keep_final and stop - start > 1 and sentence.words[stop - 1] in {*END_MARKS}
            part = list(range(start, stop - fixed))
            generator.shuffle(part)
            origin.extend(part)
            if fixed:
                origin.append(stop - 1)
        return DerivedSentence(tuple([sentence.words[o] for o in origin]), tuple(origin))
