"""Transformations of order: inversion and permutation, each inside a sentence."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.derivation.base import DerivedSentence, Sentence
from isoglot.derivation.options import TransformOptions

END_MARKS = ".!?"
"""Marks that end a sentence. The paper says "the period token"; its code has all three.

The option ``end_marks`` takes their place for inversion and for ``--split-sentences``, except with ``literal``.

Marks that cut a text into sentences:

- :func:`split_at_marks`: a word that is one mark, ``.``. Neither ``...`` nor ``mat.`` cuts.
- ``Passage.of`` (``labels.py``): the last character of a word before white space, ``mat.``; always of ``END_MARKS``.

Marks that stay at the end when the words of a sentence change places:

- :func:`_is_mark`: a last word of one or several marks, ``?!``.
- ``Inversion._attached_marks``: one or several marks at the end of the last word, ``mat.``.
- ``Inversion._inverted_pieces``: a last piece that is one mark.
- :func:`_literal`: the last character of the text; always of ``END_MARKS``.

In :class:`Inversion` by words, the last word of a part with ``has_known_end`` stays too, whatever it looks like.
"""


def split_at_marks(words: Sequence[str], marks: str = END_MARKS) -> Iterator[tuple[int, int]]:
    """Yield ``[start, stop)`` of the sentences of a tokenised text. A sentence ends after a word that is one mark.

    A word of several marks ends none: ``...`` may stand inside a sentence. Nor does a mark that hangs on a word, as in
    running text: ``It rains. Why?`` stays one sentence.

    Example:
        >>> list(split_at_marks("It rains . Why ?".split()))
        [(0, 3), (3, 5)]
    """
    return _split_after((number for number, word in enumerate(words) if word in {*marks}), len(words))


def _is_mark(word: str, marks: str) -> bool:
    """Whether a word is nothing but marks, one or several: ``.``, ``?!`` and ``...``, but not ``mat.``."""
    return bool(word) and not word.strip(marks)


def _split_after(last_words: Iterable[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield ``[start, stop)`` of the sentences in ``size`` words, given the numbers of the words that end one.

    The last of the words ends a sentence in any case: word 2 of five gives ``(0, 3)`` and ``(3, 5)``.
    """
    stops = {last_word + 1 for last_word in last_words}
    start = 0
    for stop in sorted({*stops, size}):
        if stop > start:
            yield start, stop
            start = stop


class _PartToReorder(NamedTuple):
    """The words ``[start, stop)`` of a :class:`Sentence`, which change places among themselves."""

    start: int
    stop: int
    has_known_end: bool
    """Whether it was cut at a known end of a sentence. Then its last word is a final mark, whatever it looks like, for
    the inversion of words. The inversion of pieces and the permutation do not ask: they look at the mark itself."""


def _parts_to_reorder(sentence: Sentence, sentence_by_sentence: bool, marks: str) -> Iterator[_PartToReorder]:
    """Yield the parts of a :class:`Sentence`.

    1. Without ``sentence_by_sentence`` all words are one part, whatever marks they have: ``It rains. Why?``.
    2. Where the ends of sentences are known (``sentence.sentence_ends``), parts end there.
    3. Elsewhere they end after a word that is one of the ``marks`` (:func:`split_at_marks`).
    """
    known_ends: frozenset[int] = frozenset()
    if not sentence_by_sentence:  # 1
        bounds = _split_after((), len(sentence.words))
    elif sentence.sentence_ends is not None:  # 2
        known_ends = sentence.sentence_ends
        bounds = _split_after(known_ends, len(sentence.words))
    else:  # 3
        bounds = split_at_marks(sentence.words, marks)
    for start, stop in bounds:
        yield _PartToReorder(start, stop, has_known_end=stop - 1 in known_ends)


class Inversion:
    """Puts the words of a sentence into reverse order, and leaves its final mark last.

    ``w_1 … w_n .  →  w_n … w_1 .``

    The options decide what a word, a sentence and a final mark are:

    - ``level="token"`` is the older variant of Deshpande et al. 2021: the derived words are pieces, and the origin of a
      piece is its word.
    - ``sentence_by_sentence``: the words may hold several sentences, each inverted by itself. Off for NLI, NER and POS,
      where the whole string is one sentence.
    - ``attached``: the mark at the end of ``mat.`` is final too, and moves to the new last word. On for running text;
      off where words carry labels, so that an abbreviation keeps its period.
    - ``literal``: ALIGN-MLM's XNLI code with its quirks; words are those between single spaces. It inverts words, so
      ``isoglot derive`` refuses it with ``level="token"`` (``idle_options.py``).

    Source: Tang et al. 2022, App. F and its code.

    Example:
        >>> Inversion(TransformOptions())(Sentence.of("It rains today .")).words
        ('today', 'rains', 'It', '.')
    """

    def __init__(self, options: TransformOptions) -> None:
        self.sentence_by_sentence = options.sentence_by_sentence
        self.literal, self.end_marks = options.literal, options.end_marks
        self._attached_marks = None
        if options.attached:
            end_marks = re.escape(options.end_marks)
            # `mat.` and `mat?!` end with attached marks; the words `.` and `?!` are marks and have none.
            self._attached_marks = re.compile(rf"(?<=[^{end_marks}])[{end_marks}]+$")
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
        derived: list[str] = []
        origin: list[int] = []
        for part in _parts_to_reorder(sentence, self.sentence_by_sentence, self.end_marks):
            inverted = self._inverted(words[part.start : part.stop], has_known_end=part.has_known_end)
            derived.extend(inverted.words)
            origin.extend([part.start + number for number in inverted.origin])
        return DerivedSentence(tuple(derived), tuple(origin))

    def _inverted(self, words: tuple[str, ...], *, has_known_end: bool) -> DerivedSentence:
        """Invert the words of one sentence.

        1. A final word of marks alone stays last: ``it rains .`` becomes ``rains it .``, and ``is it ?!`` becomes
           ``it is ?!``. With ``has_known_end`` (as in :class:`_PartToReorder`) any last word stays.
        2. Attached marks move to the new last word: ``sat on the mat.`` becomes ``mat the on sat.``.
        3. Other words are only reversed.
        """
        last = len(words) - 1
        if last < 1:
            return DerivedSentence(words, tuple(range(len(words))))
        reverse = tuple(range(last, -1, -1))
        if has_known_end or _is_mark(words[last], self.end_marks):  # 1
            order = (*reverse[1:], last)
            return DerivedSentence(tuple([words[number] for number in order]), order)
        marks = None if self._attached_marks is None else self._attached_marks.search(words[last])
        if marks is not None:  # 2
            first_word, last_word = words[0], words[last]
            without_marks = last_word[: marks.start()]
            middle = words[1:last]
            return DerivedSentence((without_marks, *middle[::-1], first_word + marks.group()), reverse)
        return DerivedSentence(words[::-1], reverse)  # 3

    def _inverted_pieces(self, sentence: Sentence, backend: Any) -> DerivedSentence:
        """Invert the pieces of each sentence; the origin of a piece is the word that it is of."""
        pieces: list[str] = []
        origin: list[int] = []
        for start, stop, _ in _parts_to_reorder(sentence, self.sentence_by_sentence, self.end_marks):
            words = sentence.words[start:stop]
            encoding = backend.encode(" ".join(words), add_special_tokens=False)
            tokens, last = encoding.tokens, len(encoding.tokens) - 1
            # A piece belongs to the word of its last character, as byte-level pieces begin with the space before.
            # `The cat` has the starts [0, 4]: the last character of ` cat` is number 6, so the piece is of word 1.
            word_starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
            word_of = [bisect_right(word_starts, max(end - 1, 0)) - 1 for _, end in encoding.offsets]
            order = list(range(last, -1, -1))
            # `##` is WordPiece's mark inside a word; Ġ and ▁ begin a word of byte-level BPE and of SentencePiece.
            if tokens and tokens[last].removeprefix("##").lstrip("Ġ▁") in {*self.end_marks}:
                order = [*order[1:], last]
            pieces.extend([tokens[number] for number in order])
            origin.extend([start + word_of[number] for number in order])
        return DerivedSentence(tuple(pieces), tuple(origin))


def _literal(words: tuple[str, ...]) -> DerivedSentence:
    """Invert a sentence of XNLI as ALIGN-MLM's code does, with all its quirks.

    The words, cut at single spaces, are one sentence, even if the string has several.

    1. One final *character* of ``. ! ?`` is split off and comes back without a space: ``is it really ?`` becomes
       `` really it is?``, with an empty word in front.
    2. A single word without such a character gets a space before it.
    3. A mark that begins a string without a final one joins the word behind it: ``? who`` becomes ``who?``.
    4. Other words are only reversed.

    Source: the paper's code, ``invert_xnli_data``.
    """
    if not words or words == ("",):
        return DerivedSentence(words, tuple(range(len(words))))
    reverse = tuple(range(len(words) - 1, -1, -1))
    first_word, last_word = words[0], words[-1]
    if last_word and last_word[-1] in {*END_MARKS}:  # 1
        mark, without_mark = last_word[-1], last_word[:-1]
        inverted = [without_mark, *reversed(words[:-1])]
        inverted[-1] += mark
        return DerivedSentence(tuple(inverted), reverse)
    if len(words) == 1:  # 2
        return DerivedSentence(("", first_word), (0, 0))
    if first_word in {*END_MARKS}:  # 3
        # Reversed, the mark stands last, and the code takes it for the final character. It has no origin of its own:
        # `? who` has the words `who?`, whose origin is word 1.
        after_second = words[2:]
        origin = reverse[:-1]  # without word 0, the mark
        return DerivedSentence((*reversed(after_second), words[1] + first_word), origin)
    return DerivedSentence(words[::-1], reverse)  # 4


class Permutation:
    """Puts the words of a sentence into a random order.

    Source: Deshpande et al. 2021; Tang et al. 2022, caption of Table 9.
    """

    def __init__(self, options: TransformOptions) -> None:
        self.seed, self.keep_final = options.seed, options.keep_final
        self.sentence_by_sentence = options.sentence_by_sentence

    def __call__(self, sentence: Sentence, *, key: int) -> DerivedSentence:
        """Permute a sentence; the order is drawn for ``(seed, key)``."""
        generator = random.Random(seed_for(self.seed, "permutation", key))
        words = sentence.words
        origin: list[int] = []
        for start, stop, _ in _parts_to_reorder(sentence, self.sentence_by_sentence, END_MARKS):
            last = stop - 1
            last_stays = self.keep_final and last > start and _is_mark(words[last], END_MARKS)
            order = list(range(start, last if last_stays else stop))
            generator.shuffle(order)
            origin.extend(order)
            if last_stays:
                origin.append(last)
        return DerivedSentence(tuple([words[old] for old in origin]), tuple(origin))
