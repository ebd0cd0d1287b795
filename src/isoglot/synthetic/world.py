"""The miniature world: labelled English-like data for every task, seeded and offline.

A row is a pattern whose variables are lexemes of their pools, drawn with Zipfian frequencies in which the words of the
row's topic count more. Whether a sentence belongs to train, dev or test is a hash of its words: no sentence occurs in
two splits, whichever task it serves. Stories for questions are divided as wholes; single sentences of them may recur.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from datasets import Dataset, Features, List, Value

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.formats.schema import PAIR, SPAN, TAGGED, TEXT, TREEBANK
from isoglot.synthetic.families import inference_patterns, paraphrase_patterns
from isoglot.synthetic.grammar import Pattern, Token, sample_patterns
from isoglot.synthetic.lexicon import TOPICS, Lexeme, Lexicon, build_lexicon
from isoglot.synthetic.stories import story_patterns

SPLITS = {"train": (0, 6), "dev": (6, 8), "test": (8, 10)}
"""The range ``[low, high)`` of tenths of a sentence's hash that each split has."""

KINDS = ("text", "pos", "ner", "nli", "paws", "qa")
PATTERNS, STORIES = 6000, 1500
"""The numbers of patterns that a world has: derivations of the grammar, and stories."""

_WITH_TOPIC = 0.8
"""Share of rows that have a topic."""
_BOOST = 36.0
"""Factor by which a word is more frequent in its own topic."""
_WITHOUT_NAMES = 0.125
"""Weight of a sentence without a name among those with entities."""
_VOWEL = re.compile("(?!uni(?!n)|use|eu|one|ura|uke)[aeiou]|hour|honest|heir")
"""Words that are spoken with a vowel first: an apple, an hour, an uninteresting book; a university, a European."""
_ATTACHED = {",", ".", "?", "'s"}
"""Words without a space before them."""
_TREEBANK = Features({**TREEBANK, "entities": List(Value("string")), "text": Value("string")})


class Row(NamedTuple):
    """A pattern, and the words of its sentences."""

    pattern: Pattern
    sentences: list[list[str]]  # as many as the pattern has


class World:
    """A lexicon and a grammar, and data sets drawn from them.

    Every data set is a pure function of the world's arguments, the method, ``split`` and ``n``; the first rows of a
    longer one are those of a shorter one. A sentence occurs in one split only, whichever task it serves.

    Args:
        seed: Seed of frequencies, names, topics, grammar and draws.
        size: Approximate number of lexemes to keep; all (some 3,800) by default.

    Example:
        >>> world = World(seed=1)
        >>> world.text(3)["text"] == world.text(5)["text"][:3]
        True
    """

    def __init__(self, seed: int = 0, size: int | None = None) -> None:
        self.seed = seed
        self.lexicon: Lexicon = build_lexicon(seed, size=size)
        self._patterns: dict[str, tuple[Sequence[Pattern], list[float]]] = {}
        self._accumulated_frequencies: dict[tuple[str, str | None], list[float]] = {}

    def text(self, n: int, *, split: str = "train") -> Dataset:
        """Plain text (TEXT), punctuation attached."""
        return _dataset([{"text": text_of(row.sentences[0])} for row in self._rows("text", n, split)], TEXT)

    def treebank(self, n: int, *, split: str = "train", of: str = "text") -> Dataset:
        """Dependency trees (TREEBANK) with the further columns ``entities`` (IOB2) and ``text`` (detokenised).

        Args:
            n: Rows of the data set whose sentences these are.
            split: Its split.
            of: Data set whose sentences have the trees, in their order: ``text``, ``pos`` or ``ner`` (one sentence a
                row), ``nli`` or ``paws`` (two a row), or ``qa`` (the sentences of the story, then the question).
        """
        if of not in KINDS:
            raise ConfigurationError(f"no trees of {of!r}; there are trees of {', '.join(KINDS)}")
        trees = []
        for row in self._rows(of, n, split):
            for tokens, words in zip(row.pattern.sentences, row.sentences, strict=True):
                trees.append({
                    "words": words,
                    "upos": [token.upos for token in tokens],
                    "heads": [token.head for token in tokens],
                    "deprels": [token.deprel for token in tokens],
                    "entities": [token.entity for token in tokens],
                    "text": text_of(words),
                })  # fmt: skip
        return _dataset(trees, _TREEBANK)

    def pos(self, n: int, *, split: str = "train") -> Dataset:
        """Words with universal part-of-speech tags (TAGGED)."""
        return self._tagged("pos", "upos", n, split)

    def ner(self, n: int, *, split: str = "train") -> Dataset:
        """Words with IOB2 tags of PER, ORG and LOC (TAGGED); about one sentence in eight has no name."""
        return self._tagged("ner", "entity", n, split)

    def _tagged(self, kind: str, tag: str, n: int, split: str) -> Dataset:
        rows = []
        for pattern, (words,) in self._rows(kind, n, split):
            rows.append({"words": words, "tags": [getattr(token, tag) for token in pattern.sentences[0]]})
        return _dataset(rows, TAGGED)

    def nli(self, n: int, *, split: str = "train") -> Dataset:
        """Premise and hypothesis (PAIR); the label, entailment, neutral or contradiction, follows from the meanings.

        Quantifiers, hypernyms, modifiers, negation, voice, swapped roles, comparisons, counts, *and* and *or*. Weights
        make labels equally frequent and independent of any single word.
        """
        return self._pairs("nli", n, split)

    def paws(self, n: int, *, split: str = "train") -> Dataset:
        """Two wordings with nearly the same words (PAIR): ``"1"`` if they mean the same, else ``"0"``."""
        return self._pairs("paws", n, split)

    def _pairs(self, kind: str, n: int, split: str) -> Dataset:
        pairs = [
            {"first": text_of(first), "second": text_of(second), "label": pattern.label}
            for pattern, (first, second) in self._rows(kind, n, split)
        ]
        return _dataset(pairs, PAIR)

    def qa(self, n: int, *, split: str = "train") -> Dataset:
        """Stories with a question and the answer's span (SPAN), among distractors of the same type.

        A story as a whole is in one split; single sentences of it may occur in another.
        """
        rows = []
        for number, (pattern, (*story, question)) in enumerate(self._rows("qa", n, split)):
            words = list(chain.from_iterable(story))
            first, stop = pattern.answer
            # Before an answer there is a space, since none begins with a mark.
            start = len(text_of(words[:first])) + 1 if first > 0 else 0
            answer = {"text": [text_of(words[first:stop])], "start": [start]}
            identity = {"id": f"{self.seed}-{split}-{number}", "question": text_of(question)}
            rows.append({**identity, "context": text_of(words), "answers": answer})
        return _dataset(rows, SPAN)

    def _rows(self, kind: str, n: int, split: str) -> list[Row]:
        """The first rows of a kind and split."""
        if n < 1:
            raise ConfigurationError(f"at least 1 row is needed, got {n}; use n=1000")
        if split not in SPLITS:
            raise ConfigurationError(f"unknown split {split!r}; known: {', '.join(SPLITS)}")
        return list(islice(self._draw(kind, split), n))

    def _draw(self, kind: str, split: str) -> Iterator[Row]:
        """Draw rows without end, except rows that may not be used.

        A row is left out if

        1. two of its variables are the same lexeme ("Anna met Anna" is not English, and spoils labels),
        2. one of its sentences belongs to another split, or
        3. it is a story that belongs to another split as a whole; its sentences are not looked at one by one.

        Patterns with many variables are left out most often by 1, so their share of the rows is a little below the
        share of their weight.

        Each row draws a topic (or none), a pattern, and a lexeme for each variable, in this order: the order of draws
        is part of what a seed means.
        """
        random = Random(seed_for(self.seed, "synthetic", kind, split))
        patterns, weights = self._patterns_of(kind)
        while True:
            topic = random.choice(TOPICS) if random.random() < _WITH_TOPIC else None
            pattern = patterns[_drawn(random, weights)]
            lexemes = [self._drawn_lexeme(random, pool, topic) for pool in pattern.variables]
            different_lexemes = set(map(id, lexemes))
            if len(different_lexemes) < len(lexemes):  # 1
                continue
            sentences = [_spelled(tokens, lexemes) for tokens in pattern.sentences]
            if kind == "qa":
                is_in_split = _is_in_split(chain.from_iterable(sentences), split)  # 3
            else:
                is_in_split = all(_is_in_split(sentence, split) for sentence in sentences)  # 2
            if is_in_split:
                yield Row(pattern, sentences)

    def _drawn_lexeme(self, random: Random, pool: str, topic: str | None) -> Lexeme:
        """Draw a lexeme of a pool by its frequency in a topic."""
        return self.lexicon[pool][_drawn(random, self._accumulated_frequencies_of(pool, topic))]

    def _accumulated_frequencies_of(self, pool: str, topic: str | None) -> list[float]:
        """The frequencies of the lexemes of a pool, each added to those before: Zipf's law, with more for the topic."""
        if (pool, topic) not in self._accumulated_frequencies:
            frequencies = []
            for rank, lexeme in enumerate(self.lexicon[pool]):
                is_in_topic = topic is not None and lexeme.topic == topic
                frequencies.append(_zipf_mandelbrot(rank) * (_BOOST if is_in_topic else 1.0))
            self._accumulated_frequencies[pool, topic] = list(accumulate(frequencies))
        return self._accumulated_frequencies[pool, topic]

    def _patterns_of(self, kind: str) -> tuple[Sequence[Pattern], list[float]]:
        """The patterns of a kind, made when they are first needed; and their weights, each added to those before."""
        kind = "text" if kind == "pos" else kind  # the same sentences with other labels
        if kind not in self._patterns:
            patterns: Sequence[Pattern]
            if kind == "text":
                patterns = sample_patterns(PATTERNS, seed_for(self.seed, "grammar"))
            elif kind == "ner":
                patterns = list(map(_weighted_by_names, self._patterns_of("text")[0]))
            elif kind == "qa":
                patterns = story_patterns(STORIES, seed_for(self.seed, "stories"))
            else:
                patterns = inference_patterns() if kind == "nli" else paraphrase_patterns()
            self._patterns[kind] = patterns, list(accumulate(pattern.weight for pattern in patterns))
        return self._patterns[kind]


def _drawn(random: Random, accumulated: Sequence[float]) -> int:
    """Draw a position with a probability in proportion to its weight.

    ``accumulated``: The weights, each added to those before: ``[2, 3, 3]`` of the weights 2, 1 and 0.
    """
    return bisect(accumulated, random.random() * accumulated[-1])


def _zipf_mandelbrot(rank: int) -> float:
    """The frequency of the word of a rank, which counts from 0 (Zipf's law with Mandelbrot's shift of ranks)."""
    return float((rank + 2.7) ** -1.05)


def _weighted_by_names(pattern: Pattern) -> Pattern:
    """Make a sentence without a name rare, since data sets of entities have few of them."""
    has_name = any(token.entity != "O" for token in pattern.sentences[0])
    return pattern if has_name else replace(pattern, weight=_WITHOUT_NAMES)


def _is_in_split(words: Iterable[str], split: str) -> bool:
    """Whether words belong to a split, which depends on nothing but the words."""
    low, high = SPLITS[split]
    return low <= _tenth(words) < high


def _spelled(tokens: Sequence[Token], lexemes: Sequence[Lexeme]) -> list[str]:
    """Write the words of a sentence: ``a`` becomes ``an`` before a vowel; the first begins with a capital."""
    words = []
    for token in tokens:
        is_fixed = token.variable < 0
        if is_fixed:
            words.append(token.word_or_form)
        else:
            words.append(lexemes[token.variable].forms[token.word_or_form])
    for position, word in enumerate(words[:-1]):
        if word == "a" and _VOWEL.match(words[position + 1].lower()):
            words[position] = "an"
    words[0] = words[0][0].upper() + words[0][1:]
    return words


def _tenth(words: Iterable[str]) -> int:
    """A number from 0 to 9 that depends on the words alone."""
    return crc32(" ".join(words).encode()) % 10


def text_of(words: Sequence[str]) -> str:
    """Write words as plain text, marks attached.

    Example:
        >>> text_of(["It", "rains", "."])
        'It rains.'
    """
    return "".join(word if word in _ATTACHED else f" {word}" for word in words).removeprefix(" ")


def _dataset(rows: list[dict[str, Any]], features: Features) -> Dataset:
    """Rows in English with the columns of a schema."""
    columns = {name: [row[name] for row in rows] for name in features if name != "language"}
    return Dataset.from_dict({**columns, "language": ["en"] * len(rows)}, features=features)
