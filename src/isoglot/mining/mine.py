"""`isoglot mine`: translations among the sentences of two monolingual files, by the margin of their vectors.

Source: Artetxe and Schwenk 2019, *Margin-based parallel corpus mining with multilingual sentence embeddings*: the ratio
margin, and retrieval forward, backward, by their intersection, or by the highest score.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from isoglot.checkpoints.folder import BOX
from isoglot.checks import given_texts, validated
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.corpus.encode.words import is_blank
from isoglot.corpus.filter.filters import clean
from isoglot.corpus.read.line_files import numbered_lines
from isoglot.corpus.text_pairs import TextPair
from isoglot.errors import InputError
from isoglot.mining.files import pair_writer, require_lines
from isoglot.mining.histogram import Histogram
from isoglot.mining.options import MineOptions
from isoglot.mining.vectors import SentenceEncoder, sentence_encoder, stored_vectors
from isoglot.modules.devices import resolve_device
from isoglot.modules.large_search import by_faiss, by_parts, require_package
from isoglot.modules.neighbours import Neighbours, compared, nearest_both_ways
from isoglot.runs.cluster import RayPool
from isoglot.runs.files import check_outputs
from isoglot.runs.reporter import AnyReporter, Silent, reporter_of
from isoglot.tasks.text_vectors import LEFT_OUT


@dataclass(frozen=True, slots=True)
class MinedPair:
    """Two sentences that are taken for translations, the lines where they first stand (from 1), and their score."""

    score: float
    source: str
    target: str
    source_line: int
    target_line: int


@dataclass(frozen=True, slots=True)
class MineReport:
    """How much was searched and found."""

    sentences: tuple[int, int]  # different ones of each side
    pairs: int
    histogram: Histogram


def mine(
    source: Sequence[str],
    target: Sequence[str],
    model: str | Path | SentenceEncoder = BOX,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> list[MinedPair]:
    """Find translations among the sentences of two languages.

    A sentence that stands several times counts once, as its first line; blank ones count as none, and so do those
    without a word that the encoder's vocabulary knows. Of equal scores the pair whose lines come first is better.

    Args:
        source: Sentences of one language.
        target: Sentences of the other.
        model: Folder or hub name of an encoder (its last layer, mean pooling), by default ``box``; or any function from
            texts to vectors, such as a :class:`isoglot.tasks.text_vectors.TextEncoder` of another layer.
        progress: Takes the name of a step, what is done, and of how much.
        **options: Fields of :class:`isoglot.mining.options.MineOptions`, such as ``neighbours=16``.

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
    wanted = validated(MineOptions, options, what="mine option")
    require_package(wanted.search)
    given = given_texts(source, "source"), given_texts(target, "target")
    sides = _distinct(enumerate(given[0], 1)), _distinct(enumerate(given[1], 1))
    return _mined(sides, sentence_encoder(model), wanted, progress)


def mine_files(
    paths: tuple[str, str],
    out: str,
    encoder: Callable[[], SentenceEncoder],
    options: MineOptions,
    *,
    languages: tuple[str, str] = ("", ""),
    progress: AnyReporter | None = None,
) -> MineReport:
    """Find translations among the lines of two files, and write them, the best first; see :func:`mine`.

    ``encoder`` makes the encoder, which is done when the files have been read. ``languages``: Codes of both languages,
    which JSON lines and TMX name.
    """
    check_outputs([out], paths)
    require_lines(paths)
    require_package(options.search)
    with pair_writer([out], languages) as write:
        sides = _distinct(numbered_lines(paths[0])), _distinct(numbered_lines(paths[1]))
        for path, own in zip(paths, sides, strict=True):
            if not own:
                raise InputError("has no sentence; one sentence per line is needed", path=path)
        found = _mined(sides, encoder(), options, reporter_of(progress).progress)
        for pair in found:
            values = {"score": pair.score, "source_line": pair.source_line, "target_line": pair.target_line}
            write(TextPair((pair.source, pair.target), languages=languages), values)
    scores = Histogram([pair.score for pair in found])
    return MineReport((len(sides[0]), len(sides[1])), len(found), scores)


def _distinct(lines: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Each sentence once, and the number of its first line."""
    found: dict[str, int] = {}
    for number, line in lines:
        if not is_blank(text := clean(line)):
            found.setdefault(text, number)
    return found


def _mined(
    sides: tuple[dict[str, int], dict[str, int]],
    encoder: SentenceEncoder,
    options: MineOptions,
    progress: Callable[[str, int, int], None] | None,
) -> list[MinedPair]:
    source, target = (list(own) for own in sides)
    if not source or not target:
        return []
    step, unknown = progress or Silent().progress, UnknownWords(LEFT_OUT)
    receive = [partial(_count, unknown, *side) for side in zip(("source", "target"), sides, strict=True)]
    with stored_vectors(encoder, (source, target), receive, progress=partial(step, "encoding")) as (
        (first, one),
        (second, other),
    ):
        unknown.warn()
        source, target = [source[i] for i in one], [target[j] for j in other]
        if not source or not target:
            return []
        k = options.neighbours
        searching = partial(step, "searching")
        if options.search == "faiss":
            forward, backward = by_faiss(first, second, k), by_faiss(second, first, k)
        elif options.search == "ray":
            with RayPool(fewer="CPUs") as pool:
                forward, backward = by_parts(first, second, k, pool, progress=searching)
        else:
            device = resolve_device("auto")
            forward, backward = nearest_both_ways(first, second, k, device=device, progress=searching)
    copies = None
    if options.drop_copies:
        places = {text: number for number, text in enumerate(target)}
        copies = np.array([places.get(text, -1) for text in source])
    found = best_pairs(forward, backward, options, copies=copies)
    return [
        MinedPair(score, source[i], target[j], sides[0][source[i]], sides[1][target[j]])
        for score, i, j in zip(*(column.tolist() for column in found), strict=True)
    ]


def _count(
    unknown: UnknownWords, side: str, lines: dict[str, int], text: str, words: Sequence[str], whole: bool
) -> None:
    unknown.add(f"line {lines[text]} of the {side}", words, whole)


def best_pairs(
    forward: Neighbours,
    backward: Neighbours,
    options: MineOptions,
    *,
    copies: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Pairs from the neighbours of both sides: their scores, source and target numbers, the best first.

    ``copies``: For each source number a target number that it is not paired with, or −1.
    """
    own, other = (found.similarities.mean(1) for found in (forward, backward))
    ways = []
    for found, one, two in ((forward, own, other), (backward, other, own)):
        scores = compared(found.similarities, one[:, None], two[found.numbers], similarity=options.similarity)
        number = torch.arange(len(scores), device=scores.device)[:, None].expand_as(scores)
        pair = (number, found.numbers) if found is forward else (found.numbers, number)
        if copies is not None:
            same = torch.from_numpy(copies).to(scores.device)[pair[0]] == pair[1]
            scores = scores.masked_fill(same, -torch.inf)
        best = scores.argmax(1, keepdim=True)
        ways.append(torch.cat([part.gather(1, best).double() for part in (scores, *pair)], 1).cpu().numpy())
    rows = np.concatenate({"forward": ways[:1], "backward": ways[1:]}.get(options.retrieval, ways))
    score, i, j = rows[:, 0].astype(np.float32), rows[:, 1].astype(np.int64), rows[:, 2].astype(np.int64)
    if options.retrieval == "intersection":
        _, place, times = np.unique(np.stack([i, j]), axis=1, return_index=True, return_counts=True)
        kept = place[times == 2]
        score, i, j = score[kept], i[kept], j[kept]
    least = np.finfo(np.float32).min if options.min_score is None else options.min_score
    order = np.lexsort((j, i, -score))
    order = order[score[order] >= least]
    if options.retrieval == "max":
        order = order[_each_once(i[order].tolist(), j[order].tolist())]
    return score[order], i[order], j[order]


def _each_once(sources: Sequence[int], targets: Sequence[int]) -> list[int]:
    """Places of the pairs of which neither side is in an earlier one."""
    kept, seen, met = [], set[int](), set[int]()
    for place, (i, j) in enumerate(zip(sources, targets, strict=True)):
        if i not in seen and j not in met:
            kept.append(place)
            seen.add(i)
            met.add(j)
    return kept
