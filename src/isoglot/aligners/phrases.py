"""Phrase pairs that word links allow, and how often each occurs: a dictionary of terms read off an aligned bitext."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
"""First word, and the one after the last."""

_MOST = 1_000_000
"""Distinct pairs in memory."""
LEAST = 0.05
"""The least value of an entry of a lexicon."""
NULL = "\t"
"""Beside a word that has no link; no word of a column is so."""
_ESCAPES = str.maketrans({"|": "&#124;", "[": "&#91;", "]": "&#93;"})
"""Characters that mean something in a table of Moses, as its own scripts write them."""


def phrase_pairs(
    links: Iterable[tuple[int, int]], source: int, target: int, *, longest: int
) -> Iterator[tuple[Span, Span]]:
    """The consistent pairs of phrases of at most ``longest`` words each, in a pair with this many words.

    A pair is consistent if it holds a link and no word of one side is linked to a word outside of the other. Words
    without links at the edge of the target phrase may belong to it or not.

    Source: Och and Ney 2004, *The alignment template approach to statistical machine translation*.

    Example:
        >>> list(phrase_pairs([(0, 0), (1, 2)], 2, 3, longest=2))
        [((0, 1), (0, 1)), ((0, 1), (0, 2)), ((1, 2), (2, 3)), ((1, 2), (1, 3))]
    """
    forward, backward = defaultdict(list), defaultdict(list)
    for i, j in links:
        forward[i].append(j)
        backward[j].append(i)
    for first in range(source):
        low, high = target, -1
        for last in range(first, min(source, first + longest)):
            low, high = min([low, *forward[last]]), max([high, *forward[last]])
            if high < 0 or high - low >= longest:
                continue
            if any(not first <= i <= last for j in range(low, high + 1) for i in backward[j]):
                continue
            start = low
            while start >= 0 and high - start < longest and (start == low or not backward[start]):
                stop = high + 1
                while (
                    stop <= target
                    and stop - start <= longest
                    and (stop == high + 1 or not backward[stop - 1])
                ):
                    yield (first, last + 1), (start, stop)
                    stop += 1
                start -= 1


class PairCounts:
    """How often two phrases go together, counted in a database on the disk where they are many.

    Args:
        most: Distinct pairs in memory.
    """

    def __init__(self, *, most: int = _MOST) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._most = most
        # an empty name is a temporary file that goes with the connection
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE pairs (source, target, links, count, PRIMARY KEY (source, target, links)) WITHOUT ROWID"
        )

    def add(self, source: Sequence[str], target: Sequence[str], links: str = "") -> None:
        """Count a pair of phrases once more, by the ``links`` of their words where these are wanted."""
        self._counts[" ".join(source), " ".join(target), links] += 1
        if len(self._counts) >= self._most:
            self._store()

    def _store(self) -> None:
        self._database.executemany(
            "INSERT INTO pairs VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*pair, count) for pair, count in self._counts.items()),
        )
        self._counts.clear()

    def rows(self) -> Iterator[tuple[str, str, int, float, float]]:
        """Source, target, count, p(target | source) and p(source | target), by source, then the most frequent first."""
        self._store()
        yield from self._database.execute(
            "SELECT source, target, count, 1.0 * count / SUM(count) OVER (PARTITION BY source),"
            " 1.0 * count / SUM(count) OVER (PARTITION BY target) FROM pairs ORDER BY source, count DESC, target"
        )

    def by_word(self, given: Literal["source", "target"]) -> Iterator[tuple[str, str, int, int]]:
        """Source, target, count of the pair and of the given side, by that side, then the most frequent first."""
        self._store()
        other = "target" if given == "source" else "source"
        yield from self._database.execute(
            f"SELECT source, target, count, SUM(count) OVER (PARTITION BY {given}) FROM pairs"  # noqa: S608 - a literal
            f" ORDER BY {given}, count DESC, {other}"
        )

    def by_form(self) -> Iterator[tuple[str, str, str, int, int, int]]:
        """Source, target, the ``links`` that the pair has most often, counts of the pair, its source and its target."""
        self._store()
        rows = self._database.execute(
            "SELECT source, target, links, SUM(count) OVER (PARTITION BY source, target),"
            " SUM(count) OVER (PARTITION BY source), SUM(count) OVER (PARTITION BY target) FROM pairs"
            " ORDER BY source, target, count DESC, links"
        )
        last = None
        for source, target, *rest in rows:
            if (source, target) != last:
                last = source, target
                yield (source, target, *rest)

    def write(self, path: str | Path, *, minimum: float = 0.0) -> None:
        """Write lines of source, target, √(p(target | source) · p(source | target)), count and both probabilities.

        ``minimum``: The least value of the third column.
        """
        with whole_file(path) as file:
            for source, target, count, forward, backward in self.rows():
                if (value := sqrt(forward * backward)) >= minimum:
                    file.write(f"{source}\t{target}\t{value:.6g}\t{count}\t{forward:.6g}\t{backward:.6g}\n")

    def write_moses(self, path: str | Path, words: PairCounts) -> None:
        """Write a phrase table as Moses has it, in the order of ``LC_ALL=C sort``.

        A line is ``source ||| target ||| p(s | t) lex(s | t) p(t | s) lex(t | s) ||| links ||| count(t) count(s)
        count``. Of links that differ between occurrences the most frequent ones stand.

        ``words``: Counts of linked words, and of those without a link beside :data:`NULL`.

        Source: Koehn, Och & Marcu 2003, *Statistical phrase-based translation*, §2.3 (lexical weights).
        """
        words._store()
        words._database.execute(
            "CREATE TABLE lexical (source, target, forward, backward, PRIMARY KEY (source, target)) WITHOUT ROWID"
        )
        words._database.execute(
            "INSERT INTO lexical SELECT source, target, 1.0 * count / SUM(count) OVER (PARTITION BY source),"
            " 1.0 * count / SUM(count) OVER (PARTITION BY target) FROM pairs"
        )
        select = "SELECT forward, backward FROM lexical WHERE source = ? AND target = ?"

        @lru_cache(_MOST)
        def shares(source: str, target: str) -> tuple[float, float]:
            forward, backward = words._database.execute(select, (source, target)).fetchone() or (0.0, 0.0)
            return forward, backward

        self._store()
        rows = self._database.execute(
            "SELECT source, target, links, SUM(count) OVER (PARTITION BY source, target),"
            " SUM(count) OVER (PARTITION BY source), SUM(count) OVER (PARTITION BY target) FROM pairs"
            " ORDER BY source || ' |||', target || ' |||', count DESC, links"
        )
        last = None
        with whole_file(path) as file:
            for source, target, links, count, source_count, target_count in rows:
                if (source, target) == last:
                    continue
                last = source, target
                source_words, target_words = source.split(" "), target.split(" ")
                pairs = Alignment.from_pharaoh(links).links
                ahead, back = 1.0, 1.0
                for j, word in enumerate(target_words):
                    linked = [source_words[i] for i, k in pairs if k == j] or [NULL]
                    ahead *= sum(shares(other, word)[0] for other in linked) / len(linked)
                for i, word in enumerate(source_words):
                    linked = [target_words[j] for k, j in pairs if k == i] or [NULL]
                    back *= sum(shares(word, other)[1] for other in linked) / len(linked)
                scores = count / target_count, back, count / source_count, ahead
                sides = f"{source.translate(_ESCAPES)} ||| {target.translate(_ESCAPES)}"
                values = " ".join(f"{value:.6g}" for value in scores)
                file.write(f"{sides} ||| {values} ||| {links} ||| {target_count} {source_count} {count}\n")


def counted(
    linked: Iterable[SentencePair],
    *,
    phrases: str | Path,
    longest: int = 7,
    moses: bool = False,
    pieces: Sequence[str] = (),
) -> Iterator[SentencePair]:
    """Pass pairs on, count the phrases that they link, and write the counts at the end.

    ``phrases``: File of phrase pairs of at most ``longest`` words; ``moses``: In Moses' own format.
    ``pieces``: Tokenizers, of one or both sides, whose pieces stand for the single characters of running Chinese or
    Japanese; loaded where a text has some.
    """
    pairs, lexical = PairCounts(), PairCounts()
    bounds: list[PieceBounds] = []
    for pair in linked:
        unit = pair
        if pieces and any(map(has_unspaced, pair.texts)):
            bounds = bounds or [load_bounds(name) for name in pieces]
            unit = with_units(pair, bounds[0], bounds[-1])
        source, target = ([*map(column, side)] for side in unit.words)
        if moses:
            source, target = spaceless(source), spaceless(target)
            count_links(lexical, source, target, unit.links, unlinked=True)
        for (a, b), (c, d) in phrase_pairs(unit.links, len(source), len(target), longest=longest):
            inside = [(i - a, j - c) for i, j in unit.links if a <= i < b and c <= j < d] if moses else ()
            pairs.add(source[a:b], target[c:d], Alignment(frozenset(inside)).to_pharaoh())
        yield pair
    if moses:
        pairs.write_moses(phrases, lexical)
    else:
        pairs.write(phrases)


def spaceless(words: Iterable[str]) -> list[str]:
    """Words for a file whose columns are separated by white space, with underscores for white space inside a word."""
    return ["_".join(word.split()) or "_" for word in words]


def count_links(
    counts: PairCounts,
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    *,
    unlinked: bool,
) -> None:
    """Count the pairs of words that are linked; ``unlinked``: also each word without a link, beside :data:`NULL`."""
    links = list(links)
    for i, j in links:
        counts.add([source[i]], [target[j]])
    if unlinked:
        for i in set(range(len(source))) - {i for i, _ in links}:
            counts.add([source[i]], [NULL])
        for j in set(range(len(target))) - {j for _, j in links}:
            counts.add([NULL], [target[j]])
