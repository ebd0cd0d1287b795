"""Links of a later round: what the last round's aligner and the HMM together find likely.

    python labels.py PAIRS MODEL OUT [LANGUAGE...] [--count 600] [--seed 2]

PAIRS is the folder of pairs.py. Of each language so many pairs are drawn, a quarter of them TICO-19's long sentences
where there are any; a link is kept where 0.8 times the aligner's probability and 0.2 times the HMM's is 0.35 or more.
Some of what is written are several pairs in one, so that long text is learned from languages of short sentences too.
Half of the pairs without spaces are also written by characters.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import kept_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from pairs import UNSPACED, characters, write

HMM, LEAST, LIKELY = 0.2, 0.35, 0.02
LONG, JOINED, WORDS = 25, 0.2, 110
"""Words of a long sentence; share of what is written that is several pairs in one; the most words of such a one."""


def teacher(model: str, dtype: str = "bfloat16") -> EmbeddingAligner:
    """An aligner with its choice of method, and every link that is at all likely."""
    how = {**kept_choice(model), "min_probability": LIKELY, "threshold": 1e-4, "alone": None, "dtype": dtype}
    return EmbeddingAligner(model, options=EmbeddingOptions.build(**how))


def sample(pairs: list[dict[str, Any]], count: int, generator: random.Random) -> list[dict[str, Any]]:
    """Some pairs, long ones a quarter."""
    generator.shuffle(pairs)
    long = [pair for pair in pairs if len(pair["source"]) >= LONG]
    short = [pair for pair in pairs if len(pair["source"]) < LONG]
    long = long[: max(count // 4, count - len(short))]
    chosen = long + short[: count - len(long)]
    generator.shuffle(chosen)
    return chosen


def linked(aligner: EmbeddingAligner, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs with the links that both teachers together find likely."""
    labelled = []
    answers = aligner.align_pairs([(pair["source"], pair["target"]) for pair in pairs])
    for pair, answer in zip(pairs, answers, strict=True):
        likely = {(i, j): HMM * p for i, j, p in pair["likely"]}
        for link, p in zip(answer.links, answer.probabilities, strict=True):
            likely[link] = likely.get(link, 0.0) + (1 - HMM) * p
        links = sorted([int(i), int(j)] for (i, j), p in likely.items() if p >= LEAST)
        labelled.append({"source": pair["source"], "target": pair["target"], "links": links})
    return labelled


def joined(pairs: list[dict[str, Any]], generator: random.Random) -> list[dict[str, Any]]:
    """The pairs, some of them several in one."""
    groups: list[dict[str, Any]] = []
    room = 0
    for pair in pairs:
        last = groups[-1] if room else None
        if last and all(len(last[side]) + len(pair[side]) <= WORDS for side in ("source", "target")):
            first, second = len(last["source"]), len(last["target"])
            last["links"] += [[i + first, j + second] for i, j in pair["links"]]
            last["source"] = [*last["source"], *pair["source"]]
            last["target"] = [*last["target"], *pair["target"]]
            room -= 1
        else:
            groups.append({**pair, "links": list(pair["links"])})
            room = generator.choice((1, 2, 3, 4)) if generator.random() < JOINED else 0
    return groups


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    aligner = teacher(options.model)
    for path in sorted(options.pairs.glob("en-??.jsonl")):
        language, out = path.name[3:5], options.out / path.name
        if (options.languages and language not in options.languages) or out.exists():
            continue
        generator = random.Random(f"{options.seed} {language}")
        with path.open(encoding="utf-8") as file:
            pairs = sample([json.loads(line) for line in file], options.count, generator)
        pairs = linked(aligner, pairs)
        if language in UNSPACED:
            by_character = [characters(pair) for pair in pairs[: options.count // 2]]
            write(out.with_suffix(".characters.jsonl"), joined(by_character, generator))
        groups = joined(pairs, generator)
        write(out, groups)
        print(language, len(pairs), len(groups), sum(len(group["links"]) for group in groups), flush=True)


if __name__ == "__main__":
    main()
