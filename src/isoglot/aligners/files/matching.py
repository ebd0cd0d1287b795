"""Which sentence of a file of links is which of the gold links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import starmap, zip_longest
from typing import NoReturn

from isoglot.aligners.files.formats import LinkedSentence, LinkReader
from isoglot.aligners.scoring import GoldAlignment
from isoglot.errors import InputError

Pairs = Iterator[tuple[LinkedSentence, LinkedSentence]]
_EMPTY = LinkedSentence(GoldAlignment(frozenset()))
_MOST_NAMED = 3


def matched(found: LinkReader, gold: LinkReader) -> Pairs:
    """The sentences of a file of links, each with its gold links.

    JSON lines match by their ids where both files have them, everything else by its place; a file has ids on all lines
    or on none. As long as the ids agree line by line, one pair is held in memory; from the first that do not, the text
    of both files is. Ids that only number the lines of ``found``, as `isoglot align` writes them, do not count where
    those of the gold links differ.

    Raises:
        InputError: A file has more sentences, ids on some lines alone, or an id that the other lacks or that stands
            twice.
    """
    if found.name == gold.name == "jsonl":
        return _by_id(found, gold)
    ours = found.sentences(first=gold.first if gold.rows else 1)
    return _by_place(found, ours, gold, gold.sentences())


def _by_place(
    found: LinkReader,
    ours: Iterable[LinkedSentence],
    gold: LinkReader,
    theirs: Iterable[LinkedSentence],
    done: int = 0,
) -> Pairs:
    """Sentences in their order; ``done`` have gone before."""
    ours, theirs = iter(ours), iter(theirs)
    for number, (own, right) in enumerate(zip_longest(ours, theirs), done):
        if (own is None and not found.rows) or (right is None and not gold.rows):
            more = number + 1 + sum(1 for _ in (theirs if own is None else ours))
            counts = (number, more) if own is None else (more, number)
            raise InputError(
                f"{counts[0]} sentences, {gold.path} has {counts[1]}; one without links is an empty line",
                path=found.path,
            )
        yield own or _EMPTY, right or _EMPTY


def _by_id(found: LinkReader, gold: LinkReader) -> Pairs:
    ours, theirs = found.lines(), gold.lines()
    numbered, number = _IdOrder(), 0
    for number, (own, right) in enumerate(zip_longest(ours, theirs)):
        if own is None or right is None:
            break
        pair = found.parse(*own), gold.parse(*right)
        if number == 0 and None in (pair[0].id, pair[1].id):
            yield pair
            rests = _rest(found, pair[0], ours), _rest(gold, pair[1], theirs)
            yield from _by_place(found, rests[0], gold, rests[1], done=1)
            return
        if pair[0].id != pair[1].id:
            break
        numbered.add(pair[0].id)
        yield pair
    else:
        return
    rest, wanted = [line for line in (own, *ours) if line], [line for line in (right, *theirs) if line]
    names, places = [found.parse(*line).id for line in rest], [gold.parse(*line).id for line in wanted]
    if set(names) == set(places) and len(set(names)) == len(names) == len(places) and None not in names:
        line_of = dict(zip(places, wanted, strict=True))
        for name, line in zip(names, rest, strict=True):
            yield found.parse(*line), gold.parse(*line_of[name])
    elif numbered.add(*names):
        yield from _by_place(
            found, starmap(found.parse, rest), gold, starmap(gold.parse, wanted), done=number
        )
    else:
        named = [
            list(zip(ids, (line for line, _ in lines), strict=True))
            for ids, lines in ((names, rest), (places, wanted))
        ]
        _refuse(found, gold, *named)


def _rest(
    file: LinkReader, first: LinkedSentence, lines: Iterable[tuple[int, str]]
) -> Iterator[LinkedSentence]:
    """The sentences after the first; refused is one with an id after a first one without."""
    for own in starmap(file.parse, lines):
        if first.id is None and own.id is not None:
            raise InputError(
                f"has an id, and line {first.line} has none; give every sentence its own, or none",
                path=file.path,
                line=own.line,
            )
        yield own


class _IdOrder:
    """Whether ids are 0, 1, 2 … or 1, 2, 3 … in this order."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._so_far = True

    def add(self, *names: str | None) -> bool:
        """Whether the ids up to the last of these are."""
        for name in names:
            if self._next is None:
                self._next = int(name == "1")
            self._so_far = self._so_far and name == str(self._next)
            self._next += 1
        return self._so_far


def _refuse(
    found: LinkReader,
    gold: LinkReader,
    ids: list[tuple[str | None, int]],
    wanted: list[tuple[str | None, int]],
) -> NoReturn:
    """Say which ids do not match; they come with their lines."""
    for file, own in ((found, ids), (gold, wanted)):
        seen: dict[str, int] = {}
        for name, line in own:
            if name is None:
                raise InputError("has no id, and other lines have one; add it", path=file.path, line=line)
            if name in seen:
                raise InputError(
                    f"id {name!r} stands in line {seen[name]} too; correct it", path=file.path, line=line
                )
            seen[name] = line
    ours, theirs = dict(ids), dict(wanted)
    unknown, missing = ([name for name in ours if name not in theirs], [n for n in theirs if n not in ours])
    problems = [
        f"{len(names)} ids {what} ({', '.join(map(repr, names[:_MOST_NAMED]))}{', …' * (len(names) > _MOST_NAMED)})"
        for names, what in (
            (missing, f"of {gold.path} are missing"),
            (unknown, "are none of its or stand twice"),
        )
        if names
    ]
    raise InputError(f"{'; '.join(problems)}; score the links of the same sentences", path=found.path)
