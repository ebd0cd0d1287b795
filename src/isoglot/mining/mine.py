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
    EncodingRun,
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
        for score, source_row, target_row in mined:
            values = {"score": score, "source_line": source_row.line, "target_line": target_row.line}
            write(pair_of_rows([source_row], [target_row], languages), values)
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
    source_sentences: Mapping[str, TextRow],
    target_sentences: Mapping[str, TextRow],
    encoder: SentenceEncoder,
    request: MineRequest,
    report: Callable[[str, int, int], None],
    finished: Parts | None = None,
) -> list[tuple[float, TextRow, TextRow]]:
    """Encode the sentences of both sides, search their neighbours, and pair them, the best first.

    ``source_sentences``, ``target_sentences``: The row of each sentence by its cleaned text. ``finished``: Vectors of a
    run that was stopped.
    """
    if not source_sentences or not target_sentences:
        return []
    unknown = UnknownWords(LEFT_OUT)
    counters = []
    for name, rows in (("source", source_sentences), ("target", target_sentences)):
        line_of_text = {text: row.line for text, row in rows.items()}
        counters.append(unknown_word_counter(unknown, name, line_of_text))
    texts = list(source_sentences), list(target_sentences)
    # Without a folder no vector is stored, and `made_from` is never called.
    parts = finished or Parts(folder=None, made_from=dict, what="mining run")
    encoding = EncodingRun(request, parts)
    progress = partial(report, "encoding")
    with stored_vectors(encoder, texts, counters, encoding=encoding, progress=progress) as stored:
        unknown.warn()
        # Sentences without a vector are left out. Below, a sentence has the number of its vector: source_vectors[n] is
        # the vector of source_texts[n].
        (source_vectors, source_with_vector), (target_vectors, target_with_vector) = stored
        source_texts = [texts[0][place] for place in source_with_vector]
        target_texts = [texts[1][place] for place in target_with_vector]
        if not source_texts or not target_texts:
            return []
        forward, backward = _nearest(source_vectors, target_vectors, request, partial(report, "searching"))
    copies = None
    if request.drop_copies:
        number_of_target = {text: number for number, text in enumerate(target_texts)}
        copies = np.array([number_of_target.get(text, -1) for text in source_texts])
    scores, sources, targets = best_pairs(forward, backward, request, copies=copies)
    mined = []
    for score, source, target in zip(scores.tolist(), sources.tolist(), targets.tolist(), strict=True):
        source_row = source_sentences[source_texts[source]]
        target_row = target_sentences[target_texts[target]]
        mined.append((score, source_row, target_row))
    return mined


def _nearest(
    source_vectors: Tensor,
    target_vectors: Tensor,
    request: MineRequest,
    progress: Callable[[int, int], None],
) -> tuple[Neighbours, Neighbours]:
    """Search the nearest target vectors of each source vector, and the reverse."""
    k = request.neighbours
    if request.search == "faiss":
        forward = by_faiss(source_vectors, target_vectors, k)
        return forward, by_faiss(target_vectors, source_vectors, k)
    if request.search == "ray":
        with RayPool(fewer="CPUs") as pool:
            return by_parts(source_vectors, target_vectors, k, pool, progress=progress)
    device = resolve_device("auto")
    return nearest_both_ways(source_vectors, target_vectors, k, device=device, progress=progress)


def best_pairs(
    forward: Neighbours,
    backward: Neighbours,
    request: MineRequest,
    *,
    copies: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Choose pairs among the candidates: each sentence with each of its nearest neighbours on the other side.

    1. Forward, each source sentence proposes its candidate with the highest score; backward, each target sentence does.
    2. ``retrieval`` says what counts: the proposals of one side (``forward``, ``backward``), those that both sides made
       (``intersection``), or the proposals of both sides (``max``). In ``max`` a pair that both sides proposed is there
       twice, with the same score but for rounding.
    3. Order: by score; of equal scores the smaller source number first, then the smaller target number.
    4. Pairs below ``min_score`` are left out.
    5. With ``max``, pairs are taken greedily from the best: a pair is left out if one of its sentences is in a pair
       that was taken before. So a pair that is there twice is taken once.

    Sentences 0 and 1 both propose target 5, with scores 1.2 and 1.1, and target 5 proposes 0: ``forward`` has both
    pairs, ``intersection`` and ``max`` have (0, 5) alone.

    Args:
        forward: The nearest target sentences of each source sentence.
        backward: The nearest source sentences of each target sentence.
        request: The options ``similarity``, ``retrieval`` and ``min_score``.
        copies: For each source sentence the number of the same text on the target side, or −1 if that side lacks it. A
            sentence is not paired with its copy.

    Returns:
        Scores, source numbers and target numbers of the pairs, the best first. **Shape**: (pairs,) each.
    """
    source_means, target_means = forward.similarities.mean(1), backward.similarities.mean(1)
    forward_is_copy = backward_is_copy = None
    if copies is not None:
        # For each candidate of each sentence, whether both are the same text. Copies are given by source sentence; −1
        # is the number of no candidate.
        copy_of_source = torch.from_numpy(copies).to(forward.numbers.device)
        forward_is_copy = copy_of_source[:, None] == forward.numbers
        # Backward, the candidates are source sentences: is the copy of the candidate the target sentence of this row?
        copy_of_candidate = copy_of_source[backward.numbers]
        target_numbers = torch.arange(len(backward.numbers), device=backward.numbers.device)
        backward_is_copy = copy_of_candidate == target_numbers[:, None]

    # 1. A proposal is a score, a source number and a target number.
    forward_scores, target_of_source = _proposals(
        forward, source_means, target_means, request, is_copy=forward_is_copy
    )
    backward_scores, source_of_target = _proposals(
        backward, target_means, source_means, request, is_copy=backward_is_copy
    )
    every_source, every_target = np.arange(len(target_of_source)), np.arange(len(source_of_target))

    # 2. The pairs that count.
    if request.retrieval == "forward":
        scores, sources, targets = forward_scores, every_source, target_of_source
    elif request.retrieval == "backward":
        scores, sources, targets = backward_scores, source_of_target, every_target
    elif request.retrieval == "intersection":
        is_mutual = source_of_target[target_of_source] == every_source
        scores, sources, targets = (
            forward_scores[is_mutual],
            every_source[is_mutual],
            target_of_source[is_mutual],
        )
    else:
        scores = np.concatenate([forward_scores, backward_scores])
        sources = np.concatenate([every_source, source_of_target])
        targets = np.concatenate([target_of_source, every_target])

    # 3. lexsort sorts by its last key first: by score, then by source number, then by target number.
    order = np.lexsort((targets, sources, -scores))
    # 4. Without min_score, only copies are left out, whose score is -inf.
    least = np.finfo(np.float32).min if request.min_score is None else request.min_score
    order = order[scores[order] >= least]
    if request.retrieval == "max":
        order = _greedily(order, sources, targets)  # 5
    return scores[order], sources[order], targets[order]


def _proposals(
    neighbours: Neighbours,
    own_means: Tensor,
    means_of_others: Tensor,
    request: MineRequest,
    *,
    is_copy: Tensor | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Choose the neighbour with the highest score, for each sentence of one side.

    Args:
        neighbours: The neighbours of each sentence.
        own_means: Mean similarity of each sentence to its neighbours.
        means_of_others: The same for each sentence of the other side.
        request: The option ``similarity``.
        is_copy: The neighbours that must not be chosen, which have the score −∞ instead.

    Returns:
        The score and the number of the neighbour. **Shape**: (sentences,) each.
    """
    scores = compared(
        neighbours.similarities,
        own_means[:, None],
        means_of_others[neighbours.numbers],
        similarity=request.similarity,
    )
    if is_copy is not None:
        scores = scores.masked_fill(is_copy, -torch.inf)
    best = scores.argmax(1, keepdim=True)
    best_scores = scores.gather(1, best)[:, 0].float()
    best_numbers = neighbours.numbers.gather(1, best)[:, 0].long()
    return best_scores.cpu().numpy(), best_numbers.cpu().numpy()


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
