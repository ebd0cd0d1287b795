"""ROC AUC of `isoglot filter`'s scores against each kind of noise, made from real pairs.

    python benchmarks/filter_pairs.py DATA ENCODER [--layer 8] [--prefix 'query: '] [--pairs 2000]

The clean pairs are English-German rows of Tatoeba (DATA/parallel) of five to thirty words that no test set has. Each
kind of noise is made from all of them by itself, and scored as one file with the clean pairs in a random order, so that
the margin's neighbours are those of a corpus of which half is noise:

shuffled        the target of another pair
near            the target of the pair whose English is the most similar by the encoder's cosine
truncated       the second half of the target's words is cut off
extended        the target is followed by that of another pair
copied          the source stands on both sides
wrong_language  the target is French (rows of the same English in en-fr) or, where there is none, Spanish
wrong_script    the target is Russian
half            the second half of the target is the source's, untranslated

"uncopied" is one minus the share of words that both sides have in common, "dropped" what `RULES` drop, in %, and of the
clean pairs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.checkpoints.folder import BOX
from isoglot.core.seeding import generator_for
from isoglot.corpus.filter.filters import clean
from isoglot.mining.filter_pairs import filter_pairs
from isoglot.mining.options import VectorOptions
from isoglot.mining.pair_rules import copied_share
from isoglot.mining.vectors import sentence_encoder, unit_vectors
from isoglot.modules.neighbours import nearest_both_ways
from sentence_vectors import remembered

Pair = tuple[str, str]
RULES: dict[str, Any] = {"max_copied": 0.6, "max_length_ratio": 2.5, "min_script_share": 0.5}


def rows(data: Path, language: str) -> list[Pair]:
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as file:
        cells = (line.rstrip("\n").split("\t") for line in file)
        return [(clean(c[0]), clean(c[1])) for c in cells if c[2].startswith("tatoeba") and not c[3]]


def clean_pairs(data: Path, count: int) -> tuple[list[Pair], dict[str, list[Pair]]]:
    """Different pairs, and their sources with a target in another language."""
    others = {"wrong_language": {**dict(rows(data, "es")), **dict(rows(data, "fr"))},
              "wrong_script": dict(rows(data, "ru"))}  # fmt: skip
    found = {e: d for e, d in rows(data, "de") if all(5 <= len(t.split()) <= 30 for t in (e, d))}
    pairs = list({d: e for e, d in found.items()}.items())
    order = torch.randperm(len(pairs), generator=generator_for(1, "clean"))
    mixed = [(pairs[i][1], pairs[i][0]) for i in order]
    wrong = {kind: [(e, of[e]) for e, _ in mixed if e in of][:count] for kind, of in others.items()}
    return mixed[:count], wrong


def noise(pairs: list[Pair], wrong: dict[str, list[Pair]], vectors: torch.Tensor) -> dict[str, list[Pair]]:
    second = nearest_both_ways(vectors, vectors, 2)[0].numbers
    near = [int(next(j for j in row if j != i)) for i, row in enumerate(second)]
    turned = [*range(1, len(pairs)), 0]

    def halves(text: str) -> tuple[str, str]:
        words = text.split()
        return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])

    return {
        "shuffled": [(e, pairs[j][1]) for (e, _), j in zip(pairs, turned, strict=True)],
        "near": [(e, pairs[j][1]) for (e, _), j in zip(pairs, near, strict=True)],
        "truncated": [(e, halves(d)[0]) for e, d in pairs],
        "extended": [(e, f"{d} {pairs[j][1]}") for (e, d), j in zip(pairs, turned, strict=True)],
        "copied": [(e, e) for e, _ in pairs],
        **wrong,
        "half": [(e, f"{halves(d)[0]} {halves(e)[1]}") for e, d in pairs],
    }


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    """How often a clean pair scores higher than a noisy one, ties as half."""
    ranks = rankdata(np.concatenate([good, bad]))[: len(good)]
    return float((ranks.sum() - len(good) * (len(good) + 1) / 2) / (len(good) * len(bad)))


def dropped(pairs: list[Pair]) -> float:
    """The share that the rules drop, in %."""
    judged = filter_pairs(pairs, aligner=None, languages=("en", "de"), **RULES)
    return round(100 * sum(bool(pair.reason) for pair in judged) / len(pairs), 2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("encoder")
    parser.add_argument("--layer", type=int, default=-1)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--pairs", type=int, default=2000)
    given = parser.parse_args()
    began = time.process_time()
    options = VectorOptions(layer=given.layer, prefix=given.prefix, dtype="float32")
    encoder = remembered(sentence_encoder(given.encoder, options))
    pairs, wrong = clean_pairs(given.data, given.pairs)
    kinds = noise(pairs, wrong, unit_vectors(encoder, [e for e, _ in pairs]))
    aligner = EmbeddingAligner(BOX)
    print(f"{len(pairs):,} clean pairs, layer {given.layer}")
    for kind, noisy in kinds.items():
        both = [*pairs, *noisy]
        order = torch.randperm(len(both), generator=generator_for(1, kind)).tolist()
        table: dict[str, np.ndarray] = {}
        judged = filter_pairs([both[i] for i in order], model=encoder, aligner=aligner)
        for place, pair in zip(order, judged, strict=True):
            own = dict(pair.scores)
            own["coverage"] = min(own["source_coverage"], own["target_coverage"])
            own["uncopied"] = 1 - copied_share(pair.source, pair.target)
            for name, value in own.items():
                table.setdefault(name, np.zeros(len(both)))[place] = value
        found = {n: round(100 * auc(v[: len(pairs)], v[len(pairs) :]), 2) for n, v in table.items()}
        print(
            json.dumps({"noise": kind, "pairs": len(noisy), **found, "dropped": dropped(noisy)}), flush=True
        )
    print(f"of the clean pairs the rules drop {dropped(pairs)} %")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{time.process_time() - began:.0f} CPU s, {memory:.2f} GiB")


if __name__ == "__main__":
    main()
