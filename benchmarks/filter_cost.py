"""What filtering costs: processor seconds per 100,000 pairs at each stage, and a billion pairs in hours and euros.

    OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false python benchmarks/filter_cost.py en-de.tsv.gz --price 0.04

`docs/guides/billion_pairs.md` shows its output. Seconds are CPU time, so other work on the machine matters
little. Loading models and the first 256 pairs are not counted.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import isoglot as iso

RULES = {"duplicates": "pair", "max_length_ratio": 3, "max_copied": 0.6, "numbers": "changed", "mojibake": True,
         "min_letters": 1}  # fmt: skip
STAGES: dict[str, tuple[int, dict[str, Any]]] = {
    "rules": (20_000, {"aligner": None, **RULES}),
    "rules, languages identified": (20_000, {"aligner": None, **RULES, "min_language": 0.8}),
    "rules, word links": (2_000, {"aligner": "box", **RULES}),
    "rules, word links, sentence vectors": (2_000, {"aligner": "box", "model": "box", **RULES}),
}
WARM_UP = 256
BILLION = 1_000_000_000


def seconds(pairs: list[tuple[str, str]], languages: tuple[str, str], options: dict[str, Any]) -> float:
    """Processor seconds of filtering the pairs behind the first ones."""
    texts = iter(pairs)
    list(
        iso.filter_pairs(
            list(itertools.islice(texts, WARM_UP)), languages=languages, progress=False, **options
        )
    )
    rest = list(texts)
    began = time.process_time()
    list(iso.filter_pairs(rest, languages=languages, progress=False, **options))
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="TSV, of which the first two columns are read.")
    parser.add_argument("--languages", default="en,de")
    parser.add_argument("--price", type=float, default=0.04, help="Euros of a virtual CPU for an hour.")
    parser.add_argument("--stage", choices=list(STAGES), nargs="+", default=list(STAGES))
    parser.add_argument(
        "--pairs", type=int, default=0, help="Pairs of each stage; by default as many as it needs."
    )
    given = parser.parse_args()
    from isoglot.formats.line_files import numbered_lines

    source, target = given.languages.split(",")
    print(f"{'stage':38} s per 100,000   hours for 10^9   euros")
    for name in given.stage:
        count, options = STAGES[name]
        lines = itertools.islice(numbered_lines(given.file), (given.pairs or count) + WARM_UP)
        rows = [line.split("\t")[:2] for _, line in lines]
        pairs = [(row[0], row[1]) for row in rows]
        each = seconds(pairs, (source, target), options) / (len(pairs) - WARM_UP)
        hours = each * BILLION / 3600
        print(f"{name:38} {100_000 * each:13,.1f}   {hours:14,.0f}   {hours * given.price:5,.0f}", flush=True)


if __name__ == "__main__":
    main()
