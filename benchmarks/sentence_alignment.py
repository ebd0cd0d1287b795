"""Strict F1 of sentence alignment on documents made from parallel news in known ways, and the time of the search.

    python benchmarks/sentence_alignment.py f1 DATA ENCODER [--layer 8] [--languages de zh] [--lines 400] [--joined sum]
    python benchmarks/sentence_alignment.py f1 DATA ENCODER --peers PEERS
    python benchmarks/sentence_alignment.py search --lines 10000

``f1``: consecutive rows of a WMT news test (DATA/parallel). At each of a share of the places (``rate``) one thing
happens, all equally likely: two lines of one side are joined, a line of one side is cut in two (at a comma near its
middle or between words), a line of one side is deleted, or a target line is moved ten lines down. Moved lines have no
translation in the gold groups, for the order is broken. Precision, recall and F1 are of whole groups with two sides.
``gale_church`` is the published model of lengths (Gale and Church 1993: c = 1, s² = 6.8, its priors). ``--peers`` is a
folder with Vecalign and Bertalign (sentence_peers.py), which get the same vectors.
``search``: two documents of random vectors, one a noisy copy of the other; user and system CPU seconds, compilation
apart, and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import sentence_peers
from isoglot.corpus.filter.filters import clean
from isoglot.mining.align_sentences import align_sentences
from isoglot.mining.options import VectorOptions
from isoglot.mining.sentence_paths import Step, cheapest_groups
from isoglot.mining.vectors import SentenceEncoder, sentence_encoder
from sentence_vectors import remembered

RATES = (0.0, 0.1, 0.2, 0.4)
OPERATIONS = (
    "join_source",
    "join_target",
    "cut_source",
    "cut_target",
    "delete_source",
    "delete_target",
    "move",
)
Unit = tuple[list[str], list[str]]
Group = tuple[tuple[int, ...], tuple[int, ...]]


def news(data: Path, language: str, count: int, older: int) -> list[tuple[str, str]]:
    """The first rows of the newest test that has so many, or of an older one."""
    tests: dict[str, list[tuple[str, str]]] = {}
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            english, other, origin, flags = line.rstrip("\n").split("\t")
            if origin[:2] == "20" and not flags:
                tests.setdefault(origin, []).append((clean(other), clean(english)))
    return [rows[:count] for _, rows in sorted(tests.items(), reverse=True) if len(rows) >= count][older]


def cut(text: str) -> list[str]:
    """Two halves; a text that is too short stays whole."""
    middle = len(text) // 2
    places = [k + 1 for k, sign in enumerate(text) if sign in ",;:，；：、"] or [
        k for k, s in enumerate(text) if s == " "
    ]
    if len(text) < 16 or not (places := [k for k in places or [middle] if 4 < k < len(text) - 4]):
        return [text]
    place = min(places, key=lambda k: abs(k - middle))
    return [text[:place].strip(), text[place:].strip()]


def document(pairs: list[tuple[str, str]], rate: float) -> tuple[list[str], list[str], set[Group]]:
    """Lines of both sides and the gold groups."""
    draw = random.Random(f"{rate}")
    units: list[Unit] = []
    later: dict[int, str] = {}
    place = 0
    while place < len(pairs):
        source, target = pairs[place]
        what = draw.choice(OPERATIONS) if draw.random() < rate else "keep"
        step = 2 if what.startswith("join") and place + 1 < len(pairs) else 1
        if step == 2:
            sides = [[own[0], own[1]] for own in zip(*pairs[place : place + 2], strict=True)]
            side = 0 if what == "join_source" else 1
            sides[side] = [" ".join(sides[side])]
            units.append((sides[0], sides[1]))
        elif what == "move":
            units.append(([source], []))
            later[len(units) + 10] = target
        else:
            one = [] if what == "delete_source" else cut(source) if what == "cut_source" else [source]
            other = [] if what == "delete_target" else cut(target) if what == "cut_target" else [target]
            units.append((one, other))
        if (moved := later.pop(len(units), None)) is not None:
            units.append(([], [moved]))
        place += step
    units += [([], [text]) for text in later.values()]
    lines: tuple[list[str], list[str]] = [], []
    gold = set()
    for unit in units:
        numbers = []
        for own, new in zip(lines, unit, strict=True):
            numbers.append(tuple(range(len(own) + 1, len(own) + len(new) + 1)))
            own.extend(new)
        if all(unit):
            gold.add((numbers[0], numbers[1]))
    return *lines, gold


def without_beginning(target: list[str], gold: set[Group], share: float) -> tuple[list[str], set[Group]]:
    """The target without its first lines, and the groups that are left."""
    first = int(len(target) * share)
    left = {(one, tuple(k - first for k in other)) for one, other in gold if min(other) > first}
    return target[first:], left


def gale_church(source: list[str], target: list[str]) -> set[Group]:
    """Groups by the lengths of lines alone."""
    priors = {(1, 1): 0.89, (1, 0): 0.0099, (0, 1): 0.0099, (2, 1): 0.089, (1, 2): 0.089, (2, 2): 0.011}
    sums = [np.concatenate([[0], np.cumsum([len(text) for text in own])]) for own in (source, target)]
    scale = sums[1][-1] / sums[0][-1]
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(len(source) + 1):
        middle = i * len(target) // len(source)
        for j in range(max(0, middle - 80), min(len(target), middle + 80) + 1):
            for (a, b), prior in priors.items():
                if (before := best.get((i - a, j - b))) is None:
                    continue
                one, other = (own[k] - own[k - n] for own, k, n in ((sums[0], i, a), (sums[1], j, b)))
                delta = abs(other - one * scale) / math.sqrt(6.8 * max(1, (one + other / scale) / 2))
                cost = before[0] - math.log(max(math.erfc(delta / math.sqrt(2)), 1e-300)) - math.log(prior)
                if (i, j) not in best or cost < best[i, j][0]:
                    best[i, j] = cost, (a, b)
    found, (i, j) = set(), (len(source), len(target))
    while (i, j) != (0, 0):
        a, b = best[i, j][1]
        if a and b:
            found.add((tuple(range(i - a + 1, i + 1)), tuple(range(j - b + 1, j + 1))))
        i, j = i - a, j - b
    return found


def scored(found: set[Group], gold: set[Group]) -> dict[str, float]:
    right = len(found & gold)
    values = {
        "p": right / max(1, len(found)),
        "r": right / len(gold),
        "f1": 2 * right / (len(found) + len(gold)),
    }
    return {name: round(100 * value, 2) for name, value in values.items()}


def ours(
    encoder: SentenceEncoder,
    joined: str,
    weight: float,
    source: list[str],
    target: list[str],
    skip: float | None,
) -> set[Group]:
    groups = align_sentences(source, target, encoder, joined=joined, skip=skip, length_weight=weight)
    return {(g.source_lines, g.target_lines) for g in groups if g.source_lines and g.target_lines}


def theirs(
    align: sentence_peers.Align, encoder: SentenceEncoder, source: list[str], target: list[str], skip: float
) -> set[Group]:
    groups = align(encoder, source, target, skip)
    return {(tuple(k + 1 for k in one), tuple(k + 1 for k in two)) for one, two in groups if one and two}


def measure_f1(given: argparse.Namespace) -> None:
    began = time.process_time()
    options = VectorOptions(layer=given.layer, prefix=given.prefix, dtype=given.precision)
    encoder = remembered(sentence_encoder(given.encoder, options))
    systems: dict[str, tuple[Callable[..., set[Group]], Sequence[float | None]]] = {
        "gale_church": (lambda source, target, _: gale_church(source, target), [None])
    }
    systems |= {
        joined: (partial(ours, encoder, joined, given.length_weight), given.skip) for joined in given.joined
    }
    for name, peer in (sentence_peers.load(given.peers) if given.peers else {}).items():
        systems[name] = partial(theirs, peer, encoder), sentence_peers.PENALTIES[name]
    for language in given.languages:
        pairs = news(given.data, language, given.lines, given.older)
        for rate in RATES:
            source, target, gold = document(pairs, rate)
            target, gold = without_beginning(target, gold, given.missing)
            row = {"language": language, "rate": rate, "lines": [len(source), len(target)], "gold": len(gold)}
            for system, (align, skips) in systems.items():
                for skip in skips:
                    found = scored(align(source, target, skip), gold)
                    print(json.dumps({**row, "system": system, "skip": skip, **found}), flush=True)
    print(f"{time.process_time() - began:.0f} CPU s, {memory():.2f} GiB")


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure_search(given: argparse.Namespace) -> None:
    random = np.random.default_rng(1)

    def sides(lines: int) -> list[list[np.ndarray]]:
        base = random.normal(size=(lines, 384)).astype(np.float32)
        found = []
        for noise in (0.0, 0.5):
            own = base + noise * random.normal(size=base.shape).astype(np.float32)
            sums = np.concatenate([np.zeros((1, 384)), np.cumsum(own, axis=0, dtype=np.float64)])
            runs = [sums[1:] - sums[np.maximum(np.arange(1, lines + 1) - size, 0)] for size in range(1, 5)]
            found.append([(r / np.linalg.norm(r, axis=1, keepdims=True)).astype(np.float32) for r in runs])
        return found

    def groups(documents: list[list[np.ndarray]]) -> list[Step]:
        lengths = random.uniform(20, 200, len(documents[0][0])).astype(np.float32)
        return cheapest_groups(
            *documents, max_size=5, skip=0.45, lengths=(lengths, lengths), length_weight=0.4
        )

    groups(sides(20))  # compiles
    for lines in given.lines:
        documents = sides(lines)
        began = time.process_time()
        found = groups(documents)
        right = sum(i == j and a == b == 1 for i, j, a, b, _ in found)
        row = {"lines": lines, "right": right, "cpu_s": round(time.process_time() - began, 2)}
        print(json.dumps({**row, "gib": round(memory(), 2)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(required=True)
    f1 = kinds.add_parser("f1")
    f1.add_argument("data", type=Path)
    f1.add_argument("encoder")
    f1.add_argument("--layer", type=int, default=-1)
    f1.add_argument("--prefix", default="")
    f1.add_argument("--languages", nargs="+", default=["de", "zh"])
    f1.add_argument("--lines", type=int, default=400)
    f1.add_argument(
        "--missing", type=float, default=0.0, help="share of the target that is not there: its beginning"
    )
    f1.add_argument("--older", type=int, default=0, help="1: the newest news test but one")
    f1.add_argument("--joined", nargs="+", default=["encode", "sum"])
    f1.add_argument("--skip", type=float, nargs="+", default=[None])
    f1.add_argument("--length-weight", type=float, default=0.4)
    f1.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    f1.add_argument("--peers", type=Path)
    f1.set_defaults(run=measure_f1)
    search = kinds.add_parser("search")
    search.add_argument("--lines", type=int, nargs="+", default=[10_000])
    search.set_defaults(run=measure_search)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
