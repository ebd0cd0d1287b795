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
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer

from isoglot.checkpoints.reading import reading
from isoglot.corpus.filter.filters import Part, hash_texts, held_out_key
from isoglot.corpus.filter.scripts import scripts_of
from isoglot.corpus.manifest import InputFile, Manifest, read_manifest
from isoglot.corpus.options import PrepareOptions, RowRules
from isoglot.corpus.prepare_worker import ChunkTask, Settings, filter_chunk, start, write_shard
from isoglot.corpus.read.line_files import Meter, numbered_lines
from isoglot.corpus.read.readers import READERS
from isoglot.corpus.read.sources import FORMATS, Kind, Source, by_suffix, expand
from isoglot.corpus.shards import Ledger, shard_groups
from isoglot.errors import ConfigurationError, InputError, IsoglotError, Problem
from isoglot.runs.cluster import RayPool
from isoglot.runs.files import refuse_overwriting
from isoglot.runs.fingerprint import files_of, states
from isoglot.runs.folder import RUN, begin, key_of, state_of, versions
from isoglot.runs.listed import exchange, require_own, whole_folder
from isoglot.runs.lock import locked
from isoglot.runs.pool import WorkPool, usable_cores

_SMALL = 8 << 20


class PrepareSummary(Manifest):
    """What `prepare` did: the manifest, and how."""

    path: Path
    seconds: float
    skipped: bool = Field(default=False, description="Nothing was done: the output was there already.")


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
    target = Path(out)
    tokenizer, tokenizer_file = rules_tokenizer(options)
    extra = [*options.held_out_files, *([tokenizer_file] if tokenizer_file else [])]
    paths = [*(p for s in sources for p in s.files()), *extra]
    refuse_overwriting(target, paths)
    with locked(target):
        done = _already_there(target, sources, options, paths, overwrite=overwrite)
        if done is not None:
            return PrepareSummary(**dict(done), path=target, seconds=time.monotonic() - began, skipped=True)
        with (
            whole_folder(target)
            if engine == "local"
            else _kept_folder(target, sources, options, paths) as folder
        ):
            (folder / "parts").mkdir(exist_ok=True)
            settings = Settings(
                sources=tuple(sources),
                options=options,
                tokenizer=tokenizer,
                held_out=held_out_hashes(options),
                folder=str(folder / "parts"),
                single_threaded=engine == "ray",
                kept=engine == "ray",
            )
            with _unchanging(paths), ThreadPoolExecutor(1) as hasher:
                hashing = [hasher.submit(InputFile.of, path) for path in paths]
                try:
                    manifest = _run(settings, folder, paths, processes, progress)
                except BaseException:
                    hasher.shutdown(cancel_futures=True)
                    raise
                hashed = tuple(h.result() for h in hashing)
            shutil.rmtree(folder / "parts")
            manifest = manifest.model_copy(update={"inputs": hashed})
            manifest.write(folder)
    return PrepareSummary(**dict(manifest), path=target, seconds=time.monotonic() - began)


@contextmanager
def _unchanging(paths: Sequence[str]) -> Iterator[None]:
    """Refuse inputs that change while they are read: their hashes would not be those of the rows."""
    files = [file for path in paths for file in files_of(path)]
    before = states(files)
    yield
    for file, old, new in zip(files, before, states(files), strict=True):
        if (old.size, old.modified) != (new.size, new.modified):
            raise InputError("changed while it was read; run the command again", path=file)


@contextmanager
def _kept_folder(
    target: Path, sources: Sequence[Source], options: PrepareOptions, paths: Sequence[str]
) -> Iterator[Path]:
    """A folder beside the output that becomes it, and stays where the run ends before."""
    place = target.with_name(f"{target.name}.parts").resolve()
    require_own(target)
    inputs = [InputFile.of(path).recorded() for path in paths]
    wanted = {"digest": key_of({**Manifest.wanted(place, sources, options, paths), "inputs": inputs})}
    if state_of(place, wanted, what="preparation") == "new":
        begin(place, wanted)
    yield place
    exchange(place, target, unlisted=RUN)
    (target / RUN).unlink()


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
    if settings.kept:
        pool: WorkPool = RayPool(processes, start, settings, fewer="--processes")
    else:
        own = replace(settings, single_threaded=local > 1)
        pool = WorkPool(local, start, own, preload=[start.__module__], fewer="--processes")
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
        reader = READERS[source.format or ""]
        try:
            for chunk in reader.chunks(source, settings.options.kind, meter):
                yield ChunkTask(next(numbers), index, chunk)
                if ledger.full(index):
                    break
        except IsoglotError as error:
            yield ChunkTask(next(numbers), index, error)


def check_rules(sources: Sequence[Source], rules: RowRules, kind: Kind) -> None:
    """Refuse rules that cannot work for these sources, all of them at once.

    Raises:
        ConfigurationError: Flags without a column, a language whose script is unknown, files that are not there.
    """
    problems: list[str | Problem] = []
    if isinstance(rules, PrepareOptions) and rules.held_out_flags:
        problems = [
            f"{s.path}: held_out_flags is set, and no column holds the flags; set --column flags=3"
            for s in sources
            if "flags" not in s.columns or "columns" not in FORMATS[s.format or ""].options
        ]
    if rules.min_script_share is not None:
        for language in sorted({tag for s in sources for tag in s.languages(kind)}):
            try:
                scripts_of(language, rules.scripts)
            except ConfigurationError as error:
                problems.extend(error.problems)
    for path in rules.held_out_files:
        if not Path(path).is_file():
            problems.append(
                f"held_out_files: {path}: no such file; a file of sentences is needed: check the name"
            )
        if (told := by_suffix(path)) is not None:
            wrong = f"got {told}, but one sentence per line is needed; cut the sentences out"
            problems.append(f"held_out_files: {path}: {wrong}")
    if problems:
        raise ConfigurationError(problems)


def rules_tokenizer(rules: RowRules) -> tuple[str | None, str | None]:
    """The JSON of the tokenizer that measures length, and the file or name that it is from."""
    if rules.tokenizer is None:
        return None, None
    path = Path(rules.tokenizer)
    if path.is_dir() and (path / "tokenizer.json").is_file():
        path = path / "tokenizer.json"
    if path.is_file():
        with reading(path.parent, path.name):
            text = path.read_text(encoding="utf-8")
            Tokenizer.from_str(text)
        return text, str(path)
    from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 (seconds of import that a tokenizer.json does not need)

    return load_tokenizer(rules.tokenizer).backend_tokenizer.to_str(), rules.tokenizer


def held_out_hashes(rules: RowRules) -> NDArray[np.uint64]:
    """Sorted hashes of all held-out sentences."""
    keys: set[str] = set()
    for path in rules.held_out_files:
        for number, line in numbered_lines(path):
            if "\t" in line:
                raise InputError(
                    "found a tab, but one sentence per line is needed; cut the sentences out (`cut -f 1`)",
                    path=path,
                    line=number,
                )
            keys.add(held_out_key(line))
    return np.unique(hash_texts(keys - {""}))


def _already_there(
    target: Path, sources: Sequence[Source], options: PrepareOptions, paths: Sequence[str], *, overwrite: bool
) -> Manifest | None:
    """The manifest of what is there, if it is what is wanted."""
    wanted = Manifest.wanted(target, sources, options, paths)
    if state_of(target, wanted, what="corpus", overwrite=overwrite) != "finished":
        return None
    manifest = read_manifest(target)
    wrong = "its manifest cannot be read" if manifest is None else manifest.damage(target)
    if wrong and not overwrite:
        raise ConfigurationError(
            f"{target}: holds a damaged corpus ({wrong}); add --overwrite to make it again"
        )
    return None if wrong else manifest
