"""Pieces that both languages share, written into derived text so that the tokenizer reads each of them back alone.

WordPiece marks the pieces inside a word (``##ing``), so the mark can be written. BPE and Unigram mark the first piece
of a word instead, with the space before it; a piece inside a word could join its neighbours when it is read again. So
it is written after a separator, a letter of a dead script at which the doubled tokenizer cuts and which it then drops.
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
_BYTES = {letter: byte for byte, letter in bytes_to_unicode().items()}
"""Byte-level's letters and the bytes that they stand for."""


class Spelling(NamedTuple):
    """How a piece is written."""

    text: str  # its characters, without the space before it
    initial: bool  # whether it has that space: it begins a word


def marks_spaces(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The letter that stands for a space in the pieces of a tokenizer: Metaspace's, ``Ġ`` (bytes), or none."""
    step = tokenizer.backend_tokenizer.pre_tokenizer
    types = re.findall(rb'"type":"(\w+)"', b"" if step is None else step.__getstate__())
    return _BYTE_SPACE if b"ByteLevel" in types else _METASPACE if b"Metaspace" in types else None


def spellings(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> list[Spelling | None]:
    """How each piece is written; ``None`` for those that have no characters of their own.

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
        good = bool(text) and mark not in rest and not any(c.isspace() for c in text or "")
        spelled.append(Spelling(text or "", rest != token) if good else None)
    return spelled


def spell(spelling: Spelling, mark: str, *, first: bool) -> str:
    """A shared piece in a derived word."""
    if spelling.initial:
        # A normaliser may put a space inside a word (NFKC of an acute accent); Metaspace's letter stands for it.
        return spelling.text if first else f"{mark}{spelling.text}"
    return f"{SEPARATOR}{spelling.text}"


def cut_at_separators(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    """A copy that cuts at separators and drops them, with the space that it may have put before them.

    It is of the general class: classes of certain models build their own pre-tokenizer when they are loaded.
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
    """Ids whose written form is read back as that one piece, and which can therefore be shared."""
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
