"""Raw files in, a filtered corpus with a manifest out: `isoglot prepare`.

The main process cuts the inputs into chunks of lines, workers parse and filter them into part files, the main process
looks at their hashes alone (duplicates need one memory) and counts the first N, and workers write the shards. So no
process ever holds more than a few chunks, and the main one touches no text. The result depends on the inputs and the
options only, never on the number of processes.
"""

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from isoglot.core.errors import ConfigurationError, InputError, IsoglotError
from isoglot.core.frames import Tabular
from isoglot.corpus.filter.chunk import Part
from isoglot.corpus.filter.filters import RowTests, check_rules, tokenizer_path
from isoglot.corpus.manifest import InputFile, Manifest, read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare_worker import ChunkTask, Settings, filter_chunk, start, write_shard
from isoglot.corpus.shards import Ledger, shard_groups
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


class PrepareSummary(Tabular, Manifest):
    """The result of `prepare`: the manifest, and what it took."""

    path: Path
    seconds: float
    skipped: bool = Field(default=False, description="Nothing was done: the output was there already.")

    def to_dict(self) -> dict[str, Any]:
        """Everything that the manifest says, and how it was made."""
        return self.model_dump(mode="json")

    def to_frame(self) -> "pd.DataFrame":
        """A row for each language: rows read, dropped by each filter, and kept."""
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        rows = [
            {"languages": "-".join(c.languages), "read": c.read, **c.removed, "kept": c.kept}
            for c in self.languages
        ]
        return pd.DataFrame(rows)


def prepare(
    inputs: Source | Sequence[Source],
    out: str | Path,
    *,
    options: PrepareOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    processes: int | None = None,
    overwrite: bool = False,
    engine: Literal["local", "ray"] = "local",
) -> PrepareSummary:
    """Prepare sources as :func:`isoglot.corpus.api.prepare`; several of one language pair one after the other.

    ``engine``: ``ray``: on all machines of a Ray cluster (``RAY_ADDRESS``; without it on this one), in a folder
    ``OUT.parts`` beside the output, in which the same call goes on when it was stopped.
    """
    began = time.monotonic()
    options = options or PrepareOptions()
    sources = expand([inputs] if isinstance(inputs, Source) else inputs, options.kind)
    check_rules(sources, options, options.kind)
    folder, tokenizer = Path(out), tokenizer_path(options)
    paths = [path for source in sources for path in source.files()]
    paths += [*options.held_out_files, *([] if tokenizer is None else [tokenizer])]
    refuse_overwriting(folder, paths)
    with locked(folder):
        recovered(folder)
        made_from = Manifest.made_from(folder, sources, options, paths)
        manifest = _finished(Record(folder, made_from, what="corpus", overwrite=overwrite))
        skipped = manifest is not None
        if manifest is None:
            local = engine == "local"
            with whole_folder(folder) if local else _parts_folder(folder, sources, options, paths) as work:
                (work / "parts").mkdir(exist_ok=True)
                settings = Settings(
                    sources=tuple(sources),
                    options=options,
                    tests=RowTests.load(options),
                    folder=str(work / "parts"),
                    single_threaded=not local,
                    resumable=not local,
                )
                manifest = _written(work, paths, partial(_run, settings, work, paths, processes, progress))
    return PrepareSummary(**dict(manifest), path=folder, seconds=time.monotonic() - began, skipped=skipped)


def _finished(record: Record) -> Manifest | None:
    """The manifest of a corpus that is there already; ``None`` if it is to be made, or made again."""
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
def _parts_folder(
    folder: Path, sources: Sequence[Source], options: PrepareOptions, paths: Sequence[str]
) -> Iterator[Path]:
    """A folder beside the output that becomes it, and stays where the run ends before."""
    parts = folder.with_name(f"{folder.name}.parts").resolve()
    require_own(folder)
    inputs = [InputFile.of(path).recorded() for path in paths]
    made_from = {"digest": key_of({**Manifest.made_from(parts, sources, options, paths), "inputs": inputs})}
    record = Record(parts, made_from, what="preparation")
    if record.state() == "new":
        record.begin(made_from)
    yield parts
    exchange(parts, folder, unlisted=RUN)
    (folder / RUN).unlink()


def _written(folder: Path, paths: Sequence[str], run: Callable[[], Manifest]) -> Manifest:
    """Write all sources by ``run``, then the manifest; inputs are hashed on the side."""
    files = [file for path in paths for file in files_of(path)]
    before = states(files)
    with ThreadPoolExecutor(1) as hasher:
        hashes = [hasher.submit(InputFile.of, path) for path in paths]
        try:
            manifest = run()
        except BaseException:
            hasher.shutdown(cancel_futures=True)
            raise
        manifest = manifest.model_copy(update={"inputs": tuple(future.result() for future in hashes)})
    for file, old, new in zip(files, before, states(files), strict=True):
        if (old.size, old.modified) != (new.size, new.modified):  # its hash would not be that of the rows
            raise InputError("changed while it was read; run the command again", path=file)
    shutil.rmtree(folder / "parts")
    manifest.write(folder)
    return manifest


def _run(
    settings: Settings,
    folder: Path,
    paths: Sequence[str],
    processes: int | None,
    progress: Callable[[int, int], None] | None,
) -> Manifest:
    """Read, filter and write all sources: all but the manifest's input hashes."""
    options, sources = settings.options, settings.sources
    files = [files_of(path) for path in paths]
    total = sum(file.stat().st_size for several in files for file in several) if all(files) else 0
    local = processes or (1 if all(files) and total < _SMALL else usable_cores())
    if settings.resumable:
        pool: WorkPool = RayPool(processes, start, settings, fewer="[[processes]]")
    else:
        alone = replace(settings, single_threaded=local > 1)
        pool = WorkPool(local, start, alone, preload=[start.__module__], fewer="[[processes]]")
    ledger, meter = Ledger(sources, options), Meter()

    def chosen() -> Iterator[tuple[Part, NDArray[np.int32] | None]]:
        """Parts in order with the rows to take, counted."""
        # Rows read beyond the first N are not counted: how many there are depends on the number of processes.
        # A bad line ends the run while the file is open.
        with closing(_tasks(settings, ledger, meter)) as tasks:
            for part in pool.map(filter_chunk, tasks, ignore=lambda task: ledger.full(task.source)):
                yield part, ledger.enter(part)
                if progress is not None:
                    progress(sum(meter), total)

    with pool:
        parts = chosen()
        if options.sampling_exponent is not None:
            parts = ledger.sampled(parts, options.sampling_exponent)
        shards = list(pool.map(write_shard, shard_groups(parts, folder, options)))
    manifest = Manifest(
        kind=options.kind,
        rows=sum(rows for _, rows, _ in shards),
        languages=ledger.counts(),
        notes=ledger.notes(),
        shards={name: rows for name, rows, _ in shards},
        hashes={name: content for name, _, content in shards},
        sources=sources,
        inputs=(),
        options=options,
        versions=versions(),
    )
    if not manifest.read:
        names = ", ".join(source.path for source in sources)
        raise ConfigurationError(f"{names}: no row found, only blank lines or comments; check the files")
    if not shards:
        raise ConfigurationError(
            f"no row is left of the {manifest.read} that were read "
            f"({', '.join(f'{k} {v}' for k, v in manifest.removed.items())}); loosen the one that dropped most"
        )
    return manifest


def _tasks(settings: Settings, ledger: Ledger, meter: Meter) -> Generator[ChunkTask, None, None]:
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
