"""Alignment error rate of every statistical method and symmetrisation on seven gold sets.

    ISOGLOT_DATA=... python benchmarks/aer_statistical.py [--sets de-en ro-en] [--limit 5000]

Training text is the gold text and the parallel text of the language pair, in the gold set's direction, lower-cased and
split by a regular expression. Nothing of the gold links is seen. eflomal needs ``eflomal-align`` on the path.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from isoglot.aligners.alignment import LinkTable
from isoglot.aligners.scoring import score
from isoglot.aligners.statistical.eflomal import EflomalAligner
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.options import Symmetriser
from isoglot.aligners.symmetrise import symmetrise_table
from isoglot.formats.sentence_pair import SentencePair

SETS = ("de-en", "en-fr", "ro-en", "en-hi")
UNSEEN = ("en-es.xlwa.test", "en-it.xlwa.test", "en-nl.xlwa.test")
"""Sets on which no default was chosen."""
COLUMNS: tuple[Symmetriser, ...] = (
    "forward",
    "reverse",
    "intersect",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "fast_align": ("fast_align", {}),
    "hmm": ("hmm", {}),
    "hmm, no prefixes": ("hmm", {"prefix_length": 0}),
}
WORD = regex.compile(r"[\w\p{M}]+|[^\w\s]")
CODEPOINT_WORD = regex.compile(r"(?:\w(?<!\p{M}))+|[^\w\s]|\p{M}")


@dataclass(frozen=True)
class GoldSet:
    """Sentences to train on, the first of which have gold links."""

    name: str
    source: list[list[str]]
    target: list[list[str]]
    gold: list[SentencePair]


def load(data: Path, name: str, limit: int | None, word: regex.Pattern[str]) -> GoldSet:
    rows = [json.loads(line) for line in (data / "wordalign" / f"{name}.jsonl").open(encoding="utf-8")]
    source, target = [row["src"] for row in rows], [row["tgt"] for row in rows]
    one, other = name.split(".", maxsplit=1)[0].split("-")
    foreign = other if one == "en" else one
    with gzip.open(data / "parallel" / f"en-{foreign}.tsv.gz", "rt", encoding="utf-8") as file:
        for line, text in enumerate(file):
            if limit is not None and line >= limit:
                break
            english, translation = (word.findall(column) for column in text.split("\t")[:2])
            source.append(english if one == "en" else translation)
            target.append(translation if one == "en" else english)
    source, target = ([[w.lower() for w in words] for words in side] for side in (source, target))
    return GoldSet(name, source, target, [SentencePair.of_gold(row["sure"], row["possible"]) for row in rows])


def aer(links: LinkTable, own: GoldSet) -> float:
    return score(links.alignments()[: len(own.gold)], own.gold).aer


def row(name: str, own: GoldSet) -> tuple[list[float | None], float]:
    started = time.perf_counter()
    agreement = None
    if name.startswith("eflomal"):
        arguments = "--source-prefix=4 --target-prefix=4" if "prefix" in name else ""
        forward, reverse = EflomalAligner(arguments=arguments).directions(own.source, own.target)
    else:
        method, options = METHODS[name]
        aligner = StatisticalAligner(method, symmetrisation="agreement", **options)
        found = aligner.fit_words(own.source, own.target).tables(own.source, own.target)
        forward, reverse, agreement = found.forward, found.reverse, aer(found.links, own)
    taken = time.perf_counter() - started
    return [*(aer(symmetrise_table(forward, reverse, column), own) for column in COLUMNS), agreement], taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS + UNSEEN, default=SETS)
    parser.add_argument("--limit", type=int, help="parallel pairs at most")
    parser.add_argument("--methods", nargs="+", help="a choice of the rows")
    parser.add_argument(
        "--codepoints", action="store_true", help="split words at combining marks, as `re` does"
    )
    options = parser.parse_args()
    data = Path(os.environ["ISOGLOT_DATA"])
    names = [*METHODS, "eflomal", "eflomal, prefix 4"] if shutil.which("eflomal-align") else list(METHODS)
    if len(names) == len(METHODS):
        print("eflomal-align is not on the path: its rows are left out")
    heads = ("fwd", "rev", "inter", "union", "gd", "gdf", "gdfa", "agree")
    print(f"{'set':15} {'pairs':>6} {'method':18}" + "".join(f"{head:>7}" for head in heads) + f"{'s':>8}")
    for name in options.sets:
        own = load(data, name, options.limit, CODEPOINT_WORD if options.codepoints else WORD)
        for method in options.methods or names:
            values, taken = row(method, own)
            cells = "".join("      –" if value is None else f"{value:7.1f}" for value in values)
            print(f"{name:15} {len(own.source):6} {method:18}{cells}{taken:8.1f}", flush=True)


if __name__ == "__main__":
    main()
