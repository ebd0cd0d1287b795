"""Draws rows from compiled patterns, a chunk at a time, with numpy.

Chunk ``c`` of a task and split is a pure function of ``(seed, task, split, c)``, so the first rows of a longer data set
are those of a shorter one. Whether a sentence belongs to train, dev or test is a hash of its words: no sentence occurs
in two splits, whichever task it serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isoglot.seeding import seed_for
from isoglot.synthetic.lexicon import TOPICS, Lexicon
from isoglot.synthetic.patterns import CompiledPatterns, Ints, RaggedLists, Vocabulary, offsets

SPLITS = {"train": (0, 6), "dev": (6, 8), "test": (8, 10)}
"""Split → range of the sentence hash, in tenths."""

Hashes = npt.NDArray[np.uint64]

CHUNK = 4096
_BOOST = 30.0
_THEMED = 0.8


@dataclass
class WorldRows:
    """Drawn rows."""

    pattern: Ints
    tokens: RaggedLists  # by row, where its tokens stand in the compiled patterns
    ids: RaggedLists  # by row, the strings of its tokens
    sentences: RaggedLists  # by row, how many tokens its sentences have

    def __len__(self) -> int:
        return len(self.pattern)

    @property
    def sentence_offsets(self) -> Ints:
        """Where the sentences of all rows begin among the tokens of all rows."""
        return offsets(self.sentences.values)

    def take(self, rows: Ints) -> WorldRows:
        """Some of the rows, in the order asked for."""
        lists = (self.tokens, self.ids, self.sentences)
        return WorldRows(self.pattern[rows], *(each.take(rows) for each in lists))

    @classmethod
    def joined(cls, parts: list[WorldRows]) -> WorldRows:
        """Rows of several draws from the same patterns, one after the other."""
        lists = zip(*((p.tokens, p.ids, p.sentences) for p in parts), strict=True)
        return cls(np.concatenate([p.pattern for p in parts]), *map(RaggedLists.joined, lists))


class Engine:
    """Draws words for patterns."""

    def __init__(self, lexicon: Lexicon, seed: int) -> None:
        self.lexicon = lexicon
        self.seed = seed
        self.vocabulary = Vocabulary(lexicon)
        self._cumulated, self._starts = self._table()

    def _table(self) -> tuple[npt.NDArray[np.float64], Ints]:
        """All cumulated weights in one increasing array: row (pool, theme) holds values from its number upwards.

        Weights are Zipf-Mandelbrot's, ``(rank + 2.7) ** -1.05``, times ``_BOOST`` for the theme's own words.
        """
        parts: list[npt.NDArray[np.float64]] = []
        for pool in self.lexicon.values():
            frequency = np.power(np.arange(len(pool), dtype=np.float64) + 2.7, -1.05)
            for topic in (None, *TOPICS):
                own = [topic is not None and lex.topic == topic for lex in pool]
                weights = frequency * np.where(own, _BOOST, 1.0)
                cdf = np.cumsum(weights / weights.sum())
                cdf[-1] = 1.0
                parts.append(cdf + len(parts))
        return np.concatenate(parts), offsets(np.array([len(part) for part in parts]))[:-1]

    def rows(
        self, key: str, compiled: CompiledPatterns, split: str, count: int, *, whole: bool = False
    ) -> WorldRows:
        """The first ``count`` rows of a task and split.

        ``whole``: split by the row as a whole, not by each of its sentences (stories have too many).
        """
        parts: list[WorldRows] = []
        while (missing := count - sum(map(len, parts))) > 0:
            rng = np.random.default_rng(seed_for(self.seed, "synthetic", key, split, len(parts)))
            found = self._draw(compiled, rng, split, whole=whole)
            parts.append(found.take(np.arange(min(missing, len(found)))))
        return WorldRows.joined(parts)

    def _draw(
        self, compiled: CompiledPatterns, rng: np.random.Generator, split: str, *, whole: bool
    ) -> WorldRows:
        """A chunk without the rows of another split, and those in which two variables are the same word."""
        drawn = rng.integers(1, len(TOPICS) + 1, size=CHUNK)
        topics = np.where(rng.random(CHUNK) < _THEMED, drawn, 0)  # 0 is none
        pattern = np.searchsorted(compiled.cdf, rng.random(CHUNK), side="right")
        pattern = np.minimum(pattern, len(compiled.patterns) - 1)
        pools = compiled.pools.take(pattern)
        table = pools.values * (len(TOPICS) + 1) + np.repeat(topics, pools.lengths)
        uniform = rng.random(len(table))
        values = np.searchsorted(self._cumulated, table + uniform, side="right") - self._starts[table]
        tokens, sentences = compiled.tokens.take(pattern), compiled.sentences.take(pattern)
        variable, base = compiled.variable[tokens.values], compiled.base[tokens.values]
        place = np.repeat(pools.offsets[:-1], tokens.lengths) + np.maximum(variable, 0)
        fixed = variable < 0
        value = values[np.where(fixed, 0, place)] if len(values) else np.zeros_like(base)
        ids = np.where(fixed, base, self.vocabulary.flat[np.where(fixed, 0, base + value)])
        rows = WorldRows(pattern, tokens, RaggedLists(ids, tokens.offsets), sentences)
        self._spell(ids, rows.sentence_offsets[:-1])
        accepted = self._in_split(rows, split, whole=whole)
        twins = compiled.twins.take(pattern)
        owner = twins.owners()
        first, second = (twins.values + pools.offsets[owner][:, None]).T
        accepted[owner[values[first] == values[second]]] = False
        return rows.take(np.flatnonzero(accepted))

    def _spell(self, ids: Ints, first: Ints) -> None:
        """``a`` becomes ``an`` before a vowel; sentences begin with a capital."""
        capital, vowel, *_ = self.vocabulary.arrays
        change = np.flatnonzero(ids[:-1] == self.vocabulary.a)
        ids[change[vowel[ids[change + 1]]]] = self.vocabulary.an
        ids[first] = capital[ids[first]]

    def _in_split(self, rows: WorldRows, split: str, *, whole: bool) -> npt.NDArray[np.bool_]:
        """Rows of which every sentence, or the whole, hashes into the split."""
        low, high = SPLITS[split]
        hashes = self.vocabulary.arrays.hashes[rows.ids.values]
        bucket = sentence_buckets(hashes, rows.ids.offsets if whole else rows.sentence_offsets)
        outside = (bucket < low) | (bucket >= high)
        if whole:
            return ~outside
        inside: npt.NDArray[np.bool_] = np.add.reduceat(outside, rows.sentences.offsets[:-1]) == 0
        return inside


def sentence_buckets(hashes: Hashes, sentence_offset: Ints) -> Ints:
    """A number from 0 to 9 for each sentence, from the hashes of its words and their order alone."""
    position = np.arange(len(hashes)) - np.repeat(sentence_offset[:-1], np.diff(sentence_offset))
    mixed = hashes * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (position.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    total = np.add.reduceat(mixed, sentence_offset[:-1])
    total *= np.uint64(0x94D049BB133111EB)
    total ^= total >> np.uint64(31)
    return (total % np.uint64(10)).astype(np.int64)
