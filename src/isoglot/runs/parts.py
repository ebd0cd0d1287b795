"""Finished parts of long work, kept beside the output until the output is whole, so that a killed run can resume.

A verb reads its rows in order, cuts them into blocks, and works on each block by itself: word links, scores of pairs,
vectors of sentences. The work is done in this process or on a Ray cluster. Results come back in the order of the
blocks, and the verb writes its output from them. So a run that was killed and resumed writes the same output as an
undisturbed one.

    links.txt                             the output, which appears when it is whole
    .links.txt.parts/run.json             what the parts were made from
    .links.txt.parts/00000003-00000005.parquet    a part: the results of blocks 3 and 4, each with a hash of its rows

Work of a few seconds is not kept. Open :func:`kept_parts` first, then :meth:`Parts.results`.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.core.named_options import spelled
from isoglot.runs.disk import full_disk_named
from isoglot.runs.files import hidden, is_stream, whole_path
from isoglot.runs.fingerprint import files_of
from isoglot.runs.listed import remove
from isoglot.runs.lock import locked
from isoglot.runs.pool import WorkPool
from isoglot.runs.record import RUN, Record

SECONDS_OF_WORK = 10.0
"""Seconds of work that are worth keeping: finished blocks stay in memory until work on them took this long.

So shorter work writes no parts at all, and a kill costs at most this much work and one block per worker.
"""
_BLOCKS = b"blocks"
"""Key in the metadata of a part: number, hash, count of rows, kinds of columns and reports of each block."""
_LOGGER = logging.getLogger(__name__)
Rows = TypeVar("Rows")


class BlockResult(NamedTuple):
    """Result of the work on a block.

    Args:
        columns: Values by name of the column, one for each row of the block.
        kinds: Kind of the values of each column: ``texts``, ``numbers``, ``flags``, ``lists of texts``,
            ``lists of numbers``, ``lists of integers``, ``vectors`` (a matrix), or ``arrow`` for an array of Arrow.
        reports: More facts about the block, in plain values that JSON can hold.
    """

    columns: Mapping[str, Any]
    kinds: Mapping[str, str]
    reports: Mapping[str, Any] = {}


class _Block(NamedTuple):
    """A block as a part holds it."""

    number: int  # from 0, in the order of the input
    rows_hash: str
    result: BlockResult


class Parts:
    """Results of blocks, kept in a folder where a later run finds them; made by :func:`kept_parts`.

    Args:
        folder: Folder of the parts; None to keep nothing.
        made_from: Returns what the results depend on beside the rows; called when the first part is written or found.
        what: Name of the work in messages: ``alignment`` in "the input has changed since that alignment was stopped".
    """

    def __init__(self, folder: Path | None, made_from: Callable[[], Mapping[str, Any]], *, what: str) -> None:
        self._folder, self._made_from, self._what = folder, made_from, what
        self._stack = ExitStack()  # holds the lock of the folder
        self._mutex = threading.Lock()  # workers of a cluster report from threads of their own
        self._is_locked = False  # whether this run holds the folder's lock
        self._has_record = False  # whether the folder's `run.json` is there
        self._can_write = True  # False after a write failed; earlier parts are still used
        self._part_of: dict[int, Path] = {}  # number of a kept block -> the file that holds it
        self._unwritten: list[_Block] = []
        # The time at which the unwritten blocks are due. It is set when the first work begins, then by each write.
        self._write_at = math.inf
        # The part that was read last, with its blocks: one part at a time is in memory.
        self._last_read: tuple[Path | None, dict[int, _Block]] = None, {}

    @property
    def is_kept(self) -> bool:
        """Whether results outlive this process."""
        return self._folder is not None

    def begin(self, *, resume: bool) -> None:
        """Find the parts of an earlier run, and lock their folder; the first new part makes the folder of a new run.

        Raises:
            ConfigurationError: There are parts, and ``resume`` was not given, or they were made from something else.
        """
        folder = self._folder
        if folder is None or not folder.is_dir() or not any(folder.iterdir()):
            return
        self._lock(folder)
        part_of = {}
        for file in folder.glob("*.parquet"):
            first, end = map(int, file.stem.split("-"))  # 00000003-00000005.parquet holds blocks 3 and 4
            for number in range(first, end):
                part_of[number] = file
        if not part_of:  # the earlier run was killed before it wrote its first part
            return
        if not resume:
            raise ConfigurationError(
                f"{folder}: holds finished parts of this output from a run that was stopped; add [[resume=True]] to "
                "continue it, or delete the folder to start again"
            )
        record = Record(folder, self._made_from(), what=self._what)
        record.state()  # refuses parts that were made from something else
        self._has_record = True
        self._part_of = part_of

    def results(
        self,
        blocks: Iterable[Rows],
        work: Callable[[Rows], BlockResult],
        pool: WorkPool,
        hash_rows: Callable[[Rows], str],
    ) -> Iterator[tuple[Rows, BlockResult]]:
        """Yield each block with its result, in the order of the blocks; blocks that are kept are not worked on again.

        Args:
            blocks: Lists of rows, read only a little ahead of the results.
            work: Works on a block, in this process or another one.
            pool: Processes that do the work.
            hash_rows: Hashes the rows of a block, so that kept results are used for the same rows only.
        """
        numbered = enumerate(blocks)
        pending: deque[tuple[Rows, Future[BlockResult]]] = deque()
        while True:
            # Fill the pool up to the number of blocks that are worth having under way ...
            for number, rows in islice(numbered, pool.ahead - len(pending)):
                rows_hash = hash_rows(rows) if self.is_kept else ""
                earlier = self.read(number, rows_hash)
                if earlier is not None:
                    future: Future[BlockResult] = Future()
                    future.set_result(earlier)
                else:
                    if self._write_at == math.inf:
                        self._write_at = time.monotonic() + SECONDS_OF_WORK
                    future = pool.submit(work, rows)
                    future.add_done_callback(self._when_done(number, rows_hash))
                pending.append((rows, future))
            if not pending:
                return
            # ... and hand on the oldest block, which waits for its work.
            rows, future = pending.popleft()
            yield rows, pool.result(future)

    def write(self, number: int, rows_hash: str, result: BlockResult) -> None:
        """Write the result of a block at once; without a folder, or after a failed write, do nothing."""
        if self._folder is None or not self._can_write:
            return
        with self._mutex:
            self._unwritten.append(_Block(number, rows_hash, result))
            self._write_unwritten()

    def read(self, number: int, rows_hash: str) -> BlockResult | None:
        """Return the result of a block that this run or an earlier one has written; None if there is none.

        Raises:
            ConfigurationError: The block has other rows now.
        """
        file = self._part_of.get(number)
        if file is None:
            return None
        last_file, blocks = self._last_read
        if last_file != file:
            blocks = {block.number: block for block in _blocks_in(file)}
            self._last_read = file, blocks
        block = blocks[number]
        if block.rows_hash != rows_hash:
            raise ConfigurationError(
                f"{self._folder}: holds parts of other rows, so the input has changed since that {self._what} was "
                "stopped; delete the folder to start again, or choose another [[out]]"
            )
        return block.result

    def _when_done(self, number: int, rows_hash: str) -> Callable[[Future[BlockResult]], None]:
        """Return the function that receives the result of a block; it may be called in another thread."""

        def when_done(future: Future[BlockResult]) -> None:
            if not future.cancelled() and future.exception() is None:
                self._add(_Block(number, rows_hash, future.result()))

        return when_done

    def _add(self, block: _Block) -> None:
        """Add a block to the unwritten ones in memory, and write all of them if their work has taken long enough."""
        if self._folder is None or not self._can_write:
            return
        with self._mutex:
            self._unwritten.append(block)
            if time.monotonic() >= self._write_at:
                self._write_unwritten()

    def _write_unwritten(self) -> None:
        """Write the blocks that are only in memory; if that fails, the run goes on without keeping parts."""
        self._write_at = time.monotonic() + SECONDS_OF_WORK
        # A file holds blocks that follow one another: blocks 3, 4, 7 become files 3-5 and 7-8.
        groups: list[list[_Block]] = []
        for block in sorted(self._unwritten, key=lambda block: block.number):
            if not groups or groups[-1][-1].number + 1 != block.number:
                groups.append([])
            groups[-1].append(block)
        self._unwritten = []
        try:
            self._open_folder()
            for group in groups:
                self._write_part(group)
        except (OSError, IsoglotError) as error:
            _LOGGER.warning("%s: finished parts cannot be kept (%s); the work goes on", self._folder, error)
            self._can_write = False

    def _open_folder(self) -> None:
        """Make and lock the folder, and record what its parts are made from, unless that was done."""
        folder = self._folder
        if self._has_record or folder is None:
            return
        with full_disk_named(folder):
            folder.mkdir(exist_ok=True)
            self._lock(folder)
            made_from = self._made_from()
            Record(folder, made_from, what=self._what).begin(made_from)
        self._has_record = True

    def _lock(self, folder: Path) -> None:
        """Lock the folder until :meth:`close`, once; a worker's report may lock it in a thread of its own."""
        if not self._is_locked:
            self._stack.enter_context(locked(folder, wait=False, bound_to_thread=False))
            self._is_locked = True

    @property
    def _place(self) -> Path:
        """The folder of the parts; a run that keeps nothing has none, and must not ask."""
        if self._folder is None:
            raise TypeError("these parts are kept nowhere")
        return self._folder

    def _write_part(self, blocks: list[_Block]) -> None:
        """Write consecutive blocks as one file, which is whole or not there."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and short work keeps nothing
        import pyarrow.parquet as pq  # noqa: PLC0415

        file = self._place / f"{blocks[0].number:08d}-{blocks[-1].number + 1:08d}.parquet"
        tables, described = [], []
        for number, rows_hash, result in blocks:
            columns = {name: _arrow(values, result.kinds[name]) for name, values in result.columns.items()}
            table = pa.table(columns)
            tables.append(table)
            described.append([number, rows_hash, table.num_rows, dict(result.kinds), dict(result.reports)])
        whole = pa.concat_tables(tables).replace_schema_metadata({_BLOCKS: json.dumps(described)})
        with whole_path(file) as temporary:
            pq.write_table(whole, temporary)
        for block in blocks:
            self._part_of[block.number] = file

    def stop(self) -> None:
        """Write the finished blocks of a run that ends before its output is whole, and say how to continue it."""
        with self._mutex:
            if self._has_record and self._can_write and self._unwritten:
                self._write_unwritten()
        if self._has_record and self._part_of:
            _LOGGER.warning(
                spelled(
                    "finished parts are kept in %s; the same command with [[resume=True]] goes on from there"
                ),
                self._folder,
            )

    def finish(self) -> None:
        """Remove the parts and their folder, because the output is whole; also one without parts from a killed run."""
        if self._folder is not None and self._is_locked:
            remove(self._folder, RUN, "*.parquet")

    def close(self) -> None:
        """Release the lock, so that other processes can use the folder."""
        self._stack.close()


def _arrow(values: Any, kind: str) -> Any:
    """Turn the values of a column into an Arrow array; :func:`_values` is the way back."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    if kind == "arrow":
        return values
    if kind == "vectors":
        flat = pa.array(values.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    types = {
        "texts": pa.string(),
        "lists of texts": pa.list_(pa.string()),
        "numbers": pa.float64(),
        "lists of numbers": pa.list_(pa.float64()),
        "lists of integers": pa.list_(pa.int32()),
        "flags": pa.bool_(),
    }
    return pa.array(values, types[kind])


def _values(column: Any, kind: str) -> Any:
    """Turn a column of a part back into the values that the work returned."""
    if kind == "arrow":
        return column.combine_chunks()
    if kind == "vectors":
        flat = column.combine_chunks().flatten().to_numpy()
        return flat.reshape(len(column), column.type.list_size)
    return column.to_pylist()


def _blocks_in(file: Path) -> Iterator[_Block]:
    """Read the blocks of a part."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    table = pq.ParquetFile(file).read()  # read_table would import pandas
    first_row = 0
    for number, rows_hash, row_count, kinds, reports in json.loads(table.schema.metadata[_BLOCKS]):
        rows = table.slice(first_row, row_count)
        columns = {name: _values(rows.column(name), kind) for name, kind in kinds.items()}
        yield _Block(number, rows_hash, BlockResult(columns, kinds, reports))
        first_row += row_count


@contextmanager
def kept_parts(
    out: str | Path,
    made_from: Callable[[], Mapping[str, Any]],
    *,
    what: str,
    resume: bool = False,
    engine: str = "local",
) -> Iterator[Parts]:
    """Keep finished parts beside an output that is written inside the ``with`` statement; remove them when it ends.

    If the statement fails or is interrupted, the parts stay for the same command with ``resume``.

        with kept_parts("links.txt", made_from, what="alignment") as parts:
            for block, result in parts.results(blocks, work, pool, hash_rows):
                ...  # write the rows of the block

    Args:
        out: The output. Nothing is kept for standard output and other streams.
        made_from: Returns what the results depend on beside the rows of the input; called only when parts are there
            or are first written.
        what: Name of the work in messages: ``alignment``.
        resume: Use the parts of an earlier run.
        engine: Where the work is done. With ``ray`` the same command resumes without ``resume``.

    Raises:
        ConfigurationError: There are parts of an earlier run, and ``resume`` is not given or they are of another run.
    """
    streamed = str(out) == "-" or is_stream(Path(out))
    if streamed and resume:
        raise ConfigurationError(
            "[[resume=True]]: goes on from parts that are kept beside the output; name a file: [[out='out.txt']]"
        )
    parts = Parts(None if streamed else hidden(Path(out), ".parts"), made_from, what=what)
    try:
        parts.begin(resume=resume or engine == "ray")
        try:
            yield parts
        except BaseException:
            parts.stop()
            raise
        parts.finish()
    finally:
        parts.close()


def content_of(values: Iterable[Any]) -> str:
    """Hash rows that are given as plain values."""
    digest = blake2b(digest_size=16)
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


def input_sizes(paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """List the names and sizes of input files, by which a file that has grown is noticed before it is read."""
    files = [file for path in paths for file in files_of(path)]
    return [{"path": file.name, "size": file.stat().st_size} for file in files]
