"""`isoglot mine`: find translations among the sentences of two monolingual files, by the margin of their vectors.

Source: Artetxe and Schwenk 2019, *Margin-based parallel corpus mining with multilingual sentence embeddings*: the ratio
margin, and retrieval forward, backward, by their intersection, or by the highest score.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoglot.checkpoints.folder import BOX, checkpoint_folder
from isoglot.core.checks import given_texts, validated
from isoglot.core.errors import InputError
from isoglot.core.frames import ResultList, Tabular
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.words import is_blank
from isoglot.mining.histogram import Histogram
from isoglot.mining.options import MineRequest, VectorOptions
from isoglot.mining.text_rows import TextRow, pair_of_rows, require_texts, text_rows
from isoglot.mining.vectors import (
    EncodingPlan,
    SentenceEncoder,
    sentence_encoder,
    stored_vectors,
    unknown_word_counter,
)
from isoglot.modules.devices import resolve_device
from isoglot.modules.large_search import by_faiss, by_parts, require_package
from isoglot.modules.neighbours import Neighbours, compared, nearest_both_ways
from isoglot.runs.cluster import RayPool
from isoglot.runs.files import check_outputs
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.parts import Parts, input_sizes, kept_parts
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks.text_vectors import LEFT_OUT


@dataclass(frozen=True, slots=True)
class MinedPair(Tabular):
    """Two sentences that are taken for translations, their score, and the first line of each (from 1)."""

    score: float
    source: str
    target: str
    source_line: int
    target_line: int


@dataclass(frozen=True, slots=True)
class MineReport:
    """Counts of a mining run."""

    sentences: tuple[int, int]  # different sentences of each side
    pairs: int
    histogram: Histogram


def mine(
    source: Sequence[str],
    target: Sequence[str],
    model: str | Path | SentenceEncoder = BOX,
    *,
    progress: AnyReporter = True,
    **options: Any,
) -> ResultList[MinedPair]:
    """Find translations among the sentences of two languages.

    A sentence on several lines counts once, as its first line. Blank sentences are left out, and so are sentences
    without a word that the encoder's vocabulary knows. Of equal scores the pair whose lines come first is better.

    The texts of both sides are in memory; their vectors are in temporary files.

    Args:
        source: Sentences of one language.
        target: Sentences of the other.
        model: Folder or hub name of an encoder (its last layer, mean pooling), by default ``box``; or any function from
            texts to vectors, such as a :class:`isoglot.tasks.text_vectors.TextEncoder` of another layer.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Other fields of :class:`isoglot.mining.options.MineRequest`, such as ``neighbours=16``; of an
            encoder with a name also those of its vectors, such as ``layer=8``.

    Returns:
        Pairs, the best first.

    Example:
        >>> import torch
        >>> table = {"one": [1.0, 0, 0], "two": [0, 1.0, 0], "eins": [1.0, 0.1, 0], "zwei": [0, 1.0, 0.1]}
        >>> def encoder(texts):
        ...     return torch.tensor([table[text] for text in texts])
        >>> [(pair.source, pair.target) for pair in mine(["one", "two"], ["zwei", "eins"], encoder)]
        [('one', 'eins'), ('two', 'zwei')]

    Source: Artetxe and Schwenk 2019.
    """
    request = validated(MineRequest, {"model": model, **options})
    require_package(request.search)
    sides = []
    for name, texts in (("source", source), ("target", target)):
        rows = (TextRow(line, text) for line, text in enumerate(given_texts(texts, name), 1))
        sides.append(_distinct(rows))
    encoder = sentence_encoder(request.model, request)
    mined = _mined(sides[0], sides[1], encoder, request, reporter_of(progress).progress)
    return ResultList(
        MinedPair(score, source_row.text, target_row.text, source_row.line, target_row.line)
        for score, source_row, target_row in mined
    )


def mine_files(
    paths: tuple[str, str],
    out: str,
    request: MineRequest,
    *,
    languages: tuple[str, str] = ("", ""),
    progress: AnyReporter | None = None,
    resume: bool = False,
) -> MineReport:
    """Find translations among the lines of two files, and write them, the best first; see :func:`mine`.

    The encoder is loaded when the files have been read. ``languages``: Codes of both languages, which JSON lines and
    TMX name. ``resume``: Use the finished vectors that a stopped run has left beside the output.
    """
    check_outputs([out], paths)
    require_texts(paths)
    require_package(request.search)
    made_from = partial(_vectors_made_from, request, paths)
    with (
        kept_parts(out, made_from, what="mining run", resume=resume, engine=request.engine) as finished,
        pair_writer([out], languages) as write,
    ):
        sides = [
            _distinct(text_rows(path, language)) for path, language in zip(paths, languages, strict=True)
        ]
        for path, sentences in zip(paths, sides, strict=True):
            if not sentences:
                raise InputError("has no sentence; one sentence per line is needed", path=path)
        encoder = sentence_encoder(request.model, request)
        mined = _mined(sides[0], sides[1], encoder, request, reporter_of(progress).progress, finished)
        for score, source, target in mined:
            values = {"score": score, "source_line": source.line, "target_line": target.line}
            write(pair_of_rows([source], [target], languages), values)
    scores = Histogram([score for score, _, _ in mined])
    return MineReport((len(sides[0]), len(sides[1])), len(mined), scores)


def _vectors_made_from(request: MineRequest, paths: Sequence[str]) -> dict[str, Any]:
    """Collect what the vectors depend on, beside the sentences.

    If one value differs from that of a stopped run, the finished vectors of that run are not used.
    """
    named = isinstance(request.model, str)
    return {
        "model": str(request.model),
        "weights": hash_checkpoint(checkpoint_folder(request.model)) if named else None,
        "vectors": request.model_dump(include=set(VectorOptions.model_fields)),
        "inputs": input_sizes(paths),
    }


def _distinct(rows: Iterable[TextRow]) -> dict[str, TextRow]:
    """Find the first row of each different sentence, by its cleaned text; blank sentences are left out."""
    sentences: dict[str, TextRow] = {}
    for row in rows:
        cleaned = row.cleaned
        if not is_blank(cleaned):
            sentences.setdefault(cleaned, row)
    return sentences


def _mined(
    source: Mapping[str, TextRow],
    target: Mapping[str, TextRow],
    encoder: SentenceEncoder,
    request: MineRequest,
    report: Callable[[str, int, int], None],
    finished: Parts | None = None,
) -> list[tuple[float, TextRow, TextRow]]:
    """Encode the sentences of both sides, search their neighbours, and pair them, the best first.

    ``source``, ``target``: The row of each sentence by its cleaned text. ``finished``: Vectors of a run that was
    stopped.
    """
    if not source or not target:
        return []
    unknown = UnknownWords(LEFT_OUT)
    counters = []
    for name, rows in (("source", source), ("target", target)):
        line_of_text = {text: row.line for text, row in rows.items()}
        counters.append(unknown_word_counter(unknown, name, line_of_text))
    texts = list(source), list(target)
    encoding = EncodingPlan(request, finished or Parts(None, dict, what="mining run"))
    progress = partial(report, "encoding")
    with stored_vectors(encoder, texts, counters, encoding=encoding, progress=progress) as stored:
        unknown.warn()
        # Sentences without a vector are left out: number n of `sources` is row n of `source_vectors`.
        (source_vectors, source_with_vector), (target_vectors, target_with_vector) = stored
        sources = [texts[0][i] for i in source_with_vector]
        targets = [texts[1][j] for j in target_with_vector]
        if not sources or not targets:
            return []
        forward, backward = _nearest(source_vectors, target_vectors, request, partial(report, "searching"))
    copies = None
    if request.drop_copies:
        row_of_target = {text: row for row, text in enumerate(targets)}
        copies = np.array([row_of_target.get(text, -1) for text in sources])
    scores, i, j = best_pairs(forward, backward, request, copies=copies)
    # i and j are rows of source_vectors and target_vectors, so of sources and targets.
    return [
        (score, source[sources[source_row]], target[targets[target_row]])
        for score, source_row, target_row in zip(scores.tolist(), i.tolist(), j.tolist(), strict=True)
    ]


def _nearest(
    source: Tensor, target: Tensor, request: MineRequest, progress: Callable[[int, int], None]
) -> tuple[Neighbours, Neighbours]:
    """Search the nearest target vectors of each source vector, and the reverse."""
    k = request.neighbours
    if request.search == "faiss":
        return by_faiss(source, target, k), by_faiss(target, source, k)
    if request.search == "ray":
        with RayPool(fewer="CPUs") as pool:
            return by_parts(source, target, k, pool, progress=progress)
    return nearest_both_ways(source, target, k, device=resolve_device("auto"), progress=progress)


def best_pairs(
    forward: Neighbours,
    backward: Neighbours,
    request: MineRequest,
    *,
    copies: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Choose pairs among the neighbours of both sides.

    1. Forward, each source sentence proposes the neighbour with the highest score; backward, each target sentence does.
    2. ``retrieval`` says what counts: the proposals of one side (``forward``, ``backward``), those that both sides made
       (``intersection``), or, with ``max``, the proposals of both sides, taken greedily from the best: a pair is left
       out if one of its sentences is in a better pair.
    3. Pairs below ``min_score`` are left out.
    4. Order: by score; of equal scores the smaller source number first, then the smaller target number.

    Sentences 0 and 1 both propose target 5, with scores 1.2 and 1.1, and target 5 proposes 0: ``forward`` has both
    pairs, ``intersection`` and ``max`` have (0, 5) alone.

    ``copies``: For each source number a target number that it is not paired with, or −1.

    Returns:
        Scores, source numbers and target numbers of the pairs, the best first.
    """
    source_means, target_means = forward.similarities.mean(1), backward.similarities.mean(1)
    proposals = []  # of each direction: score, source number and target number, in a row per sentence
    for is_forward, neighbours, own_means, means_of_others in (
        (True, forward, source_means, target_means),
        (False, backward, target_means, source_means),
    ):
        scores = compared(
            neighbours.similarities,
            own_means[:, None],
            means_of_others[neighbours.numbers],
            similarity=request.similarity,
        )
        own = torch.arange(len(scores), device=scores.device)[:, None].expand_as(scores)
        source, target = (own, neighbours.numbers) if is_forward else (neighbours.numbers, own)
        if copies is not None:
            is_copy = torch.from_numpy(copies).to(scores.device)[source] == target
            scores = scores.masked_fill(is_copy, -torch.inf)
        best = scores.argmax(1, keepdim=True)
        # double: float32 would round numbers from 2²⁴ on.
        columns = [values.gather(1, best).double() for values in (scores, source, target)]
        proposals.append(torch.cat(columns, 1).cpu().numpy())

    if request.retrieval == "forward":
        rows = proposals[0]
    elif request.retrieval == "backward":
        rows = proposals[1]
    else:
        rows = np.concatenate(proposals)
    score, i, j = rows[:, 0].astype(np.float32), rows[:, 1].astype(np.int64), rows[:, 2].astype(np.int64)

    if request.retrieval == "intersection":
        # A side proposes a pair once at most, so a pair that stands twice is a proposal of both.
        _, first, times = np.unique(np.stack([i, j]), axis=1, return_index=True, return_counts=True)
        by_both = first[times == 2]
        score, i, j = score[by_both], i[by_both], j[by_both]

    # lexsort sorts by its last key first: by score, then by source number, then by target number.
    order = np.lexsort((j, i, -score))
    # Without min_score, only copies are left out, whose score is -inf.
    least = np.finfo(np.float32).min if request.min_score is None else request.min_score
    order = order[score[order] >= least]
    if request.retrieval == "max":
        order = _greedily(order, i, j)
    return score[order], i[order], j[order]


def _greedily(
    order: NDArray[np.int64], sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Choose rows one by one, in their order; a row whose source or target was chosen before is left out."""
    used_sources, used_targets = set[int](), set[int]()
    chosen = []
    for row, source, target in zip(
        order.tolist(), sources[order].tolist(), targets[order].tolist(), strict=True
    ):
        if source not in used_sources and target not in used_targets:
            chosen.append(row)
            used_sources.add(source)
            used_targets.add(target)
    return np.array(chosen, np.int64)
