"""Mining on Tatoeba's sentences among distractors, the search alone on random vectors, and faiss on real ones.

    python benchmarks/mining.py f1 DATA ENCODER [--layer 8] [--prefix 'query: ']
    python benchmarks/mining.py f1 DATA box --news --precision bfloat16
    python benchmarks/mining.py search --sizes 10000 100000 [--search faiss]
    python benchmarks/mining.py search --sizes 1000000 --queries 20000
    python benchmarks/mining.py search --sizes 1000000 --device cuda
    python benchmarks/mining.py recall DATA --lines 36864 --vectors VECTORS.npy --probes 8 32 128

``f1``: 1,000 pairs of a language and English (LASER's Tatoeba test) are hidden among up to 10,000 other Tatoeba
sentences of each side (DATA/parallel). Those of the language are its sentences that are not held out; those of English
are of the other languages' rows, none of which is in a row of this language. A row gives F1 at the threshold that is
best on German (for German: on another language), and at its own best. ``--news``: 500 pairs of the news that NTREX
is made of, among up to 5,000 sentences of each side from other WMT news tests.
``search``: neighbours both ways and pairs; user and system CPU seconds, those of the clock, and the largest memory of
the process (and of the GPU).
``recall``: so many different Tatoeba sentences of all languages but English; for 2,000 that are not in Latin letters,
the share of the exact four neighbours among those in Latin letters that faiss finds. ``--vectors`` keeps the vectors.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
import time
import unicodedata
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from isoglot.core.seeding import generator_for
from isoglot.corpus.filter.filters import clean
from isoglot.mining.mine import MinedPair, best_pairs, mine
from isoglot.mining.options import MineRequest, VectorOptions
from isoglot.mining.vectors import sentence_encoder, unit_vectors
from isoglot.modules.large_search import by_faiss
from isoglot.modules.neighbours import Neighbours, nearest_both_ways

NEWS = ("de", "ru", "zh", "fi")
CODES = {"de": "deu", "es": "spa", "fr": "fra", "zh": "cmn", "hi": "hin"}
DISTRACTORS = 10_000


def rows(data: Path, language: str, *, held_out: bool = False) -> list[tuple[str, str]]:
    """Tatoeba's pairs, by default those that are in no test set: English, other."""
    found = []
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            english, other, origin, flags = line.rstrip("\n").split("\t")
            if origin.startswith("tatoeba") and (held_out or not flags):
                found.append((clean(english), clean(other)))
    return found


def news(data: Path, language: str, *, hidden: bool) -> list[tuple[str, str]]:
    """Pairs of WMT's news tests, those that NTREX is made of or the others: English, other."""
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as file:
        found = [line.rstrip("\n").split("\t") for line in file]
    return [(clean(row[0]), clean(row[1])) for row in found
            if "newstest" in row[2] and ("ntrex" in row[3]) == hidden]  # fmt: skip


def news_task(
    data: Path, language: str, pools: dict[str, list[tuple[str, str]]]
) -> tuple[list[str], list[str], set[tuple[str, str]]]:
    """As :func:`task`."""
    pairs = news(data, language, hidden=True)
    order = torch.randperm(len(pairs), generator=generator_for(1, language, "news"))[:500]
    gold = {pairs[i] for i in order}
    own = {english for english, _ in [*pools[language], *pairs]}
    english = {e for name, pool in pools.items() if name != language for e, _ in pool} - own
    other = {text for _, text in pools[language]} - {text for _, text in pairs}
    sides = [[text for _, text in gold], [text for text, _ in gold]]
    sides[0] += drawn(other, f"{language}-news", 5000)
    sides[1] += drawn(english, f"{language}-news-en", 5000)
    return sorted(sides[0]), sorted(sides[1]), {(other, english) for english, other in gold}


def drawn(texts: set[str], seed: str, count: int = DISTRACTORS) -> list[str]:
    """So many of them, by a seed."""
    ordered = sorted(texts)
    order = torch.randperm(len(ordered), generator=generator_for(1, seed))[:count]
    return [ordered[i] for i in order]


def task(
    data: Path, language: str, pools: dict[str, list[tuple[str, str]]]
) -> tuple[list[str], list[str], set[tuple[str, str]]]:
    """Sentences of the language, of English, and the pairs hidden among them."""
    code = CODES[language]
    sides = [
        [
            clean(line)
            for line in (data / "tatoeba" / f"tatoeba.{code}-eng.{name}").read_text("utf-8").splitlines()
        ]
        for name in (code, "eng")
    ]
    own = {english for english, _ in pools[language]} | set(sides[1])
    english = {e for name, pool in pools.items() if name != language for e, _ in pool} - own
    other = {text for _, text in pools[language]} - set(sides[0])
    hidden = [sides[0] + drawn(other, f"{language}"), sides[1] + drawn(english, f"{language}-en")]
    hidden = [[own[i] for i in torch.randperm(len(own), generator=generator_for(1, language, n))]
              for n, own in enumerate(hidden)]  # fmt: skip
    return hidden[0], hidden[1], set(zip(*sides, strict=True))


def curve(found: list[MinedPair], gold: set[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """F1 in % and score where the pairs are cut after each."""
    right = np.cumsum([(pair.source, pair.target) in gold for pair in found])
    return 200 * right / (np.arange(1, len(found) + 1) + len(gold)), np.array([pair.score for pair in found])


def at(found: tuple[np.ndarray, np.ndarray], threshold: float) -> float:
    kept = int((found[1] >= threshold).sum())
    return float(found[0][kept - 1]) if kept else 0.0


def measure_f1(given: argparse.Namespace) -> None:
    encode = sentence_encoder(
        given.encoder, VectorOptions(layer=given.layer, prefix=given.prefix, dtype=given.precision)
    )
    if given.news:
        pools = {language: news(given.data, language, hidden=False) for language in NEWS}
        tasks = {language: news_task(given.data, language, pools) for language in NEWS}
    else:
        pools = {language: rows(given.data, language) for language in CODES}
        tasks = {language: task(given.data, language, pools) for language in CODES}
    texts = sorted({text for one in tasks.values() for text in chain(*one[:2])})
    began = time.process_time()
    vectors = torch.cat([encode(texts[i : i + 4096]) for i in range(0, len(texts), 4096)])
    print(f"layer {given.layer}: {len(texts):,} sentences encoded, {time.process_time() - began:.0f} CPU s")
    place = {text: number for number, text in enumerate(texts)}
    for similarity, retrieval in (
        ("cosine", "max"), ("csls", "max"), ("margin", "max"), ("margin", "intersection"), ("margin", "forward")
    ):  # fmt: skip
        curves = {}
        for language, (source, target, gold) in tasks.items():
            found = mine(source, target, lambda own: vectors[[place[text] for text in own]],
                         similarity=similarity, retrieval=retrieval)  # fmt: skip
            curves[language] = curve(found, gold)
        for language, own in curves.items():
            chosen = curves[list(curves)[1] if language == "de" else "de"]
            threshold = float(chosen[1][chosen[0].argmax()])
            print(json.dumps({
                "similarity": similarity, "retrieval": retrieval, "language": language,
                "sides": [len(set(side)) for side in tasks[language][:2]], "threshold": round(threshold, 4),
                "f1": round(at(own, threshold), 2), "best": round(float(own[0].max()), 2),
            }))  # fmt: skip


def measure_search(given: argparse.Namespace) -> None:
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            sides = [random_vectors(Path(folder) / str(n), size, n) for n in (0, 1)]
            queries = sides[0][: given.queries or size]
            device = torch.device(given.device)
            began = time.process_time(), time.perf_counter()
            if given.search == "faiss":
                forward, backward = (by_faiss(*way, 4) for way in ((queries, sides[1]), (sides[1], queries)))
            else:
                forward, backward = nearest_both_ways(queries, sides[1], 4, device=device)
            pairs = len(best_pairs(forward, backward, MineRequest())[0])
            spent = time.process_time() - began[0], time.perf_counter() - began[1]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            row = {"search": given.search, "queries": len(queries), "keys": size, "pairs": pairs,
                   "cpu_s": round(spent[0], 1), "s": round(spent[1], 1), "gib": round(memory, 2)}  # fmt: skip
            if device.type == "cuda":
                row |= {"gpu_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)}
            if given.search == "faiss":
                row["recall"] = recall(queries[:2000], sides[1], forward)
            print(json.dumps(row), flush=True)


def random_vectors(path: Path, size: int, seed: int) -> torch.Tensor:
    """Unit vectors of a small E5's 384 numbers, in a file that is mapped into memory."""
    with path.open("wb") as file:
        for start in range(0, size, 10_000):
            block = torch.randn(min(10_000, size - start), 384, generator=generator_for(seed, start))
            file.write(torch.nn.functional.normalize(block).numpy().tobytes())
    return torch.from_numpy(np.memmap(path, np.float32, "c", shape=(size, 384)))


def recall(queries: torch.Tensor, keys: torch.Tensor, found: Neighbours) -> float:
    """How many of the first queries' exact neighbours an index has found."""
    exact, _ = nearest_both_ways(queries, keys, 4)
    hits = (exact.numbers[:, :, None] == found.numbers[: len(queries), None, :]).any(2)
    return round(float(hits.double().mean()), 4)


def measure_recall(given: argparse.Namespace) -> None:
    paths = sorted((given.data / "parallel").iterdir())
    names = [path.name.removesuffix(".tsv.gz").removeprefix("en-") for path in paths]
    pool = {text for name in names for _, text in rows(given.data, name, held_out=True)}
    texts = drawn(pool, "other", given.lines)
    if not given.vectors.exists():
        encode = sentence_encoder(given.encoder, VectorOptions())
        np.save(given.vectors, unit_vectors(encode, texts).numpy())
    vectors = torch.from_numpy(np.load(given.vectors))
    latin = torch.tensor(
        [unicodedata.name(next(filter(str.isalpha, text), "a"))[:5] == "LATIN" for text in texts]
    )
    queries, keys = vectors[~latin][:2000], vectors[latin]
    for probes in given.probes:
        began = time.process_time()
        found = by_faiss(queries, keys, 4, probes=probes)
        spent = time.process_time() - began
        row = {"queries": len(queries), "keys": len(keys), "probes": probes, "cpu_s": round(spent, 1)}
        print(json.dumps({**row, "recall": recall(queries, keys, found)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(required=True)
    f1 = kinds.add_parser("f1")
    f1.add_argument("data", type=Path)
    f1.add_argument("encoder")
    f1.add_argument("--layer", type=int, default=-1)
    f1.add_argument("--prefix", default="")
    f1.add_argument("--news", action="store_true", help="WMT's news instead of Tatoeba")
    f1.add_argument("--precision", default="float32", choices=["float32", "bfloat16"])
    f1.set_defaults(run=measure_f1)
    search = kinds.add_parser("search")
    search.add_argument("--sizes", type=int, nargs="+", required=True)
    search.add_argument("--queries", type=int)
    search.add_argument("--search", choices=["exact", "faiss"], default="exact")
    search.add_argument("--device", default="cpu", help="cpu or cuda, for the exact search")
    search.set_defaults(run=measure_search)
    recalled = kinds.add_parser("recall")
    recalled.add_argument("data", type=Path)
    recalled.add_argument("--encoder", default="box")
    recalled.add_argument("--lines", type=int, required=True)
    recalled.add_argument("--vectors", type=Path, required=True)
    recalled.add_argument("--probes", type=int, nargs="+", required=True)
    recalled.set_defaults(run=measure_recall)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
