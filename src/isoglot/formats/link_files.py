"""Word links in files: Pharaoh, alignv2, NAACL, TALP and JSON lines, read; ``output`` writes them.

| format | a line | counts from | marks |
|---|---|---|---|
| ``pharaoh`` | a sentence: ``0-0 1-2`` | 0 | ``1p2`` and ``1?2`` are possible |
| ``talp`` | a sentence: ``1-1 2p3`` | 1 | ``-`` sure, ``p`` possible |
| ``alignv2`` | a link: ``sentence source target [S|P]`` | 1 | no mark is sure |
| ``naacl`` | a link: ``0001 source target [S|P] [confidence]`` | 1 | no mark is sure |
| ``jsonl`` | a sentence: ``{"id", "src", "tgt", "sure", "possible"}`` or ``{"links", "probabilities"}`` | 0 | |

Pharaoh is the form that fast_align, eflomal and Moses write, ``naacl`` that of the shared tasks on word alignment of
HLT-NAACL 2003 and ACL 2005.

A sentence is a :class:`SentencePair`, whose links always count from 0, whatever the file counts from (``base``).
``reverse`` exchanges its sides. Sentences are read one at a time; those of ``alignv2`` and ``naacl``, whose lines may
stand in any order, are sorted in an array of numbers first.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise, starmap
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoglot.core.checks import is_number, shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.line_files import filled_lines, numbered_lines, parsed
from isoglot.formats.links import Link, link_items, link_outside
from isoglot.formats.rows import Items
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import parse_object, row_id

FORMATS: dict[str, int] = {"pharaoh": 0, "talp": 1, "alignv2": 1, "naacl": 1, "jsonl": 0}
"""Format to the number its words count from."""

_SUFFIXES = {".jsonl": "jsonl", ".talp": "talp", ".alignv2": "alignv2", ".wa": "naacl"}
_MOST_EMPTY = 10_000
"""Sentences without a link for each one with links; more mean that a sentence's number is a slip: 100000 for 10000."""


class LinkReader:
    """A file of links, to be read once, sentence by sentence.

    Args:
        path: the file, possibly packed; ``-`` is standard input.
        name: Name of the format; detected from the file's name and first line by default.
        base: what the first word is counted as, 0 or 1; by default the format's own.
        reverse: the file has the target side first.
        gold: the links are gold links; of ``jsonl`` those in ``sure`` and ``possible``, else ``links``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        base: int | None = None,
        reverse: bool = False,
        gold: bool = False,
    ) -> None:
        self.path = path
        self._reverse, self._gold = reverse, gold
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

    def sentences(self, *, first: int = 1) -> Iterator[SentencePair]:
        """The sentences in their order; of ``alignv2`` and ``naacl`` from this number to the last that has a link."""
        if self.rows:
            return self._of_rows(min(first, self.first))
        return starmap(self.parse, self.lines())

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that have not been parsed yet, for formats with a line a sentence; of JSON without blank lines."""
        return filled_lines(self._lines) if self.name == "jsonl" else self._lines

    def parse(self, line: int, text: str) -> SentencePair:
        """The sentence of a line."""
        parse = _from_object if self.name == "jsonl" else _from_items
        try:
            pair = parse(text, self._start, gold=self._gold)
        except InputError as error:
            raise error.at(self.path, line) from error.__cause__
        pair = pair.transpose() if self._reverse else pair
        pair.line = line
        return pair

    def _guess(self) -> str:
        """The format that the file's name or its first line tells.

        1. The ending of the name: ``.talp``, ``.wa`` (naacl) ...
        2. A line that begins with ``{`` is JSON.
        3. Three to five fields that begin with three numbers, ``1 2 2 S``, are ``naacl`` (or ``alignv2``, which is read
           in the same way).
        4. Anything else is Pharaoh's form, also that of ``talp``, which only its name tells.
        """
        if name := _SUFFIXES.get(bare_suffix(str(self.path))):
            return name  # 1
        # Lines that are looked at here are still to be read.
        looked_at: list[tuple[int, str]] = []
        first = ""
        for number, text in self._lines:
            looked_at.append((number, text))
            first = text.strip()
            if first:
                break
        self._lines = chain(looked_at, self._lines)
        if first.startswith("{"):
            return "jsonl"  # 2
        fields = split_words(first, mode="whitespace")
        if len(fields) in (3, 4, 5) and all(map(is_number, fields[:3])):
            return "naacl"  # 3
        return "pharaoh"  # 4

    def _read_rows(self) -> NDArray[np.int32]:
        """Read all links, ordered by sentence: sentence, source word, target word, and 1 for a possible link."""
        flat = array("i")
        for row in parsed(lambda text: _from_row(text, self._start), filled_lines(self._lines), self.path):
            flat.extend(row)
        links = np.frombuffer(flat, np.int32).reshape(-1, 4)
        numbers = links[:, 0]
        with_links = len(np.unique(numbers))
        # Every number up to the last one is a sentence: a slip would make millions of empty ones.
        if len(links) and (last := int(numbers.max())) > _MOST_EMPTY * (with_links + 1):
            raise InputError(
                f"found sentence number {last}, but only {with_links} sentences have links; correct it",
                path=self.path,
            )
        is_ordered = np.all(numbers[1:] >= numbers[:-1])  # as most files are
        return links if is_ordered else links[np.argsort(numbers, kind="stable")]

    def _of_rows(self, first: int) -> Iterator[SentencePair]:
        """The sentences from number ``first`` to the last one with a link; a number without a link is an empty one."""
        numbers, starts = np.unique(self._numbers[:, 0], return_index=True)
        # The links of a sentence stand together: from its first row to that of the next sentence.
        rows_of = dict(zip(numbers.tolist(), pairwise([*starts.tolist(), len(self._numbers)]), strict=True))
        last = max(rows_of, default=first - 1)
        for number in range(first, last + 1):
            start, stop = rows_of.get(number, (0, 0))
            links = []
            for source, target, possible in self._numbers[start:stop, 1:].tolist():
                link = (target, source) if self._reverse else (source, target)
                links.append((link, possible))
            yield _linked(links, gold=self._gold, id=str(number))


class LinksInMemory(LinkReader):
    """Links in memory, one sentence after the other, as a reader of a file has them; words count from 0.

    Args:
        sentences: For each one a :class:`SentencePair`, an :class:`Alignment`, a Pharaoh line, or any collection of
            links.
        path: What messages call them.
        gold: As of :class:`LinkReader`.
    """

    def __init__(self, sentences: Iterable[Any], path: str, *, gold: bool = False) -> None:
        self.path, self.name, self.rows = path, "memory", False
        self._sentences, self._gold, self._numbers = sentences, gold, np.zeros((0, 4), np.int32)

    def sentences(self, *, first: int = 1) -> Iterator[SentencePair]:
        """The sentences in their order."""
        parse = partial(_from_memory, gold=self._gold)
        return parsed(parse, enumerate(Items(self._sentences), first), self.path)


def read_links(
    path: str | Path, *, name: str | None = None, base: int | None = None, reverse: bool = False
) -> list[SentencePair]:
    """The sentences of a file of gold links in any format; see :class:`LinkReader`."""
    return list(LinkReader(path, name=name, base=base, reverse=reverse, gold=True).sentences())


def _linked(links: Iterable[tuple[Link, bool]], *, gold: bool, **known: Any) -> SentencePair:
    """A pair with links, each with whether it is only possible; ``gold``: they are its gold links too."""
    marked = list(links)
    pair = SentencePair(links=sorted({link for link, _ in marked}), **known)
    if gold:
        pair.sure = frozenset(link for link, possible in marked if not possible)
        pair.possible = frozenset(pair.links)
    return pair


def _from_items(text: str, start: int, *, gold: bool) -> SentencePair:
    """Read a line of ``pharaoh`` or ``talp``, ``0-0 1p2``, whose words count from ``start``."""
    items = link_items(text, "two word numbers such as 3-4 (3p4 for a possible one)")
    links = ((_shifted(source, target, start), mark != "-") for source, mark, target in items)
    return _linked(links, gold=gold)


def _from_memory(sentence: Any, *, gold: bool) -> SentencePair:
    """Read a sentence as :class:`LinksInMemory` takes it: a pair, an alignment, a line, or a list of links."""
    if isinstance(sentence, str):
        return _from_items(sentence, 0, gold=gold)
    if isinstance(sentence, SentencePair) and gold and sentence.sure is not None:
        return sentence
    words = sentence.words if isinstance(sentence, SentencePair) else ((), ())
    try:
        links = [(index(source), index(target)) for source, target in sentence]
    except (TypeError, ValueError):
        raise InputError(
            f"got {shortened(sentence)}; the links of a sentence are (source word, target word) pairs or a line such "
            "as '0-0 1-2'"
        ) from None
    return _linked(((_shifted(*link, 0), False) for link in links), gold=gold, words=words)


def _from_row(text: str, start: int) -> tuple[int, int, int, int]:
    """Read a line of ``alignv2`` or ``naacl``: ``0001 1 2 P 0.7`` is (1, 0, 1, True); the confidence is not kept."""
    fields = split_words(text, mode="whitespace")
    kind = fields[3].upper() if len(fields) > 3 else "S"
    if len(fields) not in (3, 4, 5) or not all(map(is_number, fields[:3])) or kind not in ("S", "P"):
        raise InputError(
            f"invalid line {text.strip()[:60]!r}; expected `sentence source target [S|P]`: fix it, or name the format"
        )
    return (int(fields[0]), *_shifted(int(fields[1]), int(fields[2]), start), kind == "P")


def _from_object(text: str, start: int, *, gold: bool) -> SentencePair:
    """Read a line of JSON: ``{"id": 3, "src": ["a"], "tgt": ["b"], "sure": [[0, 0]], "possible": []}``.

    1. The sure links are ``sure``, if gold links are asked for or there is no ``links``; else they are ``links``.
    2. ``possible`` links are read too, unless found links are asked for and ``links`` has them.
    3. Words are kept if both sides have a list of them; then no link may be outside of them.
    """
    row = parse_object(text)
    name = row_id(row)
    # 1. A file of `isoglot analyse alignments` has the gold links beside those that were found.
    names = ("sure", "possible") if "sure" in row and (gold or "links" not in row) else ("links", "possible")
    try:
        sure, possible = ([(_number(i), _number(j)) for i, j in row.get(name, [])] for name in names)
    except (ValueError, TypeError) as error:
        raise InputError(
            f'not of the form {{"sure": [[0, 0]], "possible": []}} or {{"links": [[0, 0]]}}: {error}'
        ) from error
    if not {"sure", "links"} & set(row):
        raise InputError(f"column 'sure' or 'links' is needed, found only {sorted(row)}")
    if not gold and "links" in row:
        possible = []  # 2
    marked = [(_shifted(*link, start), False) for link in sure]
    marked += [(_shifted(*link, start), True) for link in possible]
    pair = _linked(marked, gold=gold, id=name, more=row)
    source = row.get("src", row.get("source_words"))
    target = row.get("tgt", row.get("target_words"))
    if not (isinstance(source, list) and isinstance(target, list)):
        return pair
    if not all(isinstance(word, str) for word in (*source, *target)):
        raise InputError("a word is not a string; put it in quotes")
    if outside := link_outside(pair.links, len(source), len(target)):
        raise InputError(
            f"link {outside[0] + start}-{outside[1] + start} of {len(source)} and {len(target)} words, counted from "
            f"{start}; correct the line, or give the base that the file counts from"
        )
    pair.words = source, target
    return pair


def _number(value: Any) -> int:
    """A word's number in JSON; ``true`` would count as 1 in Python."""
    if isinstance(value, bool):
        raise TypeError(f"{str(value).lower()} is not a number")
    return index(value)


def _shifted(source: int, target: int, start: int) -> Link:
    """A link with numbers from 0, of one whose words count from ``start``."""
    if source < start or target < start:
        raise InputError(
            f"link {source}-{target} is too low, words count from {start}; "
            + ("does the file count from 0?" if min(source, target) == 0 else "correct it")
        )
    return source - start, target - start
