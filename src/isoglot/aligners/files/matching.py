"""Which sentence of a file of links is which of the gold links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
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
    counts_from, number = [0, 1], 0  # what ids that only number the lines may count from
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
        counts_from = [first for first in counts_from if pair[0].id == str(first + number)]
        yield pair
    else:
        return
    rest, wanted = [line for line in (own, *ours) if line], [line for line in (right, *theirs) if line]
    names, places = [found.parse(*line).id for line in rest], [gold.parse(*line).id for line in wanted]
    if set(names) == set(places) and len(set(names)) == len(names) == len(places) and None not in names:
        line_of = dict(zip(places, wanted, strict=True))
        for name, line in zip(names, rest, strict=True):
            yield found.parse(*line), gold.parse(*line_of[name])
    elif any(names == [str(first + number + n) for n in range(len(names))] for first in counts_from):
        yield from _by_place(
            found, starmap(found.parse, rest), gold, starmap(gold.parse, wanted), done=number
        )
    else:
        _refuse(found, names, rest)
        _refuse(gold, places, wanted)
        _refuse_others(found, dict.fromkeys(names), gold, dict.fromkeys(places))


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


def _refuse(file: LinkReader, names: list[str | None], lines: list[tuple[int, str]]) -> None:
    """Refuse lines without an id, or with that of an earlier one."""
    seen: dict[str, int] = {}
    for name, (line, _) in zip(names, lines, strict=True):
        if name is None:
            raise InputError("has no id, and other lines have one; add it", path=file.path, line=line)
        if seen.setdefault(name, line) != line:
            raise InputError(
                f"id {name!r} stands in line {seen[name]} too; correct it", path=file.path, line=line
            )


def _refuse_others(
    found: LinkReader, ours: Collection[str | None], gold: LinkReader, theirs: Collection[str | None]
) -> NoReturn:
    """Say which ids do not match."""
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
