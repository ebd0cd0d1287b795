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
from isoglot.synthetic.patterns import Compiled, Ints, Vocabulary

SPLITS = {"train": (0, 6), "dev": (6, 8), "test": (8, 10)}
"""Split → range of the sentence hash, in tenths."""

Hashes = npt.NDArray[np.uint64]

CHUNK = 4096
_BOOST = 30.0
_THEMED = 0.8


@dataclass
class WorldRows:
    """Drawn rows: token ids of all rows one after the other, and where rows and sentences begin."""

    pattern: Ints
    ids: Ints
    token_index: Ints
    """Where each token stands in the compiled patterns' token arrays."""
    row_offset: Ints
    """Row ``r`` is ``ids[row_offset[r] : row_offset[r + 1]]``."""
    sentence_offset: Ints
    row_sentence: Ints
    """Row ``r`` has the sentences ``row_sentence[r] … row_sentence[r + 1] - 1``."""
    accepted: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pattern)

    def take(self, rows: Ints) -> WorldRows:
        """Some of the rows, in the order asked for."""
        tokens = np.diff(self.row_offset)[rows]
        sentences = np.diff(self.row_sentence)[rows]
        chosen = ragged(self.row_offset[rows], tokens)
        lengths = np.diff(self.sentence_offset)[ragged(self.row_sentence[rows], sentences)]
        return WorldRows(
            pattern=self.pattern[rows],
            ids=self.ids[chosen],
            token_index=self.token_index[chosen],
            row_offset=offsets(tokens),
            sentence_offset=offsets(lengths),
            row_sentence=offsets(sentences),
            accepted=self.accepted[rows],
        )

    @classmethod
    def joined(cls, parts: list[WorldRows]) -> WorldRows:
        """Rows of several draws from the same patterns, one after the other."""
        return cls(
            pattern=np.concatenate([p.pattern for p in parts]),
            ids=np.concatenate([p.ids for p in parts]),
            token_index=np.concatenate([p.token_index for p in parts]),
            row_offset=offsets(np.concatenate([np.diff(p.row_offset) for p in parts])),
            sentence_offset=offsets(np.concatenate([np.diff(p.sentence_offset) for p in parts])),
            row_sentence=offsets(np.concatenate([np.diff(p.row_sentence) for p in parts])),
            accepted=np.concatenate([p.accepted for p in parts]),
        )


def ragged(start: Ints, count: Ints) -> Ints:
    """Indices ``start[0] … start[0]+count[0]-1, start[1] …`` as one array."""
    total = int(count.sum())
    ends = np.cumsum(count)
    found: Ints = np.arange(total) + np.repeat(start - (ends - count), count)
    return found


def offsets(count: Ints) -> Ints:
    """``0, count[0], count[0]+count[1] …``, one longer than ``count``."""
    found: Ints = np.concatenate([[0], np.cumsum(count)])
    return found


class Engine:
    """Draws words for patterns."""

    def __init__(self, lexicon: Lexicon, seed: int) -> None:
        self.lexicon = lexicon
        self.seed = seed
        self.vocabulary = Vocabulary(lexicon)
        self._cumulated, self._starts = self._table()

    def rng(self, *key: str | int) -> np.random.Generator:
        """The generator of one chunk."""
        return np.random.default_rng(seed_for(self.seed, "synthetic", *key))

    def _table(self) -> tuple[npt.NDArray[np.float64], Ints]:
        """All cumulated weights in one increasing array: row (pool, theme) holds values from its number upwards."""
        parts: list[npt.NDArray[np.float64]] = []
        starts, at = [], 0
        for pool in self.lexicon.pools.values():
            for topic in (None, *TOPICS):
                cdf = np.cumsum(pool.weights(topic, boost=_BOOST))
                cdf[-1] = 1.0
                parts.append(cdf + len(parts))
                starts.append(at)
                at += len(cdf)
        return np.concatenate(parts), np.array(starts)

    def topics(self, rng: np.random.Generator, count: int) -> Ints:
        """A theme for each row: 0 is none."""
        drawn = rng.integers(1, len(TOPICS) + 1, size=count)
        return np.where(rng.random(count) < _THEMED, drawn, 0)

    def draw(
        self,
        compiled: Compiled,
        rng: np.random.Generator,
        *,
        split: str,
        topics: Ints,
        whole: bool = False,
    ) -> WorldRows:
        """Draw one row for each entry of ``topics``.

        ``split``: one of :data:`SPLITS`; rows of another split come back not accepted.
        ``whole``: split by the row as a whole, not by each of its sentences (stories have too many).
        """
        pattern = np.searchsorted(compiled.cdf, rng.random(len(topics)), side="right")
        pattern = np.minimum(pattern, len(compiled.patterns) - 1)
        variables = compiled.variable_count[pattern]
        variable_offset = offsets(variables)
        pools = compiled.variable_pool[ragged(compiled.variable_start[pattern], variables)]
        uniform = rng.random(len(pools))
        table = pools * (len(TOPICS) + 1) + np.repeat(topics, variables)
        values = np.searchsorted(self._cumulated, table + uniform, side="right") - self._starts[table]
        tokens = compiled.token_count[pattern]
        index = ragged(compiled.token_start[pattern], tokens)
        variable = compiled.token_variable[index]
        base = compiled.token_base[index]
        place = np.repeat(variable_offset[:-1], tokens) + np.maximum(variable, 0)
        fixed = variable < 0
        value = values[np.where(fixed, 0, place)] if len(values) else np.zeros_like(base)
        ids = np.where(fixed, base, self.vocabulary.flat[np.where(fixed, 0, base + value)])
        sentences = compiled.sentence_count[pattern]
        lengths = compiled.sentence_length[ragged(compiled.sentence_start[pattern], sentences)]
        sentence_offset, row_sentence = offsets(lengths), offsets(sentences)
        self._spell(ids, sentence_offset[:-1])
        accepted = self._distinct(compiled, pattern, variable_offset, values)
        row_offset = offsets(tokens)
        units = (row_offset, np.arange(len(topics) + 1)) if whole else (sentence_offset, row_sentence)
        accepted &= _in_split(self.vocabulary.arrays.hashes[ids], *units, split)
        return WorldRows(pattern, ids, index, row_offset, sentence_offset, row_sentence, accepted)

    def _spell(self, ids: Ints, first: Ints) -> None:
        """``a`` becomes ``an`` before a vowel; sentences begin with a capital."""
        capital, vowel, *_ = self.vocabulary.arrays
        change = np.flatnonzero(ids[:-1] == self.vocabulary.a)
        ids[change[vowel[ids[change + 1]]]] = self.vocabulary.an
        ids[first] = capital[ids[first]]

    @staticmethod
    def _distinct(
        compiled: Compiled, pattern: Ints, variable_offset: Ints, values: Ints
    ) -> npt.NDArray[np.bool_]:
        """Rows in which no two variables of one pool are the same lexeme."""
        good = np.ones(len(pattern), dtype=bool)
        count = compiled.twin_count[pattern]
        pairs = compiled.twins[ragged(compiled.twin_start[pattern], count)]
        if len(pairs):
            row = np.repeat(np.arange(len(pattern)), count)
            at = variable_offset[row]
            good[row[values[at + pairs[:, 0]] == values[at + pairs[:, 1]]]] = False
        return good


def _in_split(hashes: Hashes, sentence_offset: Ints, row_sentence: Ints, split: str) -> npt.NDArray[np.bool_]:
    """Rows whose every sentence hashes into the split."""
    low, high = SPLITS[split]
    bucket = sentence_buckets(hashes, sentence_offset)
    outside = (bucket < low) | (bucket >= high)
    inside: npt.NDArray[np.bool_] = np.add.reduceat(outside, row_sentence[:-1]) == 0
    return inside


def sentence_buckets(hashes: Hashes, sentence_offset: Ints) -> Ints:
    """A number from 0 to 9 for each sentence, from the hashes of its words and their order alone."""
    position = ragged(np.zeros(len(sentence_offset) - 1, dtype=np.int64), np.diff(sentence_offset))
    mixed = hashes * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (position.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    total = np.add.reduceat(mixed, sentence_offset[:-1])
    total *= np.uint64(0x94D049BB133111EB)
    total ^= total >> np.uint64(31)
    return (total % np.uint64(10)).astype(np.int64)
