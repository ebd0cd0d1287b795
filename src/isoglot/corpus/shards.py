"""Decide which rows go into the output: drop duplicates, take the first N, sample languages, cut into shards.

The main process of `isoglot prepare` decides this part by part. It never sees the rows, only their counts and hashes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoglot.core.seeding import seed_for
from isoglot.corpus.filter.chunk import Part
from isoglot.corpus.filter.filters import find_hashes
from isoglot.corpus.manifest import LanguageCount
from isoglot.corpus.options import FILTERS, PrepareOptions
from isoglot.corpus.prepare_worker import Rows, RowsOfPart, ShardTask
from isoglot.formats.sources import Source
from isoglot.formats.words import note_of_spaces

_SHARD_BYTES = 256 << 20
"""Bytes of rows in memory after which a shard ends, even if it has fewer rows than it may."""

Chosen = tuple[Part, Rows | None]
"""A part, and the numbers of the rows to take of it; None for all."""


def sampling_targets(counts: Sequence[int], exponent: float) -> list[int]:
    """Compute the number of rows of each language l after sampling: a share of n_l^α / Σ_k n_k^α of all rows.

    1. Numbers are rounded down. The rows that are then missing to all rows go to the languages with the largest
       remainders, one each; of equal remainders, to the first language.
    2. A language without rows has 0.

    Lample and Conneau 2019 (XLM), section 3.1, with α = 0.7 there for translation pairs and 0.3 in XLM-R.

    Example:
        >>> sampling_targets([900, 100], 0.5)
        [750, 250]
    """
    numbers = np.asarray(counts, dtype=np.float64)
    weights = np.where(numbers > 0, numbers**exponent, 0.0)
    if not weights.any():
        return [0] * len(counts)
    shares = weights / weights.sum() * int(numbers.sum())
    targets = np.floor(shares + 1e-9).astype(np.int64)  # 2.9999999999 is 3
    missing = round(float(shares.sum())) - int(targets.sum())
    largest_remainder_first = np.argsort(targets - shares, kind="stable")
    targets[largest_remainder_first[:missing]] += 1
    return [int(target) for target in targets]


class HashSet:
    """A set of hashes in 8 bytes each, which tells new hashes from known ones.

    The set is a list of sorted arrays, each more than twice as long as the next, so that few are searched.

    Two different texts may share a hash, and the second is dropped as a false duplicate. For n texts this happens with
    a probability of at most n² / 2⁶⁵: 3e-6 for 10 million, 3e-4 for 100 million.

    Example:
        >>> HashSet().add(np.array([7, 8, 7], dtype=np.uint64)).tolist()
        [True, True, False]
    """

    def __init__(self) -> None:
        self._sorted: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Add hashes; return for each whether it is new, neither in the set nor earlier in this batch."""
        unique, first_place = np.unique(hashes, return_index=True)
        unknown = np.ones(len(unique), dtype=bool)
        for known in self._sorted:
            found, _ = find_hashes(unique, known)
            unknown &= ~found
        is_new = np.zeros(len(hashes), dtype=bool)
        is_new[first_place[unknown]] = True
        if unknown.any():
            self._sorted.append(unique[unknown])
        self._merge_short()
        return is_new

    def _merge_short(self) -> None:
        """Merge the last two arrays until the last but one is more than twice as long as the last."""
        while len(self._sorted) > 1 and len(self._sorted[-2]) <= 2 * len(self._sorted[-1]):
            merged = np.concatenate([self._sorted.pop(), self._sorted.pop()])
            merged.sort(kind="stable")  # numpy's stable sort is fast where long stretches are sorted already
            self._sorted.append(merged)


class Ledger:
    """Counts the rows of each language pair, and decides which to take where that depends on the rows before."""

    def __init__(self, sources: Sequence[Source], options: PrepareOptions) -> None:
        self._options = options
        languages_of_sources = [source.languages(options.kind) for source in sources]
        self._counts = {languages: LanguageCount(languages=languages) for languages in languages_of_sources}
        self._count_of_source = [self._counts[languages] for languages in languages_of_sources]
        self._seen = HashSet()
        self._flags: set[str] = set()
        self._spaces: Counter[str] = Counter()
        self._possible = self._controls = self._c1_controls = self._described = 0

    def full(self, source: int) -> bool:
        """Whether the languages of a source have as many rows as the limit allows (the first N)."""
        limit = self._options.limit
        return limit is not None and self._count_of_source[source].passed >= limit

    def enter(self, part: Part) -> Rows | None:
        """Count a part, and return the numbers of the rows to take of it; None for all.

        Parts must come in the order of the inputs, because both rules depend on the rows before:

        1. Duplicates of earlier rows are dropped.
        2. Rows beyond the first N of their languages are dropped.
        """
        count = self._count_of_source[part.source]
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
            count.removed["duplicates"] += part.rows - len(rows)  # 1
        if self._options.limit is not None:
            room = self._options.limit - count.passed
            count.removed["limit"] += max(len(rows) - room, 0)
            rows = rows[:room]  # 2
        count.passed += len(rows)
        count.kept = count.passed
        return None if len(rows) == part.rows else rows

    def sampled(self, parts: Iterable[Chosen], exponent: float) -> Iterator[Chosen]:
        """Yield the rows of each language as often as its share needs, one language after another.

        If a language has 10 rows and is to have 25, its rows come twice, in their order, and then a random choice of 5,
        in their order too.

        ``parts``: A generator; each part that is drawn from it is counted by :meth:`enter` first. So the counts are
        final when all parts are drawn.
        """
        # All parts are drawn before the first one is yielded, because the targets need the final counts.
        chosen_parts = list(parts)
        targets = sampling_targets([count.passed for count in self._counts.values()], exponent)
        for count, target in zip(self._counts.values(), targets, strict=True):
            count.kept = target
            if not count.passed:
                continue
            of_language = [
                chosen for chosen in chosen_parts if self._count_of_source[chosen[0].source] is count
            ]
            repeats, remainder = divmod(target, count.passed)
            for _ in range(repeats):
                yield from of_language
            if remainder:
                yield from self._random_rows(of_language, count, remainder)

    def _random_rows(self, parts: Sequence[Chosen], count: LanguageCount, number: int) -> Iterator[Chosen]:
        """Choose ``number`` rows of a language at random; yield them in their order."""
        generator = np.random.default_rng(seed_for(self._options.seed, "sampling", *count.languages))
        is_chosen = np.zeros(count.passed, dtype=bool)  # for each row of the language
        is_chosen[generator.choice(count.passed, number, replace=False)] = True
        start = 0  # number of the part's first row in the language
        for part, rows in parts:
            # The rows have two numbers: one in the part file, as in `rows`, and one in the language, as in `is_chosen`.
            rows_of_part = np.arange(part.rows, dtype=np.int32) if rows is None else rows
            end = start + len(rows_of_part)
            is_chosen_of_part = is_chosen[start:end]
            yield part, rows_of_part[is_chosen_of_part]
            start = end

    def counts(self) -> tuple[LanguageCount, ...]:
        """Return the counts of each language pair, with filters in their order and without those that dropped none."""
        for count in self._counts.values():
            count.removed = Counter({name: count.removed[name] for name in FILTERS if count.removed[name]})
        return tuple(self._counts.values())

    def notes(self) -> tuple[str, ...]:
        """Write the notes for the manifest: contents of rows for which a corpus has no place, and likely mistakes.

        A likely mistake is a held-out set that is the flag of no row: a misspelt name would let test data through.
        """
        notes = []
        if self._spaces:
            # The note names one space as an example: of all that were found, the one with the lowest code point.
            example = min(self._spaces)
            notes.append(note_of_spaces(self._spaces.total(), example))
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
        unseen = [name for name in self._options.held_out_flags if name != "*" and name not in self._flags]
        notes.extend(f"held_out_flags: no row read is flagged {name!r}; flags: {known}" for name in unseen)
        return tuple(notes)


def shard_groups(parts: Iterable[Chosen], folder: Path, options: PrepareOptions) -> Iterator[ShardTask]:
    """Gather parts in shards.

    1. A shard ends behind the part with which it has enough rows, or enough bytes.
    2. A part is never cut, so a shard may have more than ``shard_rows`` rows.
    3. A part of which no row is taken is deleted. With language sampling it stays: its rows may be taken later.
    """
    waiting: list[RowsOfPart] = []
    row_count = size = number = 0
    for part, rows in parts:
        taken = part.rows if rows is None else len(rows)
        if taken:
            waiting.append(RowsOfPart(part.path, rows))
            row_count += taken
            size += part.size
        elif part.path and options.sampling_exponent is None:
            Path(part.path).unlink(missing_ok=True)  # 3
        if row_count >= options.shard_rows or size >= _SHARD_BYTES:
            yield ShardTask(waiting, str(folder / f"data-{number:05d}.parquet"))
            waiting, row_count, size = [], 0, 0
            number += 1
    if waiting:
        yield ShardTask(waiting, str(folder / f"data-{number:05d}.parquet"))
