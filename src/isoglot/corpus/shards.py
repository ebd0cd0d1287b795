"""Which rows of which part go into the output: duplicates, the first N, language sampling, shards."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoglot.core.seeding import seed_for
from isoglot.corpus.filter.chunk import Part
from isoglot.corpus.manifest import LanguageCount
from isoglot.corpus.options import FILTERS, PrepareOptions
from isoglot.formats.sources import Source
from isoglot.formats.words import note_of_spaces

_SHARD_BYTES = 256 << 20

Rows = NDArray[np.int32]
Chosen = tuple[Part, Rows | None]
"""A part, and the rows to take of it; None for all."""


def sampling_targets(counts: Sequence[int], exponent: float) -> list[int]:
    """Rows of each language after sampling: n_l^α / Σ_k n_k^α of the total, rounded so that they add up to it.

    A language without rows has 0. Lample and Conneau 2019 (XLM), section 3.1, with α = 0.7 there for translation pairs
    and 0.3 in XLM-R.

    Example:
        >>> sampling_targets([900, 100], 0.5)
        [750, 250]
    """
    numbers = np.asarray(counts, dtype=np.float64)
    weights = np.where(numbers > 0, numbers**exponent, 0.0)
    if not weights.any():
        return [0] * len(counts)
    shares = weights / weights.sum() * int(numbers.sum())
    whole = np.floor(shares + 1e-9).astype(np.int64)
    short = round(float(shares.sum())) - int(whole.sum())
    for language in np.argsort(whole - shares, kind="stable")[:short]:  # largest remainders first
        whole[language] += 1
    return [int(w) for w in whole]


class HashSet:
    """Tells which hashes are new, and remembers them: 8 bytes each, as sorted runs of which the small ones are merged.

    Different texts share a hash, so that one is lost as a false duplicate, with probability of at most n² / 2⁶⁵ for n
    texts: 3e-6 for 10 million, 3e-4 for 100 million.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Remember hashes; for each, whether it was not there before, neither in the set nor earlier in this batch."""
        unique, first = np.unique(hashes, return_index=True)
        new = np.ones(len(unique), dtype=bool)
        for run in self._runs:
            nearest = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            new &= run[nearest] != unique
        fresh = np.zeros(len(hashes), dtype=bool)
        fresh[first[new]] = True
        if new.any():
            self._runs.append(unique[new])
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            merged = np.concatenate([self._runs.pop(), self._runs.pop()])
            merged.sort(kind="stable")
            self._runs.append(merged)
        return fresh


class Ledger:
    """Counts of each language pair, and the decisions that need all rows before."""

    def __init__(self, sources: Sequence[Source], options: PrepareOptions) -> None:
        self._options = options
        names = [source.languages(options.kind) for source in sources]
        self._counts = {name: LanguageCount(languages=name) for name in names}
        self._of_source = [self._counts[name] for name in names]
        self._seen = HashSet()
        self._flags: set[str] = set()
        self._spaces: Counter[str] = Counter()
        self._possible = self._controls = self._c1_controls = self._described = 0

    def full(self, source: int) -> bool:
        """Whether the language pair of a source has all the rows that it may have."""
        return self._options.limit is not None and self._of_source[source].passed >= self._options.limit

    def enter(self, part: Part) -> Rows | None:
        """Count a part; the rows to take of it, None for all."""
        count = self._of_source[part.source]
        count.read += part.read
        count.removed.update(part.removed)
        self._flags.update(part.flags_seen)
        self._spaces.update(part.spaces)
        self._possible += part.possible
        self._controls += part.controls
        self._c1_controls += part.c1_controls
        self._described += part.described
        rows = np.arange(part.rows, dtype=np.int32)
        if part.keys is not None and part.rows:
            rows = rows[self._seen.add(part.keys)]
            count.removed["duplicates"] += part.rows - len(rows)
        if self._options.limit is not None:
            room = self._options.limit - count.passed
            count.removed["limit"] += max(len(rows) - room, 0)
            rows = rows[:room]
        count.passed += len(rows)
        count.kept = count.passed
        return None if len(rows) == part.rows else rows

    def sampled(self, parts: Iterable[Chosen], exponent: float) -> Iterator[Chosen]:
        """All parts, once they are there, repeated until each language has its share.

        A language is repeated as a whole, and the last time over only a random choice of rows, in their order.
        """
        every = list(parts)
        targets = sampling_targets([count.passed for count in self._counts.values()], exponent)
        for count, target in zip(self._counts.values(), targets, strict=True):
            language_parts = [(part, rows) for part, rows in every if self._of_source[part.source] is count]
            count.kept = target
            if count.passed:
                for _ in range(target // count.passed):
                    yield from language_parts
                if rest := target % count.passed:
                    generator = np.random.default_rng(
                        seed_for(self._options.seed, "sampling", *count.languages)
                    )
                    chosen = np.zeros(count.passed, dtype=bool)
                    chosen[generator.choice(count.passed, rest, replace=False)] = True
                    start = 0
                    for part, rows in language_parts:
                        numbers = np.arange(part.rows, dtype=np.int32) if rows is None else rows
                        yield part, numbers[chosen[start : start + len(numbers)]]
                        start += len(numbers)

    def counts(self) -> tuple[LanguageCount, ...]:
        """The counts of each language pair, filters in their order."""
        for count in self._counts.values():
            count.removed = Counter({name: count.removed[name] for name in FILTERS if count.removed[name]})
        return tuple(self._counts.values())

    def notes(self) -> tuple[str, ...]:
        """What was left out of rows that were kept, spaces that end no word, and held-out sets that no row is of.

        A misspelt name of a held-out set would let test data through.
        """
        notes = [note_of_spaces(self._spaces.total(), min(self._spaces))] if self._spaces else []
        if self._possible:
            notes.append(
                f"{self._possible:,} possible links (`ipj`) are left out; write `i-j` to learn from them"
            )
        if self._controls:
            notes.append(f"rows from which control characters were removed: {self._controls:,}")
        if self._c1_controls:
            notes.append(
                f"rows with characters of U+0080 to U+009F, which were removed: {self._c1_controls:,}; text of "
                "Windows that was converted as Latin-1 has them in place of quotes and dashes: convert the original "
                "with `iconv -f cp1252 -t utf-8`"
            )
        if self._described:
            notes.append(
                f"units whose id, tags, notes or properties are left out: {self._described:,}; a corpus holds texts "
                "alone, and `isoglot filter` keeps them (--duplicates pair drops duplicates there)"
            )
        known = ", ".join(sorted(self._flags)) or "none"
        unknown = (name for name in self._options.held_out_flags if name != "*" and name not in self._flags)
        notes += [f"held_out_flags: no row read is flagged {name!r}; flags: {known}" for name in unknown]
        return tuple(notes)


def shard_groups(
    parts: Iterable[Chosen], folder: Path, options: PrepareOptions
) -> Iterator[tuple[list[tuple[str, Rows | None]], str]]:
    """Which rows of which part files (``None``: all) make up which shard."""
    waiting: list[tuple[str, Rows | None]] = []
    rows = size = number = 0
    for part, chosen in parts:
        count = part.rows if chosen is None else len(chosen)
        if count:
            waiting.append((part.path, chosen))
            rows, size = rows + count, size + part.size
        elif part.path and options.sampling_exponent is None:
            Path(part.path).unlink(missing_ok=True)
        if rows >= options.shard_rows or size >= _SHARD_BYTES:
            yield waiting, str(folder / f"data-{number:05d}.parquet")
            waiting, rows, size, number = [], 0, 0, number + 1
    if waiting:
        yield waiting, str(folder / f"data-{number:05d}.parquet")
