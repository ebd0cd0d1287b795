"""Word links in files: Pharaoh, alignv2, NAACL, TALP and JSON lines, read; ``output`` writes them.

| format | a line | counts from | marks |
|---|---|---|---|
| ``pharaoh`` | a sentence: ``0-0 1-2`` | 0 | ``1p2`` and ``1?2`` are possible |
| ``talp`` | a sentence: ``1-1 2p3`` | 1 | ``-`` sure, ``p`` possible |
| ``alignv2`` | a link: ``sentence source target [S|P]`` | 1 | no mark is sure |
| ``naacl`` | a link: ``0001 source target [S|P] [confidence]`` | 1 | no mark is sure |
| ``jsonl`` | a sentence: ``{"id", "src", "tgt", "sure", "possible"}`` or ``{"links", "probabilities"}`` | 0 | |

Sentences are read one at a time, those of ``alignv2`` and ``naacl``, whose lines may stand in any order, from an array
of numbers. In memory links always count from 0, and a sentence is a :class:`GoldAlignment`, whose possible links hold
the sure ones. ``base`` overrides where a file counts from; ``reverse`` exchanges its sides.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, starmap
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isoglot.aligners.scoring import GoldAlignment
from isoglot.checks import is_number, shortened
from isoglot.corpus.encode.words import split_words
from isoglot.corpus.labelled.splits import split_name
from isoglot.corpus.links import Link, link_items
from isoglot.corpus.read.line_files import filled_lines, numbered_lines, parsed
from isoglot.corpus.read.sources import bare_suffix
from isoglot.corpus.sentence_pair import SentencePair
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.records import parse_object, row_id

FORMATS: dict[str, int] = {"pharaoh": 0, "talp": 1, "alignv2": 1, "naacl": 1, "jsonl": 0}
"""Format to the number its words count from."""

_SUFFIXES = {".jsonl": "jsonl", ".talp": "talp", ".alignv2": "alignv2", ".wa": "naacl"}
Words = tuple[list[str], list[str]]
_MOST_EMPTY = 10_000
"""Sentences without a link for each one with links, before a number counts as a slip."""


class LinkedSentence(NamedTuple):
    """The links of one sentence in a file."""

    gold: GoldAlignment
    line: int | None = None  # where it stands, in formats with a line a sentence
    id: str | None = None  # what it is called, where the file says so
    words: Words | None = None  # of source and target, where the file has them
    row: dict[str, Any] | None = None  # all that a line of JSON says


@dataclass(frozen=True, slots=True)
class LinkFile:
    """All that a file of links holds."""

    gold: list[GoldAlignment]  # one a sentence, in the file's order
    ids: list[str]  # what the sentences are called, by default their numbers from 1
    words: list[Words] | None = None  # where every line has them, else None
    splits: list[Any] | None = None  # what each line of JSON calls its split, where one does


class LinkReader:
    """A file of links, to be read once, sentence by sentence.

    Args:
        path: the file, possibly packed; ``-`` is standard input.
        name: Name of the format; detected from the file's name and first line by default.
        base: what the first word is counted as, 0 or 1; by default the format's own.
        reverse: the file has the target side first.
        predicted: of ``jsonl`` read the column ``links``, though ``sure`` may stand beside it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        base: int | None = None,
        reverse: bool = False,
        predicted: bool = False,
    ) -> None:
        self.path = path
        self._reverse, self._predicted = reverse, predicted
        self._lines = numbered_lines(path)
        self.name = name or self._guess()
        if self.name not in FORMATS:
            raise ConfigurationError(f"unknown link format {self.name!r}; known: {', '.join(FORMATS)}")
        self._start = FORMATS[self.name] if base is None else base
        self.rows = self.name in ("alignv2", "naacl")
        """Whether a line is a link, so that sentences without one are not in the file."""
        self._numbers = self._read_rows() if self.rows else np.zeros((0, 4), np.int32)

    @property
    def first(self) -> int:
        """The number of the first sentence where sentences are numbered: 1, or 0 if there is one of that number."""
        return int(self._numbers[:, 0].min(initial=1))

    def sentences(self, *, first: int = 1) -> Iterator[LinkedSentence]:
        """The sentences in their order; of ``alignv2`` and ``naacl`` from this number to the last that has a link."""
        if self.rows:
            return self._of_rows(min(first, self.first))
        return starmap(self.parse, self.lines())

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are left, unread, of JSON those that are not blank; for formats with a line a sentence."""
        return filled_lines(self._lines) if self.name == "jsonl" else self._lines

    def parse(self, line: int, text: str) -> LinkedSentence:
        """The sentence of a line."""
        try:
            if self.name == "jsonl":
                found = _from_object(text, self._start, predicted=self._predicted)
            else:
                found = LinkedSentence(_from_items(text, self._start))
        except InputError as error:
            raise error.at(self.path, line) from error.__cause__
        if self._reverse:
            words = found.words and found.words[::-1]
            found = found._replace(gold=found.gold.transpose(), words=words)
        return found._replace(line=line)

    def _guess(self) -> str:
        if told := _SUFFIXES.get(bare_suffix(str(self.path))):
            return told
        read, first = [], ""
        for number, text in self._lines:
            read.append((number, text))
            if first := text.strip():
                break
        self._lines = chain(read, self._lines)
        if first.startswith("{"):
            return "jsonl"
        fields = split_words(first, mode="whitespace")
        return "naacl" if len(fields) in (3, 4, 5) and all(map(is_number, fields[:3])) else "pharaoh"

    def _read_rows(self) -> NDArray[np.int32]:
        """Sentence, source word, target word and whether it is only possible, of each link, by sentence."""
        flat = array("i")
        for row in parsed(lambda text: _from_row(text, self._start), filled_lines(self._lines), self.path):
            flat.extend(row)
        found = np.frombuffer(flat, np.int32).reshape(-1, 4)
        numbers = found[:, 0]
        if len(found) and (last := int(numbers.max())) > _MOST_EMPTY * (len(np.unique(numbers)) + 1):
            raise InputError(
                f"found sentence number {last}, but only {len(np.unique(numbers))} sentences have links; correct it",
                path=self.path,
            )
        return found if np.all(numbers[1:] >= numbers[:-1]) else found[np.argsort(numbers, kind="stable")]

    def _of_rows(self, first: int) -> Iterator[LinkedSentence]:
        held, starts = np.unique(self._numbers[:, 0], return_index=True)
        bounds = dict(zip(held.tolist(), pairwise([*starts.tolist(), len(self._numbers)]), strict=True))
        for number in range(first, max(bounds, default=first - 1) + 1):
            own = self._numbers[slice(*bounds.get(number, (0, 0))), 1:].tolist()
            links = [((j, i) if self._reverse else (i, j), kind) for i, j, kind in own]
            gold = GoldAlignment.of((k for k, possible in links if not possible), (k for k, _ in links))
            yield LinkedSentence(gold, id=str(number))


class HeldLinks(LinkReader):
    """Links in memory, one sentence after the other, as a reader of a file has them; words count from 0.

    Args:
        held: For each sentence a :class:`SentencePair`, an :class:`Alignment`, a :class:`GoldAlignment`, a Pharaoh
            line, or any collection of links.
        called: What messages call them.
    """

    def __init__(self, held: Iterable[Any], called: str) -> None:
        self.path, self.name, self.rows = called, "held", False
        self._held, self._numbers = held, np.zeros((0, 4), np.int32)

    def sentences(self, *, first: int = 1) -> Iterator[LinkedSentence]:
        """The sentences in their order."""
        return parsed(_from_held, enumerate(self._held, first), self.path)


def read_links(
    path: str | Path, *, name: str | None = None, base: int | None = None, reverse: bool = False
) -> LinkFile:
    """Read links of any format, all at once; see :class:`LinkReader`."""
    found = list(LinkReader(path, name=name, base=base, reverse=reverse).sentences())
    words = [sentence.words for sentence in found if sentence.words is not None]
    ids = [str(number) if own.id is None else own.id for number, own in enumerate(found, 1)]
    splits = [split_name(sentence.row or {}) for sentence in found]
    return LinkFile(
        [sentence.gold for sentence in found],
        ids,
        words if len(words) == len(found) else None,
        splits if any(name is not None for name in splits) else None,
    )


def _from_items(text: str, start: int) -> GoldAlignment:
    wanted = "two word numbers such as 3-4 (3p4 for a possible one)"
    items = [
        (_shifted(source, target, start), mark == "-") for source, mark, target in link_items(text, wanted)
    ]
    return GoldAlignment.of((link for link, sure in items if sure), (link for link, _ in items))


def _from_held(own: Any) -> LinkedSentence:
    if isinstance(own, GoldAlignment):
        return LinkedSentence(own)
    if isinstance(own, str):
        return LinkedSentence(_from_items(own, 0))
    words = (list(own.source_words), list(own.target_words)) if isinstance(own, SentencePair) else None
    try:
        links = [(index(source), index(target)) for source, target in own]
    except (TypeError, ValueError):
        raise InputError(
            f"got {shortened(own)}; the links of a sentence are (source word, target word) pairs or a line such as "
            "'0-0 1-2'"
        ) from None
    return LinkedSentence(GoldAlignment.of(_shifted(*link, 0) for link in links), words=words)


def _from_row(text: str, start: int) -> tuple[int, int, int, int]:
    fields = split_words(text, mode="whitespace")
    kind = fields[3].upper() if len(fields) > 3 else "S"
    if len(fields) not in (3, 4, 5) or not all(map(is_number, fields[:3])) or kind not in ("S", "P"):
        raise InputError(
            f"invalid line {text.strip()[:60]!r}; expected `sentence source target [S|P]`: fix it, or name the format"
        )
    return (int(fields[0]), *_shifted(int(fields[1]), int(fields[2]), start), kind == "P")


def _from_object(text: str, start: int, *, predicted: bool) -> LinkedSentence:
    row = parse_object(text)
    # A file of `isoglot analyse alignments` has the gold links beside those that were found.
    if predicted and "links" in row:
        row = {name: value for name, value in row.items() if name not in ("sure", "possible")}
    try:
        sure = [(_number(i), _number(j)) for i, j in row.get("sure", row.get("links", []))]
        possible = [(_number(i), _number(j)) for i, j in row.get("possible", [])]
    except (ValueError, TypeError) as error:
        raise InputError(
            f'not of the form {{"sure": [[0, 0]], "possible": []}} or {{"links": [[0, 0]]}}: {error}'
        ) from error
    if not {"sure", "links"} & set(row):
        raise InputError(f"column 'sure' or 'links' is needed, found only {sorted(row)}")
    gold = GoldAlignment.of(*([_shifted(i, j, start) for i, j in part] for part in (sure, possible)))
    name = row_id(row)
    source, target = (row.get(a, row.get(b)) for a, b in (("src", "source_words"), ("tgt", "target_words")))
    if not (isinstance(source, list) and isinstance(target, list)):
        return LinkedSentence(gold, id=name, row=row)
    if not all(isinstance(word, str) for word in (*source, *target)):
        raise InputError("a word is not a string; put it in quotes")
    if outside := gold.outside(len(source), len(target)):
        raise InputError(
            f"link {outside[0] + start}-{outside[1] + start} of {len(source)} and {len(target)} words, counted from "
            f"{start}; correct the line, or give the base that the file counts from"
        )
    return LinkedSentence(gold, id=name, words=(source, target), row=row)


def _number(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{str(value).lower()} is not a number")
    return index(value)


def _shifted(source: int, target: int, start: int) -> Link:
    if source < start or target < start:
        raise InputError(
            f"link {source}-{target} is too low, words count from {start}; "
            + ("does the file count from 0?" if min(source, target) == 0 else "correct it")
        )
    return source - start, target - start
