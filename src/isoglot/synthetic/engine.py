"""Draws rows from compiled patterns, a chunk at a time, with numpy.

Chunk ``c`` of a task and split is a pure function of ``(seed, task, split, c)``, so the first rows of a longer data set
are those of a shorter one. Whether a sentence belongs to train, dev or test is a hash of its words: no sentence occurs
in two splits, whichever task it serves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from isoglot.seeding import seed_for
from isoglot.synthetic.lexicon import TOPICS, Lexicon
from isoglot.synthetic.patterns import CompiledPatterns, Ints, Vocabulary, flat, offsets, starts

SPLITS = {"train": (0, 6), "dev": (6, 8), "test": (8, 10)}
"""Split → range of the sentence hash, in tenths."""

Hashes = npt.NDArray[np.uint64]

CHUNK = 4096
_BOOST = 30.0
_THEMED = 0.8


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
        self, key: str, compiled: CompiledPatterns, split: str, number: int, *, whole: bool = False
    ) -> pa.Table:
        """The first ``number`` rows of a task and split.

        Columns are ``pattern``, and lists: ``tokens``, where the row's tokens stand in the compiled patterns, ``ids``,
        their strings, and ``sentences``, how many tokens its sentences have.

        ``whole``: split by the row as a whole, not by each of its sentences (stories have too many).
        """
        parts: list[pa.Table] = []
        while (missing := number - sum(map(len, parts))) > 0:
            rng = np.random.default_rng(seed_for(self.seed, "synthetic", key, split, len(parts)))
            parts.append(self._draw(compiled, rng, split, whole=whole).slice(0, missing))
        return pa.concat_tables(parts)

    def _draw(
        self, compiled: CompiledPatterns, rng: np.random.Generator, split: str, *, whole: bool
    ) -> pa.Table:
        """A chunk without the rows of another split, and those in which two variables are the same word."""
        drawn = rng.integers(1, len(TOPICS) + 1, size=CHUNK)
        topics = np.where(rng.random(CHUNK) < _THEMED, drawn, 0)  # 0 is none
        pattern = np.searchsorted(compiled.cdf, rng.random(CHUNK), side="right")
        pattern = np.minimum(pattern, len(compiled.patterns) - 1)
        rows = compiled.lists.take(pattern)
        first_pool, first_token = starts(rows, "pools"), starts(rows, "tokens")
        table = flat(rows, "pools") * (len(TOPICS) + 1) + np.repeat(topics, np.diff(first_pool))
        uniform = rng.random(len(table))
        values = np.searchsorted(self._cumulated, table + uniform, side="right") - self._starts[table]
        tokens, sentences = flat(rows, "tokens"), offsets(flat(rows, "sentences"))
        variable, base = compiled.variable[tokens], compiled.base[tokens]
        place = np.repeat(first_pool[:-1], np.diff(first_token)) + np.maximum(variable, 0)
        fixed = variable < 0
        value = values[np.where(fixed, 0, place)] if len(values) else np.zeros_like(base)
        ids = np.where(fixed, base, self.vocabulary.flat[np.where(fixed, 0, base + value)])
        self._spell(ids, sentences[:-1])
        accepted = self._in_split(ids, first_token if whole else sentences, split)
        if not whole:
            accepted = np.logical_and.reduceat(accepted, starts(rows, "sentences")[:-1])
        owner = np.repeat(np.arange(CHUNK), np.diff(starts(rows, "twin")))
        twin, other = (values[flat(rows, name) + first_pool[owner]] for name in ("twin", "other"))
        accepted[owner[twin == other]] = False
        words = pa.ListArray.from_arrays(pa.array(first_token, pa.int32()), pa.array(ids))
        found = {"pattern": pattern, "ids": words, "tokens": rows["tokens"], "sentences": rows["sentences"]}
        return pa.table(found).filter(pa.array(accepted))

    def _spell(self, ids: Ints, first: Ints) -> None:
        """``a`` becomes ``an`` before a vowel; sentences begin with a capital."""
        capital, vowel, *_ = self.vocabulary.arrays
        change = np.flatnonzero(ids[:-1] == self.vocabulary.a)
        ids[change[vowel[ids[change + 1]]]] = self.vocabulary.an
        ids[first] = capital[ids[first]]

    def _in_split(self, ids: Ints, begin: Ints, split: str) -> npt.NDArray[np.bool_]:
        """Whether the words from each of these places to the next hash into the split."""
        low, high = SPLITS[split]
        bucket = sentence_buckets(self.vocabulary.arrays.hashes[ids], begin)
        return (low <= bucket) & (bucket < high)


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
