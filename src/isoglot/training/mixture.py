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
"""Stands for a stream's name in the seed of the order of concatenated streams; no stream can have this name."""


class Mixture(torch.utils.data.Dataset[dict[str, Any]]):
    """The examples of a run by position: one of every stream, or with ``concatenate`` one of one stream.

    1. Epochs. The primary stream defines them: positions ``[e·n, (e + 1)·n)`` hold each of its ``n`` examples once, in
       an order drawn from ``(seed, stream, e)``.
    2. Other streams. Each has orders of its own, one after another: a stream of 3 examples has a new order at positions
       0, 3, 6, ... So a small stream is repeated, and a run may end before the last row of a large one.
    3. Windows. Inside every window of ``bucket`` positions each stream's examples are sorted by length, so that
       neighbouring positions have similar lengths in *every* stream. Windows never cross an epoch of the primary
       stream.

    With ``concatenate`` the streams are one data set: an epoch holds each example of *every* stream once, shuffled
    together, so a batch holds each stream's share of the data instead of as many examples of one as of another.

    Args:
        streams: name to encoded stream, a :class:`datasets.Dataset`; examples are sorted by its column ``length``.
        primary: the stream whose epochs are counted.
        length: ``len()`` of the mixture, the number of positions of the run; ``None``: endless (``len()`` is then one
            epoch).
        seed: the run's seed.
        bucket: positions per window; ``None``: no sorting, an epoch is one window. A recipe's ``bucket`` counts
            optimiser steps, usually 50; :func:`isoglot.training.batches.bucket_positions` turns them into positions.
        least: minimum positions of a window: the number of batches in one optimiser step (ranks times accumulation).
            An epoch's last window joins the one before it if it would have fewer.
        concatenate: whether the streams are shuffled together as one data set.

    Example:
        >>> from datasets import Dataset
        >>> from isoglot.training.mixture import Mixture
        >>> text = Dataset.from_dict({"input_ids": [[7], [8, 9], [5]], "length": [1, 2, 1]})
        >>> mixture = Mixture({"text": text}, primary="text", length=6, seed=1)
        >>> sorted(mixture.rows(range(3))["text"].tolist())
        [0, 1, 2]
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
        empty = [name for name, stream in streams.items() if not len(stream)]
        if empty:
            problems = [
                f"stream {name!r} has no examples; look at what its filters dropped" for name in empty
            ]
            raise ConfigurationError(problems)
        self.streams = {name: stream.with_format("arrow") for name, stream in streams.items()}
        self.primary, self.seed, self.bucket, self.concatenate = primary, seed, bucket, concatenate
        self.sizes = {name: len(stream) for name, stream in streams.items()}
        self.epoch_size = sum(self.sizes.values()) if concatenate else self.sizes[primary]
        self.length = length
        self.lengths = {name: _read_lengths(stream) for name, stream in streams.items()}
        # Borders of the windows of one epoch; all epochs have the same.
        self._borders = _window_borders(self.epoch_size, bucket or self.epoch_size, least)
        # What was computed last, the latest at the end: orders by stream and epoch, and rows by window.
        self._orders: OrderedDict[tuple[str, int], NDArray[np.int32 | np.int64]] = OrderedDict()
        self._windows: OrderedDict[int, dict[str, RowNumbers]] = OrderedDict()

    def __len__(self) -> int:
        return self.epoch_size if self.length is None else self.length

    def __getitem__(self, position: int) -> dict[str, Any]:
        """Return the item at a position: ``{"position": 5, "text": {"input_ids": [7, 8]}}`` for a stream ``text``."""
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Return the items at many positions in one read of each stream, as the workers of a loader ask for them."""
        for position in (min(positions), max(positions)):
            if position < 0 or (self.length is not None and position >= self.length):
                raise IndexError(f"position {position} of a mixture with positions 0 to {len(self) - 1}")
        items: list[dict[str, Any]] = [{"position": int(position)} for position in positions]
        for name, rows in self.rows(positions).items():
            # The positions that have an example of this stream, counted from the first requested one.
            with_example = np.flatnonzero(rows != _NONE)
            examples = self._read(name, rows[with_example])
            for index, example in zip(with_example, examples, strict=True):
                items[index][name] = example
        return items

    def samples(self) -> dict[str, dict[str, Any]]:
        """Return each stream's first example: its columns are those of a batch without an example of the stream."""
        return {name: self._read(name, np.zeros(1, np.int64))[0] for name in self.streams}

    def rows(self, positions: Sequence[int]) -> dict[str, RowNumbers]:
        """Return the row of each stream at the given positions, −1 where a position has no example of the stream."""
        numbers: dict[str, list[int]] = {name: [] for name in self.streams}
        for position in map(int, positions):
            if self.bucket is None:
                # Nothing is sorted, so an epoch is one window, and only the one position is needed of it.
                offset, rows_by_stream = 0, self._unsorted_rows(position, position + 1)
            else:
                index = self.window_of(position)
                offset, rows_by_stream = position - self.window(index)[0], self._sorted_rows(index)
            for name, rows in rows_by_stream.items():
                numbers[name].append(rows[offset])
        return {name: np.array(rows, dtype=np.int64) for name, rows in numbers.items()}

    def window(self, index: int) -> tuple[int, int]:
        """Return the first position of a window and the first one after it; the run's last window may be shorter.

        In epochs of 25 positions with the windows 0-9, 10-19 and 20-24, window 4 is 35 to 45.
        """
        epoch, window_in_epoch = divmod(index, len(self._borders) - 1)
        first_of_epoch = epoch * self.epoch_size
        start = first_of_epoch + int(self._borders[window_in_epoch])
        stop = first_of_epoch + int(self._borders[window_in_epoch + 1])
        return start, stop if self.length is None else min(stop, self.length)

    def window_of(self, position: int) -> int:
        """Return the number of the window that a position lies in; windows are counted over all epochs."""
        epoch, position_in_epoch = divmod(position, self.epoch_size)
        windows = len(self._borders) - 1
        # The last window of an epoch may be longer than the others.
        window_in_epoch = min(position_in_epoch // (self.bucket or self.epoch_size), windows - 1)
        return epoch * windows + window_in_epoch

    def window_lengths(self, index: int) -> dict[str, NDArray[np.int32]]:
        """Return the length of each stream's example at each position of a window, −1 where there is none."""
        return {name: self._lengths_of(name, rows) for name, rows in self._sorted_rows(index).items()}

    def fingerprint(self) -> dict[str, Any]:
        """Return the values on which the order of examples depends; a resumed run compares them with its checkpoint."""
        return {
            "seed": self.seed,
            "primary": self.primary,
            "bucket": self.bucket,
            "concatenate": self.concatenate,
            "streams": dict(self.sizes),
        }

    def _sorted_rows(self, index: int) -> dict[str, RowNumbers]:
        """Return each stream's rows at the positions of a window, sorted by length if there is a ``bucket``.

        The two windows that were asked for last are kept.
        """
        if index not in self._windows:
            rows_by_stream = self._unsorted_rows(*self.window(index))
            if self.bucket is not None:
                lengths = {name: self._lengths_of(name, rows) for name, rows in rows_by_stream.items()}
                if self.concatenate:
                    # A position has an example of one stream, and length −1 for the others, so the largest length is
                    # that of the example.
                    length_of_example = np.max([*lengths.values()], axis=0)
                    # Sorted by the same lengths, all streams come into the same order, so each position keeps exactly
                    # one example.
                    lengths = dict.fromkeys(lengths, length_of_example)
                sorted_rows = {}
                for name, rows in rows_by_stream.items():
                    # Stable: examples of one length keep the order that was drawn.
                    sorted_rows[name] = rows[np.argsort(lengths[name], kind="stable")]
                rows_by_stream = sorted_rows
            self._windows[index] = rows_by_stream
            # A batch lies in one window; while it is read the next batch may begin in another.
            while len(self._windows) > 2:
                self._windows.popitem(last=False)
        self._windows.move_to_end(index)
        return self._windows[index]

    def _lengths_of(self, stream: str, rows: RowNumbers) -> NDArray[np.int32]:
        """Return the lengths of the examples in these rows of a stream, −1 for the row −1 (no example)."""
        return np.where(rows == _NONE, _NONE, self.lengths[stream][rows]).astype(np.int32)

    def _unsorted_rows(self, start: int, stop: int) -> dict[str, RowNumbers]:
        """Return each stream's rows at positions ``[start, stop)`` before sorting."""
        if not self.concatenate:
            return {name: self._shuffled(name, size, start, stop) for name, size in self.sizes.items()}
        # Concatenated streams of 3 and 2 examples have the numbers 0 to 4; 3 and 4 are the second one's rows 0 and 1.
        numbers = self._shuffled(_TOGETHER, self.epoch_size, start, stop)
        rows_by_stream = {}
        first = 0
        for name, size in self.sizes.items():
            is_of_stream = (first <= numbers) & (numbers < first + size)
            rows_by_stream[name] = np.where(is_of_stream, numbers - first, _NONE)
            first += size
        return rows_by_stream

    def _shuffled(self, name: str, size: int, start: int, stop: int) -> RowNumbers:
        """Return places ``start`` to ``stop - 1`` of a stream's endless order: the orders of its epochs in a row.

        If the orders of the first epochs are 2 0 1 and 1 2 0, places 1 to 4 are 0 1 1 2.
        """
        parts = []
        while start < stop:
            epoch, offset = divmod(start, size)
            count = min(stop - start, size - offset)
            parts.append(self._order(name, size, epoch)[offset : offset + count])
            start += count
        return np.concatenate(parts).astype(np.int64)

    def _order(self, name: str, size: int, epoch: int) -> NDArray[np.int32 | np.int64]:
        """Return a stream's shuffled order of one epoch.

        The orders that were asked for last are kept, twice as many as there are streams: a window may begin in one
        epoch of a stream and end in the next.
        """
        key = (name, epoch)
        if key not in self._orders:
            generator = np.random.default_rng(seed_for(self.seed, "order", name, epoch))
            order = generator.permutation(size)
            self._orders[key] = order.astype(np.int32) if size < 2**31 else order  # half the memory
            while len(self._orders) > 2 * len(self.streams):
                self._orders.popitem(last=False)
        self._orders.move_to_end(key)
        return self._orders[key]

    def _read(self, stream: str, rows: RowNumbers) -> list[dict[str, Any]]:
        """Read rows of a stream, each as a dictionary from columns to values."""
        if not rows.size:
            return []
        table = self.streams[stream][rows]
        columns = {name: _values(table.column(name)) for name in table.column_names}
        return [{name: values[i] for name, values in columns.items()} for i in range(rows.size)]


def _read_lengths(stream: datasets.Dataset) -> NDArray[np.int32]:
    """Read the whole ``length`` column, 4 bytes for each example; without the column all lengths are 0."""
    if "length" not in stream.column_names:
        return np.zeros(len(stream), dtype=np.int32)
    table = stream.select_columns(["length"]).with_format("arrow")
    parts = [table[i : i + 1_000_000]["length"].to_numpy() for i in range(0, len(stream), 1_000_000)]
    return np.concatenate(parts).astype(np.int32)


def _window_borders(size: int, bucket: int, least: int) -> RowNumbers:
    """Cut an epoch of ``size`` positions into windows: 25 positions in windows of 10 give the borders 0, 10, 20, 25.

    The last window joins the one before if it has under half of the positions of a window, or under ``least``: 24
    positions give 0, 10, 24.
    """
    windows = max(1, (size + bucket // 2) // bucket)  # rounded
    in_last_window = size - (windows - 1) * bucket
    if windows > 1 and in_last_window < least:
        windows -= 1
    starts = np.arange(windows, dtype=np.int64) * bucket
    return np.append(starts, size)


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """Return a column as a sequence of values: lists of whole numbers as NumPy slices, all else as Python values."""
    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (is_list and pa.types.is_integer(kind.value_type)) or column.null_count:
        return column.to_pylist()  # type: ignore[no-any-return]
    slices: list[Any] = []
    for chunk in column.chunks:
        # Arrow keeps the numbers of all lists in one array; list i is the numbers from offset i to offset i + 1.
        values, offsets = chunk.values.to_numpy(zero_copy_only=False), chunk.offsets.to_numpy()
        slices += [values[offsets[i] : offsets[i + 1]] for i in range(len(chunk))]
    return slices
