"""The example at each position of a run: a pure function of the seed, so that nothing needs replaying."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for

RowNumbers = NDArray[np.int64]

_NONE = -1
"""Row (and length) where a position has no example of a stream."""

_TOGETHER = "*"
"""What the order of all streams together is drawn by; no stream can have this name."""


class Mixture(torch.utils.data.Dataset[dict[str, Any]]):
    """Position to one example of every stream, or with ``concatenate`` to one example of one stream.

    The primary stream defines the epochs: positions ``[e·n, (e + 1)·n)`` hold each of its ``n`` examples once, in
    an order drawn anew from ``(seed, stream, e)``. The other streams are drawn alongside, each through its own
    seeded order, re-drawn whenever it has been used up. Inside every window of ``bucket`` positions each stream's
    examples are sorted by length, so that neighbouring positions have similar lengths in *every* stream; windows
    never cross an epoch of the primary stream.

    With ``concatenate`` the streams are one data set: an epoch holds each example of *every* stream once, shuffled
    together, so a batch holds each stream's share of the data instead of as many examples of one as of another.

    Args:
        streams: name to encoded stream, a :class:`datasets.Dataset`; ``length`` is its column for the sorting.
        primary: the stream whose epochs are counted.
        length: number of positions of the run; ``None``: endless (``len()`` is then one epoch).
        seed: the run's seed.
        bucket: positions per window, usually 50 batches' worth (:func:`isoglot.training.batches.bucket_positions`);
            ``None``: no sorting, an epoch is one window.
        least: fewest positions of a window, the batches of one optimiser step (ranks times accumulation); an epoch's
            last window joins the one before it where it would have fewer.
        concatenate: whether the streams are shuffled together as one data set.
    """

    def __init__(
        self,
        streams: Mapping[str, datasets.Dataset],
        *,
        primary: str,
        length: int | None = None,
        seed: int,
        bucket: int | None = None,
        least: int = 1,
        concatenate: bool = False,
    ) -> None:
        if primary not in streams:
            raise ConfigurationError(
                f"epochs of stream {primary!r} requested, but the streams are {sorted(streams)}; name one of them"
            )
        if empty := [name for name, stream in streams.items() if not len(stream)]:
            raise ConfigurationError(
                f"stream {name!r} has no examples; look at what its filters dropped" for name in empty
            )
        self.streams = {name: stream.with_format("arrow") for name, stream in streams.items()}
        self.primary, self.seed, self.bucket, self.concatenate = primary, seed, bucket, concatenate
        self.sizes = {name: len(stream) for name, stream in streams.items()}
        self.epoch_size = sum(self.sizes.values()) if concatenate else self.sizes[primary]
        self.length = length
        self.lengths = {name: _lengths(stream) for name, stream in streams.items()}
        self._starts = _window_starts(self.epoch_size, bucket or self.epoch_size, least)
        self._orders: OrderedDict[tuple[str, int], NDArray[np.int32 | np.int64]] = OrderedDict()
        self._windows: OrderedDict[int, dict[str, RowNumbers]] = OrderedDict()

    def __len__(self) -> int:
        return self.epoch_size if self.length is None else self.length

    def __getitem__(self, position: int) -> dict[str, Any]:
        """``{"position": int, stream: {column: value}, ...}``."""
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Many positions in one read of each stream, as loader workers ask for them."""
        for position in (min(positions), max(positions)):
            if position < 0 or (self.length is not None and position >= self.length):
                raise IndexError(f"position {position} of a mixture with positions 0 to {len(self) - 1}")
        items: list[dict[str, Any]] = [{"position": int(position)} for position in positions]
        for name, rows in self.rows(positions).items():
            filled = np.flatnonzero(rows != _NONE)
            examples = self._read(name, rows[filled])
            for index, example in zip(filled, examples, strict=True):
                items[index][name] = example
        return items

    def samples(self) -> dict[str, dict[str, Any]]:
        """Each stream's first example: what a batch without any example of it would have held."""
        return {name: self._read(name, np.zeros(1, np.int64))[0] for name in self.streams}

    def rows(self, positions: Sequence[int]) -> dict[str, RowNumbers]:
        """Row numbers of each stream at the given positions, −1 where a position has no example of it."""
        numbers: dict[str, list[int]] = {name: [] for name in self.streams}
        for position in map(int, positions):
            if self.bucket is None:
                offset, table = 0, self._drawn(position, position + 1)
            else:
                index = self.window_of(position)
                offset, table = position - self.window(index)[0], self._window(index)
            for name, rows in table.items():
                numbers[name].append(rows[offset])
        return {name: np.array(rows, dtype=np.int64) for name, rows in numbers.items()}

    def window(self, index: int) -> tuple[int, int]:
        """First position of a window and the first one after it; the run's last window may be shorter."""
        epoch, local = divmod(index, len(self._starts) - 1)
        first, last = epoch * self.epoch_size + self._starts[local : local + 2]
        return int(first), int(last if self.length is None else min(last, self.length))

    def window_of(self, position: int) -> int:
        """The window that a position lies in."""
        epoch, local = divmod(position, self.epoch_size)
        windows = len(self._starts) - 1
        return epoch * windows + min(local // (self.bucket or self.epoch_size), windows - 1)

    def window_lengths(self, index: int) -> dict[str, NDArray[np.int32]]:
        """Each stream's example lengths at the positions of a window, −1 where a position has no example of it."""
        return {name: self._lengths_of(name, rows) for name, rows in self._window(index).items()}

    def fingerprint(self) -> dict[str, Any]:
        """Values on which the order of examples depends; a resumed run compares them with the checkpoint's."""
        return {
            "seed": self.seed,
            "primary": self.primary,
            "bucket": self.bucket,
            "concatenate": self.concatenate,
            "streams": dict(self.sizes),
        }

    def _window(self, index: int) -> dict[str, RowNumbers]:
        if index not in self._windows:
            rows_by_stream = self._drawn(*self.window(index))
            if self.bucket is not None:
                lengths = {name: self._lengths_of(name, rows) for name, rows in rows_by_stream.items()}
                if self.concatenate:  # a position has one example: the longest of its lengths is that one's
                    lengths = dict.fromkeys(lengths, np.max([*lengths.values()], axis=0))
                rows_by_stream = {
                    n: rows[np.argsort(lengths[n], kind="stable")] for n, rows in rows_by_stream.items()
                }
            self._windows[index] = rows_by_stream
            while len(self._windows) > 2:  # a batch lies in one window, the next one's begins the other
                self._windows.popitem(last=False)
        self._windows.move_to_end(index)
        return self._windows[index]

    def _lengths_of(self, stream: str, rows: RowNumbers) -> NDArray[np.int32]:
        return np.where(rows == _NONE, _NONE, self.lengths[stream][rows]).astype(np.int32)

    def _drawn(self, start: int, stop: int) -> dict[str, RowNumbers]:
        """Each stream's rows at positions ``[start, stop)`` before sorting."""
        if not self.concatenate:
            return {name: self._strung(name, size, start, stop) for name, size in self.sizes.items()}
        together, before = self._strung(_TOGETHER, self.epoch_size, start, stop), 0
        rows_of = {}
        for name, size in self.sizes.items():
            inside = (before <= together) & (together < before + size)
            rows_of[name] = np.where(inside, together - before, _NONE)
            before += size
        return rows_of

    def _strung(self, name: str, size: int, start: int, stop: int) -> RowNumbers:
        """Places ``[start, stop)`` of the orders of all epochs of ``size`` examples, strung together."""
        parts = []
        while start < stop:
            epoch, offset = divmod(start, size)
            count = min(stop - start, size - offset)
            parts.append(self._order(name, size, epoch)[offset : offset + count])
            start += count
        return np.concatenate(parts).astype(np.int64)

    def _order(self, name: str, size: int, epoch: int) -> NDArray[np.int32 | np.int64]:
        key = (name, epoch)
        if key not in self._orders:
            generator = np.random.default_rng(seed_for(self.seed, "order", name, epoch))
            order = generator.permutation(size)
            self._orders[key] = order.astype(np.int32) if size < 2**31 else order
            while len(self._orders) > 2 * len(self.streams):
                self._orders.popitem(last=False)
        self._orders.move_to_end(key)
        return self._orders[key]

    def _read(self, stream: str, rows: RowNumbers) -> list[dict[str, Any]]:
        """Rows of a stream as column to value each."""
        if not rows.size:
            return []
        table = self.streams[stream][rows]
        columns = {name: _values(table.column(name)) for name in table.column_names}
        return [{name: values[i] for name, values in columns.items()} for i in range(rows.size)]


def _lengths(stream: datasets.Dataset) -> NDArray[np.int32]:
    """The ``length`` column, whole, 4 bytes an example (zeros where there is none)."""
    if "length" not in stream.column_names:
        return np.zeros(len(stream), dtype=np.int32)
    table = stream.select_columns(["length"]).with_format("arrow")
    parts = [table[i : i + 1_000_000]["length"].to_numpy() for i in range(0, len(stream), 1_000_000)]
    return np.concatenate(parts).astype(np.int32)


def _window_starts(size: int, bucket: int, least: int) -> RowNumbers:
    """Borders of an epoch's windows; a last one of under half a window, or under ``least``, joins the one before."""
    windows = max(1, (size + bucket // 2) // bucket)
    if windows > 1 and size - (windows - 1) * bucket < least:
        windows -= 1
    return np.append(np.arange(windows, dtype=np.int64) * bucket, size)


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """A column as a sequence: flat lists of numbers as NumPy slices, the rest as Python values."""
    kind = column.type
    flat = (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_integer(kind.value_type)
    if not flat or column.null_count:
        return column.to_pylist()  # type: ignore[no-any-return]
    slices: list[Any] = []
    for chunk in column.chunks:
        values, offsets = chunk.values.to_numpy(zero_copy_only=False), chunk.offsets.to_numpy()
        slices += [values[offsets[i] : offsets[i + 1]] for i in range(len(chunk))]
    return slices
