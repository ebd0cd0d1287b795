"""Byte pair encodings of subword-nmt and fastBPE: their `codes` as a tokenizer that knows where its pieces stand.

`subword-nmt learn-bpe` writes one merge a line, the first one learned first, under `#version: 0.2`. fastBPE writes the
same merges with a count behind each, and no version. A piece that is not the last one of its word ends in `@@`:

    lower newest  ->  lo@@ w@@ er newest
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE

from isoglot.core.errors import InputError

SEPARATOR = "@@"
"""Mark behind a piece that is not the last one of its word."""
_END = "</w>"
"""Mark of the end of a word in a merge."""
_END_SYMBOL = "\ue000"
"""A character of no script: stands behind each word in place of ``</w>`` where this is a symbol by itself (0.1)."""
_UNKNOWN = "<unk>"
Cut = Callable[[str], tuple[list[str], list[tuple[int, int]]]]


def cut_by_codes(path: str | Path) -> Cut:
    """Load codes as a function that cuts a text into pieces, and returns them with their character ranges.

    Raises:
        InputError: A line is no merge.
    """
    merges, has_end_symbol = read_codes(path)
    tokenizer = _tokenizer(merges, has_end_symbol=has_end_symbol)
    # Words recur, and are cut in the same way each time.
    pieces_of_word: dict[str, list[tuple[int, int]]] = {}

    def word_pieces(word: str) -> list[tuple[int, int]]:
        """Return the character ranges of the pieces of a word."""
        found = pieces_of_word.get(word)
        if found is None:
            ended = word + _END_SYMBOL if has_end_symbol else word
            spans = tokenizer.encode(ended, add_special_tokens=False).offsets
            # Without the end symbol, which may be part of the last piece or a piece by itself.
            found = [(start, min(end, len(word))) for start, end in spans if start < len(word)]
            pieces_of_word[word] = found
        return found

    def cut(text: str) -> tuple[list[str], list[tuple[int, int]]]:
        pieces: list[str] = []
        spans: list[tuple[int, int]] = []
        begin = 0
        for word in text.split(" "):
            # Two spaces in a row have an empty word between them, which has no pieces.
            pieces_in_word = word_pieces(word) if word else []
            for start, end in pieces_in_word:
                mark = "" if end == len(word) else SEPARATOR
                pieces.append(word[start:end] + mark)
                spans.append((begin + start, begin + end))
            begin += len(word) + 1
        return pieces, spans

    return cut


def read_codes(path: str | Path) -> tuple[list[tuple[str, str]], bool]:
    """Read the merges of a file of codes, and whether the end of a word is a symbol by itself, as in version 0.1.

    Raises:
        InputError: A line is no merge, or the file holds none.
    """
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    merges: dict[tuple[str, str], None] = {}
    has_counts = True
    version = ""
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith("#version:"):
            version = line.removeprefix("#version:").strip()
            continue
        columns = line.strip("\r ").split(" ")
        if columns == [""]:
            continue
        is_fast = len(columns) == 3 and columns[2].isdecimal()
        if len(columns) != 2 and not is_fast:
            raise InputError(
                "expected codes of byte pairs, two pieces a line, as `subword-nmt learn-bpe` writes them",
                path=path,
                line=number,
            )
        has_counts = has_counts and is_fast
        merges.setdefault((columns[0], columns[1]))
    if not merges:
        raise InputError("holds no codes of byte pairs", path=path)
    # A file without a version is of subword-nmt 0.1, or of fastBPE if all lines have counts; fastBPE is like 0.2.
    is_fast_bpe = has_counts and not version
    return list(merges), version != "0.2" and not is_fast_bpe


def _tokenizer(merges: list[tuple[str, str]], *, has_end_symbol: bool) -> Tokenizer:
    """Make a tokenizer of single words; characters that no merge has are pieces by themselves."""
    if has_end_symbol:
        merges = [
            (first.replace(_END, _END_SYMBOL), second.replace(_END, _END_SYMBOL)) for first, second in merges
        ]
    symbols = {_UNKNOWN: 0}
    for first, second in merges:
        for symbol in (first, second, first + second):
            symbols.setdefault(symbol, len(symbols))
    ending = {} if has_end_symbol else {"end_of_word_suffix": _END}
    return Tokenizer(BPE(vocab=symbols, merges=merges, unk_token=_UNKNOWN, fuse_unk=False, **ending))
