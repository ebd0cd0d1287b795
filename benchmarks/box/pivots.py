"""Pairs without English: translations of the same English sentence, linked by an aligner directly and through English.

    python pivots.py DATA MODEL OUT [--count 3000] [--seed 1]

Two languages are drawn for each pair, and an English sentence that both translate. A link is kept where half of the
direct probability and half of that by way of English (the best product on the way) is 0.35 or more.
"""

import argparse
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from directions import composed, turned
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words
from labels import LEAST, joined, teacher
from pairs import LONGEST, cut, rows, taught, write

Words = list[str]


def triples(
    data: Path, tokenizer: Any, count: int, generator: random.Random
) -> list[tuple[Words, Words, Words]]:
    """A sentence, its English and another translation of this, as words."""
    translations: dict[str, dict[str, str]] = {}
    for language, path in taught(data, []):
        translations[language] = {english: text for english, text in rows(path) if len(english) < 300}
    languages = sorted(translations)
    chosen: list[tuple[Words, Words, Words]] = []
    while len(chosen) < count:
        source, target = generator.sample(languages, 2)
        common = sorted(translations[source].keys() & translations[target].keys())
        for english in generator.sample(common, min(5, len(common))):
            sides = [cut(tokenizer, translations[code][english], code) for code in (source, target)]
            words = (sides[0], split_words(english), sides[1])
            if all(0 < len(side) <= LONGEST for side in words):
                chosen.append(words)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.out.exists():
        return
    generator = random.Random(options.seed)
    aligner = teacher(options.model)
    chosen = triples(options.data, aligner.tokenizer, options.count, generator)

    def links(first: int, second: int) -> list[SentencePair]:
        pairs = aligner.align_pairs([(words[first], words[second]) for words in chosen])
        return list(pairs)

    labelled = []
    for words, direct, one, two in zip(chosen, links(0, 2), links(1, 0), links(1, 2), strict=True):
        likely: dict[tuple[int, int], float] = defaultdict(float)
        for answer in (direct, composed(turned(one), two)):
            for link, p in zip(answer.links, answer.probabilities, strict=True):
                likely[link] += p / 2
        best = sorted([int(i), int(k)] for (i, k), p in likely.items() if p >= LEAST)
        labelled.append({"source": words[0], "target": words[2], "links": best})
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.out, joined(labelled, generator))


if __name__ == "__main__":
    main()
