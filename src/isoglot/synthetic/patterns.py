"""Patterns: sentences whose words are fixed or drawn from a pool, and their compiled form.

A pattern says which variables a row has (each the name of a pool) and which tokens its sentences consist of; two tokens
of one variable show the same lexeme, in whatever forms they ask for. Compiled patterns are flat arrays, so that a chunk
of rows is drawn with a handful of numpy calls (:mod:`isoglot.synthetic.engine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.synthetic.lexicon import Lexicon

Ints = npt.NDArray[np.int64]

NO_SPACE_BEFORE = {",", ".", "?", "!", ";", ":", "'s", "n't"}
"""Tokens that attach to the word before them."""


class Token(NamedTuple):
    """One word of a pattern: ``text`` as it stands (``variable`` −1), or a form of a variable's lexeme."""

    text: str
    variable: int = -1
    upos: str = "X"
    head: int = 0
    deprel: str = "dep"
    entity: str = "O"


class Arrays(NamedTuple):
    """What is known of each string, by its id."""

    capitals: Ints
    """The id of the capitalised string."""
    vowel_flags: npt.NDArray[np.bool_]
    """Whether *an* goes before it."""
    pieces: npt.NDArray[np.object_]
    """The string with the space before it, if any."""
    hashes: npt.NDArray[np.uint64]
    """A number that depends on the string alone, not on when it got its id."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A row to be: its variables' pools, its sentences, and what is known about them."""

    variables: tuple[str, ...]
    sentences: tuple[tuple[Token, ...], ...]
    label: str = ""
    weight: float = 1.0
    answer: tuple[int, int] = (0, 0)
    """Token range of the answer, counted over all sentences."""


class Vocabulary:
    """Every string of a world as a number, and where each pool's forms begin in one flat table."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.strings: list[str] = []
        self._ids: dict[str, int] = {}
        self._capital: list[int] = []
        self._cache: Arrays | None = None
        self.pools = list(lexicon.pools)
        self.pool_number = {name: i for i, name in enumerate(self.pools)}
        self._base: dict[tuple[str, str], int] = {}
        flat: list[int] = []
        for name, pool in lexicon.pools.items():
            for form in pool.form_names:
                self._base[name, form] = len(flat)
                flat += [self.number(lex.forms[form]) for lex in pool.lexemes]
        self.flat: Ints = np.array(flat)
        self.a, self.an = self.number("a"), self.number("an")

    def number(self, string: str) -> int:
        """The id of a string, new or known; its capitalised copy gets one too."""
        known = self._ids.get(string)
        if known is not None:
            return known
        found = self._ids[string] = len(self.strings)
        self.strings.append(string)
        self._capital.append(found)
        upper = string[0].upper() + string[1:]
        if upper != string:
            self._capital[found] = self.number(upper)
        return found

    def base(self, pool: str, form: str) -> int:
        """Where a pool's forms begin in :attr:`flat`."""
        return self._base[pool, form]

    @property
    def arrays(self) -> Arrays:
        """The strings' properties as arrays."""
        # Compiling patterns adds fixed words, so the arrays are made anew when the table has grown.
        if self._cache is None or len(self._cache[0]) != len(self.strings):
            pieces = [s if s in NO_SPACE_BEFORE else " " + s for s in self.strings]
            self._cache = Arrays(
                np.array(self._capital),
                np.array([_takes_an(s) for s in self.strings]),
                np.array(pieces, dtype=object),
                np.array([_hash(s) for s in self.strings], dtype=np.uint64),
            )
        return self._cache


def _hash(string: str) -> int:
    return int.from_bytes(blake2b(string.encode(), digest_size=8).digest(), "little")


def _takes_an(word: str) -> bool:
    lower = word.lower()
    if lower.startswith(("uni", "use", "eu", "one", "ura", "uke")) and not lower.startswith("unin"):
        return False
    return lower[0] in "aeiou" or lower.startswith(("hour", "honest", "heir")) or lower in {"8", "11", "18"}


@dataclass
class Compiled:
    """Patterns as flat arrays. ``x[start[p] : start[p] + count[p]]`` is what belongs to pattern ``p``."""

    patterns: list[Pattern]
    cdf: npt.NDArray[np.float64]
    token_start: Ints
    token_count: Ints
    token_variable: Ints
    token_base: Ints
    variable_start: Ints
    variable_count: Ints
    variable_pool: Ints
    sentence_start: Ints
    sentence_count: Ints
    sentence_length: Ints
    twin_start: Ints
    twin_count: Ints
    twins: Ints
    upos: list[str] = field(default_factory=list)
    heads: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    deprels: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, patterns: Sequence[Pattern], vocabulary: Vocabulary) -> Compiled:
        """Flatten patterns; the ones without weight are left out."""
        kept = [p for p in patterns if p.weight > 0]
        weights = np.array([p.weight for p in kept])
        tokens = [[t for s in p.sentences for t in s] for p in kept]
        flat = [t for ts in tokens for t in ts]
        pools = [v for p in kept for v in p.variables]
        # Two variables of one pool must differ: "Anna met Anna" is no English and spoils labels.
        twins = [
            [(i, j) for i, j in combinations(range(len(p.variables)), 2) if p.variables[i] == p.variables[j]]
            for p in kept
        ]
        bases = [
            vocabulary.number(t.text) if t.variable < 0 else vocabulary.base(p.variables[t.variable], t.text)
            for p, ts in zip(kept, tokens, strict=True)
            for t in ts
        ]
        token_start, token_count = _spans([len(t) for t in tokens])
        variable_start, variable_count = _spans([len(p.variables) for p in kept])
        sentence_start, sentence_count = _spans([len(p.sentences) for p in kept])
        twin_start, twin_count = _spans([len(t) for t in twins])
        return cls(
            patterns=kept,
            cdf=np.cumsum(weights / weights.sum()),
            token_start=token_start,
            token_count=token_count,
            token_variable=np.array([t.variable for t in flat], dtype=np.int64),
            token_base=np.array(bases, dtype=np.int64),
            variable_start=variable_start,
            variable_count=variable_count,
            variable_pool=np.array([vocabulary.pool_number[v] for v in pools], dtype=np.int64),
            sentence_start=sentence_start,
            sentence_count=sentence_count,
            sentence_length=np.array([len(s) for p in kept for s in p.sentences], dtype=np.int64),
            twin_start=twin_start,
            twin_count=twin_count,
            twins=np.array([pair for t in twins for pair in t], dtype=np.int64).reshape(-1, 2),
            upos=[t.upos for t in flat],
            heads=np.array([t.head for t in flat], dtype=np.int64),
            deprels=[t.deprel for t in flat],
            entities=[t.entity for t in flat],
        )


def _spans(counts: list[int]) -> tuple[Ints, Ints]:
    count = np.array(counts, dtype=np.int64)
    return np.cumsum(count) - count, count
