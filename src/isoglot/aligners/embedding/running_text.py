"""Link the words of running text by an encoder.

In scripts without spaces every character is a word here. Such characters are linked as the units that the encoder
knows, the pieces of its tokenizer, and then each character gets the links of its unit:

    words   我 | 喜 | 欢 | 猫          pieces   我 | 喜欢 | 猫
    groups  [(0, 1), (1, 3), (3, 4)]   unit 1 stands for the words 1 and 2
"""

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
"""A text to the character ranges ``[start, end)`` of its pieces."""
_Groups = list[tuple[int, int]]
"""The words that each unit stands for: number of the first one, and of the one after the last."""


def align_running(
    aligner: EmbeddingAligner,
    pairs: Iterable[SentencePair],
    *,
    mode: WordMode = "unicode",
    first: int = 0,
    unknown: OnUnknown | None = None,
) -> Iterator[SentencePair]:
    """Link pairs as ``aligner.align_pairs`` does, but Chinese, Japanese or Thai by pieces of several characters.

    An encoder that was trained on running text knows these scripts by such pieces, and links them better than single
    characters. Every character gets the links of its piece. In mode ``whitespace``, for tokenised text, words are
    linked as they are.

    Args:
        aligner: The aligner.
        pairs: Pairs with words, and with the texts that ``mode`` cut them from.
        mode: How the texts were cut into words.
        first: As in ``align_pairs``.
        unknown: As in ``align_pairs``.
    """
    if mode != "unicode":
        yield from aligner.align_pairs(pairs, first=first, unknown=unknown)
        return
    piece_bounds = bounds_of(aligner.tokenizer)

    def with_groups() -> Iterator[tuple[SentencePair, SentencePair, _Groups | None, _Groups | None]]:
        """Yield each pair, the pair of its units, and the words that the units of either side stand for."""
        for pair in pairs:
            source, source_groups = _units(pair.texts[0], pair.words[0], piece_bounds)
            target, target_groups = _units(pair.texts[1], pair.words[1], piece_bounds)
            yield pair, SentencePair(words=(source, target)), source_groups, target_groups

    # Two readers of one stream: the aligner takes the units some hundred pairs ahead, and the pairs wait for its links.
    ahead, behind = tee(with_groups())
    linked = aligner.align_pairs((units for _, units, _, _ in ahead), first=first, unknown=unknown)
    for (pair, _, source_groups, target_groups), units in zip(behind, linked, strict=True):
        pair.score, pair.links, pair.probabilities = units.score, units.links, units.probabilities
        if source_groups is not None or target_groups is not None:
            _spread_over_words(pair, source_groups, target_groups)
        yield pair


def _spread_over_words(pair: SentencePair, source: _Groups | None, target: _Groups | None) -> None:
    """Replace the links of units in a pair by links of all words of these units, with the same probabilities."""
    spread = []
    # Without probabilities a 0 stands in for each, and is left out again below.
    for (i, j), value in zip(pair.links, pair.probabilities or repeat(0.0), strict=False):
        spread += [(link, value) for link in product(_words_of(source, i), _words_of(target, j))]
    spread.sort()
    pair.links = [link for link, _ in spread]
    pair.probabilities = [value for _, value in spread] if pair.probabilities else []


def bounds_of(tokenizer: Any) -> PieceBounds:
    """Return a function from a text to where the pieces of a fast tokenizer stand; unknown pieces become characters."""

    def bounds(text: str) -> list[tuple[int, int]]:
        encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        return piece_spans(encoding, tokenizer.unk_token_id)

    return bounds


def with_units(pair: SentencePair, source: PieceBounds, target: PieceBounds) -> SentencePair:
    """Return the pair with pieces in place of single characters of scripts without spaces, if it has any.

    A unit has the links of all of its words. The pair is returned unchanged if no side has such characters.
    """
    source_units, source_groups = _units(pair.texts[0], pair.words[0], source)
    target_units, target_groups = _units(pair.texts[1], pair.words[1], target)
    if source_groups is None and target_groups is None:
        return pair
    source_unit = _unit_of_words(source_groups, len(pair.words[0]))
    target_unit = _unit_of_words(target_groups, len(pair.words[1]))
    links = sorted({(source_unit[i], target_unit[j]) for i, j in pair.links})
    return SentencePair(words=(source_units, target_units), links=links)


def _units(text: str, words: Sequence[str], pieces: PieceBounds) -> tuple[Sequence[str], _Groups | None]:
    """Return the units of a side, and the words that each stands for; None where the units are the words.

    They are the words if the text has no characters of scripts without spaces, or if its words were given and not cut
    from the text.
    """
    if not has_unspaced(text):
        return words, None
    spans = word_spans(text)
    if [text[a:b] for a, b in spans] != list(words):
        return words, None
    unit_spans = joined_spans(text, spans, pieces(text))
    # Words are never cut, so each unit ends where one of its words ends.
    groups, first = [], 0
    for _, end in unit_spans:
        stop = first
        while stop < len(spans) and spans[stop][1] <= end:
            stop += 1
        groups.append((first, stop))
        first = stop
    return [text[a:b] for a, b in unit_spans], groups


def _words_of(groups: _Groups | None, unit: int) -> range:
    """Return the numbers of the words of a unit."""
    return range(unit, unit + 1) if groups is None else range(*groups[unit])


def _unit_of_words(groups: _Groups | None, words: int) -> Sequence[int]:
    """Return the unit of each word: ``[0, 1, 1, 2]`` for the groups ``[(0, 1), (1, 3), (3, 4)]``."""
    if groups is None:
        return range(words)
    units: list[int] = []
    for unit, group in enumerate(groups):
        units += [unit] * len(range(*group))
    return units
