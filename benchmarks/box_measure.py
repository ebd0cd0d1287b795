"""Alignment error of an aligner by set, at several layers, methods and thresholds.

    python box_measure.py DATA MODEL dev|test [LAYERS] [--pud N]

``dev`` measures every candidate on the development sets, the mean over which chooses: XL-WA's of Spanish, Italian and
Dutch, and the first N pairs (300) of PUD's Chinese, Japanese and Arabic. PUD's gold links are of content words alone:
of the aligner's links only those count that touch a word with a gold link on either side. ``test`` measures the choice
in MODEL/aligner.json on the test sets.
"""

import argparse
import dataclasses
import json
import time
from pathlib import Path
from statistics import fmean

import torch

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import CANDIDATES, kept_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.files.gold import GoldPairs, gold_pairs
from isoglot.aligners.scoring import GoldAlignment, score
from isoglot.link_counts import AlignmentScore

DEVELOPMENT = ("en-es.xlwa.dev", "en-it.xlwa.dev", "en-nl.xlwa.dev", "en-zh.pud", "en-ja.pud", "en-ar.pud")
TEST = ("en-es.xlwa.test", "en-it.xlwa.test", "en-nl.xlwa.test", "de-en", "en-fr", "ro-en", "en-hi")


def content(links: set[tuple[int, int]], gold: GoldAlignment) -> set[tuple[int, int]]:
    """The links that touch a word with a gold link."""
    sources, targets = {i for i, _ in gold.possible}, {j for _, j in gold.possible}
    return {(i, j) for i, j in links if i in sources or j in targets}


def joined(pairs: GoldPairs, count: int) -> GoldPairs:
    """So many neighbouring pairs as one, with their links."""
    words, gold = [], []
    for start in range(0, len(pairs.words), count):
        source: list[str] = []
        target: list[str] = []
        sure: list[tuple[int, int]] = []
        possible: list[tuple[int, int]] = []
        for (one, other), own in zip(
            pairs.words[start : start + count], pairs.gold[start : start + count], strict=True
        ):
            sure += [(i + len(source), j + len(target)) for i, j in own.sure]
            possible += [(i + len(source), j + len(target)) for i, j in own.possible]
            source, target = [*source, *one], [*target, *other]
        words.append((source, target))
        gold.append(GoldAlignment.of(sure, possible))
    return GoldPairs(words, gold)


def measured(
    aligners: list[EmbeddingAligner], pairs: GoldPairs, layers: list[int], *, pud: bool, window: int = 128
) -> list[dict[int, AlignmentScore]]:
    """The score of every aligner at every layer."""
    totals = [dict.fromkeys(layers, AlignmentScore()) for _ in aligners]
    for start in range(0, len(pairs.words), window):
        words, gold = pairs.words[start : start + window], pairs.gold[start : start + window]
        encoded = aligners[0].encode(words, layers, first=start)
        for aligner, total in zip(aligners, totals, strict=True):
            for layer, table in aligner.extract(*encoded).items():
                found = [set(links.links) for links in aligner.pair_links(table, words)]
                if pud:
                    found = [content(links, own) for links, own in zip(found, gold, strict=True)]
                total[layer] += score([Alignment(frozenset(links)) for links in found], gold)
    return totals


def short(name: str) -> str:
    return name.replace(".xlwa", "").replace("en-", "")


def said(found: AlignmentScore) -> str:
    """Error (precision/recall)."""
    return f"{100 * found.aer:.1f} ({100 * found.precision:.0f}/{100 * found.recall:.0f}) "


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("which", choices=["dev", "test"])
    parser.add_argument("layers", nargs="?", default="7,8")
    parser.add_argument("--pud", type=int, default=300)
    parser.add_argument("--only", default="", help="only candidates whose JSON has this")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--joined", type=int, default=1, help="so many pairs as one")
    parser.add_argument("--keep", action="store_true", help="keep the best candidate in MODEL/aligner.json")
    parser.add_argument("--show", type=int, default=6)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    began = time.monotonic()
    gold = given.data / "wordalign"
    if given.which == "test":
        choice = kept_choice(given.model)
        candidates, layers = [{k: v for k, v in choice.items() if k != "layer"}], [choice["layer"]]
    else:
        candidates = [c for c in CANDIDATES if given.only in json.dumps(c)]
        layers = [int(layer) for layer in given.layers.split(",")]
    base = EmbeddingAligner(given.model, options=EmbeddingOptions.build(dtype=given.dtype))
    aligners = [base.with_options(EmbeddingOptions.build(dtype=given.dtype, **c)) for c in candidates]
    found = {}
    for name in given.sets or (DEVELOPMENT if given.which == "dev" else TEST):
        pairs = gold_pairs(gold / f"{name}.jsonl")
        if name.endswith("pud"):
            pairs = dataclasses.replace(pairs, words=pairs.words[: given.pud], gold=pairs.gold[: given.pud])
        if given.joined > 1:
            pairs = joined(pairs, given.joined)
        found[name] = measured(aligners, pairs, layers, pud=name.endswith("pud"))
    rows = [
        (fmean(100 * scores[k][layer].aer for scores in found.values()), layer, k)
        for k in range(len(candidates)) for layer in layers
    ]  # fmt: skip
    print(given.model, given.which, f"{time.monotonic() - began:.0f} s", torch.get_num_threads(), "threads")
    for mean, layer, k in sorted(rows)[: given.show]:
        scores = {name: own[k][layer] for name, own in found.items()}
        print(f"{mean:6.2f} layer {layer} {json.dumps(candidates[k])}")
        print("      ", *(f"{short(name)} {said(score)}" for name, score in scores.items()))
    if given.keep:
        _, layer, k = min(rows)
        (Path(given.model) / "aligner.json").write_text(json.dumps({**candidates[k], "layer": layer}) + "\n")


if __name__ == "__main__":
    main()
