"""Links of a later round: what the last round's aligner and the HMM together find likely.

    python box_relabel.py PAIRS MODELS OUT [--count 600] [--seed 2]

PAIRS is the folder of box_pairs.py. Of each language so many pairs are drawn, a quarter of them TICO-19's long
sentences where there are any; a link is kept where 0.8 times the aligner's probability and 0.2 times the HMM's is 0.3
or more. A quarter of what is written are two to four pairs in one, so that long text is learned from languages of
short sentences too. Half of the Chinese and Japanese pairs are also written by characters.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

from box_pairs import UNSPACED, characters, write
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions

HMM = 0.2
LONG, JOINED, WORDS = 25, 0.3, 110
"""Words of a long sentence; share of what is written that is several pairs in one; the most words of such a one."""


def drawn(pairs: list[dict[str, Any]], count: int, generator: random.Random) -> list[dict[str, Any]]:
    """Some pairs, long ones a quarter."""
    generator.shuffle(pairs)
    long = [pair for pair in pairs if len(pair["source"]) >= LONG][: count // 4]
    short = [pair for pair in pairs if len(pair["source"]) < LONG][: count - len(long)]
    found = long + short
    generator.shuffle(found)
    return found


def linked(
    aligners: list[EmbeddingAligner], pairs: list[dict[str, Any]], least: float
) -> list[dict[str, Any]]:
    """The pairs with the links that all teachers together find likely."""
    found = []
    words = [(pair["source"], pair["target"]) for pair in pairs]
    for pair, *answers in zip(pairs, *(aligner.align_pairs(words) for aligner in aligners), strict=True):
        likely = {(i, j): HMM * p for i, j, p in pair["likely"]}
        for links in answers:
            for link, p in zip(links.links, links.probabilities, strict=True):
                likely[link] = likely.get(link, 0.0) + (1 - HMM) * p / len(answers)
        kept = sorted(link for link, p in likely.items() if p >= least)
        found.append(
            {"source": pair["source"], "target": pair["target"], "links": [[int(i), int(j)] for i, j in kept]}
        )
    return found


def joined(pairs: list[dict[str, Any]], generator: random.Random) -> list[dict[str, Any]]:
    """The pairs, some of them several in one."""
    found: list[dict[str, Any]] = []
    left = list(pairs)
    while left:
        several = generator.choice((2, 3, 4, 5)) if generator.random() < JOINED else 1
        one: dict[str, list[Any]] = {"source": [], "target": [], "links": []}
        while left and several:
            pair, several = left.pop(), several - 1
            if one["source"] and max(len(one[s]) + len(pair[s]) for s in ("source", "target")) > WORDS:
                left.append(pair)
                break
            first, second = len(one["source"]), len(one["target"])
            one["links"] += [[i + first, j + second] for i, j in pair["links"]]
            one["source"] += pair["source"]
            one["target"] += pair["target"]
        found.append(one)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("models", help="one aligner's folder, or several with commas: their mean")
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--layer", type=int, default=8)
    parser.add_argument("--least", type=float, default=0.3, help="the least probability of a link")
    parser.add_argument(
        "--adjacent", type=float, default=0.0, help="links of neighbouring words support each other"
    )
    parser.add_argument("languages", nargs="*")
    given = parser.parse_intermixed_args()
    given.out.mkdir(parents=True, exist_ok=True)
    options = EmbeddingOptions.build(
        method="softmax", compare="cosine", temperature=0.05, threshold=1e-4, min_probability=0.02,
        word_weights=True, adjacent=given.adjacent, layer=given.layer, dtype="bfloat16",
    )  # fmt: skip
    aligners = [EmbeddingAligner(model, options=options) for model in given.models.split(",")]
    for path in sorted(given.pairs.glob("en-??.jsonl")):
        language = path.name[3:5]
        if (given.languages and language not in given.languages) or (given.out / path.name).exists():
            continue
        generator = random.Random(f"{given.seed} {language}")
        with path.open(encoding="utf-8") as file:
            pairs = drawn([json.loads(line) for line in file], given.count, generator)
        pairs = linked(aligners, pairs, given.least)
        if language in UNSPACED:
            cut = [characters(pair) for pair in pairs[: given.count // 2]]
            write(given.out / f"en-{language}.characters.jsonl", joined(cut, generator))
        written = joined(pairs, generator)
        write(given.out / path.name, written)
        print(language, len(pairs), len(written), sum(len(pair["links"]) for pair in written), flush=True)


if __name__ == "__main__":
    main()
