"""``isoglot align``: bitext in, word links out, by a statistical or an embedding-based aligner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from isoglot.align.align_statistics import Warnings, by_statistics
from isoglot.align.alignment import PairLinks
from isoglot.align.embedding.memory import keep_few_primitives
from isoglot.align.files.output import write_corpus, write_lines
from isoglot.align.files.pairs import read_pairs
from isoglot.align.options import AlignRequest, Encoder
from isoglot.corpus.read.sources import Source
from isoglot.runs.files import refuse_overwriting

__all__ = ["align_file"]

Found = Iterator[tuple[Any, PairLinks]]


def align_file(
    sources: Sequence[Source], out: str | Path, request: AlignRequest, *, progress: Any = None
) -> int:
    """Align bitext files.

    Returns:
        How many pairs were aligned (those that cannot be aligned keep their place and count).
    """
    aligner = request.aligner
    reads = [*(path for source in sources for path in source.files()), *getattr(aligner, "train_on", ())]
    reads += [str(path) for name in ("load", "model") if (path := getattr(aligner, name, None)) is not None]
    for written in (out, getattr(aligner, "save", None), getattr(aligner, "lexicon", None)):
        if written is not None:
            refuse_overwriting(written, reads)
    warn = Warnings()
    with ExitStack() as stack:
        found: Found
        if not isinstance(aligner, Encoder):
            found = by_statistics(sources, request, warn)
        elif aligner.engine == "ray":
            found = stack.enter_context(_by_ray(sources, out, aligner, request, progress))
        else:
            found = _by_embedding(sources, aligner, request, warn)
        count = _write(found if progress is None else _shown(found, progress), out, request)
    warn.sum_up()
    return count


def _write(found: Found, out: str | Path, request: AlignRequest) -> int:
    if request.output == "corpus":
        return write_corpus(found, Path(out))
    return write_lines(found, out, name=request.output, base=request.base, reverse=request.reverse)


def _by_ray(
    sources: Sequence[Source], out: str | Path, aligner: Encoder, request: AlignRequest, progress: Any
) -> AbstractContextManager[Found]:
    from isoglot.align.align_ray import RayJob, aligned_by_ray, corpus_of, parts_folder  # noqa: PLC0415 - loads torch

    job = RayJob.build(
        corpus_of([path for source in sources for path in source.files()]),
        parts_folder(out),
        aligner.model,
        options=aligner.options.model_dump(),
        words=request.words,
        part_pairs=aligner.part_pairs,
    )
    return aligned_by_ray(job, workers=aligner.workers, progress=progress)


def _by_embedding(
    sources: Sequence[Source], encoder: Encoder, request: AlignRequest, warn: Warnings
) -> Found:
    keep_few_primitives()
    from isoglot.align.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    aligner = EmbeddingAligner(encoder.model, options=encoder.options, warn=warn)
    pairs, first = read_pairs(sources, mode=request.words, warn=warn), 0
    while window := list(islice(pairs, aligner.window)):
        links = aligner.align_pairs((pair.words for pair in window), first=first)
        yield from zip(window, links, strict=True)
        first += len(window)


def _shown(found: Found, progress: Any) -> Found:
    for done, item in enumerate(found, 1):
        if done % 512 == 0:
            progress.progress("aligning", done, 0)
        yield item
