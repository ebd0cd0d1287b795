"""Pairs a second and peak memory of `prepare`, at two sizes: the rate must hold and the memory must not grow.

    python benchmarks/prepare.py --pairs 1000000 4000000
    python benchmarks/prepare.py --pairs 5000000 --no-tokenizer --processes 2 --engines local ray

Generates Moses files of random words, prepares each in a process of its own with a tokenizer (PPA's length filter), a
length ratio, a script filter and duplicates dropped, and samples the resident memory of the whole process tree. Pages
that workers share count once for each of them, so the peak is an upper bound; `unique` counts them once. With several
engines it also says whether their outputs are the same byte for byte. `tokenizers` is that library's `encode_batch` of
the first pairs, which does nothing else, in as many threads.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

WORDS = 30_000
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
BLOCK = 50_000
SAMPLE = 400_000

CHILD = """
import json, sys
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
folder, out, processes, tokenizer, engine = sys.argv[1:]
lengths = dict(tokenizer=tokenizer, min_pieces=10, max_pair_pieces=128) if tokenizer != "none" else {}
options = PrepareOptions(max_length_ratio=3, min_script_share=0.5, duplicates="pair", **lengths)
source = Source(path=f"{folder}/c.en.gz", target_path=f"{folder}/c.de.gz", source_language="en", target_language="de")
summary = prepare(source, out, options=options, processes=int(processes) or None, engine=engine)
print(json.dumps({"read": summary.read, "rows": summary.rows, "removed": summary.removed, "seconds": summary.seconds}))
"""


def words(generator: np.random.Generator) -> list[str]:
    """A made-up vocabulary."""
    lengths = generator.integers(2, 11, WORDS)
    return ["".join(LETTERS[generator.integers(0, 26, n)]) for n in lengths]


def write_pairs(folder: Path, pairs: int, seed: int) -> None:
    """Two gzipped Moses files; one pair in twenty repeats an earlier one of its block."""
    generator = np.random.default_rng(seed)
    vocabulary = words(generator)
    with (
        gzip.open(folder / "c.en.gz", "wt", encoding="utf-8", compresslevel=1) as source,
        gzip.open(folder / "c.de.gz", "wt", encoding="utf-8", compresslevel=1) as target,
    ):
        for start in range(0, pairs, BLOCK):
            size = min(BLOCK, pairs - start)
            for file in (source, target):
                lengths = generator.integers(4, 35, size)
                # Zipf-like ranks, as in text
                ranks = (WORDS ** generator.random(int(lengths.sum()))).astype(np.int64) - 1
                ends = np.cumsum(lengths)
                lines = [
                    " ".join(vocabulary[r] for r in ranks[e - n : e])
                    for n, e in zip(lengths, ends, strict=True)
                ]
                for i in range(20, size, 20):
                    lines[i] = lines[i - 20]
                file.write("\n".join(lines) + "\n")


def write_tokenizer(folder: Path) -> Path:
    """A WordPiece tokenizer of 16k pieces, trained on the start of the source side."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=16_000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    with gzip.open(folder / "c.en.gz", "rt", encoding="utf-8") as file:
        tokenizer.train_from_iterator((line for line, _ in zip(file, range(20_000), strict=False)), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def tree_memory(process: psutil.Process) -> tuple[int, int, int, int]:
    """Resident bytes of a process tree, with shared pages counted for each and once; of its root; of Ray's workers."""
    resident = unique = workers = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            own = one.memory_info().rss
            unique += one.memory_full_info().uss
            workers += (
                own if one.cmdline()[:1] and one.cmdline()[0].startswith(("ray::_work", "ray::IDLE")) else 0
            )
            resident += own
        except psutil.Error:
            continue
    return resident, unique, process.memory_info().rss, workers


def digest(folder: Path) -> str:
    """A hash of all files of a folder and their names."""
    found = hashlib.blake2b(digest_size=8)
    for file in sorted(folder.iterdir()):
        found.update(file.name.encode() + hashlib.blake2b(file.read_bytes()).digest())
    return found.hexdigest()


def measure(folder: Path, processes: int, tokenizer: str, engine: str) -> dict[str, Any]:
    """Prepare the files of a folder in a subprocess, watching its memory."""
    out = folder / "out"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(out), str(processes), tokenizer, engine],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"},
    )
    watched = psutil.Process(child.pid)
    peaks: tuple[int, ...] = (0, 0, 0, 0)
    while child.poll() is None:
        with contextlib.suppress(psutil.Error):
            peaks = tuple(map(max, zip(peaks, tree_memory(watched), strict=True)))
        time.sleep(0.1)
    if child.returncode:
        raise SystemExit(f"prepare failed with {child.returncode}")
    assert child.stdout is not None  # it is a pipe
    result = json.loads(child.stdout.read())
    names = ("peak_mib", "peak_unique_mib", "driver_mib", "workers_mib")
    found = {name: peak / 2**20 for name, peak in zip(names, peaks, strict=True)}
    result = {**result, **found, "digest": digest(out)}
    shutil.rmtree(out)
    return result


PEER = """
import gzip, itertools, sys, time
from tokenizers import Tokenizer
folder, tokenizer, pairs = sys.argv[1:]
start, loaded = time.perf_counter(), Tokenizer.from_file(tokenizer)
for side in ("en", "de"):
    with gzip.open(f"{folder}/c.{side}.gz", "rt", encoding="utf-8") as file:
        lines = itertools.islice(file, int(pairs))
        while batch := [line.rstrip() for line in itertools.islice(lines, 10_000)]:
            loaded.encode_batch(batch)
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--processes", type=int, default=0, help="worker processes; 0 for one a core")
    parser.add_argument("--no-tokenizer", action="store_true", help="do not measure lengths in pieces")
    parser.add_argument("--engines", nargs="+", default=["local"], choices=["local", "ray"])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    cores = arguments.processes or len(os.sched_getaffinity(0))
    print(f"{cores} processes on {multiprocessing.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}")
    print(
        f"{'pairs':>10} {'kept':>10} engine {'seconds':>8} {'pairs/s':>10} {'peak MiB':>9} {'unique MiB':>10} "
        "driver MiB workers MiB"
    )
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory(prefix="isoglot-prepare-") as name:
            folder = Path(name)
            write_pairs(folder, pairs, arguments.seed)
            tokenizer = "none" if arguments.no_tokenizer else str(write_tokenizer(folder))
            if tokenizer != "none":
                sample = min(pairs, SAMPLE)
                threads = {**os.environ, "RAYON_NUM_THREADS": str(cores)}
                command = [sys.executable, "-c", PEER, str(folder), tokenizer, str(sample)]
                seconds = float(subprocess.run(command, env=threads, capture_output=True, check=True).stdout)
                print(
                    f"{sample:>10,} {'':>10} tokenizers {seconds:>4.1f} {sample / seconds:>10,.0f}",
                    flush=True,
                )
            digests = set()
            for engine in arguments.engines:
                found = measure(folder, arguments.processes, tokenizer, engine)
                digests.add(found["digest"])
                rate = found["read"] / found["seconds"]
                print(
                    f"{found['read']:>10,} {found['rows']:>10,} {engine:>6} {found['seconds']:>8.1f} {rate:>10,.0f} "
                    f"{found['peak_mib']:>9,.0f} {found['peak_unique_mib']:>10,.0f} {found['driver_mib']:>10,.0f} "
                    f"{found['workers_mib']:>11,.0f}  {found['removed']}",
                    flush=True,
                )
            if len(arguments.engines) > 1:
                same = "same byte for byte" if len(digests) == 1 else "DIFFERENT"
                print(
                    f"outputs of {' and '.join(arguments.engines)}, manifest included: {same} ({', '.join(digests)})"
                )


if __name__ == "__main__":
    main()
