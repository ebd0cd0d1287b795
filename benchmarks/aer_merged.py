"""Alignment error rate of models that are merged of parts of a text, beside one that is trained on the whole.

    ISOGLOT_DATA=... python benchmarks/aer_merged.py [--set de-en] [--parts 4] [--limit 5000]

The text is that of ``aer_statistical.py``: the gold text, then the parallel text; parts are cut one after the other, so
that the first one has all of the gold text. *merged*: parts are trained with the defaults and merged. *rounds*: the
parts are trained again, each beginning with the merged model, and merged again, one update a round; of fast_align from
the first, as many as the joint model makes; of hmm three more. Nothing is drawn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from aer_statistical import SETS, WORD, GoldSet, aer, load
from isoglot import StatisticalAligner, merge

Text = tuple[list[list[str]], list[list[str]]]
ONE_UPDATE = {"fast_align": 2, "hmm": 1}  # iterations; the last one of fast_align only aligns
WIDTHS = (8, 8, 8, 12, 11)


def measured(aligner: StatisticalAligner, own: GoldSet) -> float:
    """The rate of the links of the gold text."""
    size = len(own.gold)
    return aer(aligner.tables(own.source[:size], own.target[:size]).links, own)


def trained(
    method: str, parts: Sequence[Text], folder: Path, start: StatisticalAligner | None = None, **options: Any
) -> list[Path]:
    """Models of the parts, each saved before the next one is trained."""
    places = [folder / str(number) for number in range(len(parts))]
    for place, part in zip(places, parts, strict=True):
        StatisticalAligner(method, **options).fit_words(*part, start=start).save(place)
    return places


def rates(method: str, own: GoldSet, count: int, folder: Path) -> Iterator[float]:
    """Of the whole, of the merged parts, after further rounds, of the first part alone and of the last part alone."""
    yield measured(StatisticalAligner(method).fit_words(own.source, own.target), own)
    bounds = [len(own.source) * number // count for number in range(count + 1)]
    parts = [(own.source[first:last], own.target[first:last]) for first, last in pairwise(bounds)]
    places = trained(method, parts, folder)
    first, last = (measured(StatisticalAligner.load(place), own) for place in (places[0], places[-1]))
    merged = merge(places)
    yield measured(merged, own)
    if method == "fast_align":
        merged = merge(trained(method, parts, folder, iterations=ONE_UPDATE[method]))
    for _ in range(3):
        merged = merge(trained(method, parts, folder, merged, iterations=ONE_UPDATE[method]))
    yield from (measured(merged, own), first, last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS, default="de-en")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--limit", type=int, help="parallel pairs at most")
    parser.add_argument("--methods", nargs="+", default=list(ONE_UPDATE))
    options = parser.parse_args()
    own = load(Path(os.environ["ISOGLOT_DATA"]), options.set, options.limit, WORD)
    heads = zip(("whole", "merged", "rounds", "first part", "last part"), WIDTHS, strict=True)
    print(f"{'set':6} {'pairs':>6} {'method':12}" + "".join(f"{head:>{width}}" for head, width in heads))
    for method in options.methods:
        with tempfile.TemporaryDirectory() as folder:
            found = rates(method, own, options.parts, Path(folder))
            cells = "".join(f"{rate:{width}.2f}" for rate, width in zip(found, WIDTHS, strict=True))
        print(f"{options.set:6} {len(own.source):6} {method:12}{cells}", flush=True)


if __name__ == "__main__":
    main()
