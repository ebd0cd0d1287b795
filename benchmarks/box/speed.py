"""The aligner of the package as users run it, whole commands beside simalign and awesome-align.

    PYTHONPATH=peers python benchmarks/box/speed.py [--pairs 2000] [--peer-pairs 200] [--models box OLDER.safetensors]

Each row is a process from its start to its end, on en-de pairs of multi30k's training text (ISOGLOT_DATA): three, which
are start-up alone, and many. The peers run the shape of mBERT with random weights (see ``aligners.py``); simalign,
which has no command, from a script of three lines. Then one pair at a time in a process that has loaded the aligner.
CPU seconds are of all threads; they stay comparable where a machine does other work as well, as wall time does not.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from statistics import median

from aligners import build_encoder

SIMALIGN = """
import sys, simalign
aligner = simalign.SentenceAligner(model=sys.argv[1], token_type="bpe", matching_methods="i", layer=8)
for line in open(sys.argv[2], encoding="utf-8"):
    source, target = (side.split() for side in line.split("|||"))
    print(" ".join(f"{i}-{j}" for i, j in aligner.get_word_aligns(source, target)["itermax"]))
"""
AWESOME = [
    "-m",
    "awesome_align.run_align",
    "--extraction",
    "softmax",
    "--batch_size",
    "32",
    "--num_workers",
    "0",
]


def read_pairs(count: int) -> list[str]:
    """Lines ``source ||| target``."""
    folder = Path(os.environ["ISOGLOT_DATA"]) / "multi30k"
    with (
        gzip.open(folder / "train.en.gz", "rt", encoding="utf-8") as english,
        gzip.open(folder / "train.de.gz", "rt", encoding="utf-8") as german,
    ):
        pairs = islice(zip(english, german, strict=True), count)
        return [f"{source.strip()} ||| {target.strip()}\n" for source, target in pairs]


def run(arguments: list[str], folder: Path) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak MB of ``python ...``."""
    began = time.perf_counter()
    with (folder / "printed").open("wb") as printed:
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-W", "ignore", *arguments],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, printed.fileno(), stream) for stream in (1, 2)],
        )
        _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{arguments} failed:\n{(folder / 'printed').read_text()[-2000:]}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def row(name: str, count: int, arguments: list[str], folder: Path, repeats: int) -> None:
    """The best of several runs."""
    wall, cpu, peak = (
        min(figures) for figures in zip(*(run(arguments, folder) for _ in range(repeats)), strict=True)
    )
    print(f"{name:28s} {count:6d} {wall:8.2f} {cpu:8.2f} {count / cpu:9.1f} {peak:8d}", flush=True)


def peer(package: str, method: str, count: int, arguments: list[str], folder: Path) -> None:
    """A row, where the package is installed."""
    if find_spec(package) is None:
        print(f"{package} is not installed; left out")
    else:
        row(f"{package} {method}", count, arguments, folder, 1)


def one_by_one(lines: list[str], model: str) -> None:
    """Milliseconds of each pair, one call a pair."""
    import isoglot as iso

    pairs = [[side.split() for side in line.split("|||")] for line in lines]
    for dtype in ("float32", "bfloat16"):
        iso.align(*pairs[0], dtype=dtype, model=model)
        figures = []
        for source, target in pairs:
            wall, cpu = time.perf_counter(), time.process_time()
            iso.align(source, target, dtype=dtype, model=model)
            figures.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)))
        walls, cpus = zip(*figures, strict=True)
        print(
            f"{Path(model).stem}, one pair, loaded, {dtype:10s}: median {median(walls):6.1f} ms wall, "
            f"{median(cpus):6.1f} ms CPU; least {min(walls):.1f} and {min(cpus):.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--peer-pairs", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=["box"], help="packed aligners, each measured in turn")
    options = parser.parse_args()
    lines = read_pairs(options.pairs)
    print(f"load {os.getloadavg()[0]:.1f}, OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', '')}")
    print(f"{'command':28s} {'pairs':>6s} {'wall s':>8s} {'cpu s':>8s} {'pairs/cpu s':>9s} {'peak MB':>8s}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = {}
        for count in (3, options.peer_pairs, options.pairs):
            files[count] = folder / f"{count}.txt"
            files[count].write_text("".join(lines[:count]), encoding="utf-8")
        for count in (3, options.pairs):
            for dtype, model in product(("float32", "bfloat16"), options.models):
                links = str(folder / "out")
                command = ["-m", "isoglot.cli", "align", str(files[count]), "--model", model, "-o", links]
                name = f"{Path(model).stem} {dtype}"
                row(name, count, [*command, "--precision", dtype], folder, options.repeats)
        pairs = [(source.split(), target.split()) for source, target in (line.split("|||") for line in lines)]
        build_encoder(pairs, folder, "mbert")
        for count in (3, options.peer_pairs):
            own = ["-c", SIMALIGN, str(folder), str(files[count])]
            peer("simalign", "itermax", count, own, folder)
            given = {"data_file": files[count], "output_file": folder / "out", "model_name_or_path": folder}
            flags = [text for name, value in given.items() for text in (f"--{name}", str(value))]
            peer("awesome_align", "softmax", count, [*AWESOME, *flags], folder)
    for model in options.models:
        one_by_one(lines[:100], model)


if __name__ == "__main__":
    main()
