"""Word links in files: Pharaoh, alignv2, NAACL, TALP and JSON lines, read; ``output`` writes them.

| format | a line | counts from | marks |
|---|---|---|---|
| ``pharaoh`` | a sentence: ``0-0 1-2`` | 0 | ``1p2`` and ``1?2`` are possible |
| ``talp`` | a sentence: ``1-1 2p3`` | 1 | ``-`` sure, ``p`` possible |
| ``alignv2`` | a link: ``sentence source target [S|P]`` | 1 | no mark is sure |
| ``naacl`` | a link: ``0001 source target [S|P] [confidence]`` | 1 | no mark is sure |
| ``jsonl`` | a sentence: ``{"id", "src", "tgt", "sure", "possible"}`` or ``{"links", "probabilities"}`` | 0 | |

In memory links always count from 0, and a sentence is a :class:`GoldAlignment`, whose possible links hold the sure
ones. ``base`` overrides where a file counts from; ``reverse`` exchanges its sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import Any

from isoglot.align.alignment import link_items
from isoglot.align.scoring import GoldAlignment
from isoglot.checks import is_number
from isoglot.corpus.encode.words import split_words
from isoglot.corpus.read.line_files import each, numbered_lines
from isoglot.corpus.read.sources import bare_suffix
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.records import parse_object

FORMATS: dict[str, int] = {"pharaoh": 0, "talp": 1, "alignv2": 1, "naacl": 1, "jsonl": 0}
"""Format to the number its words count from."""

_SUFFIXES = {".jsonl": "jsonl", ".talp": "talp", ".alignv2": "alignv2", ".wa": "naacl"}
Link = tuple[int, int]
_MOST_EMPTY = 10_000
"""Sentences without a link for each one with links, before a number counts as a slip."""


@dataclass(frozen=True, slots=True)
class LinkFile:
    """What a file of links holds."""

    gold: list[GoldAlignment]  # one a sentence, in the file's order
    ids: list[str] | None = None  # the sentences' names where the format has them, else None
    # source and target words where the format has them, else None
    words: list[tuple[list[str], list[str]]] | None = None
    # a line is a link, so that sentences without one are not named (``alignv2``, ``naacl``)
    rows: bool = False

    def up_to(self, sentences: int) -> LinkFile:
        """The same, with so many sentences: those after the last that has a link have none."""
        more = sentences - len(self.gold)
        if not self.rows or self.ids is None or more <= 0:
            return self
        first = int(self.ids[-1]) + 1 if self.ids else 1
        ids = [*self.ids, *(str(first + n) for n in range(more))]
        return replace(self, gold=[*self.gold, *[GoldAlignment(frozenset())] * more], ids=ids)


def read_links(
    path: str | Path,
    *,
    name: str | None = None,
    base: int | None = None,
    reverse: bool = False,
    sentences: int | None = None,
    like: LinkFile | None = None,
) -> LinkFile:
    """Read links of any format; ``-`` is standard input.

    Args:
        path: the file, possibly packed.
        name: the format; by default told from the file's name and first line.
        base: what the first word is counted as, 0 or 1; by default the format's own.
        reverse: the file has the target side first.
        sentences: for ``alignv2`` and ``naacl``: how many sentences there are, so that those without links keep
            their place; by default up to the last one that has any.
        like: the gold links of what was found. Of ``jsonl`` the column ``links`` is read, though ``sure`` may stand
            beside it; sentences of ``alignv2`` and ``naacl`` count from the same number if it is of such a format.
            Without it they count from 1, from 0 if one has that number.
    """
    lines = list(numbered_lines(path))
    name = name or _guess(str(path), lines)
    if name not in FORMATS:
        raise ConfigurationError(f"link format {name!r} given; there are {', '.join(FORMATS)}")
    start = FORMATS[name] if base is None else base
    if name == "jsonl":
        found = _from_jsonl(str(path), lines, start, predicted=like is not None)
    elif name in ("alignv2", "naacl"):
        first = int(like.ids[0]) if like is not None and like.rows and like.ids else 1
        found = _from_rows(str(path), lines, start, first, sentences or 0)
    else:
        found = LinkFile(each(lambda text: _from_items(text, start), lines, path))
    if not reverse:
        return found
    words = None if found.words is None else [(t, s) for s, t in found.words]
    return replace(found, gold=[g.transpose() for g in found.gold], words=words)


def _guess(path: str, lines: list[tuple[int, str]]) -> str:
    if told := _SUFFIXES.get(bare_suffix(path)):
        return told
    first = next((text.strip() for _, text in lines if text.strip()), "")
    if first.startswith("{"):
        return "jsonl"
    fields = split_words(first, mode="whitespace")
    return "naacl" if len(fields) in (3, 4, 5) and all(map(is_number, fields[:3])) else "pharaoh"


def _from_items(text: str, start: int) -> GoldAlignment:
    wanted = "two word numbers such as 3-4 (3p4 for a possible one)"
    items = [
        (_shifted(source, target, start), mark == "-") for source, mark, target in link_items(text, wanted)
    ]
    return GoldAlignment.of((link for link, sure in items if sure), (link for link, _ in items))


def _from_rows(path: str, lines: list[tuple[int, str]], start: int, first: int, sentences: int) -> LinkFile:
    """The links of all sentences from number ``first``; those without any are not in the file, but they count."""

    def parse(text: str) -> tuple[int, bool, Link]:
        fields = split_words(text, mode="whitespace")
        kind = fields[3].upper() if len(fields) > 3 else "S"
        if len(fields) not in (3, 4, 5) or not all(map(is_number, fields[:3])) or kind not in ("S", "P"):
            raise InputError(
                f"{text.strip()[:60]!r} given, but a line is `sentence source target [S|P]`; name the format, or fix it"
            )
        return int(fields[0]), kind == "P", _shifted(int(fields[1]), int(fields[2]), start)

    found: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, possible, link in each(parse, ((n, text) for n, text in lines if text.strip()), path):
        found.setdefault(number, (set(), set()))[possible].add(link)
    first = min([first, *found])
    last = max([first + sentences - 1, *found])
    if last - first > _MOST_EMPTY * (len(found) + 1):
        raise InputError(
            f"sentence {last} given, but only {len(found)} sentences have links; correct its number",
            path=path,
        )
    numbers = range(first, last + 1)
    gold = [GoldAlignment.of(*found.get(number, ((), ()))) for number in numbers]
    return LinkFile(gold, list(map(str, numbers)), rows=True)


def _from_jsonl(path: str, lines: list[tuple[int, str]], start: int, *, predicted: bool) -> LinkFile:
    def parse(text: str) -> tuple[GoldAlignment, Any, tuple[list[str], list[str]] | None]:
        if not text.strip():
            raise InputError("an empty line given, but each line is a JSON object; remove it")
        row = parse_object(text)
        # A file of `isoglot analyse alignments` has the gold links beside those that were found.
        if predicted and "links" in row:
            row = {name: value for name, value in row.items() if name not in ("sure", "possible")}
        try:
            sure = [(index(i), index(j)) for i, j in row.get("sure", row.get("links", []))]
            possible = [(index(i), index(j)) for i, j in row.get("possible", [])]
        except (ValueError, TypeError) as error:
            raise InputError(
                f'not of the form {{"sure": [[0, 0]], "possible": []}} or {{"links": [[0, 0]]}}: {error}'
            ) from error
        if not {"sure", "links"} & set(row):
            raise InputError(f"columns {sorted(row)} given, but 'sure' or 'links' is needed")
        gold = GoldAlignment.of(*([_shifted(i, j, start) for i, j in part] for part in (sure, possible)))
        source, target = (
            row.get(a, row.get(b)) for a, b in (("src", "source_words"), ("tgt", "target_words"))
        )
        if not (isinstance(source, list) and isinstance(target, list)):
            return gold, row.get("id"), None
        if not all(isinstance(word, str) for word in (*source, *target)):
            raise InputError("a word is not a string; put it in quotes")
        for i, j in gold.possible:
            if i >= len(source) or j >= len(target):
                raise InputError(
                    f"link {i + start}-{j + start} of {len(source)} and {len(target)} words, counted from {start}; "
                    "correct the line, or give the base that the file counts from"
                )
        return gold, row.get("id"), (source, target)

    found = each(parse, lines, path)
    words = [pair for _, _, pair in found if pair is not None]
    ids = [str(line if name is None else name) for line, (_, name, _) in enumerate(found, 1)]
    return LinkFile([gold for gold, _, _ in found], ids, words if len(words) == len(found) else None)


def _shifted(source: int, target: int, start: int) -> Link:
    if source < start or target < start:
        raise InputError(
            f"link {source}-{target} given, but words are counted from {start}; is it --base {min(source, target)}?"
        )
    return source - start, target - start
