"""The word links of units, from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from isoglot.aligners.alignment import PairLinks
from isoglot.aligners.files.formats import LinkReader
from isoglot.errors import ConfigurationError, InputError
from isoglot.projection.options import ReadyLinks
from isoglot.projection.units import Unit
from isoglot.runs.records import parse_object


def ready_links(given: ReadyLinks) -> Iterator[tuple[int | None, PairLinks]]:
    """Line and links of each pair of a file."""
    reader = LinkReader(given.links_file, predicted=True)
    if reader.name != "jsonl":
        if given.min_probability:
            raise ConfigurationError(
                f"--min-probability: {given.links_file} has no probabilities; `isoglot align --format jsonl` has"
            )
        for own in reader.sentences():
            yield own.line, PairLinks(sorted(own.gold.possible), [], 1.0)
        return
    for line, text in reader.lines():
        own, row = reader.parse(line, text), parse_object(text)
        values = row.get("probabilities") or row.get("similarities")
        links = row.get("links", []) if values else own.gold.possible
        if given.min_probability and links and not values:
            raise InputError("has no probabilities, which --min-probability needs; leave it out",
                             path=given.links_file, line=line)  # fmt: skip
        values = values or [1.0] * len(links)
        if len(links) != len(values) or not all(isinstance(value, int | float) for value in values):
            raise InputError(
                f"{len(links)} links but {len(values)} probabilities; one number per link is needed",
                path=given.links_file,
                line=line,
            )
        kept = sorted(
            ((i, j), p) for (i, j), p in zip(links, values, strict=True) if p >= given.min_probability
        )
        yield line, PairLinks([link for link, _ in kept], [p for _, p in kept], 1.0)


def linked(
    units: Iterable[Unit], links: Iterator[tuple[int | None, PairLinks]], *, whole: Path | None
) -> Iterator[tuple[Unit, PairLinks]]:
    """The units with their links, whose word numbers are those of the whole unit.

    ``whole``: The file of links, where it has one sentence for each unit and not for each of its parts.
    """
    number = 0
    for number, unit in enumerate(units, 1):
        size = (len(unit.source), len(unit.target))
        parts = unit.parts() if whole is None else [((0, size[0]), (0, size[1]))]
        found: list[tuple[tuple[int, int], float]] = []
        for (a, b), (c, d) in parts:
            line, own = next(links, (None, None))
            if own is None:
                raise InputError(f"ends before sentence {number:,}; one line for each is needed", path=whole)
            wrong = [(i, j) for i, j in own.links if i >= b - a or j >= d - c]
            if wrong:
                raise InputError(
                    f"link {wrong[0][0]}-{wrong[0][1]} of {b - a} and {d - c} words; use links that count the "
                    "words of this text (--words)",
                    path=whole,
                    line=line,
                )
            weights = own.probabilities or [1.0] * len(own.links)
            found += [((i + a, j + c), p) for (i, j), p in zip(own.links, weights, strict=True)]
        yield unit, PairLinks([link for link, _ in found], [p for _, p in found], 1.0)
    if whole is not None and next(links, None) is not None:
        raise InputError(
            f"has more lines than the text has sentences ({number:,}); use links of this text", path=whole
        )
