"""Patterns: sentences whose words are fixed or drawn from a pool, and their compiled form.

A pattern says which variables a row has (each the name of a pool) and which tokens its sentences consist of; two tokens
of one variable show the same lexeme, in whatever forms they ask for. Compiled patterns are flat arrays, so that a chunk
of rows is drawn with a handful of numpy calls (:mod:`isoglot.synthetic.engine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations, count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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

    capitals: Ints  # the id of the capitalised string
    vowel_flags: npt.NDArray[np.bool_]  # whether *an* goes before it
    pieces: npt.NDArray[np.object_]  # the string with the space before it, if any
    hashes: npt.NDArray[np.uint64]  # numbers that depend on the string alone, not on when it got its id


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
    """Every string of a world as a number, and where a pool's lexemes in a form begin (``base``) in one flat table."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.strings: list[str] = []
        self._ids: dict[str, int] = {}
        self._capital: list[int] = []
        self._cache: Arrays | None = None
        self.pools = list(lexicon)
        self.base: dict[tuple[str, str], int] = {}
        flat: list[int] = []
        for name, pool in lexicon.items():
            for form in pool[0].forms:
                self.base[name, form] = len(flat)
                flat += [self.number(lex.forms[form]) for lex in pool]
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

    @property
    def arrays(self) -> Arrays:
        """The strings' properties as arrays."""
        # Compiling patterns adds fixed words, so the arrays are rebuilt when the table has grown.
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


def offsets(lengths: Ints) -> Ints:
    """Where lists of these lengths begin when they stand one after the other, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)])


def flat(rows: pa.Table, column: str) -> Ints:
    """The values of a column of lists, one list after the other."""
    values: Ints = rows[column].combine_chunks().flatten().to_numpy()
    return values


def starts(rows: pa.Table, column: str) -> Ints:
    """Where each list of a column begins among its values, and the end."""
    return offsets(pc.list_value_length(rows[column]).to_numpy())


class CompiledPatterns:
    """Patterns as flat arrays; the ones without weight are left out.

    Attributes:
        lists: by pattern, in columns: ``tokens``, numbers of its tokens, by which the lists ``upos``, ``heads``,
            ``deprels`` and ``entities`` and the arrays ``variable`` and ``base`` go; ``sentences``, how many tokens its
            sentences have; ``pools`` of its variables; and ``twin`` and ``other``, pairs of variables that must
            differ: "Anna met Anna" is not English and spoils labels.
    """

    def __init__(self, patterns: Sequence[Pattern], vocabulary: Vocabulary) -> None:
        self.patterns = kept = [p for p in patterns if p.weight > 0]
        weights = np.array([p.weight for p in kept])
        self.cdf = np.cumsum(weights / weights.sum())
        tokens = [[t for s in p.sentences for t in s] for p in kept]
        flat = [t for ts in tokens for t in ts]
        self.upos, self.heads = [t.upos for t in flat], [t.head for t in flat]
        self.deprels, self.entities = [t.deprel for t in flat], [t.entity for t in flat]
        self.variable = np.array([t.variable for t in flat])
        self.base = np.array(
            [
                vocabulary.number(t.text)
                if t.variable < 0
                else vocabulary.base[p.variables[t.variable], t.text]
                for p, ts in zip(kept, tokens, strict=True)
                for t in ts
            ]
        )
        twins = [
            [(i, j) for i, j in combinations(range(len(p.variables)), 2) if p.variables[i] == p.variables[j]]
            for p in kept
        ]
        number = count()
        lists = {
            "tokens": [[next(number) for _ in ts] for ts in tokens],
            "sentences": [[len(s) for s in p.sentences] for p in kept],
            "pools": [[vocabulary.pools.index(name) for name in p.variables] for p in kept],
            "twin": [[i for i, _ in own] for own in twins],
            "other": [[j for _, j in own] for own in twins],
        }
        self.lists = pa.table(lists, schema=pa.schema([(name, pa.list_(pa.int64())) for name in lists]))
