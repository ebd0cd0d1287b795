"""Alignment error of an aligner by set, at several layers, methods and thresholds.

    python measure.py DATA MODEL dev|test [LAYERS] [--pud N] [--keep]

``dev`` measures every candidate on the development sets, the mean over which chooses: XL-WA's of Spanish, Italian and
Dutch, and the first N pairs (300) of PUD's Chinese, Japanese and Arabic. PUD's gold links are of content words alone:
of the aligner's links only those count that touch a word with a gold link on either side. ``test`` measures the choice
in MODEL/aligner.json on the test sets.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean

import torch

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import CANDIDATES, kept_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.scoring import score
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.results.link_counts import AlignmentScore

DEVELOPMENT = ("en-es.xlwa.dev", "en-it.xlwa.dev", "en-nl.xlwa.dev", "en-zh.pud", "en-ja.pud", "en-ar.pud")
TEST = ("en-es.xlwa.test", "en-it.xlwa.test", "en-nl.xlwa.test", "de-en", "en-fr", "ro-en", "en-hi")


def content(links: set[tuple[int, int]], gold: SentencePair) -> set[tuple[int, int]]:
    """The links that touch a word with a gold link."""
    sources, targets = {i for i, _ in gold.possible}, {j for _, j in gold.possible}
    return {(i, j) for i, j in links if i in sources or j in targets}


def joined(pairs: list[SentencePair], count: int) -> list[SentencePair]:
    """So many neighbouring pairs as one, with their links."""
    gold = []
    for start in range(0, len(pairs), count):
        source: list[str] = []
        target: list[str] = []
        sure: list[tuple[int, int]] = []
        possible: list[tuple[int, int]] = []
        for pair in pairs[start : start + count]:
            sure += [(i + len(source), j + len(target)) for i, j in pair.sure or ()]
            possible += [(i + len(source), j + len(target)) for i, j in pair.possible]
            source, target = [*source, *pair.source_words], [*target, *pair.target_words]
        gold.append(SentencePair.of(source, target, sure=sure, possible=possible))
    return gold


def measured(
    aligners: list[EmbeddingAligner],
    pairs: list[SentencePair],
    layers: list[int],
    *,
    pud: bool,
    window: int = 128,
) -> list[dict[int, AlignmentScore]]:
    """The score of every aligner at every layer."""
    totals = [dict.fromkeys(layers, AlignmentScore()) for _ in aligners]
    for start in range(0, len(pairs), window):
        gold = pairs[start : start + window]
        words = [pair.words for pair in gold]
        encoded = aligners[0].encode(words, layers, first=start)
        for aligner, total in zip(aligners, totals, strict=True):
            for layer, table in aligner.extract(*encoded).items():
                linked = aligner.with_links([SentencePair(words=pair) for pair in words], table, encoded[1])
                links = [set(pair.links) for pair in linked]
                if pud:
                    links = [content(pair, answer) for pair, answer in zip(links, gold, strict=True)]
                total[layer] += score([Alignment(frozenset(pair)) for pair in links], gold)
    return totals


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("which", choices=["dev", "test"])
    parser.add_argument("layers", nargs="?", default="8")
    parser.add_argument("--pud", type=int, default=300)
    parser.add_argument("--only", default="", help="only candidates whose JSON has this")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--joined", type=int, default=1, help="so many pairs as one")
    parser.add_argument("--keep", action="store_true", help="keep the best candidate in MODEL/aligner.json")
    parser.add_argument("--show", type=int, default=6)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    began = time.monotonic()
    if options.which == "test":
        choice = kept_choice(options.model)
        candidates, layers = [{k: v for k, v in choice.items() if k != "layer"}], [choice["layer"]]
    else:
        candidates = [candidate for candidate in CANDIDATES if options.only in json.dumps(candidate)]
        layers = [int(layer) for layer in options.layers.split(",")]
    base = EmbeddingAligner(options.model, options=EmbeddingOptions.build(dtype=options.dtype))
    aligners = [base.with_options(EmbeddingOptions.build(dtype=options.dtype, **c)) for c in candidates]
    sets = {}
    for name in options.sets or (DEVELOPMENT if options.which == "dev" else TEST):
        pairs, pud = gold_pairs(options.data / "wordalign" / f"{name}.jsonl"), name.endswith("pud")
        if pud:
            pairs = pairs[: options.pud]
        if options.joined > 1:
            pairs = joined(pairs, options.joined)
        sets[name.replace(".xlwa", "").replace("en-", "")] = measured(aligners, pairs, layers, pud=pud)
    means = [
        (fmean(scores[k][layer].aer for scores in sets.values()), layer, k)
        for k in range(len(candidates)) for layer in layers
    ]  # fmt: skip
    print(
        options.model, options.which, f"{time.monotonic() - began:.0f} s", torch.get_num_threads(), "threads"
    )
    for mean, layer, k in sorted(means)[: options.show]:
        print(f"{mean:6.2f} layer {layer} {json.dumps(candidates[k])}")
        for name, scores in sets.items():
            result = scores[k][layer]
            rates = f"{result.precision:.0f}/{result.recall:.0f}"
            print(f"       {name} {result.aer:.1f} ({rates})", end="")
        print(flush=True)
    if options.keep:
        _, layer, k = min(means)
        (Path(options.model) / "aligner.json").write_text(
            json.dumps({**candidates[k], "layer": layer}) + "\n"
        )


if __name__ == "__main__":
    main()
