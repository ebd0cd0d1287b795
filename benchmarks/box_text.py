"""Running text of the pairs that the packaged aligner learns from: what its sentence vectors are taught on.

    python box_text.py DATA OUT [--count 3000] [--seed 1]

OUT/en-XX.tsv holds so many pairs of a language at most, English first: Tatoeba and TICO-19 as in box_pairs.py, without
what is held out for LASER's Tatoeba sets, FLORES or NTREX.
"""

import argparse
import random
from pathlib import Path

from box_pairs import rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for path in sorted((given.data / "parallel").glob("en-*.tsv.gz")):
        language = path.name[3:5]
        pairs = list(rows(path))
        random.Random(f"{given.seed} {language}").shuffle(pairs)
        lines = ["\t".join(side.replace("\t", " ") for side in pair) for pair in pairs[: given.count]]
        (out := given.out / f"en-{language}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(out.name, len(lines), flush=True)


if __name__ == "__main__":
    main()
