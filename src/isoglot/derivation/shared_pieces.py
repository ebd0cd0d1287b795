"""Pieces that both languages share, written into derived text so that the tokenizer reads each of them back alone.

WordPiece marks the pieces inside a word (``##ing``), so the mark can be written. BPE and Unigram mark the first piece
of a word instead, with the space before it, and a piece inside a word could join its neighbours when it is read again.
So a piece inside a word is written after a separator, a letter of a dead script: the doubled tokenizer cuts the text at
separators, and drops them.

:func:`spellings` says how pieces are written, :func:`spell` writes one, and :func:`readable_alone` finds the pieces for
which this works.
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
"""The letter for a space in pieces of SentencePiece."""
_BYTE_SPACE = "Ġ"
"""The letter for a space in pieces of byte-level BPE."""
_BYTE_OF_LETTER = {letter: byte for byte, letter in bytes_to_unicode().items()}
"""The letters of byte-level BPE, and the bytes that they stand for."""


class Spelling(NamedTuple):
    """The spelling of a piece: of ``Ġhouse`` the text is ``house``, and it begins a word."""

    text: str  # the piece's characters, without the space before it
    begins_word: bool  # whether the piece has that space


def space_letter(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The letter that stands for a space in the pieces of a tokenizer: ``▁``, ``Ġ`` (byte-level), or None."""
    step = tokenizer.backend_tokenizer.pre_tokenizer
    # The state is JSON that names the types of all steps, also of those inside a sequence.
    types = re.findall(rb'"type":"(\w+)"', b"" if step is None else step.__getstate__())
    if b"ByteLevel" in types:
        return _BYTE_SPACE
    return _METASPACE if b"Metaspace" in types else None


def spellings(tokenizer: PreTrainedTokenizerBase, pieces: Sequence[str]) -> list[Spelling | None]:
    """Say how each piece is written; None for pieces that cannot be written.

    Fragments of a character (byte-level), the bare space, and pieces with white space inside cannot be written.
    """
    space = space_letter(tokenizer)
    if space is None:
        raise ConfigurationError(
            f"the pieces of a {type(tokenizer.backend_tokenizer.model).__name__} tokenizer with shared ids do "
            "not show where a word begins; derived text with vocabulary overlap needs WordPiece, or BPE or Unigram "
            "with Metaspace or ByteLevel; shift encoded ids with VocabularyCopy.shift, or set overlap to 0"
        )
    spelled: list[Spelling | None] = []
    for piece in pieces:
        without_space = piece.removeprefix(space)
        text = _from_bytes(without_space) if space == _BYTE_SPACE else without_space
        if text and space not in without_space and not any(map(str.isspace, text)):
            spelled.append(Spelling(text, begins_word=without_space != piece))
        else:
            spelled.append(None)
    return spelled


def spell(spelling: Spelling, space: str, *, first: bool) -> str:
    """Write a shared piece into a derived word.

    ``space``: The tokenizer's letter for a space.
    ``first``: Whether the piece is the first one of its word.
    """
    if not spelling.begins_word:
        return f"{SEPARATOR}{spelling.text}"
    # A normaliser may put a space inside a word (NFKC of an acute accent); Metaspace's letter stands for it.
    return spelling.text if first else f"{space}{spelling.text}"


def cut_at_separators(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    """Copy a tokenizer so that it cuts at separators and drops them, with a space that it may put before one.

    The copy is of the general class, because the classes of some models build their own pre-tokenizer when they are
    loaded.
    """
    backend = copy.deepcopy(tokenizer.backend_tokenizer)
    space = space_letter(tokenizer)
    separator = SEPARATOR
    if space == _BYTE_SPACE:
        # The text is in letters for bytes by then, so the separator is looked for in these letters.
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        separator = "".join(part for part, _ in byte_level.pre_tokenize_str(SEPARATOR))
    cut = pre_tokenizers.Split(Regex(f"{space}?{separator}"), "removed")
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
    tokenizer: PreTrainedTokenizerBase, spelled: Sequence[Spelling | None], *, special: set[int]
) -> frozenset[int]:
    """Find the ids that can be shared, because the tokenizer reads the written piece back as that one id.

    ``spelled``: The spelling of each id, see :func:`spellings`.
    ``special``: Ids of special tokens, which are never shared.
    """
    backend = cut_at_separators(tokenizer).backend_tokenizer
    backend.encode_special_tokens = True
    # Each piece is read behind a word, as in running text: before the first word some tokenizers see no space.
    ids_of_lead = len(backend.encode("a", add_special_tokens=False).ids)
    texts: dict[int, str] = {}
    for i, spelling in enumerate(spelled):
        if spelling is not None and i not in special:
            texts[i] = f"a {spelling.text}" if spelling.begins_word else f"a{SEPARATOR}{spelling.text}"
    encodings = backend.encode_batch(list(texts.values()), add_special_tokens=False)
    readable = set()
    for i, encoding in zip(texts, encodings, strict=True):
        if encoding.ids[ids_of_lead:] == [i]:
            readable.add(i)
    return frozenset(readable)


def _from_bytes(piece: str) -> str | None:
    """The text of a byte-level piece, or None if the piece begins or ends inside a character."""
    try:
        return bytes(_BYTE_OF_LETTER[letter] for letter in piece).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
