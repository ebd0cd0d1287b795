"""Sentences of two contexts that translate each other, put together by their lengths.

Source: Gale and Church 1993, *A program for aligning sentences in bilingual corpora*: the variance of a length, and how
often one sentence becomes one, two or none. The ratio of both languages' lengths is that of the two contexts.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise, product

from isoglot.projection.rule import Range

_BEHIND = r"[\"'”’»«)\]）」』]*"
"""Marks that belong to the sentence before them."""
_END = re.compile(rf"[.!?…؟۔।॥]{_BEHIND}(?=\s|$)|[。！？｡]{_BEHIND}")
"""A sentence ends at a mark before white space, in Chinese and Japanese at any."""
_VARIANCE = 6.8
_PRIORS = {(1, 1): 0.89, (1, 0): 0.00495, (0, 1): 0.00495, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}
Side = tuple[str, Sequence[Range]]
"""A text, and the characters of its words."""


def sentence_windows(source: Side, target: Side) -> list[tuple[Range, Range]]:
    """Words of both sides that belong together, sentence by sentence.

    Example:
        >>> from isoglot.formats.words import word_spans
        >>> sides = [(text, word_spans(text)) for text in ("It rains. We stay in.", "Es regnet. Wir bleiben drin.")]
        >>> sentence_windows(*sides)
        [((0, 3), (0, 3)), ((3, 7), (3, 7))]
    """
    source_sentences, target_sentences = sentences(*source), sentences(*target)
    lengths = [
        [spans[stop - 1][1] - spans[first][0] for first, stop in words]
        for words, (_, spans) in ((source_sentences, source), (target_sentences, target))
    ]
    return [
        (
            (source_sentences[a][0], source_sentences[b - 1][1]),
            (target_sentences[c][0], target_sentences[d - 1][1]),
        )
        for (a, b), (c, d) in aligned_lengths(*lengths)
        if a < b and c < d
    ]


def sentences(text: str, spans: Sequence[Range]) -> list[Range]:
    """The words of each sentence."""
    behind = {end: number for number, (_, end) in enumerate(spans, 1)}
    ends = [behind[mark.end()] for mark in _END.finditer(text) if mark.end() in behind]
    return list(pairwise(dict.fromkeys([0, *ends, len(spans)])))


def aligned_lengths(source: Sequence[int], target: Sequence[int]) -> list[tuple[Range, Range]]:
    """Groups of consecutive items whose lengths fit, by dynamic programming: 1-1, 1-0, 0-1, 2-1, 1-2 and 2-2.

    Example:
        >>> aligned_lengths([20, 70], [22, 40, 30])
        [((0, 1), (0, 1)), ((1, 2), (1, 3))]
    """
    ratio = sum(target) / sum(source) if sum(source) and sum(target) else 1.0
    best: dict[Range, tuple[float, Range]] = {(0, 0): (0.0, (0, 0))}
    for i, j in product(range(len(source) + 1), range(len(target) + 1)):
        for (n, m), prior in _PRIORS.items():
            if before := best.get((i - n, j - m)):
                long, wide = sum(source[i - n : i]), sum(target[j - m : j])
                deviation = math.sqrt(max((long + wide / ratio) / 2, 1) * _VARIANCE)
                probability = math.erfc(abs(wide - ratio * long) / deviation / math.sqrt(2))
                cost = before[0] - math.log(prior) - math.log(max(probability, 1e-300))
                if (i, j) not in best or cost < best[i, j][0]:
                    best[i, j] = (cost, (n, m))
    groups = []
    i, j = len(source), len(target)
    while i or j:
        n, m = best[i, j][1]
        groups.append(((i - n, i), (j - m, j)))
        i, j = i - n, j - m
    return groups[::-1]
