"""Finished parts of long work, kept beside its output until that is whole: a killed run goes on where it was.

A verb reads its rows in order, cuts them into blocks, and works on each block by itself: links of words, scores of
pairs, vectors of sentences. The work is done in this process or on a Ray cluster. Results come back in the order of the
blocks, and the verb writes its output from them as if nothing had ever been kept, so the output of a run that was
killed is that of an undisturbed one.

Results are kept in a hidden folder beside the output: `links.txt` has `.links.txt.parts`. Its `run.json` says what they
were made from, and each block has a hash of its own rows. Work of a few seconds is not kept.
"""

from __future__ import annotations

import json
import logging
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
"""A run keeps its finished blocks whenever they have taken this long; a kill costs no more than this and one block."""
_BLOCKS = b"blocks"
"""In the metadata of a part: number, hash, rows and reports of each of its blocks."""
_LOGGER = logging.getLogger(__name__)
Rows = TypeVar("Rows")


class BlockResult(NamedTuple):
    """What work on a block has found.

    Args:
        columns: Values by name, one for each row of the block.
        kinds: What the values of each column are: ``texts``, ``numbers``, ``flags``, ``lists of texts``,
            ``lists of numbers``, ``lists of integers``, ``vectors`` (a matrix), or ``arrow`` for an array of Arrow.
        reports: What else is known of the block, as JSON has it.
    """

    columns: Mapping[str, Any]
    kinds: Mapping[str, str]
    reports: Mapping[str, Any] = {}


class _Block(NamedTuple):
    number: int
    content: str
    found: BlockResult


class Parts:
    """Results of blocks, in memory alone or also in a folder, where a later run finds them.

    Made by :func:`kept_parts`.

    Args:
        folder: Where parts are kept; None for nowhere.
        made_from: What the results depend on beside the rows; called when the first part is written.
        what: What messages call the run: ``alignment``.
    """

    def __init__(self, folder: Path | None, made_from: Callable[[], Mapping[str, Any]], *, what: str) -> None:
        self._folder, self._made_from, self._what = folder, made_from, what
        self._stack = ExitStack()
        self._mutex = threading.Lock()  # workers of a cluster report from threads of their own
        self._files: dict[int, Path] = {}
        self._waiting: list[_Block] = []
        self._opened: tuple[Path | None, dict[int, _Block]] = None, {}
        self._since: float | None = None  # when work began that is not written yet; loading a model is none
        self._begun = False

    @property
    def is_kept(self) -> bool:
        """Whether results outlive this process."""
        return self._folder is not None

    def begin(self, *, resume: bool) -> None:
        """Find the parts of an earlier run.

        Raises:
            ConfigurationError: There are some, and ``resume`` was not given, or they were made from something else.
        """
        folder = self._folder
        if folder is None or not folder.is_dir() or not any(folder.iterdir()):
            return
        self._stack.enter_context(locked(folder, wait=False))
        found = {
            number: file
            for file in folder.glob("*.parquet")
            for number in range(*map(int, file.stem.split("-")))
        }
        if not found:  # killed before the first part
            return
        if not resume:
            raise ConfigurationError(
                f"{folder}: holds finished parts of this output from a run that was stopped; add [[resume=True]] to "
                "continue it, or delete the folder to start again"
            )
        record = Record(folder, self._made_from(), what=self._what)
        self._begun = record.state() != "new"
        self._files = found

    def results(
        self,
        blocks: Iterable[Rows],
        work: Callable[[Rows], BlockResult],
        pool: WorkPool,
        content: Callable[[Rows], str],
    ) -> Iterator[tuple[Rows, BlockResult]]:
        """Each block with what was found for it, in order; work on blocks that are kept is not repeated.

        Args:
            blocks: Rows, some of them at a time, read only a little ahead of the results.
            work: Works on a block, in this process or another one.
            pool: Where it works.
            content: A hash of the rows of a block.
        """
        numbered = enumerate(blocks)
        pending: deque[tuple[Rows, Future[BlockResult]]] = deque()
        while True:
            for number, rows in islice(numbered, int(pool.ahead) - len(pending)):
                key = content(rows) if self.is_kept else ""
                future = self._kept(number, key)
                if future is None:
                    self._since = time.monotonic() if self._since is None else self._since
                    future = pool.submit(work, rows)
                    future.add_done_callback(self._keeper(number, key))
                pending.append((rows, future))
            if not pending:
                return
            rows, future = pending.popleft()
            yield rows, pool.result(future)

    def keep(self, number: int, content: str, found: BlockResult) -> None:
        """Write the result of a block at once."""
        with self._mutex:
            self._waiting.append(_Block(number, content, found))
            self._write()

    def kept(self, number: int, content: str) -> BlockResult | None:
        """The result of a block that this run or an earlier one has kept."""
        future = self._kept(number, content)
        return None if future is None else future.result()

    def _kept(self, number: int, content: str) -> Future[BlockResult] | None:
        """The result of a block that an earlier run has kept.

        Raises:
            ConfigurationError: The rows of the block are others now.
        """
        file = self._files.get(number)
        if file is None:
            return None
        if self._opened[0] != file:
            self._opened = file, {block.number: block for block in _blocks_in(file)}
        block = self._opened[1][number]
        if block.content != content:
            raise ConfigurationError(
                f"{self._folder}: holds parts of other rows, so the input has changed since that {self._what} was "
                "stopped; delete the folder to start again, or choose another [[out]]"
            )
        future: Future[BlockResult] = Future()
        future.set_result(block.found)
        return future

    def _keeper(self, number: int, content: str) -> Callable[[Future[BlockResult]], None]:
        """What is called when a block is done, maybe in another thread."""

        def keep(future: Future[BlockResult]) -> None:
            if not future.cancelled() and future.exception() is None:
                self._keep(_Block(number, content, future.result()))

        return keep

    def _keep(self, block: _Block) -> None:
        """Keep a block for now, and write all of them when they have taken long enough."""
        if self._folder is None:
            return
        with self._mutex:
            self._waiting.append(block)
            if self._since is None or time.monotonic() - self._since >= SECONDS_OF_WORK:
                self._write()

    def _write(self) -> None:
        """Write the blocks that wait; if they cannot be written, the run does without."""
        self._since = time.monotonic()
        runs: list[list[_Block]] = []
        for block in sorted(self._waiting, key=lambda block: block.number):
            if not runs or runs[-1][-1].number + 1 != block.number:
                runs.append([])
            runs[-1].append(block)
        self._waiting = []
        try:
            self._open_folder()
            for run in runs:
                self._write_part(run)
        except (OSError, IsoglotError) as error:
            _LOGGER.warning("%s: finished parts cannot be kept (%s); the work goes on", self._folder, error)
            self._folder = None

    def _open_folder(self) -> None:
        folder = self._folder
        if self._begun or folder is None:
            return
        with full_disk_named(folder):
            folder.mkdir(exist_ok=True)
            self._stack.enter_context(locked(folder, wait=False))
            Record(folder, {}, what=self._what).begin(self._made_from())
        self._begun = True

    @property
    def _place(self) -> Path:
        if self._folder is None:
            raise TypeError("these parts are kept nowhere")
        return self._folder

    def _write_part(self, blocks: list[_Block]) -> None:
        """Write consecutive blocks as one file, which is whole or not there."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and short work keeps nothing
        import pyarrow.parquet as pq  # noqa: PLC0415

        file = self._place / f"{blocks[0].number:08d}-{blocks[-1].number + 1:08d}.parquet"
        tables, listed = [], []
        for number, content, found in blocks:
            columns = {name: _arrow(values, found.kinds[name]) for name, values in found.columns.items()}
            tables.append(pa.table(columns))
            listed.append([number, content, tables[-1].num_rows, dict(found.kinds), dict(found.reports)])
        table = pa.concat_tables(tables)
        with whole_path(file) as temporary:
            pq.write_table(table.replace_schema_metadata({_BLOCKS: json.dumps(listed)}), temporary)
        self._files.update(dict.fromkeys((block.number for block in blocks), file))

    def stop(self) -> None:
        """Write what is finished when the run ends before its output is whole, and say how to go on."""
        with self._mutex:
            if self._folder is not None and self._begun and self._waiting:
                self._write()
        if self._folder is not None and self._begun:
            _LOGGER.warning(
                spelled(
                    "finished parts are kept in %s; the same command with [[resume=True]] goes on from there"
                ),
                self._folder,
            )

    def finish(self) -> None:
        """Remove the parts: the output is whole."""
        if self._folder is not None and self._begun:
            remove(self._folder, RUN, "*.parquet")

    def close(self) -> None:
        """Let other processes use the folder."""
        self._stack.close()


def _arrow(values: Any, kind: str) -> Any:
    """A column as it is written."""
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
    """A column as it was found."""
    if kind == "arrow":
        return column.combine_chunks()
    if kind == "vectors":
        flat = column.combine_chunks().flatten().to_numpy()
        return flat.reshape(len(column), column.type.list_size)
    return column.to_pylist()


def _blocks_in(file: Path) -> Iterator[_Block]:
    """The blocks of a part."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    table = pq.ParquetFile(file).read()  # read_table would import pandas
    first = 0
    for number, content, rows, kinds, reports in json.loads(table.schema.metadata[_BLOCKS]):
        cut = table.slice(first, rows)
        columns = {name: _values(cut.column(name), kind) for name, kind in kinds.items()}
        yield _Block(number, content, BlockResult(columns, kinds, reports))
        first += rows


@contextmanager
def kept_parts(
    out: str | Path,
    made_from: Callable[[], Mapping[str, Any]],
    *,
    what: str,
    resume: bool = False,
    engine: str = "local",
) -> Iterator[Parts]:
    """Keep finished parts beside an output that is written in the block, and remove them when the block has ended.

    If the block fails or is interrupted, the parts stay for the same command with ``resume``.

    Args:
        out: The output. Nothing is kept for standard output and other streams.
        made_from: Returns what the results depend on beside the rows of the input; called only when parts are there
            or are first written.
        what: What messages call the run: ``alignment``.
        resume: Use the parts of an earlier run.
        engine: Where the work is done; on a cluster the same command goes on even without ``resume``.

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
    """A hash of rows, given as plain values."""
    digest = blake2b(digest_size=16)
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


def input_sizes(paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """The names of input files with their sizes: a file that has grown is noticed before the first row is read."""
    files = [file for path in paths for file in files_of(path)]
    return [{"path": file.name, "size": file.stat().st_size} for file in files]
