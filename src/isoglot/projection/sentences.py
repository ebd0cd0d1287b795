"""Sentences of two contexts that translate each other, aligned by their lengths.

A long sentence has a long translation. So of all ways to pair consecutive sentences the cheapest is taken, where a pair
costs more the less its lengths fit, and the rarer its kind is (one sentence that becomes two, or none).

Source: Gale and Church 1993, *A program for aligning sentences in bilingual corpora*: the variance of a length, and how
often one sentence becomes one, two or none. The ratio of both languages' lengths is that of the two contexts.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise, product

from isoglot.projection.rule import Range

_BEHIND = r"[\"'”’»«)\]）」』]*"
"""Marks behind the end of a sentence that belong to it; markup has a rule of its own (``punctuation.py``)."""
_END = re.compile(rf"[.!?…؟۔।॥]{_BEHIND}(?=\s|$)|[。！？｡]{_BEHIND}")
"""A sentence ends at a mark before white space, in Chinese and Japanese at any."""
_VARIANCE = 6.8
"""Variance of the length of a translation, per character (Gale and Church)."""
_PRIORS = {(1, 1): 0.89, (1, 0): 0.00495, (0, 1): 0.00495, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}
"""How often so many source sentences become so many target sentences (Gale and Church; each direction has half)."""
_LEAST_PROBABILITY = 1e-300
"""Keeps the logarithm finite where lengths do not fit at all."""
_Sizes = tuple[int, int]
"""How many source and how many target items."""
Side = tuple[str, Sequence[Range]]
"""A text, and the characters of its words."""


def sentence_windows(source: Side, target: Side) -> list[tuple[Range, Range]]:
    """The ranges of source and target words that belong together, sentence by sentence.

    Example:
        >>> from isoglot.formats.words import word_spans
        >>> sides = [(text, word_spans(text)) for text in ("It rains. We stay in.", "Es regnet. Wir bleiben drin.")]
        >>> sentence_windows(*sides)
        [((0, 3), (0, 3)), ((3, 7), (3, 7))]
    """
    source_sentences, target_sentences = sentences(*source), sentences(*target)
    source_lengths = _lengths(source_sentences, source[1])
    target_lengths = _lengths(target_sentences, target[1])
    windows = []
    for source_group, target_group in aligned_lengths(source_lengths, target_lengths):
        if source_group[0] < source_group[1] and target_group[0] < target_group[1]:  # neither side is empty
            windows.append((_words(source_sentences, source_group), _words(target_sentences, target_group)))
    return windows


def _lengths(ranges: Sequence[Range], spans: Sequence[Range]) -> list[int]:
    """The number of characters of each sentence; ``spans`` has the characters of each word."""
    return [spans[stop - 1][1] - spans[first][0] for first, stop in ranges]


def _words(ranges: Sequence[Range], group: Range) -> Range:
    """The range of words of consecutive sentences."""
    first, stop = group
    return ranges[first][0], ranges[stop - 1][1]


def sentences(text: str, spans: Sequence[Range]) -> list[Range]:
    """Find the range of words of each sentence; ``spans`` has the characters of each word."""
    # By the character where a word ends, the number of the word behind it.
    word_behind = {end: number for number, (_, end) in enumerate(spans, 1)}
    ends = [word_behind[mark.end()] for mark in _END.finditer(text) if mark.end() in word_behind]
    bounds = dict.fromkeys([0, *ends, len(spans)])  # each once
    return list(pairwise(bounds))


def aligned_lengths(source: Sequence[int], target: Sequence[int]) -> list[tuple[Range, Range]]:
    """Group consecutive items whose lengths fit, by dynamic programming: 1-1, 1-0, 0-1, 2-1, 1-2 and 2-2.

    Example:
        >>> aligned_lengths([20, 70], [22, 40, 30])
        [((0, 1), (0, 1)), ((1, 2), (1, 3))]
    """
    ratio = sum(target) / sum(source) if sum(source) and sum(target) else 1.0
    # By the number of source and of target items that are grouped: the least cost, and the size of the last group.
    best: dict[_Sizes, tuple[float, _Sizes]] = {(0, 0): (0.0, (0, 0))}
    for i, j in product(range(len(source) + 1), range(len(target) + 1)):
        for (n, m), prior in _PRIORS.items():
            before = best.get((i - n, j - m))
            if before is None:
                continue
            length_cost = _length_cost(sum(source[i - n : i]), sum(target[j - m : j]), ratio)
            cost = before[0] - math.log(prior) + length_cost
            if (i, j) not in best or cost < best[i, j][0]:
                best[i, j] = (cost, (n, m))
    # Back from the end, group by group.
    groups = []
    i, j = len(source), len(target)
    while i or j:
        n, m = best[i, j][1]
        groups.append(((i - n, i), (j - m, j)))
        i, j = i - n, j - m
    return groups[::-1]


def _length_cost(source: int, target: int, ratio: float) -> float:
    """Minus the logarithm of the probability that two sentences that translate each other differ so much in length."""
    mean = (source + target / ratio) / 2
    deviation = math.sqrt(max(mean, 1) * _VARIANCE)
    probability = math.erfc(abs(target - ratio * source) / deviation / math.sqrt(2))
    return -math.log(max(probability, _LEAST_PROBABILITY))
