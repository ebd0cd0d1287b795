"""Making a study's calls: each once, in this process, in several, or as Ray tasks; stopped work is continued."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from isoglot.checks import checked
from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.runs.cluster import RayPool
from isoglot.runs.files import read_json, write_json
from isoglot.runs.folder import clear, make_unless, require_checkpoint
from isoglot.runs.pool import WorkPool, no_setup
from isoglot.runs.reporter import AnyReporter, Reporter, Silent, reporter_of
from isoglot.studies.graph import Call, Output, Step, resolve
from isoglot.studies.inputs import expanded

MANIFEST = "call.json"
"""A call's manifest, written last."""
_FAILED = "failed"


@dataclass
class Tally:
    """How many calls of each kind were made, and why others failed."""

    made: Counter[str] = field(default_factory=Counter)
    failed: dict[Call, str] = field(default_factory=dict)


class Store:
    """The folder of studies, which several processes may share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, call: Call) -> Path:
        """Where a call's files are."""
        return self.root / call.folder

    def manifest(self, call: Call) -> dict[str, Any]:
        """What a finished call left; empty while it is not finished."""
        return read_json(self.folder(call) / MANIFEST) or {}

    def value(self, call: Call, metric: str) -> float | None:
        """A number that a finished call measured."""
        found = self.manifest(call).get("values", {}).get(metric)
        return None if found is None else float(found)

    def usable(self, call: Call) -> bool:
        """Whether a call is finished and other calls can read what it made (weights may have been deleted)."""
        return (self.folder(call) / call.step.weights).exists() and bool(self.manifest(call))

    def missing(self, targets: Iterable[Call]) -> list[Call]:
        """The calls to make so that all targets are finished, each after what it needs."""
        found: dict[Call, None] = {}

        def visit(call: Call) -> None:
            if call not in found and not self.usable(call):
                for needed in call.needs:
                    visit(needed)
                found[call] = None

        for target in targets:
            if not self.manifest(target):
                visit(target)
        return list(found)

    def resolved(self, call: Call, *, assume: bool = False) -> Step:
        """A call's step with folders and facts in place of the calls that it needs, and variables filled in.

        With ``assume``, facts that are not known yet are taken to be some number, and variables stay.
        """

        def fill(leaf: Any) -> Any:
            if isinstance(leaf, str) and call.step.expands and not assume:
                return expanded(leaf)
            if not isinstance(leaf, Output):
                return leaf
            if not leaf.fact:
                return f"{leaf.before}{self.folder(leaf.call).resolve()}{leaf.after}"
            facts = self.manifest(leaf.call)
            if leaf.fact not in facts and not assume:
                raise ConfigurationError(f"{leaf.call.title} has no fact {leaf.fact!r}")
            return facts.get(leaf.fact, 1000)

        return checked(type(call.step), resolve(call.arguments, fill))

    def make(self, call: Call, report: Reporter) -> dict[str, Any]:
        """Make one call unless it is finished; other processes wait for it."""
        folder = self.folder(call)

        def finished() -> dict[str, Any] | None:
            if self.usable(call):
                return self.manifest(call)
            for needed in call.needs:
                require_checkpoint(self.folder(needed))
            if self.manifest(call):  # of weights that were deleted since
                clear(folder, MANIFEST)
            return None

        def make(place: Path) -> dict[str, Any]:
            began, outside = time.monotonic(), {one.path: one.content for one in call.step.reads()}
            facts = self.resolved(call).run(place, report)
            return {
                "name": call.name,
                "step": call.step.model_dump(mode="json"),
                "needs": [needed.folder for needed in call.needs],
                "outside": outside,
                **facts,
                "seconds": round(time.monotonic() - began, 2),
            }

        return make_unless(finished, folder, make, name=MANIFEST, resumes=call.step.resumes)[0]

    def drop_weights(self, call: Call, calls: Sequence[Call]) -> None:
        """Delete fine-tuned weights that a call read and nothing will read again; their manifests stay."""
        for tuned in (needed for needed in call.needs if needed.step.kind == "finetune"):
            if not any(tuned in t.needs and not self.manifest(t) for t in calls) and self.usable(tuned):
                manifest, folder = self.manifest(tuned), self.folder(tuned)
                clear(folder, MANIFEST)
                write_json(folder / MANIFEST, {**manifest, "weights": "deleted"})


def make_calls(
    targets: Sequence[Call],
    root: Path,
    *,
    engine: Literal["local", "ray"] = "local",
    workers: int = 1,
    keep: bool = False,
    progress: AnyReporter | None = None,
) -> Tally:
    """Make all calls that the targets need and that are not finished.

    A call that fails for a user's mistake is noted, what needs it is left out, and the others are made.

    With ``ray`` each call is a Ray task with a GPU where the cluster has any, made again when its worker dies; the
    local engine has ``workers`` processes of one thread each, and with one works in this process. ``keep`` keeps
    fine-tuned weights after their last evaluation.
    """
    store = Store(root.resolve() if engine == "ray" else root)
    report, tally = reporter_of(progress), Tally()
    calls = store.missing(targets)
    waiting, running = dict.fromkeys(calls), dict[Future[dict[str, Any]], Call]()
    pool = RayPool() if engine == "ray" else WorkPool(workers, _one_thread if workers > 1 else no_setup)
    apart, slots = engine == "ray" or workers > 1, workers if engine == "local" else len(calls)
    make = partial(_make, apart=apart)
    with pool:
        while waiting or running:
            for call in list(waiting):
                if lost := next((needed for needed in call.needs if needed in tally.failed), None):
                    tally.failed[call] = f"needs {lost.title}, which could not be done"
                    del waiting[call]
                elif len(running) < slots and not any(
                    n in waiting or n in running.values() for n in call.needs
                ):
                    del waiting[call]
                    report.note(f"[{len(calls) - len(waiting)}/{len(calls)}] {call.title}")
                    given = store.root, call, Silent() if apart else report
                    running[pool.submit(make, *given, gpu=call.step.kind != "data")] = call
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                call = running.pop(future)
                try:
                    manifest = pool.result(future)
                except IsoglotError as error:  # the worker was lost
                    raise IsoglotError(f"{call.title}: {error}") from error
                except Exception as error:
                    error.add_note(f"while doing {call.title} in {store.folder(call)}")
                    raise
                if _FAILED in manifest:
                    tally.failed[call] = str(manifest[_FAILED])
                    report.note(f"left out: {call.title}: {manifest[_FAILED]}")
                    continue
                tally.made[call.step.kind] += 1
                if not keep:
                    store.drop_weights(call, calls)
    return tally


def _make(root: Path, call: Call, report: Reporter, *, apart: bool) -> dict[str, Any]:
    """One call, its mistakes as a text; Ctrl-C ends it in a worker process too (``apart``)."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT} if apart else ())
    try:
        return Store(root).make(call, report)
    except IsoglotError as error:
        return {_FAILED: str(error)}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one_thread(settings: object) -> None:
    del settings
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
