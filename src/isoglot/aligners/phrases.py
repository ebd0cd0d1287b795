"""Phrase pairs that word links allow, and how often each occurs: a dictionary of terms read off an aligned bitext."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from pathlib import Path

from isoglot.aligners.alignment import column
from isoglot.formats.sentence_pair import SentencePair
from isoglot.runs.files import whole_file

Span = tuple[int, int]
"""First word, and the one after the last."""

_MOST = 1_000_000
"""Distinct pairs in memory."""
_LEAST = 0.05
"""The least value of an entry of a lexicon."""


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
        self._counts: Counter[tuple[str, str]] = Counter()
        self._most = most
        # an empty name is a temporary file that goes with the connection
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE pairs (source, target, count, PRIMARY KEY (source, target)) WITHOUT ROWID"
        )

    def add(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Count a pair of phrases once more."""
        self._counts[" ".join(source), " ".join(target)] += 1
        if len(self._counts) >= self._most:
            self._store()

    def _store(self) -> None:
        self._database.executemany(
            "INSERT INTO pairs VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
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

    def write(self, path: str | Path, *, minimum: float = 0.0) -> None:
        """Write lines of source, target, √(p(target | source) · p(source | target)), count and both probabilities.

        ``minimum``: The least value of the third column.
        """
        with whole_file(path) as file:
            for source, target, count, forward, backward in self.rows():
                if (value := sqrt(forward * backward)) >= minimum:
                    file.write(f"{source}\t{target}\t{value:.6g}\t{count}\t{forward:.6g}\t{backward:.6g}\n")


def counted(
    linked: Iterable[SentencePair],
    *,
    lexicon: str | Path | None = None,
    phrases: str | Path | None = None,
    longest: int = 7,
) -> Iterator[SentencePair]:
    """Pass pairs on, count the words and phrases that they link, and write the counts at the end.

    ``lexicon``: File of linked words; those whose third column is below 0.05 are left out, as of a statistical model.
    ``phrases``: File of phrase pairs of at most ``longest`` words.
    """
    words, pairs = PairCounts(), PairCounts()
    for pair in linked:
        source, target = ([*map(column, side)] for side in pair.words)
        if lexicon is not None:
            for i, j in pair.links:
                words.add(source[i : i + 1], target[j : j + 1])
        if phrases is not None:
            for (a, b), (c, d) in phrase_pairs(pair.links, len(source), len(target), longest=longest):
                pairs.add(source[a:b], target[c:d])
        yield pair
    if lexicon is not None:
        words.write(lexicon, minimum=_LEAST)
    if phrases is not None:
        pairs.write(phrases)
