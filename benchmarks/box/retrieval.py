"""Sentence retrieval of encoders by language: the accuracy of the nearest sentence by cosine, mean of both directions.

    python retrieval.py DATA MODEL... [--count 1000] [--dtype bfloat16] [--languages XX...]

The sentences are those of DATA/parallel that LASER's Tatoeba sets hold out, English and its translation, each text
once; of a language COUNT at most.
"""

import argparse
import gzip
from pathlib import Path
from statistics import fmean

from isoglot.tasks.text_vectors import TextEncoder


def held_out(path: Path, count: int) -> tuple[list[str], list[str]]:
    """Both sides of the rows that are flagged, no text twice."""
    pairs: list[tuple[str, str]] = []
    seen: set[str] = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, translation, _, *flags = line.rstrip("\n").split("\t")
            if "laser_tatoeba" in ",".join(flags) and not {english, translation} & seen:
                seen |= {english, translation}
                pairs.append((english, translation))
    return [english for english, _ in pairs[:count]], [translation for _, translation in pairs[:count]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--languages", nargs="*", default=[])
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    encoders = [TextEncoder(model, layer=-1, dtype=options.dtype) for model in options.models]
    print("language | sentences |", " | ".join(options.models))
    figures = []
    for path in sorted((options.data / "parallel").glob("en-??.tsv.gz")):
        sides = held_out(path, options.count)
        if (options.languages and path.name[3:5] not in options.languages) or len(sides[0]) < 50:
            continue
        row = []
        for encoder in encoders:
            english, translation = (encoder.encode(side, normalise=True) for side in sides)
            alike, truth = english @ translation.T, range(len(english))
            row.append(100 * fmean(float((alike.argmax(axis) == truth).mean()) for axis in (0, 1)))
        figures.append(row)
        print(path.name[3:5], "|", len(sides[0]), "|", " | ".join(f"{x:.1f}" for x in row), flush=True)
    print("mean | |", " | ".join(f"{fmean(column):.2f}" for column in zip(*figures, strict=True)))


if __name__ == "__main__":
    main()
