"""`isoglot align` beside the C++ fast_align, as whole commands from start-up to the last line written.

    ISOGLOT_DATA=... python benchmarks/statistical.py --fast-align FOLDER [--pairs 29000 290000] [--runs 5]
    python benchmarks/statistical.py --generated --pairs 2000000 --runs 1
    python benchmarks/statistical.py --joined de ru fr es zh fi --pairs 230000 --runs 1 --methods hmm eflomal

FOLDER holds the C++ program's source (its ``src``), which is built with ``g++`` into a temporary folder; without it
only isoglot is measured. Both directions and grow-diag-final-and; the text is multi30k, lower-cased and tokenised,
and more pairs than it has are the same pairs again, or generated text of Europarl's size and shape, in which no pair
occurs twice, or real bitexts of several languages with English joined. ``eflomal`` is ``eflomal-align`` itself, whose
links are not symmetrised; it must be on the path. Systems take turns, so that a busy moment meets all of them. CPU
seconds are those of all processes of a command; peak memory is that of its largest process. The last column is lines
whose links differ from the first C++ run's, which differs from itself where it runs with several threads.
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import regex

WORD = regex.compile(r"\w+|[^\w\s]")
SYMMETRISE = "atools -i forward -j reverse -c grow-diag-final-and"
PEER = f"fast_align -i both -d -o -v > forward && fast_align -i both -d -o -v -r > reverse && {SYMMETRISE} > {{out}}"

EFLOMAL = "eflomal-align --overwrite --model 3 -s en -t de -f {out} -r reverse"


@dataclass
class System:
    """A command and what its runs took."""

    name: str
    command: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: float = 0.0
    differing: list[int] = field(default_factory=list)


def write_text(folder: Path, pairs: int) -> None:
    """``en``, ``de`` and ``both`` (``source ||| target``)."""
    data = Path(os.environ["ISOGLOT_DATA"]) / "multi30k"
    sides = []
    for language in ("en", "de"):
        lines = gzip.decompress((data / f"train.{language}.gz").read_bytes()).decode().split("\n")[:-1]
        words = [_split(line) for line in lines]
        sides.append([words[k % len(words)] for k in range(pairs)])
    _write(folder, *sides)


def write_joined(folder: Path, pairs: int, languages: list[str]) -> None:
    """The first pairs of real bitexts with English, one after the other; as many as there are."""
    sides: tuple[list[str], list[str]] = [], []
    for language in languages:
        path = Path(os.environ["ISOGLOT_DATA"]) / "parallel" / f"en-{language}.tsv.gz"
        for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]:
            if len(sides[0]) < pairs:
                for side, text in zip(sides, line.split("\t")[:2], strict=True):
                    side.append(_split(text))
    print(f"{len(sides[0]):,} pairs of en with {' '.join(languages)}")
    _write(folder, *sides)


def _split(line: str) -> str:
    return " ".join(WORD.findall(line.lower()))


def _write(folder: Path, source: list[str], target: list[str]) -> None:
    for language, side in (("en", source), ("de", target)):
        (folder / language).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    both = (f"{one} ||| {other}\n" for one, other in zip(source, target, strict=True))
    (folder / "both").write_text("".join(both), encoding="utf-8")


def write_generated(folder: Path, pairs: int) -> None:
    """Text of Europarl's size and shape: 25 words a sentence, up to 100,000 and 300,000 word types, words reordered.

    Zipf exponents and the share of translated words are such that vocabularies and distinct word pairs grow as in real
    en-de text: 3.0, 5.3 and 8.8 million pairs of words in 10,000, 20,000 and 40,000 sentences; here 2.9, 5.1 and 9.0.
    """
    random = np.random.default_rng(1)
    vocabulary, translations = 100_000, 300_000
    chance = np.cumsum(1 / (np.arange(vocabulary) + 2.7) ** 1.2)
    other = np.cumsum(1 / (np.arange(translations) + 2.7) ** 1.1)
    chance, other = chance / chance[-1], other / other[-1]
    names = [
        np.array([f"{letter}{k}" for k in range(n)]) for letter, n in (("e", vocabulary), ("d", translations))
    ]
    with (
        (folder / "en").open("w") as source_file,
        (folder / "de").open("w") as target_file,
        (folder / "both").open("w") as both,
    ):
        for length in np.clip(random.lognormal(3.05, 0.6, pairs), 1, 150).astype(int):
            words = np.searchsorted(chance, random.random(length))
            own = np.searchsorted(other, random.random(length))
            likely = np.minimum(
                3 * words + np.minimum(random.geometric(0.7, length) - 1, 2), translations - 1
            )
            order = np.argsort(np.arange(length) + random.normal(0, 2, length))
            mixed = np.where(random.random(length) < 0.9, likely, own)[order]
            source, target = " ".join(names[0][words]), " ".join(names[1][mixed])
            source_file.write(source + "\n")
            target_file.write(target + "\n")
            both.write(f"{source} ||| {target}\n")


def build(source: Path, folder: Path) -> None:
    """The C++ programs, in ``folder``."""
    for name, files, flags in (
        ("fast_align", ("fast_align.cc", "ttables.cc"), ("-fopenmp",)),
        ("atools", ("atools.cc", "alignment_io.cc"), ()),
    ):
        paths = [str(source / "src" / file) for file in files]
        include = [f"-I{source}", f"-I{source / 'src'}"]
        subprocess.run(
            ["g++", "-O3", "-std=c++11", *flags, *include, *paths, "-o", str(folder / name)], check=True
        )


def measure(system: System, folder: Path, threads: int) -> list[str]:
    """Run the command once; its lines of links."""
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"  # isoglot's is beside this Python
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": str(threads)}
    out = folder / "links"
    script = (
        "import os, resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "code = subprocess.run(['bash', '-c', sys.argv[1]], stderr=subprocess.DEVNULL).returncode\n"
        "taken, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(code, taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    command = system.command.format(out=out)
    done = subprocess.run(
        [sys.executable, "-c", script, command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    code, wall, cpu, memory = map(float, done.stdout.split())
    if code:
        raise SystemExit(f"`{command}` ended with code {code:.0f}")
    system.wall.append(wall)
    system.cpu.append(cpu)
    system.memory = max(system.memory, memory)
    return out.read_text(encoding="utf-8").splitlines()


def compare(pairs: int, folder: Path, systems: list[System], options: argparse.Namespace) -> None:
    """Measure the systems in turns and print a table."""
    if options.joined:
        write_joined(folder, pairs, options.joined)
    else:
        (write_generated if options.generated else write_text)(folder, pairs)
    reference: list[str] = []
    for _ in range(options.runs):
        for system in systems:
            links = measure(system, folder, options.threads)
            if system.name.startswith("C++"):
                reference = reference or links
            if reference:
                pairs_of_lines = zip(links, reference, strict=True)
                system.differing.append(sum(set(a.split()) != set(b.split()) for a, b in pairs_of_lines))
    print(f"\n{pairs:,} pairs, {options.runs} runs, {options.threads} threads, load {os.getloadavg()[0]:.1f}")
    print(f"{'system':22}{'wall s':>15}{'cpu s':>15}{'peak MB':>9}  lines that differ")
    for system in systems:
        wall, cpu = (f"{min(v):7.2f} {statistics.median(v):7.2f}" for v in (system.wall, system.cpu))
        differing = "/".join(map(str, system.differing)) or "–"
        print(f"{system.name:22}{wall:>15}{cpu:>15}{system.memory:9.0f}  {differing}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[29_000])
    parser.add_argument(
        "--generated", action="store_true", help="text of Europarl's shape in place of multi30k"
    )
    parser.add_argument("--joined", nargs="+", metavar="LANG", help="real bitexts in place of multi30k")
    parser.add_argument("--runs", type=int, default=5, help="minimum and median are printed")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the C++ program")
    parser.add_argument("--fast-align", type=Path, help="folder of the C++ program's source")
    parser.add_argument(
        "--methods", nargs="+", default=["fast_align"], choices=["fast_align", "hmm", "eflomal"]
    )
    options = parser.parse_args()
    built = options.fast_align is not None and shutil.which("g++") is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if built:
            build(options.fast_align, folder)
        else:
            print("C++ fast_align is not measured: give --fast-align FOLDER, where g++ is installed")
        for pairs in options.pairs:
            systems = [System("C++ fast_align", PEER)] * built
            for method in options.methods:
                own = System(f"isoglot {method}", f"isoglot align en de -q -m {method} -o {{out}}")
                systems.append(System(method, EFLOMAL) if method == "eflomal" else own)
            compare(pairs, folder, systems, options)


if __name__ == "__main__":
    main()
