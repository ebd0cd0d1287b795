"""Make a glossary from word links: content words and terms of several words, as translators keep them.

An entry is a phrase pair (``phrases.py``) that passes these rules:

1. Words. Each word has a letter, with hyphens, apostrophes and stops only inside: no numbers, no punctuation.
2. Edges. The first and the last word of each side have links: *very house* is no term if *very* has no link.
3. Content. Neither edge is a function word. English has a list of function words (articles, pronouns, prepositions,
   auxiliaries). A word of the other language is a function word if at least half of its links go to such words: *der*
   links to *the*, so it is one, and *Haus* is not. Without an English side there is no such rule.
4. Frequency. The pair was linked ``min_count`` times, and √(p(target | source) · p(source | target)) is at least 0.1.
"""

from __future__ import annotations

import csv
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import regex

from isoglot.aligners.phrases import PairCounts, phrase_pairs
from isoglot.formats.sentence_pair import SentencePair
from isoglot.runs.files import whole_file

_LOG = logging.getLogger(__name__)
COLUMNS = ("source", "target", "count", "probability", "target_given_source", "source_given_target")
MIN_PROBABILITY = 0.1
"""Minimum probability of an entry; words that stand beside each other by chance have less."""
_ENGLISH_SHARE = 0.25
"""Share of function words from which a side is taken as English.

English text has about 0.45. Text of another language, in which some words look like English ones, has below 0.15.
"""
_MOSTLY = 0.5
"""A word is a function word if at least this share of its links goes to function words of English."""
_CONTENT = regex.compile(r"(?=.*\p{L})[\p{L}\p{M}\p{Nd}](?:[\p{L}\p{M}\p{Nd}'’·‑.-]*[\p{L}\p{M}\p{Nd}])?")
"""A word of letters, perhaps with digits, and with hyphens, apostrophes and stops inside."""
_ENGLISH = """
a about above after again against ain't all almost along already also although always am among an and another
any anybody anyone anything are aren't around as at away back be became because been before behind being below
beside between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done down
during each either else enough even ever every everybody everyone everything except few for from further get
gets getting got had hadn't has hasn't have haven't having he he'd he'll he's hence her here hers herself him
himself his how however i i'd i'll i'm i've if in instead into is isn't it it'd it'll it's its itself just less
let let's lot many may maybe me might mine more most much must mustn't my myself near neither never nevertheless
no nobody none nor not nothing now nowhere of off often on once one oneself only onto or other others otherwise
ought our ours ourselves out over own per perhaps quite rather really same shall shan't she she'd she'll she's
should shouldn't since so some somebody someone something sometimes somewhere soon still such than that that's
the their theirs them themselves then there there's therefore these they they'd they'll they're they've this
those though through throughout thus to together too toward towards under until unless up upon us very via was
wasn't we we'd we'll we're we've were weren't what what's whatever when whenever where whereas wherever whether
which whichever while who who's whoever whole whom whose why will with within without won't would wouldn't yes
yet you you'd you'll you're you've your yours yourself yourselves d ll m re s t ve
"""
FUNCTION_WORDS = frozenset(_ENGLISH.split())
"""Function words of English, and what remains where a tokenizer has cut *don't* or *we'll*."""

IsFunctionWord = Callable[[str], bool]


def key_of_word(word: str) -> str:
    """Return the form under which a word is counted: in lower case, but `US` and `IT` are not *us* and *it*."""
    return word if len(word) > 1 and word.isupper() else word.casefold().replace("’", "'")


class Glossary:
    """Count the terms that links pair, and write the frequent ones as a glossary.

    Args:
        longest: Maximum words of a side of a term.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._terms, self._words = PairCounts(), PairCounts()
        # Tokens of each side, and how many of them are function words of English.
        self._tokens, self._function_tokens = [0, 0], [0, 0]

    def add(self, pair: SentencePair) -> None:
        """Count the terms of a pair."""
        keys = [list(map(key_of_word, side)) for side in pair.words]
        for side, words in enumerate(keys):
            self._tokens[side] += len(words)
            self._function_tokens[side] += sum(word in FUNCTION_WORDS for word in words)
        for i, j in pair.links:
            self._words.add([keys[0][i]], [keys[1][j]])
        linked = [{i for i, _ in pair.links}, {j for _, j in pair.links}]
        usable = [[bool(_CONTENT.fullmatch(word)) for word in side] for side in pair.words]
        for source_span, target_span in phrase_pairs(pair.links, *map(len, keys), longest=self._longest):
            is_term_pair = _is_term(source_span, usable[0], linked[0]) and _is_term(
                target_span, usable[1], linked[1]
            )
            if is_term_pair:
                (a, b), (c, d) = source_span, target_span
                # The spelling is counted apart, so that the entry shows the most frequent one.
                spelling = f"{' '.join(pair.words[0][a:b])}\t{' '.join(pair.words[1][c:d])}"
                self._terms.add(keys[0][a:b], keys[1][c:d], spelling)

    def write(self, path: str | Path, *, min_count: int) -> None:
        """Write terms that were linked at least ``min_count`` times as CSV, the most frequent first.

        A row has the most frequent spelling of both sides, the count, √(p(target | source) · p(source | target)),
        p(target | source) and p(source | target). Rows with equal counts are in alphabetical order.
        """
        is_source_function_word, is_target_function_word = self._function_words()
        entries: list[tuple[Any, ...]] = []
        for source, target, spelling, count, source_count, target_count in self._terms.by_form():
            if count < min_count:
                continue
            source_words, target_words = source.split(" "), target.split(" ")
            if is_source_function_word(source_words[0]) or is_source_function_word(source_words[-1]):
                continue
            if is_target_function_word(target_words[0]) or is_target_function_word(target_words[-1]):
                continue
            forward, backward = count / source_count, count / target_count
            probability = sqrt(forward * backward)
            if probability >= MIN_PROBABILITY:
                values = (f"{value:.4f}" for value in (probability, forward, backward))
                entries.append((*spelling.split("\t"), count, *values))
        entries.sort(key=lambda entry: (-entry[2], *entry[:2]))
        with whole_file(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(entries)

    def _function_words(self) -> tuple[IsFunctionWord, IsFunctionWord]:
        """Return a test for function words of the source, and one for those of the target."""
        shares = [
            count / max(1, tokens) for count, tokens in zip(self._function_tokens, self._tokens, strict=True)
        ]
        source_is_english = shares[0] >= shares[1]
        if max(shares) < _ENGLISH_SHARE:
            if any(self._tokens):
                _LOG.warning("no side is English, so the glossary has articles, pronouns and their like too")
            return _never, _never
        # Count the links of each word of the other language, and how many of them go to English function words.
        links: Counter[str] = Counter()
        to_function_words: Counter[str] = Counter()
        for source, target, count, _ in self._words.by_word("source"):
            english_word, word = (source, target) if source_is_english else (target, source)
            links[word] += count
            if english_word in FUNCTION_WORDS:
                to_function_words[word] += count
        learned = {word for word, count in links.items() if to_function_words[word] >= _MOSTLY * count}
        if source_is_english:
            return FUNCTION_WORDS.__contains__, learned.__contains__
        return learned.__contains__, FUNCTION_WORDS.__contains__


def _never(word: str) -> bool:
    """Take no word as a function word."""
    del word
    return False


def _is_term(span: tuple[int, int], usable: Sequence[bool], linked: set[int]) -> bool:
    """Test whether words of a side can be a term: all of them usable, and the words at both edges linked."""
    first, end = span
    return all(usable[first:end]) and first in linked and end - 1 in linked
