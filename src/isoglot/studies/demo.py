"""``isoglot demo``: ALIGN-MLM's story offline: four objectives from scratch, and what each buys across languages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.corpus.pool import usable_cores
from isoglot.errors import ConfigurationError
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.file import load_study, studies_folder
from isoglot.studies.gold import write_gold
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.points import SYSTEMS
from isoglot.studies.run import TRAINER_STATE
from isoglot.studies.store import Store
from isoglot.studies.table import write_study
from isoglot.studies.units import Unit

__all__ = ["Demo", "DemoRow", "run_demo"]

STUDY = studies_folder() / "_demo.yaml"
NAMES = SYSTEMS
TASKS = {"pos": "POS", "xnli": "NLI"}
NLI_READER, NLI_LEARNED = 38.5, 42.5
"""Accuracy of a reader that sees only which words come and go (docs/miniature_world.md); two standard errors more."""
_SECONDS_BETWEEN_LOOKS = 0.3
_SECONDS_TO_END = 10.0
_SHOWN = 12
"""Sentences in each word-alignment viewer."""
_GOLD, _MAPPED = 100, 3000
"""Sentences whose links are scored by layer, and those whose frequent words are mapped."""


@dataclass(frozen=True)
class DemoRow:
    """What one objective reached, in per cent.

    Args:
        name: of the objective.
        alignment: alignment score.
        supervised: task -> fine-tuned and tested on the derived language.
        zero_shot: task -> fine-tuned on English, tested on the derived language.
    """

    name: str
    alignment: float
    supervised: Mapping[str, float]
    zero_shot: Mapping[str, float]


@dataclass(frozen=True)
class Demo:
    """What the demo found.

    Args:
        rows: one an objective.
        example: a sentence and its derived form.
        page: the report.
    """

    rows: Sequence[DemoRow]
    example: tuple[str, str]
    page: Path

    @property
    def headline(self) -> str:
        """The figures of MLM and ALIGN-MLM in a sentence."""
        first, last = self.rows[0], self.rows[-1]
        told = [
            f"{row.name} pairs {row.alignment:.0f} % of the word pieces with their copies, and tags "
            f"{row.zero_shot['pos']:.0f} F1 zero-shot (supervised: {row.supervised['pos']:.0f})"
            for row in (last, first)
        ]
        return f"{told[0]}; {told[1]}."

    @property
    def caution(self) -> str:
        """What the inference figures are worth; empty where every encoder has learned the task."""
        weak = [row.name for row in self.rows if row.supervised["xnli"] < NLI_LEARNED]
        if not weak:
            return ""
        return (
            f"NLI: {', '.join(weak)} {'is' if len(weak) == 1 else 'are'} not clearly above {NLI_READER} % even where "
            "supervised, which a reader of single words reaches (a guess: 33 %): so short a training does not teach "
            "inference, and NLI's Δ says nothing here."
        )


def run_demo(
    out: str | Path,
    *,
    settings: Sequence[str] = (),
    workers: int | None = None,
    progress: Reporter | None = None,
) -> Demo:
    """Run the study of the demo, a process a core, and write its report.

    Generated English; its copy in another script with each sentence's words reversed; MLM, XLM, DICT-MLM and
    ALIGN-MLM from scratch on both; alignment score, parts of speech and inference, supervised and zero-shot.

    Args:
        out: folder; what is finished in it is not done again.
        settings: changes of the study, as ``isoglot study --set``.
        workers: processes; by default as many as there are cores, four at most.
        progress: told about the work.

    Raises:
        ConfigurationError: a setting that the study does not know, or a part of the work that failed.
    """
    out, report = Path(out), progress or Silent()
    plan = build_plan(load_study(STUDY, "tiny", settings))
    store = Store(out)
    example = _run(plan, store, settings, min(workers or usable_cores(), len(NAMES)), report)
    report.note("drawing the report")
    _, folder = write_study(plan, out)
    rows = _rows(plan, store)
    _figures(plan, store, folder)
    demo = Demo(rows, example, out / "report.html")
    trained = [store.folder(unit) for unit in plan.units() if unit.kind == "pretrain"]
    _render(demo, [folder, *(run for run in trained if (run / TRAINER_STATE).is_file())])
    return demo


def _run(
    plan: Plan, store: Store, settings: Sequence[str], workers: int, report: Reporter
) -> tuple[str, str]:
    """Have each process do its part of the units, and tell of each as it is finished."""
    units = plan.units()
    missing = [unit for unit in units if store.manifest(unit) is None]
    derived = next(unit for unit in units if unit.kind == "data" and unit.name == "derived")
    if missing:
        began = time.monotonic()
        with _ended_in_order(), ExitStack() as stack:
            running = [_start(stack, store.root, settings, (k, workers)) for k in range(1, workers + 1)]
            while True:
                ended = all(process.poll() is not None for process, _ in running)
                for unit in [u for u in missing if store.manifest(u) is not None]:
                    missing.remove(unit)
                    said = _told(unit, store.manifest(unit) or {})
                    if said:
                        minutes, seconds = divmod(int(time.monotonic() - began), 60)
                        report.note(f"{minutes}:{seconds:02d}  {said}")
                    if unit is derived:
                        report.note("      {}\n      {}".format(*_example(store, derived)))
                report.progress("demo", len(units) - len(missing), len(units))
                if ended:
                    break
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        _check(running, missing)
    return _example(store, derived)


def _start(
    stack: ExitStack, root: Path, settings: Sequence[str], part: tuple[int, int]
) -> tuple[subprocess.Popen[bytes], Path]:
    """A process of one thread that does a part of the study; it ends with this one."""
    root.mkdir(parents=True, exist_ok=True)
    said = root / f"part-{part[0]}.log"
    command = [sys.executable, "-m", "isoglot.cli", "study", str(STUDY), "--scale", "tiny", "--out", str(root),
               "--only", f"{part[0]}/{part[1]}", *(word for s in settings for word in ("--set", s))]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    log = stack.enter_context(said.open("wb"))
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    stack.callback(_end, process)
    return process, said


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Have SIGTERM raise ``SystemExit``, so that processes which were started are ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def leave(number: int, frame: object) -> None:
        del frame
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(running: Sequence[tuple[subprocess.Popen[bytes], Path]], missing: Sequence[Unit]) -> None:
    failed = [said for process, said in running if process.returncode]
    if failed or missing:
        last = failed[0] if failed else running[0][1]
        lines = last.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise ConfigurationError(
            f"the demo stopped with {len(missing)} steps to do; the end of {last}: {' / '.join(lines[-3:])}; "
            "type the same command again to go on"
        )


def _told(unit: Unit, manifest: Mapping[str, Any]) -> str:
    """A finished unit in a line; nothing for those that only lead to the next."""
    seconds = float(manifest.get("seconds", 0))
    if unit.kind == "data":
        return {
            "english": "generated English: text, parts of speech, inference",
            "derived": "derived its copy: other letters, each sentence's words reversed",
        }.get(unit.name, "")
    name = NAMES[unit.run]
    if unit.kind == "pretrain":
        return f"{name}: trained from scratch ({seconds:.0f} s)"
    value = manifest.get("values", {}).get("")
    if unit.kind == "evaluate":
        return f"{name}: {TASKS[unit.config['name']]} {_setting(unit).replace('_', '-')} {value:.1f}"
    return f"{name}: alignment score {value:.1f} %" if unit.kind == "analyse" else ""


def _setting(unit: Unit) -> str:
    tuned = next(needed for needed in unit.needs if needed.kind == "finetune")
    return "supervised" if tuned.config["language"] == unit.config["language"] else "zero_shot"


def _example(store: Store, derived: Unit) -> tuple[str, str]:
    """The first sentence of the text and its derived form."""
    place = _languages(store, derived) / "text"
    first, second = (
        (place / name).open(encoding="utf-8").readline().strip() for name in ("original.txt", "derived.txt")
    )
    return first, second


def _languages(store: Store, derived: Unit) -> Path:
    return store.folder(derived) / str(derived.config["language"])


def _rows(plan: Plan, store: Store) -> list[DemoRow]:
    found = []
    leaves = plan.leaves()
    for run, name in NAMES.items():
        own = [(unit, (store.manifest(unit) or {})["values"][""]) for unit in leaves if unit.run == run]
        by_setting: dict[str, dict[str, float]] = {"supervised": {}, "zero_shot": {}}
        for unit, value in own:
            if unit.kind == "evaluate":
                by_setting[_setting(unit)][str(unit.config["name"])] = value
        alignment = next(value for unit, value in own if unit.kind == "analyse")
        found.append(DemoRow(name, alignment, **by_setting))
    return found


def _figures(plan: Plan, store: Store, folder: Path) -> None:
    """Links by layer, sentences with their links, and a map of words: input of the report."""
    from isoglot.analysis.analyse_links import (  # noqa: PLC0415 - loads the libraries
        AlignmentsRequest,
        LayersRequest,
        analyse_alignments,
        analyse_layers,
    )
    from isoglot.analysis.analyse_map import MapRequest, analyse_map  # noqa: PLC0415

    units = {NAMES[u.run]: u for u in plan.leaves() if u.kind == "analyse"}
    paths = {n: store.resolved(u.config["checkpoint"], u, variables=False) for n, u in units.items()}
    derived = next(u for u in plan.units() if u.kind == "data" and u.name == "derived")
    texts = _languages(store, derived)
    gold = store.root / "gold.en-xx.jsonl"
    write_gold(texts / "pos.dev" / "aligned", gold, limit=_GOLD)
    ends, labels = [paths["MLM"], paths["ALIGN-MLM"]], ["MLM", "ALIGN-MLM"]
    words = MapRequest([str(texts / "text" / "aligned")], distinct=True, limit=_MAPPED)
    analyse_map(ends, words, out=folder, labels=labels)
    layers = LayersRequest([str(gold)], methods=["argmax"])
    analyse_layers(list(paths.values()), layers, out=folder, labels=list(paths))
    shown = AlignmentsRequest(str(gold), method="argmax", layer=0, limit=_SHOWN)
    analyse_alignments(ends, shown, out=folder, labels=labels)


def _render(demo: Demo, runs: Sequence[Path]) -> None:
    from isoglot.report.render import ReportOptions, render  # noqa: PLC0415

    options = ReportOptions(
        title="isoglot demo: ALIGN-MLM's four objectives",
        headline=f"{demo.headline} {demo.caution}".strip(),
        names=NAMES,
        baseline=NAMES["mlm"],
    )
    render(runs, out=demo.page, options=options)
