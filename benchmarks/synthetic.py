"""Speed of the miniature world on one core, and what shallow readers reach on each of its tasks.

python benchmarks/synthetic.py                         # speed at 20,000 rows, baselines at 6,000 + 2,000 rows
python benchmarks/synthetic.py --rows 2000 --train 500 --test 200     # a quick look
"""

from __future__ import annotations

import argparse
import json
import time

from isoglot.synthetic.world import World
from shallow_readers import (
    Baseline,
    pair_baselines,
    span_baselines,
    tag_baselines,
    tree_baselines,
)

METHODS = ("text", "treebank", "pos", "ner", "nli", "paws", "qa")


def sentences_of(method: str, rows: int, made: object) -> int:
    """How many sentences a data set has."""
    if method in {"nli", "paws"}:
        return 2 * rows
    if method == "qa":
        return sum(c.count(".") + 1 for c in made["context"])  # type: ignore[index]
    return rows


def speed(world: World, rows: int) -> None:
    print(f"{'task':10} {'first call':>10} {'rows/s':>10} {'sentences/s':>12}   (train split, best of 3)")
    for method in METHODS:
        start = time.perf_counter()
        getattr(world, method)(1)
        first, best, made = time.perf_counter() - start, float("inf"), None
        for _ in range(3):
            start = time.perf_counter()
            made = getattr(world, method)(rows)
            best = min(best, time.perf_counter() - start)
        count = sentences_of(method, rows, made)
        print(f"{method:10} {first:9.2f}s {rows / best:10,.0f} {count / best:12,.0f}")


def baselines(world: World, train: int, test: int) -> list[Baseline]:
    """Every task's shallow readers, fitted on train and scored on test."""
    found = tree_baselines(world.treebank(test, split="test"))
    for task in ("pos", "ner"):
        make = getattr(world, task)
        found += tag_baselines(make(train), make(test, split="test"), task=task)
    for task in ("nli", "paws"):
        make = getattr(world, task)
        found += pair_baselines(make(train), make(test, split="test"), task=task)
    return found + span_baselines(world.qa(train), world.qa(test, split="test"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--train", type=int, default=6000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="baselines as JSON lines")
    options = parser.parse_args()
    start = time.perf_counter()
    world = World(seed=options.seed)
    lexemes = [lexeme for pool in world.lexicon.values() for lexeme in pool]
    words = len({form for lexeme in lexemes for form in lexeme.forms.values()})
    print(
        f"world {options.seed}: {len(lexemes):,} lexemes, {words:,} forms, {time.perf_counter() - start:.2f}s"
    )
    speed(world, options.rows)
    print()
    for row in baselines(world, options.train, options.test):
        if options.json:
            print(json.dumps(vars(row)))
        else:
            print(f"{row.task:10} {row.name:22} {row.metric:12} {row.value:.3f}")


if __name__ == "__main__":
    main()
