"""Row rules: the filters that look at one row at a time, which `isoglot prepare` and `isoglot filter` share.

Filters of duplicates and of the first N rows need all rows: see :class:`isoglot.corpus.shards.Ledger`.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import regex
from numpy.typing import NDArray
from tokenizers import Tokenizer

from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError, InputError, Problem
from isoglot.corpus.filter.scripts import script_share, scripts_of
from isoglot.corpus.options import ROW_RULES, PrepareOptions, RowRules
from isoglot.formats.foreign import foreign
from isoglot.formats.line_files import numbered_lines
from isoglot.formats.sources import FORMATS, Kind, Source, by_suffix
from isoglot.formats.words import is_blank

CONTROL = regex.compile(r"[\p{Cc}\uFEFF--\s]+", regex.V1)
"""Control characters and byte order marks; tabs, line ends and the like are white space."""
_NOT_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_FLAG_ENDS = regex.compile(r"[,;|\s]+")
_TOKENIZED_AT_ONCE = 1024
"""Texts whose pieces are in memory at a time."""

Mask = NDArray[np.bool_]
"""For each row, whether it passes."""


def clean(text: str) -> str:
    """Remove control characters and surplus white space; line ends stay line ends.

    Example:
        >>> clean(" a   house ")
        'a house'
    """
    if not text.isprintable() and CONTROL.search(text):
        text = CONTROL.sub("", text)
    if "\n" in text:
        return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return " ".join(text.split())


def held_out_key(text: str) -> str:
    """Reduce a sentence to the characters by which it is compared with held-out sentences.

    1. Letters, marks and digits count, in NFKC and case folded.
    2. If there are none, all characters but spaces count.

    Example:
        >>> [held_out_key(text) for text in ("It's a House.", "its a house", "?!")]
        ['itsahouse', 'itsahouse', '?!']
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = unicodedata.normalize("NFKC", folded)  # folding can undo it
    return _NOT_WORD.sub("", folded) or "".join(folded.split())


def hash_texts(texts: Iterable[str], *, salt: str = "") -> NDArray[np.uint64]:
    """Hash each text to 64 bits, with the same result on every platform; texts under another salt differ."""
    key = hashlib.blake2b(salt.encode(), digest_size=16).digest()
    digests = []
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digests.append(hashlib.blake2b(data, digest_size=8, key=key).digest())
    return np.frombuffer(b"".join(digests), dtype="<u8")


def find_hashes(
    hashes: NDArray[np.uint64], known: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Find hashes among known ones, which are sorted and at least one.

    Returns:
        For each hash whether it is known, and its place in ``known`` (without meaning if it is not). **Shape**: both
        (hashes,).
    """
    # The place of the first known hash that is not smaller. If the hash there is another one, this one is not known.
    place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return known[place] == hashes, place


def split_flags(flags: str) -> list[str]:
    """Split a cell of a flag column into names: ``dev;test`` and ``dev, test`` are ``dev`` and ``test``."""
    return [name for name in _FLAG_ENDS.split(flags) if name]


class RowTests:
    """Tests rows by the row rules.

    Args:
        rules: The options of the rules.
        tokenizer_json: Contents of the ``tokenizer.json`` that measures length.
        held_out: Hashes of held-out sentences, as :func:`held_out_hashes` returns them.

    Example:
        >>> tests = RowTests(RowRules(max_length_ratio=2))
        >>> tests.reasons([["a house", "a", "a"], ["ein Haus", "ein Haus", ""]], ("en", "de")).tolist()
        ['', 'ratio', 'empty']
    """

    def __init__(
        self,
        rules: RowRules,
        *,
        tokenizer_json: str | None = None,
        held_out: NDArray[np.uint64] | None = None,
    ) -> None:
        self._rules = rules
        self._held_out = held_out if held_out is not None and len(held_out) else None
        # Rules that measure length cannot be set without a tokenizer.
        if tokenizer_json is not None:
            self._tokenizer = Tokenizer.from_str(tokenizer_json)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()

    @classmethod
    def load(cls, rules: RowRules) -> Self:
        """Load the tokenizer and the held-out sentences that the rules name."""
        tokenizer_json = None
        path = tokenizer_path(rules)  # a file, or the name of a checkpoint
        if path is not None and Path(path).is_file():
            with reading(Path(path).parent, Path(path).name):
                tokenizer_json = Path(path).read_text(encoding="utf-8")
                Tokenizer.from_str(tokenizer_json)  # a damaged file is refused here, before any worker starts
        elif path is not None:
            from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 (seconds of import that a tokenizer.json does not need)

            tokenizer_json = load_tokenizer(path).backend_tokenizer.to_str()
        return cls(rules, tokenizer_json=tokenizer_json, held_out=held_out_hashes(rules))

    def reasons(
        self, sides: list[list[str]], languages: Sequence[str], flags: list[str] | None = None
    ) -> NDArray[np.object_]:
        """Name the first rule that drops each row; empty for rows that pass all. **Shape**: (rows,).

        ``sides``: The texts of each side: one list for text, two for pairs. ``flags``: The flags of each row.
        """
        reasons = np.full(len(sides[0]), "", object)
        rows = np.arange(len(sides[0]))  # numbers of the rows that no rule has dropped so far
        for name in ROW_RULES:
            if not len(rows):
                break
            sides_of_rows = [[side[row] for row in rows] for side in sides]
            flags_of_rows = [flags[row] for row in rows] if flags else None
            passed = self._passed(name, sides_of_rows, flags_of_rows, languages)
            reasons[rows[~passed]] = name
            rows = rows[passed]
        return reasons

    def every_reason(self, sides: list[list[str]], languages: Sequence[str]) -> list[list[str]]:
        """Name all rules that drop each row, for rows without flags."""
        reasons: list[list[str]] = [[] for _ in sides[0]]
        for name in ROW_RULES:
            for row in np.flatnonzero(~self._passed(name, sides, None, languages)):
                reasons[row].append(name)
        return reasons

    def _passed(
        self, name: str, sides: list[list[str]], flags: Sequence[str] | None, languages: Sequence[str]
    ) -> Mask:
        """Ask one rule of :data:`~isoglot.corpus.options.ROW_RULES`; ``sides`` has the texts of each side."""
        if name == "empty":
            return self._not_empty(sides)
        if name == "held_out":
            return self._not_flagged(sides, flags) & self._not_held_out(sides)
        if name == "script":
            return self._in_script(sides, languages)
        if name == "length":
            return self._within_length(sides)
        if name == "ratio":
            return self._within_ratio(sides)
        raise ValueError(f"the row rule {name!r} has no test")

    def _not_empty(self, sides: list[list[str]]) -> Mask:
        """Pass rows of which no side is blank."""
        passed: Mask = np.all([[not is_blank(text) for text in side] for side in sides], axis=0)
        return passed

    def _not_flagged(self, sides: list[list[str]], flags: Sequence[str] | None) -> Mask:
        """Pass rows whose flags name no held-out set; with ``*`` among the sets, pass rows without any flag."""
        passed = np.ones(len(sides[0]), dtype=bool)
        # Only `isoglot prepare` has this option.
        held_out = set(self._rules.held_out_flags) if isinstance(self._rules, PrepareOptions) else set()
        if not held_out or flags is None:
            return passed
        for row, cell in enumerate(flags):
            names = split_flags(cell)
            if held_out.intersection(names) or ("*" in held_out and names):
                passed[row] = False
        return passed

    def _not_held_out(self, sides: list[list[str]]) -> Mask:
        """Pass rows of which no side is a held-out sentence, and no line of a side is one."""
        passed = np.ones(len(sides[0]), dtype=bool)
        if self._held_out is None:
            return passed
        for side in sides:
            # Each text, and each line of a document; and the row that it is from.
            compared: list[str] = []
            row_of_compared: list[int] = []
            for row, text in enumerate(side):
                compared.append(text)
                row_of_compared.append(row)
                if "\n" in text:
                    lines = text.split("\n")
                    compared += lines
                    row_of_compared += [row] * len(lines)
            hashes = hash_texts(map(held_out_key, compared))
            is_held_out, _ = find_hashes(hashes, self._held_out)
            passed[np.array(row_of_compared, dtype=np.int64)[is_held_out]] = False
        return passed

    def _in_script(self, sides: list[list[str]], languages: Sequence[str]) -> Mask:
        """Pass rows of which each side has the minimum share of its letters in a script of its language."""
        if self._rules.min_script_share is None:
            return np.ones(len(sides[0]), dtype=bool)
        shares = []
        for side, language in zip(sides, languages, strict=True):
            shares.append(script_share(side, scripts_of(language, self._rules.scripts)))
        passed: Mask = np.min(shares, axis=0) >= self._rules.min_script_share
        return passed

    def _within_length(self, sides: list[list[str]]) -> Mask:
        """Pass rows whose numbers of pieces are within the limits.

        Special tokens count for the maxima: those of one text for `max_pieces`, those of a pair for `max_pair_pieces`.
        PPA: `min_pieces` 10 for either side, `max_pair_pieces` 128.
        """
        rules, passed = self._rules, np.ones(len(sides[0]), dtype=bool)
        if (rules.min_pieces, rules.max_pieces, rules.max_pair_pieces) == (None, None, None):
            return passed
        pieces = np.array([self._piece_counts(side) for side in sides])  # (sides, rows)
        if rules.min_pieces is not None:
            passed &= pieces.min(axis=0) >= rules.min_pieces
        if rules.max_pieces is not None:
            specials = self._tokenizer.num_special_tokens_to_add(is_pair=False)
            passed &= pieces.max(axis=0) + specials <= rules.max_pieces
        if rules.max_pair_pieces is not None:
            specials = self._tokenizer.num_special_tokens_to_add(is_pair=True)
            passed &= pieces.sum(axis=0) + specials <= rules.max_pair_pieces
        return passed

    def _piece_counts(self, texts: list[str]) -> NDArray[np.int64]:
        counts = np.empty(len(texts), np.int64)
        for start in range(0, len(texts), _TOKENIZED_AT_ONCE):
            batch = texts[start : start + _TOKENIZED_AT_ONCE]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts[start : start + len(batch)] = [len(encoding) for encoding in encodings]
        return counts

    def _within_ratio(self, sides: list[list[str]]) -> Mask:
        """Pass rows whose longer side has at most ``max_length_ratio`` times the characters of the shorter one."""
        if self._rules.max_length_ratio is None:
            return np.ones(len(sides[0]), dtype=bool)
        lengths = np.array([list(map(len, side)) for side in sides])
        shorter = np.maximum(lengths.min(axis=0), 1)
        passed: Mask = lengths.max(axis=0) <= self._rules.max_length_ratio * shorter
        return passed


def check_rules(sources: Sequence[Source], rules: RowRules, kind: Kind) -> None:
    """Refuse rules that cannot work for these sources; one error names all mistakes.

    Raises:
        ConfigurationError: Flags without a column, a language whose script is unknown, files that are not there.
    """
    problems: list[str | Problem] = []
    if isinstance(rules, PrepareOptions) and rules.held_out_flags:
        problems = [
            f"{source.path}: held_out_flags is set, and no column holds the flags; set [[columns={{'flags': 3}}]]"
            for source in sources
            if "flags" not in source.columns or "columns" not in FORMATS[source.format or ""].options
        ]
    if rules.min_script_share is not None:
        for language in sorted({tag for source in sources for tag in source.languages(kind)}):
            try:
                scripts_of(language, rules.scripts)
            except ConfigurationError as error:
                problems.extend(error.problems)
    for path in rules.held_out_files:
        if not Path(path).is_file():
            problems.append(
                f"held_out_files: {path}: no such file; a file of sentences is needed: check the name"
            )
        if (problem := foreign(path)) is not None:
            problems.append(f"held_out_files: {problem}")
        if (form := by_suffix(path)) is not None:
            needed = "but one sentence per line is needed; cut the sentences out"
            problems.append(f"held_out_files: {path}: got {form}, {needed}")
    if problems:
        raise ConfigurationError(problems)


def tokenizer_path(rules: RowRules) -> str | None:
    """The tokenizer that measures length: the ``tokenizer.json`` in its folder, else what the user gave."""
    if rules.tokenizer is None:
        return None
    file = Path(rules.tokenizer) / "tokenizer.json"
    return str(file) if file.is_file() else rules.tokenizer


def held_out_hashes(rules: RowRules) -> NDArray[np.uint64]:
    """Read all held-out sentences and return their hashes, sorted."""
    keys: set[str] = set()
    for path in rules.held_out_files:
        for number, line in numbered_lines(path):
            if "\t" in line:
                raise InputError(
                    "found a tab, but one sentence per line is needed; cut the sentences out (`cut -f 1`)",
                    path=path,
                    line=number,
                )
            keys.add(held_out_key(line))
    return np.unique(hash_texts(keys - {""}))
