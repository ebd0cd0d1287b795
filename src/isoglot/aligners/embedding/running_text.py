"""Words of running text by an encoder: characters of scripts without spaces are linked as the pieces they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product, repeat, tee
from typing import TYPE_CHECKING, Any

from isoglot.aligners.alignment import PairLinks, WordPair
from isoglot.corpus.encode.unknown import OnUnknown, piece_spans
from isoglot.corpus.encode.words import WordMode, has_unspaced, joined_spans, word_spans

if TYPE_CHECKING:
    from isoglot.aligners.embedding.aligner import EmbeddingAligner

_Groups = list[tuple[int, int]]
"""First word of each unit that is aligned, and the one after its last."""


def align_running(
    aligner: EmbeddingAligner,
    pairs: Iterable[tuple[tuple[str, str], WordPair]],
    *,
    mode: WordMode = "unicode",
    first: int = 0,
    unknown: OnUnknown | None = None,
) -> Iterator[PairLinks]:
    """As ``aligner.align_pairs`` of the words; ``pairs`` hold the texts that ``mode`` cut them from too.

    An encoder that was trained on running text knows Chinese, Japanese or Thai by pieces of several characters, and
    links these better than single characters. Every character gets the links of its piece. In mode ``whitespace``, of
    tokenised text, words are as they were cut. ``unknown`` as in ``align_pairs``.
    """
    if mode != "unicode":
        yield from aligner.align_pairs((words for _, words in pairs), first=first, unknown=unknown)
        return
    cut, cut_again = tee(
        [_units(text, words, aligner.tokenizer) for text, words in zip(texts, pair, strict=True)]
        for texts, pair in pairs
    )
    units = ((source, target) for (source, _), (target, _) in cut)
    linked = aligner.align_pairs(units, first=first, unknown=unknown)
    for ((_, source_groups), (_, target_groups)), links in zip(cut_again, linked, strict=True):
        if source_groups is None and target_groups is None:
            yield links
        else:
            yield _spread(links, source_groups, target_groups)


def _units(text: str, words: Sequence[str], tokenizer: Any) -> tuple[Sequence[str], _Groups | None]:
    """What is aligned of a side, and which words it stands for where these are not the same."""
    if not has_unspaced(text):
        return words, None
    spans = word_spans(text)
    if [text[a:b] for a, b in spans] != list(words):  # words that were given as such
        return words, None
    encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    joined = joined_spans(text, spans, piece_spans(encoding, tokenizer.unk_token_id))
    groups, first = [], 0
    for _, end in joined:
        stop = first
        while stop < len(spans) and spans[stop][1] <= end:
            stop += 1
        groups.append((first, stop))
        first = stop
    return [text[a:b] for a, b in joined], groups


def _spread(units: PairLinks, source: _Groups | None, target: _Groups | None) -> PairLinks:
    """Links of units as links of each of their words."""

    def members(groups: _Groups | None, unit: int) -> range:
        return range(unit, unit + 1) if groups is None else range(*groups[unit])

    links = sorted(
        (link, value)
        for (i, j), value in zip(units.links, units.probabilities or repeat(0.0), strict=False)
        for link in product(members(source, i), members(target, j))
    )
    values = [value for _, value in links] if units.probabilities else []
    return PairLinks([link for link, _ in links], values, units.score)
