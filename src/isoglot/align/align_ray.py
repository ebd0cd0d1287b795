"""``isoglot align --engine ray``: the parts of a prepared folder aligned by a pool of Ray actors, one encoder each.

A part is a run of consecutive pairs. Its links are written under a temporary name and renamed, so a part that is there
is whole, and a run that died goes on where it stood. When all parts are there they are read back in order beside the
pairs, and the writers of the local engine write the output. Parts start at multiples of the windows in which the
aligner encodes, so every window holds the same pairs as locally and the results are the same to the last bit.

The folders of corpus, output and model must be at the same place on every machine of the cluster.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from isoglot.align.alignment import PairLinks
from isoglot.align.embedding.aligner import EmbeddingAligner
from isoglot.align.embedding.memory import keep_few_primitives
from isoglot.align.embedding.options import EmbeddingOptions
from isoglot.align.files.pairs import RawPair, is_prepared, prepared_manifest, prepared_pairs
from isoglot.corpus.encode.words import WordMode
from isoglot.errors import ConfigurationError, InputError, IsoglotError
from isoglot.runs.checkpoint import checkpoint_folder
from isoglot.runs.cluster import connected, load_ray
from isoglot.runs.files import whole_path
from isoglot.runs.folder import begin, hash_checkpoint, state_of
from isoglot.runs.lock import occupied

_LOG = logging.getLogger(__name__)
_SCHEMA = pa.schema(
    {
        "links": pa.list_(pa.list_(pa.int32())),
        "probabilities": pa.list_(pa.float64()),
        "score": pa.float64(),
    }
)

Found = Iterator[tuple[RawPair, PairLinks]]


@dataclass(frozen=True)
class RayJob:
    """What decides the links, and so whether parts of an earlier run can be taken."""

    corpus: str
    parts: str
    model: str
    options: Mapping[str, Any]
    part_pairs: int
    words: WordMode = "whitespace"

    @classmethod
    def build(cls, corpus: str | Path, parts: Path, model: str, **fields: Any) -> RayJob:
        """A job whose paths mean the same in every process."""
        place = str(Path(model).resolve()) if Path(model).is_dir() else model
        return cls(str(Path(corpus).resolve()), str(parts.resolve()), place, **fields)

    def part(self, number: int) -> Path:
        """The file of a part."""
        return Path(self.parts) / f"{number:06d}.parquet"

    def digest(self) -> str:
        """A hash of all that the links depend on, the corpus and the checkpoint among it."""
        place = checkpoint_folder(self.model)
        given = {**asdict(self), "weights": hash_checkpoint(place) if isinstance(place, Path) else place}
        del given["parts"]
        state = hashlib.blake2b(json.dumps(given, sort_keys=True).encode(), digest_size=16)
        state.update(prepared_manifest(self.corpus).model_dump_json().encode())
        return state.hexdigest()


class PartAligner:
    """A Ray actor: loads the encoder once, with the first part, then aligns one part after the other.

    Not in the constructor, because Ray starts an actor whose constructor fails again and again.
    """

    def __init__(self, job: RayJob) -> None:
        self._job = job
        self._warnings: list[tuple[int, str]] = []

    @cached_property
    def _aligner(self) -> EmbeddingAligner:
        keep_few_primitives()
        return EmbeddingAligner(
            self._job.model,
            options=EmbeddingOptions.build(**self._job.options),
            warn=lambda number, message: self._warnings.append((number, message)),
        )

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Align the parts whose numbers stand in column ``part``.

        Returns:
            The parts, their numbers of pairs, and in ``mistake`` the message of a user's mistake or "": Ray may try
            again for long what ends in an exception, and would wrap its message.
        """
        numbers = [int(number) for number in batch["part"]]
        try:
            return {
                "part": numbers,
                "pairs": [self._align(n) for n in numbers],
                "mistake": [""] * len(numbers),
            }
        except IsoglotError as error:
            return {"part": numbers, "pairs": [0] * len(numbers), "mistake": [str(error)] * len(numbers)}

    def _align(self, number: int) -> int:
        job, first = self._job, number * self._job.part_pairs
        self._warnings.clear()
        pairs = prepared_pairs(job.corpus, mode=job.words, start=first, stop=first + job.part_pairs)
        found = list(self._aligner.align_pairs((pair.words for pair in pairs), first=first))
        table = pa.table(
            {
                "links": [f.links for f in found],
                "probabilities": [f.probabilities for f in found],
                "score": [f.score for f in found],
            },
            schema=_SCHEMA.with_metadata({"warnings": json.dumps(self._warnings)}),
        )
        with whole_path(job.part(number)) as place:
            pq.write_table(table, place)
        return len(found)


@contextmanager
def aligned_by_ray(job: RayJob, *, workers: int | None = None, progress: Any = None) -> Iterator[Found]:
    """The pairs of a prepared folder with their links, in order; the parts are removed after the block."""
    total = prepared_manifest(job.corpus).rows
    count = -(-total // job.part_pairs)
    with occupied(job.parts):
        _claim(job)
        todo = [number for number in range(count) if not job.part(number).is_file()]
        if progress is not None and len(todo) < count:
            progress.note(f"{count - len(todo)} of {count} parts are there already: {job.parts}")
        if todo:
            _run(
                job,
                todo,
                workers,
                lambda done: progress and progress.progress("aligning", done, total),
                total,
            )
        yield _read_back(job, count)
        shutil.rmtree(job.parts)


def _claim(job: RayJob) -> None:
    """Make the parts folder, or see that it is this job's."""
    wanted, values = {"digest": job.digest()}, {k: v for k, v in asdict(job).items() if k != "parts"}
    if state_of(job.parts, wanted, what="alignment run", told_by={"values": values}) == "new":
        begin(Path(job.parts), {**wanted, "values": values})


def _run(job: RayJob, todo: list[int], workers: int | None, report: Any, total: int) -> None:
    load_ray()
    import ray.data  # noqa: PLC0415 - an extra

    # One CPU more than actors, so that the pipeline's own tasks always find one.
    with connected(max(os.cpu_count() or 1, (workers or 1) + 1)) as ray:
        resources = ray.cluster_resources()
        gpus, cpus = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
        size = min(workers or gpus or max(1, cpus // 2), len(todo))
        needs = {"num_gpus": min(1.0, gpus / size)} if gpus and job.options.get("device") != "cpu" else {}
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        parts = ray.data.from_items([{"part": number} for number in todo], override_num_blocks=len(todo))
        done = total - sum(_pairs_of(job, number, total) for number in todo)
        finished = parts.map_batches(
            PartAligner,
            fn_constructor_args=(job,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=size),
            num_cpus=max(1, min(cpus // size, 8)) if not needs else 1,
            **needs,
        )
        for row in finished.iter_rows():
            if row["mistake"]:
                raise ConfigurationError(row["mistake"])
            done += row["pairs"]
            report(done)


def _pairs_of(job: RayJob, number: int, total: int) -> int:
    return min(job.part_pairs, total - number * job.part_pairs)


def _read_back(job: RayJob, count: int) -> Found:
    for number in range(count):
        first = number * job.part_pairs
        table = pq.read_table(job.part(number))
        for row, message in json.loads((table.schema.metadata or {}).get(b"warnings", b"[]")):
            _LOG.warning("pair %d: %s", row, message)
        pairs = prepared_pairs(job.corpus, mode=job.words, start=first, stop=first + job.part_pairs)
        for pair, row in zip(pairs, table.to_pylist(), strict=True):
            links = [(i, j) for i, j in row["links"]]
            yield pair, PairLinks(links, row["probabilities"], row["score"])


def parts_folder(out: str | Path) -> Path:
    """Where the parts of an output are kept while it is not there."""
    if str(out) == "-":
        raise ConfigurationError(
            "--engine ray keeps its parts beside the output; name a file: --out links.txt"
        )
    return Path(out).with_name(f"{Path(out).name}.parts")


def corpus_of(paths: list[str]) -> str:
    """The one prepared folder among the inputs."""
    if len(paths) == 1 and is_prepared(paths[0]):
        return paths[0]
    raise InputError(
        f"{', '.join(paths)} given, but --engine ray reads one folder of Parquet shards: run `isoglot prepare "
        f"{' '.join(paths)} --out FOLDER` first, then `isoglot align FOLDER --engine ray`"
    )
