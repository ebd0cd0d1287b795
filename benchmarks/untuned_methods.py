"""Methods with an encoder that was not tuned: alignment error of each, and how many links of each value are right.

    python benchmarks/untuned_methods.py ENCODER GOLD... [--pairs N]

Each method with the options that `isoglot align -m METHOD --model ENCODER` takes for it, layer 8; `softmax` with those
of awesome-align too. The first table has the error by set and its mean (%). The second has, of the links of all sets
together whose value lies between two bounds, the share that is in the gold links (%), with their number: for a
probability it lies between the same bounds.
"""

import argparse
from bisect import bisect
from pathlib import Path
from statistics import fmean

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import untuned
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.scoring import score
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair

WAYS = {
    **{name: {"method": name} for name in ("argmax", "itermax", "match", "forward", "backward")},
    "softmax": {"method": "softmax"},
    "softmax, dot": {"method": "softmax", "compare": "dot"},
    "entmax": {"method": "entmax"},
}
BOUNDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
WINDOW = 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder")
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=200, help="of each set, from its beginning")
    given = parser.parse_args()
    base = EmbeddingAligner(given.encoder, options=EmbeddingOptions.build(dtype="float32"))
    aligners = {
        name: base.with_options(EmbeddingOptions.build(dtype="float32", **untuned(way)))
        for name, way in WAYS.items()
    }
    errors: dict[str, list[float]] = {name: [] for name in WAYS}
    right = {name: [0] * (len(BOUNDS) + 1) for name in WAYS}
    counts = {name: [0] * (len(BOUNDS) + 1) for name in WAYS}
    for path in given.gold:
        pairs = gold_pairs(path)[: given.pairs]
        found: dict[str, list[Alignment]] = {name: [] for name in WAYS}
        for start in range(0, len(pairs), WINDOW):
            words = [pair.words for pair in pairs[start : start + WINDOW]]
            encoded = base.encode(words, (base.layer,), first=start)
            for name, aligner in aligners.items():
                table = aligner.extract(*encoded)[base.layer]
                linked = aligner.with_links([SentencePair(words=pair) for pair in words], table, encoded[1])
                for own, gold in zip(linked, pairs[start:], strict=False):
                    found[name].append(Alignment(frozenset(own.links)))
                    for link, value in zip(own.links, own.probabilities, strict=True):
                        place = bisect(BOUNDS, value)
                        counts[name][place] += 1
                        right[name][place] += link in gold.possible
        for name, links in found.items():
            errors[name].append(score(links, pairs).aer)
    print(f"layer {base.layer}", *(path.name.removesuffix(".jsonl") for path in given.gold), "mean", sep="\t")
    for name, values in errors.items():
        print(name, *(f"{value:.1f}" for value in (*values, fmean(values))), sep="\t")
    print("\nvalue", *(f"{a}-{b}" for a, b in zip((0, *BOUNDS), (*BOUNDS, 1), strict=True)), sep="\t")
    for name in WAYS:
        shares = zip(right[name], counts[name], strict=True)
        print(name, *(f"{100 * r / n:.0f} ({n})" if n else "-" for r, n in shares), sep="\t")


if __name__ == "__main__":
    main()
