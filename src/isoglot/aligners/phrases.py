"""Phrase pairs that word links allow, and how often each occurs: a dictionary of terms read off an aligned bitext."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import Literal

from isoglot.aligners.alignment import column
from isoglot.aligners.embedding.running_text import PieceBounds, with_units
from isoglot.aligners.pieces import load_bounds
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import has_unspaced
from isoglot.runs.files import whole_file

Span = tuple[int, int]
"""Number of the first word, and of the one after the last."""
WordProbabilities = Callable[[str, str], tuple[float, float]]
"""A source and a target word to p(target | source) and p(source | target)."""

_MOST_IN_MEMORY = 1_000_000
"""Distinct pairs that are counted in memory before they go to the database."""
MIN_PROBABILITY = 0.05
"""Minimum of √(p(target | source) · p(source | target)) for an entry of a lexicon."""
NULL = "\t"
"""The partner of a word without a link. No word of a column is a tab, so it cannot be mistaken for one."""
_ESCAPES = str.maketrans({"|": "&#124;", "[": "&#91;", "]": "&#93;"})
"""Characters that mean something in a phrase table, escaped as Moses' own scripts escape them."""


def _escaped_in_sql(column: str) -> str:
    """The text of a column as :data:`_ESCAPES` writes it, as an expression of SQL."""
    for character, escape in _ESCAPES.items():
        column = f"replace({column}, '{chr(character)}', '{escape}')"
    return column


def phrase_pairs(
    links: Iterable[tuple[int, int]], source_length: int, target_length: int, *, longest: int
) -> Iterator[tuple[Span, Span]]:
    """Yield the consistent phrase pairs of a sentence pair with ``source_length`` and ``target_length`` words.

    Each side of a phrase pair has at most ``longest`` words. A phrase pair is consistent if

    1. it holds at least one link, and
    2. no word of either phrase is linked to a word outside the other phrase.

    Unlinked words at an edge do not make a pair inconsistent, so the pair is also yielded with them: in the example
    below target word 1 has no link, so source word 0 goes with target word 0 and with target words 0 to 1.

    Source: Och and Ney 2004, *The alignment template approach to statistical machine translation*.

    Example:
        >>> list(phrase_pairs([(0, 0), (1, 2)], 2, 3, longest=2))
        [((0, 1), (0, 1)), ((0, 1), (0, 2)), ((1, 2), (2, 3)), ((1, 2), (1, 3))]
    """
    targets_of, sources_of = defaultdict(list), defaultdict(list)
    for i, j in links:
        targets_of[i].append(j)
        sources_of[j].append(i)
    for first in range(source_length):
        # The target words that source words first..last are linked to lie between low and high.
        low, high = target_length, -1
        for last in range(first, min(source_length, first + longest)):
            low, high = min([low, *targets_of[last]]), max([high, *targets_of[last]])
            if high < 0 or high - low >= longest:  # no link yet, or too many target words
                continue
            # Rule 2: a target word between low and high is linked to a source word outside first..last.
            if any(not first <= i <= last for j in range(low, high + 1) for i in sources_of[j]):
                continue
            # Every start from low to the left, and every stop from high to the right, as far as words are unlinked.
            start = low
            while start >= 0 and high - start < longest and (start == low or not sources_of[start]):
                stop = high + 1
                while (
                    stop <= target_length
                    and stop - start <= longest
                    and (stop == high + 1 or not sources_of[stop - 1])
                ):
                    yield (first, last + 1), (start, stop)
                    stop += 1
                start -= 1


class PairCounts:
    """Count how often two phrases (or words) go together.

    Counts are collected in memory; whenever there are many they are added to a temporary SQLite database, so memory
    does not grow with the text.

    Args:
        most: Distinct pairs in memory.

    Example:
        >>> counts = PairCounts()
        >>> counts.add(["the", "house"], ["das", "Haus"])
        >>> list(counts.rows())
        [('the house', 'das Haus', 1, 1.0, 1.0)]
    """

    def __init__(self, *, most: int = _MOST_IN_MEMORY) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._most = most
        # SQLite takes an empty name as a temporary file, which is deleted when the connection closes.
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE pairs (source, target, form, count, PRIMARY KEY (source, target, form)) WITHOUT ROWID"
        )

    def add(self, source: Sequence[str], target: Sequence[str], form: str = "") -> None:
        """Count one more occurrence of a pair of phrases.

        ``form``: The form in which the pair occurs, counted apart from its other forms: for a phrase table the links
        between its words, as a Pharaoh line; for a glossary the spelling.
        """
        self._counts[" ".join(source), " ".join(target), form] += 1
        if len(self._counts) >= self._most:
            self._store()

    def _store(self) -> None:
        """Add the counts in memory to those in the database."""
        self._database.executemany(
            "INSERT INTO pairs VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*pair, count) for pair, count in self._counts.items()),
        )
        self._counts.clear()

    def rows(self) -> Iterator[tuple[str, str, int, float, float]]:
        """Yield source, target, count, p(target | source) and p(source | target) of each pair.

        Only for counts whose pairs were all added without ``form``: otherwise a pair has a row for each of its forms.
        Sorted by source; the pairs of one source by count, the most frequent first.
        """
        self._store()
        yield from self._database.execute(
            "SELECT source, target, count, 1.0 * count / SUM(count) OVER (PARTITION BY source),"
            " 1.0 * count / SUM(count) OVER (PARTITION BY target) FROM pairs ORDER BY source, count DESC, target"
        )

    def by_word(self, given: Literal["source", "target"]) -> Iterator[tuple[str, str, int, int]]:
        """Yield source, target, count of the pair and count of its ``given`` side.

        Only for counts whose pairs were all added without ``form``, as for :meth:`rows`.
        Sorted by the given side; the pairs of one given word by count, the most frequent first.
        """
        self._store()
        other = "target" if given == "source" else "source"
        yield from self._database.execute(
            f"SELECT source, target, count, SUM(count) OVER (PARTITION BY {given}) FROM pairs"  # noqa: S608 - a literal
            f" ORDER BY {given}, count DESC, {other}"
        )

    def by_form(self) -> Iterator[tuple[str, str, str, int, int, int]]:
        """Yield source, target, the pair's most frequent form, and the counts of the pair, its source and its target.

        Sorted by source, then target. Of forms with equal counts the first in the alphabet is taken.
        """
        return self._most_frequent_forms(order="source, target")

    def _most_frequent_forms(self, order: str) -> Iterator[tuple[str, str, str, int, int, int]]:
        """Yield the rows of :meth:`by_form` in an ``order`` of SQL that keeps the forms of a pair together."""
        self._store()
        rows = self._database.execute(
            "SELECT source, target, form, SUM(count) OVER (PARTITION BY source, target),"  # noqa: S608 - a literal
            " SUM(count) OVER (PARTITION BY source), SUM(count) OVER (PARTITION BY target) FROM pairs"
            f" ORDER BY {order}, count DESC, form"
        )
        last_pair = None
        for source, target, *form_and_counts in rows:
            # The first row of a pair has its most frequent form; later rows repeat the pair with rarer ones.
            if (source, target) != last_pair:
                last_pair = source, target
                yield (source, target, *form_and_counts)

    def write(self, path: str | Path, *, minimum: float = 0.0) -> None:
        """Write lines of source, target, √(p(target | source) · p(source | target)), count and both probabilities.

        ``minimum``: Lines whose third column is below it are left out.
        """
        with whole_file(path) as file:
            for source, target, count, forward, backward in self.rows():
                value = sqrt(forward * backward)
                if value >= minimum:
                    file.write(f"{source}\t{target}\t{value:.6g}\t{count}\t{forward:.6g}\t{backward:.6g}\n")

    def write_moses(self, path: str | Path, words: PairCounts) -> None:
        """Write the counted phrase pairs as a phrase table of Moses, in the order of ``LC_ALL=C sort``.

        A line is ``source ||| target ||| p(s | t) lex(s | t) p(t | s) lex(t | s) ||| links ||| count(t) count(s)
        count``; of a single pair that occurred once::

            the ||| das ||| 1 1 1 1 ||| 0-0 ||| 1 1 1

        Where the links of a pair differ between occurrences, the most frequent ones are written.

        ``words``: Counts of linked words, and of words without a link beside :data:`NULL`.
        """
        word_probabilities = words._word_probabilities()
        # `sort` compares whole lines: escaped, and with the marks behind a phrase, so "a b |||" comes before "a |||".
        order = f"{_escaped_in_sql('source')} || ' |||', {_escaped_in_sql('target')} || ' |||'"
        with whole_file(path) as file:
            for source, target, links, count, source_count, target_count in self._most_frequent_forms(order):
                source_given_target, target_given_source = _lexical_weights(
                    source.split(" "),
                    target.split(" "),
                    Alignment.from_pharaoh(links).links,
                    word_probabilities,
                )
                scores = (
                    count / target_count,
                    source_given_target,
                    count / source_count,
                    target_given_source,
                )
                sides = f"{source.translate(_ESCAPES)} ||| {target.translate(_ESCAPES)}"
                values = " ".join(f"{value:.6g}" for value in scores)
                file.write(f"{sides} ||| {values} ||| {links} ||| {target_count} {source_count} {count}\n")

    def _word_probabilities(self) -> WordProbabilities:
        """Return a function from a source and a target word to p(target | source) and p(source | target).

        The counts are of words that were added without ``form``, so each pair has one row. Call it once.
        """
        self._store()
        # A table with a key: the probabilities are looked up by word for each line of the phrase table.
        self._database.execute(
            "CREATE TABLE lexical (source, target, forward, backward, PRIMARY KEY (source, target)) WITHOUT ROWID"
        )
        self._database.execute(
            "INSERT INTO lexical SELECT source, target, 1.0 * count / SUM(count) OVER (PARTITION BY source),"
            " 1.0 * count / SUM(count) OVER (PARTITION BY target) FROM pairs"
        )
        select = "SELECT forward, backward FROM lexical WHERE source = ? AND target = ?"

        @lru_cache(_MOST_IN_MEMORY)
        def word_probabilities(source: str, target: str) -> tuple[float, float]:
            found = self._database.execute(select, (source, target)).fetchone()
            forward, backward = found or (0.0, 0.0)
            return forward, backward

        return word_probabilities


def _lexical_weights(
    source: Sequence[str],
    target: Sequence[str],
    links: Collection[tuple[int, int]],
    word_probabilities: WordProbabilities,
) -> tuple[float, float]:
    """Return lex(source | target) and lex(target | source) of a phrase pair.

    The weight of a word is the mean of its probability given each word that it is linked to, or its probability given
    :data:`NULL` if it has no link. The weight of a phrase is the product over its words.

    Source: Koehn, Och & Marcu 2003, *Statistical phrase-based translation*, §2.3.
    """
    target_given_source = 1.0
    for j, target_word in enumerate(target):
        linked = [source[i] for i, linked_to in links if linked_to == j] or [NULL]
        total = sum(word_probabilities(source_word, target_word)[0] for source_word in linked)
        target_given_source *= total / len(linked)
    source_given_target = 1.0
    for i, source_word in enumerate(source):
        linked = [target[j] for linked_to, j in links if linked_to == i] or [NULL]
        total = sum(word_probabilities(source_word, target_word)[1] for target_word in linked)
        source_given_target *= total / len(linked)
    return source_given_target, target_given_source


def with_phrases(
    linked: Iterable[SentencePair],
    *,
    phrases: str | Path,
    longest: int = 7,
    moses: bool = False,
    unit_tokenizers: Sequence[str] = (),
) -> Iterator[SentencePair]:
    """Pass pairs on unchanged, count the phrase pairs that their links allow, and write the counts after the last pair.

    Args:
        linked: Pairs with links.
        phrases: File to write.
        longest: Maximum words of a phrase.
        moses: Write the file as a phrase table of Moses, not as TSV.
        unit_tokenizers: Names of tokenizers, one for both sides or one for each, whose pieces take the place of the
            single characters of running Chinese or Japanese. They are loaded at the first text that has such
            characters.
    """
    phrase_counts, word_counts = PairCounts(), PairCounts()
    bounds: list[PieceBounds] = []
    for pair in linked:
        unit_pair = pair
        if unit_tokenizers and any(map(has_unspaced, pair.texts)):
            bounds = bounds or [load_bounds(name) for name in unit_tokenizers]
            unit_pair = with_units(pair, bounds[0], bounds[-1])
        source = [column(word) for word in unit_pair.words[0]]
        target = [column(word) for word in unit_pair.words[1]]
        if moses:
            source, target = spaceless(source), spaceless(target)
            count_links(word_counts, source, target, unit_pair.links, unlinked=True)
        for (a, b), (c, d) in phrase_pairs(unit_pair.links, len(source), len(target), longest=longest):
            links = ""
            if moses:  # numbered from the first word of the phrases
                inside = frozenset((i - a, j - c) for i, j in unit_pair.links if a <= i < b and c <= j < d)
                links = Alignment(inside).to_pharaoh()
            phrase_counts.add(source[a:b], target[c:d], links)
        yield pair
    if moses:
        phrase_counts.write_moses(phrases, word_counts)
    else:
        phrase_counts.write(phrases)


def spaceless(words: Iterable[str]) -> list[str]:
    """Return words for a file whose columns are separated by spaces: ``New York`` as one word becomes ``New_York``."""
    return ["_".join(word.split()) or "_" for word in words]


def count_links(
    counts: PairCounts,
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    *,
    unlinked: bool,
) -> None:
    """Count each linked pair of words; with ``unlinked`` also each word without a link, beside :data:`NULL`."""
    links = list(links)
    for i, j in links:
        counts.add([source[i]], [target[j]])
    if not unlinked:
        return
    linked_sources, linked_targets = {i for i, _ in links}, {j for _, j in links}
    for i, word in enumerate(source):
        if i not in linked_sources:
            counts.add([word], [NULL])
    for j, word in enumerate(target):
        if j not in linked_targets:
            counts.add([NULL], [word])
