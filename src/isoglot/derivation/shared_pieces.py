"""Pieces that both languages share, written into derived text so that the tokenizer reads each of them back alone.

WordPiece marks the pieces inside a word (``##ing``), so the mark can be written. BPE and Unigram mark the first piece
of a word instead, with the space before it, and a piece inside a word could join its neighbours when it is read again.
So it is written after a separator, a letter of a dead script: the doubled tokenizer cuts there, and then drops it.
"""

import copy
import re
from collections.abc import Sequence
from typing import NamedTuple

from tokenizers import Regex, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from isoglot.core.errors import ConfigurationError

SEPARATOR = "\U00016fe0"
"""Tangut iteration mark."""

_METASPACE = "▁"
_BYTE_SPACE = "Ġ"
"""The letters for a space in pieces of SentencePiece and of byte-level BPE."""
_BYTES = {letter: byte for byte, letter in bytes_to_unicode().items()}
"""The letters of byte-level BPE, and the bytes that they stand for."""


class Spelling(NamedTuple):
    """How a piece is written."""

    text: str  # its characters, without the space before it
    initial: bool  # whether it has that space: it begins a word


def marks_spaces(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The letter that stands for a space in the pieces of a tokenizer: ``▁``, ``Ġ`` (byte-level), or None."""
    step = tokenizer.backend_tokenizer.pre_tokenizer
    # The state is JSON that names the types of all steps, also of those inside a sequence.
    types = re.findall(rb'"type":"(\w+)"', b"" if step is None else step.__getstate__())
    if b"ByteLevel" in types:
        return _BYTE_SPACE
    return _METASPACE if b"Metaspace" in types else None


def spellings(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> list[Spelling | None]:
    """Say how each piece is written; None for pieces without characters of their own.

    These are fragments of a character (byte-level), and the bare space.
    """
    mark = marks_spaces(tokenizer)
    if mark is None:
        raise ConfigurationError(
            f"the pieces of a {type(tokenizer.backend_tokenizer.model).__name__} tokenizer with shared ids do "
            "not show where a word begins; derived text with vocabulary overlap needs WordPiece, or BPE or Unigram "
            "with Metaspace or ByteLevel; shift encoded ids with VocabularyCopy.shift, or set overlap to 0"
        )
    spelled: list[Spelling | None] = []
    for token in tokens:
        rest = token.removeprefix(mark)
        text = _from_bytes(rest) if mark == _BYTE_SPACE else rest
        if text and mark not in rest and not any(map(str.isspace, text)):
            spelled.append(Spelling(text, initial=rest != token))
        else:
            spelled.append(None)
    return spelled


def spell(spelling: Spelling, mark: str, *, first: bool) -> str:
    """Write a shared piece into a derived word, whose first piece it may be."""
    if spelling.initial:
        # A normaliser may put a space inside a word (NFKC of an acute accent); Metaspace's letter stands for it.
        return spelling.text if first else f"{mark}{spelling.text}"
    return f"{SEPARATOR}{spelling.text}"


def cut_at_separators(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    """Copy a tokenizer so that it cuts at separators and drops them, with the space that it may put before them.

    The copy is of the general class, because the classes of some models build their own pre-tokenizer when they are
    loaded.
    """
    backend = copy.deepcopy(tokenizer.backend_tokenizer)
    mark = marks_spaces(tokenizer)
    separator = SEPARATOR
    if mark == _BYTE_SPACE:
        level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        separator = "".join(part for part, _ in level.pre_tokenize_str(SEPARATOR))
    cut = pre_tokenizers.Split(Regex(f"{mark}?{separator}"), "removed")
    backend.pre_tokenizer = pre_tokenizers.Sequence([backend.pre_tokenizer, cut])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=tokenizer.model_max_length,
        model_input_names=list(tokenizer.model_input_names),
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        **tokenizer.special_tokens_map,
    )


def readable_alone(
    tokenizer: PreTrainedTokenizerBase, written: Sequence[Spelling | None], *, special: set[int]
) -> frozenset[int]:
    """The ids that can be shared, because their written form is read back as that one piece."""
    backend = cut_at_separators(tokenizer).backend_tokenizer
    backend.encode_special_tokens = True
    # Each is read after a word, as in running text: a text's first word has no space before it in some tokenizers.
    lead = len(backend.encode("a", add_special_tokens=False).ids)
    texts = {
        i: f"a {spelling.text}" if spelling.initial else f"a{SEPARATOR}{spelling.text}"
        for i, spelling in enumerate(written)
        if spelling is not None and i not in special
    }
    read = backend.encode_batch(list(texts.values()), add_special_tokens=False)
    return frozenset(i for i, encoding in zip(texts, read, strict=True) if encoding.ids[lead:] == [i])


def _from_bytes(piece: str) -> str | None:
    """The text of a byte-level piece, or none if it begins or ends inside a character."""
    try:
        return bytes(_BYTES[c] for c in piece).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
