"""``isoglot align --engine ray``: the parts of a prepared folder aligned by workers on a Ray cluster, one encoder each.

A part is a run of consecutive pairs; a part that is there is whole. The same command continues a run that died. Parts
begin at multiples of the windows in which the aligner encodes, so the links are those of the local engine.
The folders of corpus, output and model must be at the same place on every machine of the cluster.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.options import Encoder
from isoglot.aligners.pairs_in_files import read_pairs
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.unknown import UNLINKED, UnknownWords
from isoglot.corpus.manifest import Manifest
from isoglot.corpus.open_corpus import Corpus, CorpusInput, prepared_input
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.formats.words import WordMode
from isoglot.modules.allocator import keep_few_primitives
from isoglot.runs.cluster import ResidentPool
from isoglot.runs.files import whole_path
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.listed import remove
from isoglot.runs.lock import occupied
from isoglot.runs.record import RUN, Record
from isoglot.runs.reporter import Reporter

_LOG = logging.getLogger(__name__)
_SCHEMA = pa.schema(
    {
        "links": pa.list_(pa.list_(pa.int32())),
        "probabilities": pa.list_(pa.float64()),
        "score": pa.float64(),
    }
)


@dataclass(frozen=True)
class RayJob:
    """What decides the links, and so whether parts of an earlier run can be taken; and where the parts are kept."""

    corpus: str
    parts: str
    model: str
    options: Mapping[str, Any]
    part_pairs: int
    words: WordMode = "whitespace"

    @classmethod
    def build(cls, corpus: str | Path, parts: Path, model: str, **fields: Any) -> RayJob:
        """A job whose paths mean the same in every process."""
        location = str(Path(model).resolve()) if Path(model).exists() else model
        return cls(str(Path(corpus).resolve()), str(parts.resolve()), location, **fields)

    def part(self, number: int) -> Path:
        """The file of a part."""
        return Path(self.parts) / f"{number:06d}.parquet"

    def pairs(self, corpus: CorpusInput, number: int) -> Iterator[SentencePair]:
        """The pairs of a part."""
        first = number * self.part_pairs
        return read_pairs(Corpus([corpus]), mode=self.words, start=first, stop=first + self.part_pairs)

    def wanted(self, manifest: Manifest) -> dict[str, Any]:
        """All that the links depend on, the corpus and the checkpoint among it."""
        values = asdict(self)
        del values["parts"]
        return {
            "values": values,
            "weights": hash_checkpoint(checkpoint_folder(self.model)),
            "manifest": manifest.model_dump(mode="json"),
        }


class _AlignWorker:
    job: RayJob
    corpus: CorpusInput
    aligner: EmbeddingAligner
    warnings: list[tuple[int, str]]


def start(job: RayJob) -> None:
    """Set a worker up: load the encoder."""
    keep_few_primitives()
    _AlignWorker.job, _AlignWorker.warnings = job, []
    _AlignWorker.corpus = prepared_input(Source(path=job.corpus), "bitext")
    _AlignWorker.aligner = EmbeddingAligner(
        job.model,
        options=EmbeddingOptions.build(**job.options),
        warn=lambda number, message: _AlignWorker.warnings.append((number, message)),
    )


def align_part(number: int) -> int:
    """Make a part; its number of pairs."""
    job, corpus = _AlignWorker.job, _AlignWorker.corpus
    _AlignWorker.warnings.clear()
    pairs, first, unknown = job.pairs(corpus, number), number * job.part_pairs, UnknownWords(UNLINKED)
    linked = list(
        align_running(_AlignWorker.aligner, pairs, mode=job.words, first=first, unknown=unknown.add_pair)
    )
    reports = {"warnings": json.dumps(_AlignWorker.warnings), "unknown": json.dumps(asdict(unknown))}
    table = pa.table(
        {name: [getattr(pair, name) for pair in linked] for name in _SCHEMA.names},
        schema=_SCHEMA.with_metadata(reports),
    )
    with whole_path(job.part(number)) as path:
        pq.write_table(table, path)
    return len(linked)


@contextmanager
def aligned_by_ray(
    corpus: Corpus, out: str | Path, encoder: Encoder, *, words: WordMode, progress: Reporter
) -> Iterator[Iterator[SentencePair]]:
    """The pairs of a prepared folder with their links, in order; the parts are removed after the block."""
    corpus_input = corpus.inputs[0]
    if len(corpus.inputs) > 1 or corpus_input.manifest is None:
        paths = " ".join(path for source_input in corpus.inputs for path in source_input.source.files())
        raise InputError(
            f"[[engine='ray']] reads one prepared folder; run `isoglot prepare {paths} --out FOLDER` first"
        )
    if str(out) == "-":
        raise ConfigurationError(
            "[[engine='ray']] keeps its parts beside the output; name a file: [[out='links.txt']]"
        )
    parts = Path(out).with_name(f"{Path(out).name}.parts")
    options = encoder.options.model_dump()
    job = RayJob.build(
        corpus_input.source.path,
        parts,
        encoder.model,
        options=options,
        words=words,
        part_pairs=encoder.part_pairs,
    )
    total = corpus_input.manifest.rows
    count = -(-total // job.part_pairs)
    with occupied(job.parts):
        record = Record(job.parts, job.wanted(corpus_input.manifest), what="alignment run")
        if record.state() == "new":
            record.begin(record.made_from)
        todo = [number for number in range(count) if not job.part(number).is_file()]
        done = (count - len(todo)) * job.part_pairs
        if done:
            progress.note(f"{count - len(todo)} of {count} parts exist already: {job.parts}")
        if todo:
            gpu = encoder.options.device != "cpu"
            with ResidentPool(encoder.workers, start, job, most=len(todo), gpu=gpu) as pool:
                for pairs in pool.map_unordered(align_part, todo):
                    done += pairs
                    progress.progress("aligning", min(done, total), total)
        yield _read_back(job, corpus_input, count)
        remove(Path(job.parts), RUN, *(job.part(number).name for number in range(count)))


def _read_back(job: RayJob, corpus: CorpusInput, count: int) -> Iterator[SentencePair]:
    unknown = UnknownWords(UNLINKED)
    for number in range(count):
        table = pq.read_table(job.part(number))
        reports = {name: json.loads(text) for name, text in (table.schema.metadata or {}).items()}
        for row, message in reports.get(b"warnings", ()):
            _LOG.warning("pair %d: %s", row, message)
        if b"unknown" in reports:
            unknown.join(UnknownWords(**reports[b"unknown"]))
        for pair, row in zip(job.pairs(corpus, number), table.to_pylist(), strict=True):
            pair.links = [(i, j) for i, j in row["links"]]
            pair.probabilities, pair.score = row["probabilities"], row["score"]
            yield pair
    unknown.warn()
