"""Filters of rows, applied to one chunk at a time in the order of :data:`isoglot.corpus.options.FILTERS`."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import regex
from numpy.typing import NDArray
from tokenizers import Tokenizer

from isoglot.corpus.encode.words import is_blank
from isoglot.corpus.filter.scripts import script_share, scripts_of
from isoglot.corpus.options import FILTERS, PrepareOptions, RowRules
from isoglot.corpus.read.records import Records

_CONTROL = regex.compile(r"[\p{Cc}\uFEFF--\s]+", regex.V1)
_NOT_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_FLAG_ENDS = regex.compile(r"[,;|\s]+")

Mask = NDArray[np.bool_]


def clean(text: str) -> str:
    """Text without control characters and with single spaces; line ends stay line ends."""
    if not text.isprintable() and _CONTROL.search(text):
        text = _CONTROL.sub("", text)
    if "\n" in text:
        return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return " ".join(text.split())


def held_out_key(text: str) -> str:
    """What is compared to find held-out sentences: NFKC, case folded, letters, marks and digits only.

    A text without any of them (`?!`) is compared by its characters.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _NOT_WORD.sub("", folded) or "".join(folded.split())


def hash_texts(texts: Iterable[str], *, salt: str = "") -> NDArray[np.uint64]:
    """One 64-bit BLAKE2b hash a text, the same on every platform."""
    key = hashlib.blake2b(salt.encode(), digest_size=16).digest()
    digests = [
        hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for t in texts
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8")


def split_flags(flags: str) -> list[str]:
    """Names in a flag column, which commas, semicolons, bars or blanks separate."""
    return [f for f in _FLAG_ENDS.split(flags) if f]


@dataclass
class Part:
    """A filtered chunk: what became of its rows; those that are left lie in a file."""

    read: int  # rows before filtering, with the units passed over
    rows: int  # that are left
    removed: Mapping[str, int]  # rows that each filter dropped
    flags_seen: Sequence[str]  # names in the flag column
    keys: NDArray[np.uint64] | None  # one hash a row, if duplicates are dropped
    spaces: Mapping[str, int]  # as in `Records`
    possible: int  # as in `Records`
    source: int = 0  # index of the source
    path: str = ""  # the file; empty if there is no row
    size: int = 0  # its bytes


class RowTests:
    """All filters that look at one row alone."""

    def __init__(
        self,
        rules: RowRules,
        *,
        tokenizer: str | None = None,
        held_out: NDArray[np.uint64] | None = None,
    ) -> None:
        self._rules = rules
        self._held_out = held_out if held_out is not None and len(held_out) else None
        if tokenizer is not None:
            self._tokenizer = Tokenizer.from_str(tokenizer)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()

    def reasons(self, records: Records, languages: Sequence[str]) -> NDArray[np.object_]:
        """The name of the filter that drops each row, empty for rows that stay. **Shape**: (rows,)."""
        sides = records.sides()
        keep = np.arange(len(records))
        reasons = np.full(len(records), "", object)
        tests: list[tuple[str, Callable[[list[list[str]], NDArray[np.int64]], Mask]]] = [
            ("empty", lambda texts, _: self._not_empty(texts)),
            ("held_out", lambda texts, rows: self._not_held_out(texts, rows, records.flags)),
            ("script", lambda texts, _: self._right_script(texts, languages)),
            ("length", lambda texts, _: self._right_length(texts)),
            ("ratio", lambda texts, _: self._right_ratio(texts)),
        ]
        for name, test in tests:
            if not len(keep):
                break
            passed = test([[side[i] for i in keep] for side in sides], keep)
            reasons[keep[~passed]] = name
            keep = keep[passed]
        return reasons

    def _not_empty(self, texts: list[list[str]]) -> Mask:
        passed: Mask = np.all([[not is_blank(text) for text in side] for side in texts], axis=0)
        return passed

    def _not_held_out(self, texts: list[list[str]], rows: NDArray[np.int64], flags: list[str] | None) -> Mask:
        passed = np.ones(len(rows), dtype=bool)
        names = set(self._rules.held_out_flags if isinstance(self._rules, PrepareOptions) else ())
        if names and flags is not None:
            found = (split_flags(flags[i]) for i in rows)
            passed &= np.fromiter(
                (not names.intersection(f) and not ("*" in names and f) for f in found), bool
            )
        if self._held_out is not None:
            for side in texts:
                parts = [[text, *text.split("\n")] if "\n" in text else [text] for text in side]
                hashes = hash_texts(map(held_out_key, chain.from_iterable(parts)))
                places = np.minimum(np.searchsorted(self._held_out, hashes), len(self._held_out) - 1)
                row = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
                passed[row[self._held_out[places] == hashes]] = False
        return passed

    def _right_script(self, texts: list[list[str]], languages: Sequence[str]) -> Mask:
        least = self._rules.min_script_share
        if least is None:
            return np.ones(len(texts[0]), dtype=bool)
        scripts = [scripts_of(language, self._rules.scripts) for language in languages]
        shares = [script_share(side, own) for side, own in zip(texts, scripts, strict=True)]
        passed: Mask = np.min(shares, axis=0) >= least
        return passed

    def _right_length(self, texts: list[list[str]]) -> Mask:
        """PPA: `min_pieces` 10 for either side, `max_pair_pieces` 128 for both and their special tokens."""
        least, most, together = (
            getattr(self._rules, name) for name in ("min_pieces", "max_pieces", "max_pair_pieces")
        )
        if (least, most, together) == (None, None, None):
            return np.ones(len(texts[0]), dtype=bool)
        pieces = np.array([self._count_pieces(side) for side in texts])
        passed: Mask = pieces.min(axis=0) >= (least or 0)
        for limit, counts, pair in ((most, pieces.max(axis=0), False), (together, pieces.sum(axis=0), True)):
            if limit is not None:
                passed &= counts + self._tokenizer.num_special_tokens_to_add(is_pair=pair) <= limit
        return passed

    def _right_ratio(self, texts: list[list[str]]) -> Mask:
        if self._rules.max_length_ratio is None:
            return np.ones(len(texts[0]), dtype=bool)
        lengths = np.array([list(map(len, side)) for side in texts])
        shorter = np.maximum(lengths.min(axis=0), 1)
        passed: Mask = lengths.max(axis=0) <= self._rules.max_length_ratio * shorter
        return passed

    def _count_pieces(self, texts: list[str]) -> NDArray[np.int64]:
        counts = np.empty(len(texts), np.int64)
        for start in range(0, len(texts), 1024):
            batch = texts[start : start + 1024]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts[start : start + len(batch)] = [len(e) for e in encodings]
        return counts


def filter_rows(records: Records, tests: RowTests, options: PrepareOptions, languages: Sequence[str]) -> Part:
    """Clean the rows of one chunk and leave in it those that pass."""
    if options.clean_whitespace and "source_words" not in records.columns:
        for name in {"source", "target"} & records.columns.keys():
            records.columns[name] = [clean(text.replace("\n", " ")) for text in records.columns[name]]
        if "text" in records.columns:
            records.columns["text"] = list(map(clean, records.columns["text"]))
    read, reasons = len(records) + records.incomplete, tests.reasons(records, languages)
    keep = np.flatnonzero(reasons == "")
    found = Counter({"incomplete": records.incomplete}) + Counter(reasons[reasons != ""].tolist())
    removed = {name: found[name] for name in FILTERS if name in found}
    flags = sorted({f for text in set(records.flags or ()) for f in split_flags(text)})
    records.columns = {name: [values[i] for i in keep] for name, values in records.columns.items()}
    keys = None
    if options.duplicates != "keep":
        sides = {"source": slice(0, 1), "target": slice(1, 2), "pair": slice(None)}[options.duplicates]
        texts = map("\x00".join, zip(*records.sides()[sides], strict=True))
        keys = hash_texts(texts, salt="\t".join(languages))
    return Part(read, len(keep), removed, flags, keys, records.spaces, records.possible)
