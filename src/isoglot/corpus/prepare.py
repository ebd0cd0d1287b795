"""Prepare a corpus: read raw files, filter their rows, and write a corpus with a manifest.

    inputs ──> _tasks ─> filter_chunk ──> Ledger.enter, .sampled ─> shard_groups ──> write_shard ──> corpus
               main      a worker:        main: rows to take of     main: shards     a worker:       folder
               chunks    part files       each part                                  Parquet files

Worker processes filter and write (``prepare_worker.py``). The main process cuts files into chunks of lines; after
that it sees only counts and hashes of the rows: duplicates need all hashes in one memory, and the first N rows one
count (``shards.py``). So no process ever holds more than a few chunks. The result depends on the inputs and the options
only, never on the number of processes.
"""

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from isoglot.core.errors import ConfigurationError, InputError, IsoglotError
from isoglot.core.frames import Tabular
from isoglot.corpus.filter.filters import RowTests, check_rules, tokenizer_path
from isoglot.corpus.manifest import InputFile, Manifest, read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare_worker import ChunkTask, Settings, filter_chunk, start, write_shard
from isoglot.corpus.shards import Chosen, Ledger, shard_groups
from isoglot.formats.line_files import Meter
from isoglot.formats.readers import Reader
from isoglot.formats.sources import Source, expand
from isoglot.runs.cluster import RayPool
from isoglot.runs.files import refuse_overwriting
from isoglot.runs.fingerprint import files_of, key_of, states
from isoglot.runs.listed import exchange, recovered, require_own, whole_folder
from isoglot.runs.lock import locked
from isoglot.runs.pool import WorkPool, usable_cores
from isoglot.runs.record import RUN, Record, versions

if TYPE_CHECKING:
    import pandas as pd

_SMALL = 8 << 20
"""Bytes of inputs up to which starting worker processes takes longer than the work."""
Progress = Callable[[int, int], None]
"""Receives the bytes read and the bytes of all inputs (0 if unknown)."""


class PrepareSummary(Tabular, Manifest):
    """The result of `prepare`: the manifest, the folder, and the time it took."""

    path: Path
    seconds: float
    skipped: bool = Field(default=False, description="Nothing was done: the output was there already.")

    def to_dict(self) -> dict[str, Any]:
        """Turn the summary into plain data, as JSON has it."""
        return self.model_dump(mode="json")

    def to_frame(self) -> "pd.DataFrame":
        """Make a row for each language or pair: rows read, dropped by each filter, and kept."""
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        rows = []
        for counts in self.languages:
            names = "-".join(counts.languages)
            rows.append({"languages": names, "read": counts.read, **counts.removed, "kept": counts.kept})
        return pd.DataFrame(rows)


def prepare(
    inputs: Source | Sequence[Source],
    out: str | Path,
    *,
    options: PrepareOptions | None = None,
    progress: Progress | None = None,
    processes: int | None = None,
    overwrite: bool = False,
    engine: Literal["local", "ray"] = "local",
) -> PrepareSummary:
    """Prepare a corpus of sources, one after the other; :func:`isoglot.corpus.api.prepare` also takes paths and data.

    Args:
        inputs: Sources; patterns such as ``*.tsv`` are replaced by the files that match.
        out: Folder to write.
        options: Filters and more.
        progress: Receives the bytes read and the bytes of all inputs.
        processes: Worker processes; by default one per core, or none for small inputs.
        overwrite: Replace a corpus that was made otherwise.
        engine: ``ray``: on all machines of a Ray cluster (``RAY_ADDRESS``; without it on this one), in a folder
            ``OUT.parts`` beside the output, in which the same call continues if it was stopped.
    """
    began = time.monotonic()
    options = options or PrepareOptions()
    sources = expand([inputs] if isinstance(inputs, Source) else inputs, options.kind)
    check_rules(sources, options, options.kind)

    # All files that are read: rows, held-out sentences, the tokenizer. The manifest has the hash of each.
    paths = [path for source in sources for path in source.files()]
    paths += options.held_out_files
    tokenizer = tokenizer_path(options)
    if tokenizer is not None:
        paths.append(tokenizer)

    folder = Path(out)
    refuse_overwriting(folder, paths)
    with locked(folder):
        recovered(folder)
        made_from = Manifest.made_from(folder, sources, options, paths)
        manifest = _finished(Record(folder, made_from, what="corpus", overwrite=overwrite))
        skipped = manifest is not None
        if manifest is None:
            on_ray = engine == "ray"
            work_folder = _ray_folder(folder, sources, options, paths) if on_ray else whole_folder(folder)
            with work_folder as work:
                (work / "parts").mkdir(exist_ok=True)
                settings = Settings(
                    sources=tuple(sources),
                    options=options,
                    tests=RowTests.load(options),
                    folder=str(work / "parts"),
                    # Without Ray, `_pool` sets this when it knows the number of workers.
                    single_threaded=on_ray,
                    on_ray=on_ray,
                )
                manifest = _write_corpus(work, settings, paths, processes, progress)
    return PrepareSummary(**dict(manifest), path=folder, seconds=time.monotonic() - began, skipped=skipped)


def _finished(record: Record) -> Manifest | None:
    """Read the manifest of the corpus, if it is finished and undamaged; else return ``None``: it is to be made."""
    if record.state() != "finished":
        return None
    folder = Path(record.folder)
    manifest = read_manifest(folder)
    problem = "its manifest cannot be read" if manifest is None else manifest.damage(folder)
    if problem and not record.overwrite:
        raise ConfigurationError(
            f"{folder}: holds a damaged corpus ({problem}); add [[overwrite=True]] to make it again"
        )
    return None if problem else manifest


@contextmanager
def _ray_folder(
    folder: Path, sources: Sequence[Source], options: PrepareOptions, paths: Sequence[str]
) -> Iterator[Path]:
    """Yield the work folder of a run on Ray, ``OUT.parts``; it takes the name ``OUT`` at the end of the run.

    If the run is stopped, the folder stays, and a repeated call finds the shards in it, and in ``OUT.parts/parts`` the
    part files (``Settings.on_ray``).

    Other verbs keep results in :mod:`isoglot.runs.parts`. Here, workers write the rows themselves, into a folder that
    all machines see, and only counts and hashes come back to this process.
    """
    work = folder.with_name(f"{folder.name}.parts").resolve()
    require_own(folder)
    # Parts of a stopped run are used only if inputs and options are the same: the folder's record has a hash of both.
    inputs = [InputFile.of(path).recorded() for path in paths]
    made_from = {"digest": key_of({**Manifest.made_from(work, sources, options, paths), "inputs": inputs})}
    record = Record(work, made_from, what="preparation")
    if record.state() == "new":
        record.begin(made_from)
    yield work
    exchange(work, folder, unlisted=RUN)
    (folder / RUN).unlink()


def _write_corpus(
    folder: Path,
    settings: Settings,
    paths: Sequence[str],
    processes: int | None,
    progress: Progress | None,
) -> Manifest:
    """Write the shards, then the manifest; a thread hashes the inputs in the meantime.

    An input that changes while it is read is refused: its hash might not be that of the rows.
    """
    files = [file for path in paths for file in files_of(path)]
    before = states(files)
    with ThreadPoolExecutor(1) as hasher:
        hashes = [hasher.submit(InputFile.of, path) for path in paths]
        try:
            manifest = _write_shards(folder, settings, processes, progress)
        except BaseException:
            # So that the error does not wait for the hashes of all files.
            hasher.shutdown(cancel_futures=True)
            raise
        manifest = manifest.model_copy(update={"inputs": tuple(future.result() for future in hashes)})
    for file, old, new in zip(files, before, states(files), strict=True):
        if (old.size, old.modified) != (new.size, new.modified):
            raise InputError("changed while it was read; run the command again", path=file)
    shutil.rmtree(folder / "parts")
    manifest.write(folder)
    return manifest


def _write_shards(
    folder: Path,
    settings: Settings,
    processes: int | None,
    progress: Progress | None,
) -> Manifest:
    """Read, filter and write all sources; return the manifest without the hashes of the inputs."""
    options = settings.options
    files = [path for source in settings.sources for path in source.files()]
    total = _total_size(files)
    ledger = Ledger(settings.sources, options)
    with _pool(settings, processes, total) as pool:
        parts = _filtered_parts(pool, settings, ledger, progress, total or 0)
        if options.sampling_exponent is not None:
            parts = ledger.sampled(parts, options.sampling_exponent)
        # `parts` is a generator: shards are written while later chunks are still read and filtered.
        shards = list(pool.map(write_shard, shard_groups(parts, folder, options)))
    manifest = Manifest(
        kind=options.kind,
        rows=sum(shard.rows for shard in shards),
        languages=ledger.counts(),
        notes=ledger.notes(),
        shards={shard.name: shard.rows for shard in shards},
        hashes={shard.name: shard.digest for shard in shards},
        sources=settings.sources,
        inputs=(),
        options=options,
        versions=versions(),
    )
    _require_rows(manifest)
    return manifest


def _total_size(paths: Sequence[str]) -> int | None:
    """The bytes of all files; ``None`` if one of the paths is no file, such as standard input."""
    total = 0
    for path in paths:
        files = files_of(path)
        if not files:
            return None
        total += sum(file.stat().st_size for file in files)
    return total


def _pool(settings: Settings, processes: int | None, total: int | None) -> WorkPool:
    """Choose the workers: those of a Ray cluster, processes of this machine, or this process alone for small inputs."""
    if settings.on_ray:
        return RayPool(processes, start, settings, fewer="[[processes]]")
    if not processes:
        is_small = total is not None and total < _SMALL
        processes = 1 if is_small else usable_cores()
    # Several workers share the cores. A single one may use all of them.
    settings = replace(settings, single_threaded=processes > 1)
    return WorkPool(processes, start, settings, preload=[start.__module__], fewer="[[processes]]")


def _filtered_parts(
    pool: WorkPool, settings: Settings, ledger: Ledger, progress: Progress | None, total: int
) -> Iterator[Chosen]:
    """Yield each filtered part with the rows to take of it, in the order of the inputs.

    Workers filter chunks ahead of this order, further if there are more workers. So chunks behind the first N rows may
    have been filtered. Their results and errors are ignored, and their rows do not count as read.
    """
    meter = Meter()
    # `closing`: a bad line ends the run while a file is open in this generator.
    with closing(_tasks(settings, ledger, meter)) as tasks:
        for part in pool.map(filter_chunk, tasks, ignore=lambda task: ledger.full(task.source)):
            yield part, ledger.enter(part)
            if progress is not None:
                progress(sum(meter), total)


def _tasks(settings: Settings, ledger: Ledger, meter: Meter) -> Generator[ChunkTask, None, None]:
    """Cut the sources into chunks, one source after the other, until each language pair has all its rows.

    An error while reading ends its source and becomes a task of its own: see :class:`ChunkTask`.
    """
    numbers = count()
    for index, source in enumerate(settings.sources):
        if ledger.full(index):
            continue
        try:
            for chunk in Reader(source, settings.options.kind).chunks(meter):
                yield ChunkTask(next(numbers), index, chunk)
                if ledger.full(index):
                    break
        except IsoglotError as error:
            yield ChunkTask(next(numbers), index, error)


def _require_rows(manifest: Manifest) -> None:
    """Refuse a corpus without rows; the message says whether no row was read or all were dropped."""
    if not manifest.read:
        names = ", ".join(source.path for source in manifest.sources)
        raise ConfigurationError(f"{names}: no row found, only blank lines or comments; check the files")
    if not manifest.shards:
        dropped = ", ".join(f"{name} {rows}" for name, rows in manifest.removed.items())
        raise ConfigurationError(
            f"no row is left of the {manifest.read} that were read ({dropped}); loosen the one that dropped most"
        )
