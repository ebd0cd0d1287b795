"""Word links as links between the pieces of a tokenizer, for guided alignment in Marian and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.checks import missing_package
from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import word_of_piece

Cut = Callable[[str], tuple[list[str], list[tuple[int, int]]]]
"""A text to its pieces, and the characters ``[start, end)`` of each."""

_SENTENCEPIECE = (".model", ".spm")


def load_cut(name: str) -> Cut:
    """How a tokenizer cuts text, without special tokens.

    ``name``: A SentencePiece model (``.model``, ``.spm``), or a folder or hub name with a fast tokenizer.
    """
    if Path(name).suffix not in _SENTENCEPIECE:
        from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 - loads transformers

        tokenizer = load_tokenizer(name)

        def cut_fast(text: str) -> tuple[list[str], list[tuple[int, int]]]:
            encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            return list(tokenizer.convert_ids_to_tokens(list(encoding["input_ids"]))), encoding[
                "offset_mapping"
            ]

        return cut_fast
    try:
        from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 - an extra

        encode: Any = SentencePieceProcessor.encode_as_offset_mapping
    except (ImportError, AttributeError) as error:
        package = "sentencepiece>=0.2.3"
        raise missing_package(f"--pieces {name}", package, instead="a tokenizer.json") from error
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


def piece_links(linked: Iterable[SentencePair], tokenizers: Sequence[str]) -> Iterator[SentencePair]:
    """Pairs whose words are pieces: every piece of a word has the links of the word, to every piece of the other.

    A piece of several words (of single Han characters) has the links of all of them, with the greatest probability.

    ``tokenizers``: One of both sides, or those of source and target.
    """
    cuts = [load_cut(name) for name in tokenizers]
    for pair in linked:
        texts, (source_spans, target_spans) = pair.texts_and_spans
        source_pieces, source_spans, forward = _members(texts[0], source_spans, cuts[0])
        target_pieces, target_spans, backward = _members(texts[1], target_spans, cuts[-1])
        links: dict[tuple[int, int], float] = {}
        for (s, t), probability in zip(
            pair.links, pair.probabilities or [1.0] * len(pair.links), strict=True
        ):
            for link in product(forward.get(s, ()), backward.get(t, ())):
                links[link] = max(probability, links.get(link, 0.0))
        yield replace(
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
