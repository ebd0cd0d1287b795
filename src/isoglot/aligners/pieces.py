"""Word links as links between the pieces of a tokenizer, for guided alignment in Marian and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners.embedding.running_text import PieceBounds, bounds_of
from isoglot.checkpoints.folder import packed_path
from isoglot.core.checks import missing_package
from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import word_of_piece

Cut = Callable[[str], tuple[list[str], list[tuple[int, int]]]]
"""A text to its pieces and their character ranges: ``"lowest"`` to ``["low@@", "est"]`` and ``[(0, 3), (3, 6)]``."""

_SENTENCEPIECE = (".model", ".spm")


def load_cut(name: str) -> Cut:
    """Load a tokenizer as a function that cuts a text into pieces, without special tokens.

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
    """Load a tokenizer as a function from a text to the character ranges of its pieces.

    ``name``: A packed aligner such as ``box``, or any tokenizer that :func:`load_cut` takes.
    """
    if (file := packed_path(name)) is not None:
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
    """Replace the words of each pair by pieces, and the links by links of pieces; see :func:`as_pieces`.

    ``tokenizers``: One for both sides, or one for the source and one for the target.
    """
    cuts = [load_cut(name) for name in tokenizers]
    for pair in linked:
        yield as_pieces(pair, cuts)


def as_pieces(pair: SentencePair, cuts: Sequence[Cut]) -> SentencePair:
    """Return the pair with pieces as its words, and links between pieces.

    1. Every piece of a word has the links of the word, to every piece of the other word. If *lowest* is linked to *le*,
       *moins* and *cher*, so are both ``low@@`` and ``est``.
    2. A piece of several words (of single Han characters) has the links of all of them. Where two such links become
       one, it has the greater probability.

    ``cuts``: The cut of both sides, or of the source and of the target.
    """
    texts, (source_word_spans, target_word_spans) = pair.texts_and_spans
    source_pieces, source_spans, pieces_of_source = _pieces_of_words(texts[0], source_word_spans, cuts[0])
    target_pieces, target_spans, pieces_of_target = _pieces_of_words(texts[1], target_word_spans, cuts[-1])
    links: dict[tuple[int, int], float] = {}
    probabilities = pair.probabilities or [1.0] * len(pair.links)
    for (i, j), probability in zip(pair.links, probabilities, strict=True):
        # A word may have no piece: a character that the tokenizer drops.
        for link in product(pieces_of_source.get(i, ()), pieces_of_target.get(j, ())):
            links[link] = max(probability, links.get(link, 0.0))
    ordered = sorted(links)
    return replace(
        pair,
        texts=texts,
        words=(source_pieces, target_pieces),
        spans=(source_spans, target_spans),
        links=ordered,
        probabilities=[links[link] for link in ordered] if pair.probabilities else [],
    )


def _pieces_of_words(
    text: str, word_spans: Sequence[tuple[int, int]], cut: Cut
) -> tuple[list[str], list[tuple[int, int]], dict[int, list[int]]]:
    """Return the pieces of a text, their character ranges, and the numbers of each word's pieces.

    A piece without a character of a word (SentencePiece's lone ``▁``, or a space) belongs to the first word of the
    piece behind it.
    """
    pieces, piece_spans = cut(text)
    bounds = np.array(piece_spans, np.int64).reshape(-1, 2)
    words = np.array(word_spans, np.int64).reshape(-1, 2)
    # Words `first_word[p]` up to `end_word[p]` share characters with piece p; -1 if no word does.
    first_word = word_of_piece(bounds[:, 0], bounds[:, 1], words[:, 0], words[:, 1]).tolist()
    end_word = np.searchsorted(words[:, 0], bounds[:, 1]).tolist()
    pieces_of_word: dict[int, list[int]] = {}
    # From the end, so that the word of the piece behind is known. Pieces behind the last word go to word -1, which has
    # no links.
    word_behind = -1
    for piece in reversed(range(len(pieces))):
        if first_word[piece] >= 0:
            owners = range(first_word[piece], end_word[piece])
        else:
            owners = range(word_behind, word_behind + 1)
        word_behind = owners[0]
        for word in owners:
            pieces_of_word.setdefault(word, []).append(piece)
    return pieces, piece_spans, pieces_of_word
