"""Words of running text by an encoder: characters of scripts without spaces are linked as the pieces they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product, repeat, tee
from typing import TYPE_CHECKING, Any

from isoglot.corpus.encode.unknown import OnUnknown, piece_spans
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode, has_unspaced, joined_spans, word_spans

if TYPE_CHECKING:
    from isoglot.aligners.embedding.aligner import EmbeddingAligner

PieceBounds = Callable[[str], list[tuple[int, int]]]
"""A text to the characters ``[start, end)`` of its pieces."""
_Groups = list[tuple[int, int]]
"""First word of each unit that is aligned, and the one after its last."""


def align_running(
    aligner: EmbeddingAligner,
    pairs: Iterable[SentencePair],
    *,
    mode: WordMode = "unicode",
    first: int = 0,
    unknown: OnUnknown | None = None,
) -> Iterator[SentencePair]:
    """As ``aligner.align_pairs``, of pairs with words and the texts that ``mode`` cut them from.

    An encoder that was trained on running text knows Chinese, Japanese or Thai by pieces of several characters, and
    links these better than single characters. Every character gets the links of its piece. In mode ``whitespace``, of
    tokenised text, words are as they were cut. ``unknown`` as in ``align_pairs``.
    """
    if mode != "unicode":
        yield from aligner.align_pairs(pairs, first=first, unknown=unknown)
        return
    piece_bounds = bounds_of(aligner.tokenizer)
    cut, unchanged = tee(
        (pair, [_units(*side, piece_bounds) for side in zip(pair.texts, pair.words, strict=True)])
        for pair in pairs
    )
    units = (SentencePair(words=(source[0], target[0])) for _, (source, target) in cut)
    linked = aligner.align_pairs(units, first=first, unknown=unknown)
    for (pair, ((_, source), (_, target))), unit in zip(unchanged, linked, strict=True):
        pair.score, pair.links, pair.probabilities = unit.score, unit.links, unit.probabilities
        if source is not None or target is not None:  # links of units are links of each of their words
            spread = sorted(
                (link, value)
                for (i, j), value in zip(unit.links, unit.probabilities or repeat(0.0), strict=False)
                for link in product(_members(source, i), _members(target, j))
            )
            pair.links = [link for link, _ in spread]
            pair.probabilities = [value for _, value in spread] if unit.probabilities else []
        yield pair


def bounds_of(tokenizer: Any) -> PieceBounds:
    """Where the pieces of a fast tokenizer stand in a text; an unknown piece is cut into characters."""

    def bounds(text: str) -> list[tuple[int, int]]:
        encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        return piece_spans(encoding, tokenizer.unk_token_id)

    return bounds


def with_units(pair: SentencePair, source: PieceBounds, target: PieceBounds) -> SentencePair:
    """The pair with pieces in the place of single characters of scripts without spaces, where it has any."""
    sides = [_units(*side) for side in zip(pair.texts, pair.words, (source, target), strict=True)]
    if all(groups is None for _, groups in sides):
        return pair
    numbers = [
        range(len(words))
        if groups is None
        else [unit for unit, group in enumerate(groups) for _ in range(*group)]
        for words, groups in sides
    ]
    links = sorted({(numbers[0][i], numbers[1][j]) for i, j in pair.links})
    return SentencePair(words=(sides[0][0], sides[1][0]), links=links)


def _units(text: str, words: Sequence[str], pieces: PieceBounds) -> tuple[Sequence[str], _Groups | None]:
    """What is aligned of a side, and which words it stands for where these are not the same."""
    if not has_unspaced(text):
        return words, None
    spans = word_spans(text)
    if [text[a:b] for a, b in spans] != list(words):  # words that were given as such
        return words, None
    joined = joined_spans(text, spans, pieces(text))
    groups, first = [], 0
    for _, end in joined:
        stop = first
        while stop < len(spans) and spans[stop][1] <= end:
            stop += 1
        groups.append((first, stop))
        first = stop
    return [text[a:b] for a, b in joined], groups


def _members(groups: _Groups | None, number: int) -> range:
    """The words of a unit."""
    return range(number, number + 1) if groups is None else range(*groups[number])
