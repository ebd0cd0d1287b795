"""Sentence retrieval of an encoder in 33 languages: the accuracy of the nearest sentence by cosine, both ways.

    python box_retrieval.py DATA MODEL [--layer -1] [--count 1000] [--prefix TEXT]

The sentences are those of DATA/parallel that LASER's Tatoeba sets hold out, English and one other, each text once; of a
language COUNT at most.
"""

import argparse
import gzip
import json
from pathlib import Path
from statistics import fmean

from isoglot.tasks.text_vectors import TextEncoder


def held_out(path: Path, count: int) -> tuple[list[str], list[str]]:
    """Both sides of the rows that are flagged, no text twice."""
    pairs: list[tuple[str, str]] = []
    seen: tuple[set[str], set[str]] = (set(), set())
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, other, _, *flags = line.rstrip("\n").split("\t")
            if "laser_tatoeba" in ",".join(flags) and english not in seen[0] and other not in seen[1]:
                seen[0].add(english)
                seen[1].add(other)
                pairs.append((english, other))
    kept = pairs[:count]
    return [one for one, _ in kept], [other for _, other in kept]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("--layer", type=int, default=-1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--prefix", default="")
    parser.add_argument("languages", nargs="*")
    given = parser.parse_intermixed_args()
    encoder = TextEncoder(given.model, layer=given.layer)
    found = {}
    for path in sorted((given.data / "parallel").glob("en-??.tsv.gz")):
        if given.languages and path.name[3:5] not in given.languages:
            continue
        one, other = (
            encoder.encode([given.prefix + text for text in side], normalise=True)
            for side in held_out(path, given.count)
        )
        alike = one @ other.T
        truth = range(len(one))
        both = [float((alike.argmax(axis) == truth).mean()) for axis in (0, 1)]
        found[path.name[3:5]] = round(100 * fmean(both), 1)
        print(path.name[3:5], len(one), found[path.name[3:5]], flush=True)
    print("mean", round(fmean(found.values()), 2), json.dumps(found))


if __name__ == "__main__":
    main()
