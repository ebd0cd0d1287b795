"""Word links as links between the pieces of a tokenizer, for guided alignment in Marian and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners.embedding.running_text import PieceBounds, bounds_of
from isoglot.checkpoints.folder import packed_file
from isoglot.core.checks import missing_package
from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import word_of_piece

Cut = Callable[[str], tuple[list[str], list[tuple[int, int]]]]
"""A text to its pieces, and the characters ``[start, end)`` of each."""

_SENTENCEPIECE = (".model", ".spm")


def load_cut(name: str) -> Cut:
    """How a tokenizer cuts text, without special tokens.

    ``name``: A SentencePiece model (``.model``, ``.spm``), codes of subword-nmt or fastBPE, or a folder or hub
    name with a fast tokenizer.
    """
    if Path(name).is_file() and Path(name).suffix not in (*_SENTENCEPIECE, ".json"):
        from isoglot.aligners.bpe_codes import cut_by_codes  # noqa: PLC0415 - loads tokenizers

        return cut_by_codes(name)
    if Path(name).suffix not in _SENTENCEPIECE:
        from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 - loads tokenizers

        tokenizer = load_tokenizer(name)

        def cut_fast(text: str) -> tuple[list[str], list[tuple[int, int]]]:
            encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            pieces = tokenizer.convert_ids_to_tokens(list(encoding["input_ids"]))
            return list(pieces), encoding["offset_mapping"]

        return cut_fast
    try:
        from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 - an extra

        encode: Any = SentencePieceProcessor.encode_as_offset_mapping
    except (ImportError, AttributeError) as error:
        package = "sentencepiece>=0.2.3"
        raise missing_package(f"[[pieces='{name}']]", package, instead="a tokenizer.json") from error
    try:
        processor = SentencePieceProcessor(model_file=name)
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"{name}: is not a SentencePiece model; name a .model or .spm file"
        ) from error

    def cut(text: str) -> tuple[list[str], list[tuple[int, int]]]:
        encoding = encode(processor, text)
        return encoding["pieces"], encoding["offsets"]

    return cut


def load_bounds(name: str) -> PieceBounds:
    """Where the pieces of a tokenizer stand in a text, of one that :func:`load_cut` takes or of a packed aligner."""
    if (file := packed_file(name)) is not None:
        from isoglot.checkpoints.packed_file import (  # noqa: PLC0415 - loads tokenizers
            TOKENIZER_CONFIG,
            build_tokenizer,
            read_packed,
        )
        from isoglot.corpus.encode.load_tokenizer import PlainTokenizer  # noqa: PLC0415

        packed = read_packed(file)
        config = packed.texts.get(TOKENIZER_CONFIG, "{}")
        if (plain := PlainTokenizer.read(build_tokenizer(file, packed), config)) is not None:
            return bounds_of(plain)
    cut = load_cut(name)
    return lambda text: cut(text)[1]


def piece_links(linked: Iterable[SentencePair], tokenizers: Sequence[str]) -> Iterator[SentencePair]:
    """Pairs whose words are pieces, as :func:`as_pieces` makes them.

    ``tokenizers``: One of both sides, or those of source and target.
    """
    cuts = [load_cut(name) for name in tokenizers]
    for pair in linked:
        yield as_pieces(pair, cuts)


def as_pieces(pair: SentencePair, cuts: Sequence[Cut]) -> SentencePair:
    """The pair with pieces as words: every piece of a word has the links of the word, to every piece of the other.

    A piece of several words (of single Han characters) has the links of all of them, with the greatest probability.

    ``cuts``: The cut of both sides, or those of source and target.
    """
    texts, (source_spans, target_spans) = pair.texts_and_spans
    source_pieces, source_spans, forward = _members(texts[0], source_spans, cuts[0])
    target_pieces, target_spans, backward = _members(texts[1], target_spans, cuts[-1])
    links: dict[tuple[int, int], float] = {}
    for (s, t), probability in zip(pair.links, pair.probabilities or [1.0] * len(pair.links), strict=True):
        for link in product(forward.get(s, ()), backward.get(t, ())):
            links[link] = max(probability, links.get(link, 0.0))
    return replace(
        pair,
        texts=texts,
        words=(source_pieces, target_pieces),
        spans=(source_spans, target_spans),
        links=sorted(links),
        probabilities=[links[link] for link in sorted(links)] if pair.probabilities else [],
    )


def _members(
    text: str, spans: Sequence[tuple[int, int]], cut: Cut
) -> tuple[list[str], list[tuple[int, int]], dict[int, list[int]]]:
    """The pieces of a text, their characters, and those of each word; a space or nothing belongs to the one behind."""
    pieces, piece_spans = cut(text)
    bounds, words = np.array(piece_spans, np.int64).reshape(-1, 2), np.array(spans, np.int64).reshape(-1, 2)
    first = word_of_piece(bounds[:, 0], bounds[:, 1], words[:, 0], words[:, 1]).tolist()
    behind = np.searchsorted(words[:, 0], bounds[:, 1]).tolist()
    members: dict[int, list[int]] = {}
    owner = -1
    for piece in reversed(range(len(pieces))):
        owners = range(first[piece], behind[piece]) if first[piece] >= 0 else [owner]
        owner = owners[0]
        for word in owners:
            members.setdefault(word, []).append(piece)
    return pieces, piece_spans, members
