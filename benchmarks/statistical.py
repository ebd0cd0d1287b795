"""Time and memory of the statistical aligners on multi30k en–de, both directions and grow-diag-final-and.

    ISOGLOT_DATA=... python benchmarks/statistical.py [--pairs 29000] [--peer-python PATH] [--runs 3]

Every system runs in a process of its own that reads the same two tokenised files, aligns them and writes Pharaoh lines;
wall time and peak memory are that process's (with its children). Peers are measured where they are installed:
``fast_align`` with ``atools`` and ``eflomal-align`` on the path, ``systran_align`` and ``thot`` in the interpreter
``--peer-python``.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import regex

WORD = regex.compile(r"\w+|[^\w\s]")
ISOGLOT = """
import sys
from pathlib import Path
from isoglot.align.statistical.model import StatisticalAligner
source, target, out, method = sys.argv[1:]
sides = [[line.split() for line in Path(path).read_text().splitlines()] for path in (source, target)]
found = StatisticalAligner(method).fit_align_words(*sides)
Path(out).write_text("".join(line + "\\n" for line in found.links.to_pharaoh()))
"""
SYSTRAN = """
import sys, systran_align
source, target, out = sys.argv[1:]
both = [s.rstrip() + " ||| " + t for s, t in zip(open(source), open(target))]
open(out + ".in", "w").writelines(both)
systran_align.generate_alignment_probabilities(out + ".in", out + ".f", out + ".b", favor_diagonal=True,
    optimize_tension=True, variational_bayes=True)
aligner = systran_align.Aligner(out + ".f", out + ".b")
with open(out, "w") as file:
    for s, t in zip(open(source), open(target)):
        print(*[f"{i}-{j}" for i, j in aligner.align(s.split(), t.split())["alignments"]], file=file)
"""
THOT = """
import sys
from thot import alignment as a
source, target, out, kind = sys.argv[1:]
def train(one, other):
    model = getattr(a, kind)()
    for s, t in zip(open(one), open(other)):
        model.add_sentence_pair(s.split(), t.split())
    model.start_training()
    for _ in range(5):
        model.train()
    model.end_training()
    return model
aligner = a.SymmetrizedAligner(train(source, target), train(target, source))
aligner.heuristic = a.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
with open(out, "w") as file:
    for s, t in zip(open(source), open(target)):
        matrix = aligner.get_best_alignment(s.split(), t.split())[1]
        rows, columns = matrix.to_numpy().nonzero()
        print(*[f"{i}-{j}" for i, j in zip(rows, columns)], file=file)
"""
FAST_ALIGN = """
paste {source} {target} | sed 's/\\t/ ||| /' > {out}.in
fast_align -i {out}.in -d -o -v > {out}.f 2>/dev/null & fast_align -i {out}.in -d -o -v -r > {out}.r 2>/dev/null; wait
atools -i {out}.f -j {out}.r -c grow-diag-final-and > {out}
"""
EFLOMAL = """
import sys
from pathlib import Path
from isoglot.align.statistical.eflomal import EflomalAligner
source, target, out = sys.argv[1:]
sides = [[line.split() for line in Path(path).read_text().splitlines()] for path in (source, target)]
Path(out).write_text("".join(line + "\\n" for line in EflomalAligner().align_words(*sides).to_pharaoh()))
"""


def commands(files: list[str], peer: str | None) -> Iterator[tuple[str, list[str] | None]]:
    """Each system's name and command; no command where it is not installed."""
    source, target, out = files
    for method in ("fast_align", "hmm"):
        yield f"isoglot {method}", [sys.executable, "-c", ISOGLOT, *files, method]
    built = shutil.which("fast_align") and shutil.which("atools")
    script = FAST_ALIGN.format(source=source, target=target, out=out)
    yield "fast_align (C++)", ["bash", "-c", script] if built else None
    yield "eflomal", [sys.executable, "-c", EFLOMAL, *files] if shutil.which("eflomal-align") else None
    yield "systran-align", [peer, "-c", SYSTRAN, *files] if peer and has(peer, "systran_align") else None
    for kind in ("FastAlignModel", "HmmAlignmentModel"):
        there = peer and has(peer, "thot.alignment")
        yield f"sil-thot {kind}", [peer, "-c", THOT, *files, kind] if peer and there else None


def has(python: str, module: str) -> bool:
    return (
        subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
    )


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB of a process and its children, read by a parent of their own."""
    wrapper = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\ncode = subprocess.run(sys.argv[1:]).returncode\n"
        "taken = time.perf_counter() - start\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print('MEASURED', taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", wrapper, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    wall, cpu, memory = done.stdout.rsplit("MEASURED", 1)[1].split()
    return float(wall), float(cpu), float(memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=29000)
    parser.add_argument("--runs", type=int, default=3, help="the median of so many runs is printed")
    parser.add_argument("--peer-python", help="interpreter that has systran_align and thot")
    options = parser.parse_args()
    data = Path(os.environ["ISOGLOT_DATA"]) / "multi30k"
    with tempfile.TemporaryDirectory() as name:
        files = [f"{name}/en", f"{name}/de", f"{name}/links"]
        for path, language in zip(files, ("en", "de"), strict=False):
            text = gzip.decompress((data / f"train.{language}.gz").read_bytes()).decode()
            lines = text.splitlines()[: options.pairs]
            words = (" ".join(WORD.findall(line.lower())) + "\n" for line in lines)
            Path(path).write_text("".join(words), encoding="utf-8")
        print(f"multi30k en–de, {options.pairs} pairs, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores")
        print(f"{'system':30}{'wall s':>9}{'cpu s':>9}{'peak MB':>9}  same lines")
        first: list[str] = []
        for system, command in commands(files, options.peer_python):
            if command is None:
                print(f"{system:30}  not installed")
                continue
            runs = [measure(command) for _ in range(options.runs)]
            wall, cpu, memory = (statistics.median(column) for column in zip(*runs, strict=True))
            links = Path(files[2]).read_text(encoding="utf-8").splitlines()
            first = first or links
            same = sum(set(a.split()) == set(b.split()) for a, b in zip(first, links, strict=True))
            print(
                f"{system:30}{wall:9.2f}{cpu:9.2f}{memory:9.0f}  {same} of {len(first)} as the first",
                flush=True,
            )


if __name__ == "__main__":
    main()
