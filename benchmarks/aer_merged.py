"""Alignment error rate of an aligner that is merged of models of parts of a text, beside one trained on the whole.

    ISOGLOT_DATA=... python benchmarks/aer_merged.py [--set de-en] [--parts 4] [--limit 5000]

The text is that of ``aer_statistical.py``: the gold text, then the parallel text; parts are cut one after the other, so
that the first one has all of the gold text. Nothing is drawn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from aer_statistical import SETS, WORD, GoldSet, aer, load
from isoglot import StatisticalAligner, merge


def measured(aligner: StatisticalAligner, own: GoldSet) -> float:
    """The rate of the links of the gold text."""
    size = len(own.gold)
    return aer(aligner.tables(own.source[:size], own.target[:size]).links, own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS, default="de-en")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--limit", type=int, help="parallel pairs at most")
    parser.add_argument("--methods", nargs="+", default=["fast_align", "hmm"])
    options = parser.parse_args()
    own = load(Path(os.environ["ISOGLOT_DATA"]), options.set, options.limit, WORD)
    bounds = [len(own.source) * number // options.parts for number in range(options.parts + 1)]
    print(f"{'set':6} {'pairs':>6} {'method':12}{'whole':>8}{'merged':>8}{'first part':>12}{'last part':>11}")
    for method in options.methods:
        rates = [measured(StatisticalAligner(method).fit_words(own.source, own.target), own)]
        with tempfile.TemporaryDirectory() as folder:
            places = [Path(folder) / str(number) for number in range(options.parts)]
            for place, first, last in zip(places, bounds, bounds[1:], strict=False):
                StatisticalAligner(method).fit_words(own.source[first:last], own.target[first:last]).save(
                    place
                )
            rates.append(measured(merge(places), own))
            rates += [measured(StatisticalAligner.load(place), own) for place in (places[0], places[-1])]
        cells = "".join(f"{rate:{width}.2f}" for rate, width in zip(rates, (8, 8, 12, 11), strict=True))
        print(f"{options.set:6} {len(own.source):6} {method:12}{cells}", flush=True)


if __name__ == "__main__":
    main()
