"""float32 and bfloat16 on this processor: the speed of a product and of `isoglot align`, and whose links differ.

    ISOGLOT_DATA=... OMP_NUM_THREADS=1 python benchmarks/precision.py [--pairs 1000] [--repeats 3]

The product has the sizes of the packaged encoder's widest layer. Pairs are Multi30k's en-de captions. Both precisions
take turns; each figure is the best of the repeats, and CPU seconds are those of the whole process.
"""

import argparse
import gzip
import os
import time
from itertools import islice
from pathlib import Path

import torch

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.checkpoints.folder import BOX
from isoglot.modules.devices import compute_dtype, processor_facts

_SIZES = (2048, 384, 1536)
_FACTS = ("amx_bf16", "avx512_bf16", "avx512_f", "avx2", "sse4a", "bf16")
_PRECISIONS = ("float32", "bfloat16")


def gigaflops(dtype: torch.dtype) -> float:
    """Billions of operations a second of one product, repeated for a second."""
    rows, inner, columns = _SIZES
    left, right = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < 1:
        left @ right
        count += 1
    return 2 * rows * inner * columns * count / (time.perf_counter() - began) / 1e9


def main() -> None:
    """Print the facts of the processor, then both figures of each precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    facts = processor_facts()
    print(f"{facts.get('cpu_name')}: {', '.join(f'{name}={bool(facts.get(name))}' for name in _FACTS)}")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread(s); auto computes in", end=" ")
    print(str(compute_dtype("auto", torch.device("cpu"))).removeprefix("torch."))

    sides = []
    for language in ("en", "de"):
        path = Path(os.environ["ISOGLOT_DATA"]) / "multi30k" / f"train.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            sides.append([line.split() for line in islice(lines, given.pairs)])
    pairs = list(zip(*sides, strict=True))
    aligners = {name: EmbeddingAligner(BOX, dtype=name) for name in _PRECISIONS}

    product = dict.fromkeys(_PRECISIONS, 0.0)
    seconds = dict.fromkeys(_PRECISIONS, float("inf"))
    links = {}
    for _ in range(given.repeats):
        for name in _PRECISIONS:
            product[name] = max(product[name], gigaflops(getattr(torch, name)))
            began = time.process_time()
            links[name] = [pair.links for pair in aligners[name].align_pairs(pairs)]
            seconds[name] = min(seconds[name], time.process_time() - began)
    for name in _PRECISIONS:
        print(
            f"{name:8}  product {product[name]:6.0f} GFLOP/s  {given.pairs} pairs {seconds[name]:6.1f} CPU s"
        )
    differing = sum(one != other for one, other in zip(links["float32"], links["bfloat16"], strict=True))
    print(f"{differing} of {given.pairs} pairs have other links")


if __name__ == "__main__":
    main()
