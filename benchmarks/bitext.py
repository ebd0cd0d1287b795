"""The benchmarks' sentence pairs: real ones where ISOGLOT_DATA is set, generated ones elsewhere."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path


def read_pairs(count: int) -> Iterator[tuple[str, str]]:
    """Real pairs, or where ISOGLOT_DATA is not set, generated ones of like lengths."""
    if "ISOGLOT_DATA" in os.environ:
        path = Path(os.environ["ISOGLOT_DATA"]) / "parallel" / "en-de.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t")[:2] for line in lines]
        random.Random(1).shuffle(rows)
        yield from ((row[0], row[1]) for row in rows[:count] if row[0] and row[1])
        return
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghijklmnop", k=generator.randint(2, 9))) for _ in range(8_000)]
    for _ in range(count):
        sides = (" ".join(generator.choices(words, k=generator.randint(4, 40))) for _ in range(2))
        yield next(sides), next(sides)
