"""Read files of word links: Pharaoh, alignv2, NAACL, TALP and JSON lines; :mod:`isoglot.aligners.output` writes them.

| format | a line | counts from | marks |
|---|---|---|---|
| ``pharaoh`` | a sentence: ``0-0 1-2`` | 0 | ``1p2`` and ``1?2`` are possible |
| ``talp`` | a sentence: ``1-1 2p3`` | 1 | ``-`` sure, ``p`` possible |
| ``alignv2`` | a link: ``sentence source target [S|P]`` | 1 | no mark is sure |
| ``naacl`` | a link: ``0001 source target [S|P [confidence]]`` | 1 | no mark is sure |
| ``jsonl`` | a sentence: ``{"id", "src", "tgt", "sure", "possible"}`` or ``{"links", "probabilities"}`` | 0 | |

Pharaoh is the form that fast_align, eflomal and Moses write, ``naacl`` that of the shared tasks on word alignment of
HLT-NAACL 2003 and ACL 2005.

A sentence here is a :class:`SentencePair`; the key ``probabilities`` of JSON stays in its ``more``. Its links always
count words from 0, whatever the file counts from (``base``); ``reverse`` exchanges its sides. Sentences are read one at
a time. The lines of ``alignv2`` and ``naacl`` may stand in any order, so they are first read into an array of numbers
and sorted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise, starmap
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

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

LINK_FORMATS: dict[str, int] = {"pharaoh": 0, "talp": 1, "alignv2": 1, "naacl": 1, "jsonl": 0}
"""For each format, the number of the first word of a sentence.

A new format is entered at these places:

1. Here, and in the table at the top of this file.
2. ``_SUFFIXES`` and :meth:`LinkReader._guess`, which recognise the format.
3. With a sentence per line, :meth:`LinkReader.lines` and :meth:`LinkReader.parse`; with a link per line,
   ``is_link_per_line`` and ``_from_link_line``.
4. The help of ``format`` and ``gold_format`` in ``aligners/link_options.py``.
5. If isoglot shall write the format too: ``aligners/output.py``, and ``output`` and ``NUMBERED`` in
   ``aligners/options.py``.
"""

_SUFFIXES = {".jsonl": "jsonl", ".talp": "talp", ".alignv2": "alignv2", ".wa": "naacl"}
"""Formats by the last ending of a file's name, after one of compression is removed: ``.talp`` of ``test.talp.gz``."""
_MOST_EMPTY = 10_000
"""The most sentences for each sentence with links, in formats that number the sentences.

A file with links of 99 sentences may number them up to 1,000,000, which is 10,000 × (99 + 1). A higher number is taken
for a typing error: every unused number below it would be read as a sentence without links.
"""


class _LinkRow(NamedTuple):
    """A link of ``alignv2`` or ``naacl``. All links of a file are an array with a column for each of these fields."""

    sentence: int  # its number in the file
    source: int  # source word, from 0
    target: int  # target word, from 0
    possible: bool  # whether the link is marked as only possible


_NO_LINK_ROWS = np.zeros((0, len(_LinkRow._fields)), np.int32)


class LinkReader:
    """A file of links, to be read once, sentence by sentence.

    Args:
        path: The file, possibly packed; ``-`` is standard input.
        name: Name of the format; detected from the file's name and first line by default.
        base: Number of the first word, 0 or 1; by default that of the format.
        reverse: The file has the target side first.
        gold: The links are gold links. In ``jsonl`` these are ``sure`` and ``possible``, or ``links`` if there is no
            ``sure``.

    Attributes:
        name: Name of the format.
        is_link_per_line: A line is a link (``alignv2``, ``naacl``), so sentences without a link are not in the file.
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
        if self.name not in LINK_FORMATS:
            raise ConfigurationError(f"unknown link format {self.name!r}; known: {', '.join(LINK_FORMATS)}")
        self._base = LINK_FORMATS[self.name] if base is None else base
        self.is_link_per_line = self.name in ("alignv2", "naacl")
        self._link_rows = self._read_links() if self.is_link_per_line else _NO_LINK_ROWS

    @property
    def first_number(self) -> int:
        """Number of the first sentence: 0 in a file with a link of sentence 0, else 1, even if sentence 1 has no link.

        Files with a sentence per line have no numbers, and begin at 1.
        """
        has_sentence_0 = bool(np.any(self._link_rows[:, 0] == 0))
        return 0 if has_sentence_0 else 1

    def sentences(self, *, first: int = 1) -> Iterator[SentencePair]:
        """Yield the sentences, in their order.

        Where they are numbered (``alignv2``, ``naacl``), they go from ``first``, or from the file's own first number if
        that is lower, to the last number with a link.
        """
        if self.is_link_per_line:
            return self._numbered_sentences(min(first, self.first_number))
        return starmap(self.parse, self.lines())

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not parsed yet, in formats with a sentence per line; JSON without blank lines."""
        return filled_lines(self._lines) if self.name == "jsonl" else self._lines

    def parse(self, line: int, text: str) -> SentencePair:
        """Parse the sentence of a line."""
        parse = _from_object if self.name == "jsonl" else _from_items
        try:
            pair = parse(text, self._base, gold=self._gold)
        except InputError as error:
            raise error.at(self.path, line) from error.__cause__
        if self._reverse:
            pair = pair.transpose()
            # `transpose` keeps the order of the links. Those of a pair are sorted by source word.
            pair.links.sort()
        pair.line = line
        return pair

    def _guess(self) -> str:
        """Guess the format from the file's name, or from its first line that is not blank.

        1. The ending of the name tells it: ``.talp``, ``.wa`` (naacl) ...
        2. A line that begins with ``{`` is JSON.
        3. Three to five fields that begin with three numbers, ``1 2 2 S``, are ``naacl`` (or ``alignv2``, which is read
           in the same way).
        4. Anything else is Pharaoh's form. A line of ``talp`` looks the same; only the name of the file tells.
        """
        if name := _SUFFIXES.get(bare_suffix(str(self.path))):
            return name  # 1
        # Lines that are read here are put back.
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

    def _read_links(self) -> NDArray[np.int32]:
        """Read all links, ordered by sentence: an array of :class:`_LinkRow`."""
        flat = array("i")
        parse = partial(_from_link_line, base=self._base)
        for row in parsed(parse, filled_lines(self._lines), self.path):
            flat.extend(row)
        links = np.frombuffer(flat, np.int32).reshape(-1, len(_LinkRow._fields))
        numbers = links[:, 0]  # of the sentences
        with_links = len(np.unique(numbers))
        if len(links) and (last := int(numbers.max())) > _MOST_EMPTY * (with_links + 1):
            raise InputError(
                f"found sentence number {last}, but only {with_links} sentences have links; correct it",
                path=self.path,
            )
        is_ordered = np.all(numbers[1:] >= numbers[:-1])  # as most files are
        return links if is_ordered else links[np.argsort(numbers, kind="stable")]

    def _numbered_sentences(self, first: int) -> Iterator[SentencePair]:
        """Yield sentence ``first`` to the last one with a link; a number without a link is a sentence without links."""
        numbers, starts = np.unique(self._link_rows[:, 0], return_index=True)
        # The links of a sentence stand together: from its first row to that of the next sentence.
        rows_of = dict(zip(numbers.tolist(), pairwise([*starts.tolist(), len(self._link_rows)]), strict=True))
        last = max(rows_of, default=first - 1)
        for number in range(first, last + 1):
            start, stop = rows_of.get(number, (0, 0))
            links = []
            for row in map(_LinkRow._make, self._link_rows[start:stop].tolist()):
                link = (row.target, row.source) if self._reverse else (row.source, row.target)
                links.append((link, bool(row.possible)))
            yield _linked(links, gold=self._gold, id=str(number))


class LinksInMemory(LinkReader):
    """Links in memory, which are read like those of a file; words count from 0.

    Args:
        sentences: Each a :class:`SentencePair`, an :class:`Alignment`, a Pharaoh line, or any collection of links.
        path: Name of the sentences in messages.
        gold: The links are gold links.
    """

    def __init__(self, sentences: Iterable[Any], path: str, *, gold: bool = False) -> None:
        self.path, self.name, self.is_link_per_line = path, "memory", False
        self._sentences, self._gold, self._link_rows = sentences, gold, _NO_LINK_ROWS

    def sentences(self, *, first: int = 1) -> Iterator[SentencePair]:
        """Yield the sentences, in their order.

        ``first``: The number of the first sentence in messages; no sentence is skipped.
        """
        parse = partial(_from_memory, gold=self._gold)
        return parsed(parse, enumerate(Items(self._sentences), first), self.path)


def read_links(
    path: str | Path, *, name: str | None = None, base: int | None = None, reverse: bool = False
) -> list[SentencePair]:
    """Read a file of gold links in any format; see :class:`LinkReader`."""
    return list(LinkReader(path, name=name, base=base, reverse=reverse, gold=True).sentences())


def _linked(links: Iterable[tuple[Link, bool]], *, gold: bool, **known: Any) -> SentencePair:
    """Make a pair with these links, of which each comes with whether it is marked as only possible.

    ``gold``: The links are gold links, so the pair has them as ``sure`` and ``possible`` too. A link that comes twice,
    once marked and once not, is sure.
    """
    marked = list(links)
    pair = SentencePair(links=sorted({link for link, _ in marked}), **known)
    if gold:
        pair.sure = frozenset(link for link, possible in marked if not possible)
        pair.possible = frozenset(pair.links)
    return pair


def _from_items(text: str, base: int, *, gold: bool) -> SentencePair:
    """Read a line of ``pharaoh`` or ``talp``, ``0-0 1p2``."""
    items = link_items(text, "two word numbers such as 3-4 (3p4 for a possible one)")
    links = ((_from_zero(source, target, base), mark != "-") for source, mark, target in items)
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
    # These words count from 0 already: only numbers below 0 are refused here.
    return _linked(((_from_zero(*link, 0), False) for link in links), gold=gold, words=words)


def _from_link_line(text: str, base: int) -> _LinkRow:
    """Read a line of ``alignv2`` or ``naacl``: ``0001 1 2 P 0.7`` is (1, 0, 1, True); the confidence is not kept."""
    fields = split_words(text, mode="whitespace")
    mark = fields[3].upper() if len(fields) > 3 else "S"
    if len(fields) not in (3, 4, 5) or not all(map(is_number, fields[:3])) or mark not in ("S", "P"):
        raise InputError(
            f"invalid line {text.strip()[:60]!r}; expected `sentence source target [S|P]`: fix it, or name the format"
        )
    source, target = _from_zero(int(fields[1]), int(fields[2]), base)
    return _LinkRow(int(fields[0]), source, target, mark == "P")


def _from_object(text: str, base: int, *, gold: bool) -> SentencePair:
    """Read a line of JSON: ``{"id": 3, "src": ["a"], "tgt": ["b"], "sure": [[0, 0]], "possible": []}``.

    1. A row of `isoglot analyse alignments` has both gold links (``sure``) and links that were found (``links``). In a
       row with only one of these keys, that key is read in either case.
    2. ``possible`` gold links are read too, unless links that were found are asked for and there are ``links``.
    3. Words are kept if both sides have a list of words; then no link may be outside of them.
    """
    row = parse_object(text)
    name_of_links = "sure" if "sure" in row and (gold or "links" not in row) else "links"  # 1
    try:
        links = [(_number(i), _number(j)) for i, j in row.get(name_of_links, [])]
        possible = [(_number(i), _number(j)) for i, j in row.get("possible", [])]
    except (ValueError, TypeError) as error:
        raise InputError(
            f'not of the form {{"sure": [[0, 0]], "possible": []}} or {{"links": [[0, 0]]}}: {error}'
        ) from error
    if not {"sure", "links"} & set(row):
        raise InputError(f"column 'sure' or 'links' is needed, found only {sorted(row)}")
    if not gold and "links" in row:
        possible = []  # 2
    marked = [(_from_zero(*link, base), False) for link in links]
    marked += [(_from_zero(*link, base), True) for link in possible]
    pair = _linked(marked, gold=gold, id=row_id(row), more=row)
    source = row.get("src", row.get("source_words"))
    target = row.get("tgt", row.get("target_words"))
    if not (isinstance(source, list) and isinstance(target, list)):  # 3
        return pair
    if not all(isinstance(word, str) for word in (*source, *target)):
        raise InputError("a word is not a string; put it in quotes")
    if outside := link_outside(pair.links, len(source), len(target)):
        raise InputError(
            f"link {outside[0] + base}-{outside[1] + base} of {len(source)} and {len(target)} words, counted from "
            f"{base}; correct the line, or give the base that the file counts from"
        )
    pair.words = source, target
    return pair


def _number(value: Any) -> int:
    """Check the number of a word in JSON; Python would take ``true`` for 1."""
    if isinstance(value, bool):
        raise TypeError(f"{str(value).lower()} is not a number")
    return index(value)


def _from_zero(source: int, target: int, base: int) -> Link:
    """Turn a link whose words count from ``base`` into one whose words count from 0."""
    if source < base or target < base:
        raise InputError(
            f"link {source}-{target} is too low, words count from {base}; "
            + ("does the file count from 0?" if min(source, target) == 0 else "correct it")
        )
    return source - base, target - base
