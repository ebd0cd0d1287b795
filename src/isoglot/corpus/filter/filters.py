"""Filters of rows, applied to one chunk at a time in the order of :data:`isoglot.corpus.options.FILTERS`."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Self

import numpy as np
import regex
from numpy.typing import NDArray
from tokenizers import Tokenizer

from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError, InputError, Problem
from isoglot.corpus.filter.scripts import script_share, scripts_of
from isoglot.corpus.options import FILTERS, PrepareOptions, RowRules
from isoglot.formats.foreign import foreign
from isoglot.formats.line_files import numbered_lines
from isoglot.formats.records import Records
from isoglot.formats.sources import FORMATS, Kind, Source, by_suffix
from isoglot.formats.words import is_blank

_CONTROL = regex.compile(r"[\p{Cc}\uFEFF--\s]+", regex.V1)
_C1_CONTROL = regex.compile(r"[\x80-\x84\x86-\x9f]")  # U+0085 is a space
_NOT_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_FLAG_ENDS = regex.compile(r"[,;|\s]+")

ROW_RULES = ("empty", "held_out", "script", "length", "ratio")
"""Filters that look at one row alone, in their order."""
Mask = NDArray[np.bool_]


def clean(text: str) -> str:
    """Text without control characters and with single spaces; line ends stay line ends."""
    if not text.isprintable() and _CONTROL.search(text):
        text = _CONTROL.sub("", text)
    if "\n" in text:
        return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n")
    return " ".join(text.split())


def _has_control(text: str) -> bool:
    """Whether :func:`clean` removes characters that are not white space, other than a byte order mark."""
    return not text.isprintable() and any(found[0] != "\ufeff" for found in _CONTROL.finditer(text))


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
    controls: int = 0  # rows from which control characters were removed
    c1_controls: int = 0  # of these, rows with some of U+0080 to U+009F
    described: int = 0  # as in `Records`
    source: int = 0  # index of the source
    path: str = ""  # the file; empty if there is no row
    size: int = 0  # its bytes


class RowTests:
    """The rules that look at one row alone; ``tokenizer`` is its JSON, ``held_out`` are :func:`held_out_hashes`."""

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

    @classmethod
    def load(cls, rules: RowRules) -> Self:
        """The tests with the tokenizer and the held-out sentences that the rules name."""
        tokenizer, path = None, tokenizer_path(rules)
        if path is not None and Path(path).is_file():
            with reading(Path(path).parent, Path(path).name):
                tokenizer = Path(path).read_text(encoding="utf-8")
                Tokenizer.from_str(tokenizer)
        elif path is not None:
            from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 (seconds of import that a tokenizer.json does not need)

            tokenizer = load_tokenizer(path).backend_tokenizer.to_str()
        return cls(rules, tokenizer=tokenizer, held_out=held_out_hashes(rules))

    def reasons(
        self, sides: list[list[str]], languages: Sequence[str], flags: list[str] | None = None
    ) -> NDArray[np.object_]:
        """The name of the filter that drops each row, empty for rows that stay. **Shape**: (rows,)."""
        rows = np.arange(len(sides[0]))
        reasons = np.full(len(rows), "", object)
        for name in ROW_RULES:
            if not len(rows):
                break
            texts = [[side[row] for row in rows] for side in sides]
            passed = self._passed(name, texts, flags and [flags[row] for row in rows], languages)
            reasons[rows[~passed]] = name
            rows = rows[passed]
        return reasons

    def every_reason(self, sides: list[list[str]], languages: Sequence[str]) -> list[list[str]]:
        """The names of all filters that drop each row, which has no flags."""
        masks = [(name, self._passed(name, sides, None, languages)) for name in ROW_RULES]
        return [[name for name, passed in masks if not passed[row]] for row in range(len(sides[0]))]

    def _passed(
        self, name: str, texts: list[list[str]], flags: Sequence[str] | None, languages: Sequence[str]
    ) -> Mask:
        """Which rows pass a filter."""
        passed: Mask = np.ones(len(texts[0]), dtype=bool)
        if name == "empty":
            passed = np.all([[not is_blank(text) for text in side] for side in texts], axis=0)
        elif name == "held_out":
            passed = self._not_held_out(texts, flags)
        elif name == "script" and self._rules.min_script_share is not None:
            scripts = [scripts_of(language, self._rules.scripts) for language in languages]
            shares = [script_share(*side) for side in zip(texts, scripts, strict=True)]
            passed = np.min(shares, axis=0) >= self._rules.min_script_share
        elif name == "length":
            passed = self._right_length(texts)
        elif name == "ratio" and self._rules.max_length_ratio is not None:
            lengths = np.array([list(map(len, side)) for side in texts])
            shorter = np.maximum(lengths.min(axis=0), 1)
            passed = lengths.max(axis=0) <= self._rules.max_length_ratio * shorter
        return passed

    def _not_held_out(self, texts: list[list[str]], flags: Sequence[str] | None) -> Mask:
        """Which rows name no held-out set in their flags, and have no held-out text or line of one."""
        passed = np.ones(len(texts[0]), dtype=bool)
        names = set(self._rules.held_out_flags if isinstance(self._rules, PrepareOptions) else ())
        if names and flags is not None:
            for row, row_flags in enumerate(map(split_flags, flags)):
                passed[row] = not names.intersection(row_flags) and not ("*" in names and row_flags)
        if self._held_out is not None:
            for side in texts:
                parts = [[text, *text.split("\n")] if "\n" in text else [text] for text in side]
                hashes = hash_texts(map(held_out_key, chain.from_iterable(parts)))
                nearest = np.minimum(np.searchsorted(self._held_out, hashes), len(self._held_out) - 1)
                row_of_part = np.repeat(np.arange(len(parts)), list(map(len, parts)))
                passed[row_of_part[self._held_out[nearest] == hashes]] = False
        return passed

    def _right_length(self, texts: list[list[str]]) -> Mask:
        """PPA: `min_pieces` 10 for either side, `max_pair_pieces` 128 for both and their special tokens."""
        rules, passed = self._rules, np.ones(len(texts[0]), dtype=bool)
        if (rules.min_pieces, rules.max_pieces, rules.max_pair_pieces) == (None, None, None):
            return passed
        pieces = np.empty((len(texts), len(passed)), np.int64)
        for side, start in product(range(len(texts)), range(0, len(passed), 1024)):
            batch = texts[side][start : start + 1024]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            pieces[side, start : start + len(batch)] = [len(encoding) for encoding in encodings]
        passed &= pieces.min(axis=0) >= (rules.min_pieces or 0)
        for limit, counts, is_pair in (
            (rules.max_pieces, pieces.max(axis=0), False),
            (rules.max_pair_pieces, pieces.sum(axis=0), True),
        ):
            if limit is not None:
                passed &= counts + self._tokenizer.num_special_tokens_to_add(is_pair=is_pair) <= limit
        return passed


def filter_rows(records: Records, tests: RowTests, options: PrepareOptions, languages: Sequence[str]) -> Part:
    """Clean the rows of one chunk and leave in it those that pass."""
    controls = c1_controls = 0
    if options.clean_whitespace and "source_words" not in records.columns:
        removed_from = [text for text in zip(*records.sides(), strict=True) if any(map(_has_control, text))]
        controls = len(removed_from)
        c1_controls = sum(any(map(_C1_CONTROL.search, text)) for text in removed_from)
        for name in {"source", "target"} & records.columns.keys():
            records.columns[name] = [clean(text.replace("\n", " ")) for text in records.columns[name]]
        if "text" in records.columns:
            records.columns["text"] = list(map(clean, records.columns["text"]))
    sides = records.sides()
    read, reasons = len(sides[0]) + records.incomplete, tests.reasons(sides, languages, records.flags)
    passed = np.flatnonzero(reasons == "")
    counts = Counter({"incomplete": records.incomplete}) + Counter(reasons[reasons != ""].tolist())
    removed = {name: counts[name] for name in FILTERS if name in counts}
    flags = sorted({flag for text in set(records.flags or ()) for flag in split_flags(text)})
    records.columns = {name: [values[row] for row in passed] for name, values in records.columns.items()}
    keys = None
    if options.duplicates != "keep":
        compared = {"source": slice(0, 1), "target": slice(1, 2), "pair": slice(None)}[options.duplicates]
        texts = map("\x00".join, zip(*records.sides()[compared], strict=True))
        keys = hash_texts(texts, salt="\t".join(languages))
    counted = records.possible, controls, c1_controls, records.described
    return Part(read, len(passed), removed, flags, keys, records.spaces, *counted)


def check_rules(sources: Sequence[Source], rules: RowRules, kind: Kind) -> None:
    """Refuse rules that cannot work for these sources, all of them at once.

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
    """The file, or the name on the hub, of the tokenizer that measures length."""
    if rules.tokenizer is not None and (file := Path(rules.tokenizer) / "tokenizer.json").is_file():
        return str(file)
    return rules.tokenizer


def held_out_hashes(rules: RowRules) -> NDArray[np.uint64]:
    """Sorted hashes of all held-out sentences."""
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
