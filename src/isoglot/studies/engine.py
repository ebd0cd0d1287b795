"""Doing a study's calls: each once, in this process, in several, or as Ray tasks; stopped work is gone on with."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.runs.cluster import load_ray, start
from isoglot.runs.files import make_folder, read_json, write_json
from isoglot.runs.folder import clear, require_checkpoint, versions
from isoglot.runs.listed import add_to_list, whole_folder
from isoglot.runs.lock import locked
from isoglot.runs.reporter import Reporter, Silent
from isoglot.runs.workers import end_with_parent, starting
from isoglot.studies.calls import Call, Step, resolve

MANIFEST = "call.json"
"""A call's manifest, written last."""
Engine = Literal["local", "ray"]
Submit = Callable[[Path, Call], Future[dict[str, Any]]]
_FAILED = "failed"


@dataclass
class Done:
    """What was done."""

    made: dict[str, int] = field(default_factory=dict)
    failed: dict[Call, str] = field(default_factory=dict)


class Store:
    """The folder of studies, which several processes may share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, call: Call) -> Path:
        """Where a call's files are."""
        return self.root / call.folder

    def manifest(self, call: Call) -> dict[str, Any] | None:
        """What a finished call left; ``None`` while it is not finished."""
        found = read_json(self.folder(call) / MANIFEST)
        return found if found is not None and found.get("key") == call.key else None

    def value(self, call: Call, metric: str) -> float | None:
        """A number that a finished call measured."""
        found = ((self.manifest(call) or {}).get("values") or {}).get(metric)
        return None if found is None else float(found)

    def usable(self, call: Call) -> bool:
        """Whether a call is finished and other calls can read what it made (weights may have been deleted)."""
        return (self.folder(call) / call.step.weights).exists() and self.manifest(call) is not None

    def missing(self, targets: Iterable[Call]) -> list[Call]:
        """The calls to do so that all targets are finished, each after what it needs."""
        found: dict[str, Call] = {}

        def visit(call: Call) -> None:
            if call.key not in found and not self.usable(call):
                for needed in call.needs:
                    visit(needed)
                found[call.key] = call

        for target in targets:
            if self.manifest(target) is None:
                visit(target)
        return list(found.values())

    def resolved(self, call: Call, *, assume: bool = False) -> Step:
        """A call's step with folders and facts in place of the calls it names.

        With ``assume``, facts that are not known yet are taken to be some number.
        """
        known = {needed.key: needed for needed in call.needs}

        def fill(key: str, fact: str) -> Any:
            if not fact:
                return self.folder(known[key]).resolve()
            facts = self.manifest(known[key]) or {}
            if fact not in facts and not assume:
                raise ConfigurationError(f"{known[key].told} has no fact {fact!r}")
            return facts.get(fact, 1000)

        values = resolve(call.step.model_dump(), fill, variables=call.step.expands and not assume)
        return type(call.step).model_validate(values)

    def do(self, call: Call, report: Reporter) -> dict[str, Any]:
        """Do one call unless it is done; other processes wait for it."""
        with locked(self.folder(call)):
            if self.usable(call):
                return self.manifest(call) or {}
            folder = self.folder(call)
            for needed in call.needs:
                require_checkpoint(self.folder(needed))
            if self.manifest(call) is not None:  # of weights that were deleted since
                clear(folder, MANIFEST)
            began, outside = time.monotonic(), {one.path: one.content for one in call.step.files()}
            with nullcontext(make_folder(folder)) if call.step.resumes else whole_folder(folder) as place:
                facts = self.resolved(call).run(place, report)
            manifest = {
                "key": call.key,
                "kind": call.step.kind,
                "name": call.name,
                "step": call.step.model_dump(mode="json"),
                "needs": [needed.folder for needed in call.needs],
                "outside": outside,
                **facts,
                "seconds": round(time.monotonic() - began, 2),
                "versions": versions(),
            }
            write_json(folder / MANIFEST, manifest)
            add_to_list(folder / MANIFEST)
            return manifest


def do_calls(
    targets: Sequence[Call],
    root: Path,
    *,
    engine: Engine = "local",
    workers: int = 1,
    keep: bool = False,
    progress: Reporter | None = None,
) -> Done:
    """Do all calls that the targets need and that are not done.

    A call that cannot be done for a user's mistake is noted, what needs it is left out, and the others are done.

    With ``ray`` each call is a Ray task with a GPU where the cluster has any, done again when its worker dies; the
    local engine has ``workers`` processes of one thread each, and with one works in this process. ``keep`` keeps
    fine-tuned weights after their last evaluation.
    """
    store, report, done = Store(root), progress or Silent(), Done()
    calls = store.missing(targets)
    waiting, running = {call.key: call for call in calls}, dict[Future[Any], Call]()
    with _executor(engine, workers, report) as (submit, slots):
        while waiting or running:
            _leave_out(waiting, done.failed)
            for call in [c for c in waiting.values() if not any(n.key in waiting for n in c.needs)]:
                busy = {other.key for other in running.values()}
                if len(running) < slots and not any(n.key in busy for n in call.needs):
                    del waiting[call.key]
                    number = len(calls) - len(waiting)
                    report.note(f"[{number}/{len(calls)}] {call.told}")
                    running[submit(store.root, call)] = call
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                call = running.pop(future)
                try:
                    manifest = future.result()
                except BrokenProcessPool as error:
                    raise IsoglotError(
                        f"{call.told}: a worker process was killed, most likely for want of memory; use fewer --workers"
                    ) from error
                except Exception as error:
                    error.add_note(f"while doing {call.told} in {store.folder(call)}")
                    raise
                if _FAILED in manifest:
                    done.failed[call] = str(manifest[_FAILED])
                    report.note(f"left out: {call.told}: {manifest[_FAILED]}")
                    continue
                kind = call.step.kind
                done.made[kind] = done.made.get(kind, 0) + 1
                if not keep:
                    _drop(store, call, targets)
    return done


def _leave_out(waiting: dict[str, Call], failed: dict[Call, str]) -> None:
    """Take out what needs a call that failed; ``waiting`` has what is needed first."""
    for call in list(waiting.values()):
        if lost := next((needed for needed in call.needs if needed in failed), None):
            failed[call] = f"needs {lost.told}, which could not be done"
            del waiting[call.key]


def _drop(store: Store, call: Call, targets: Sequence[Call]) -> None:
    """Delete fine-tuned weights that nothing will read again; their manifests stay."""
    for tuned in (needed for needed in call.needs if needed.step.kind == "finetune"):
        if not any(tuned in t.needs and store.manifest(t) is None for t in targets) and store.usable(tuned):
            manifest, folder = store.manifest(tuned) or {}, store.folder(tuned)
            clear(folder, MANIFEST)
            write_json(folder / MANIFEST, {**manifest, "weights": "deleted"})


@contextmanager
def _executor(engine: Engine, workers: int, report: Reporter) -> Iterator[tuple[Submit, float]]:
    """What hands a call over, and how many can be under way."""
    if engine == "ray":
        yield _Ray().submit, float("inf")
    elif workers == 1:
        yield lambda root, call: _done(root, call, report), 1
    else:
        context = multiprocessing.get_context("spawn")
        with starting():  # also what cleans up after all workers
            executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread)
        with executor as pool:

            def submit(root: Path, call: Call) -> Future[dict[str, Any]]:
                with starting():  # handing over work starts a process
                    return pool.submit(_do_interruptibly, str(root), call)

            yield submit, workers


def _done(root: Path, call: Call, report: Reporter) -> Future[dict[str, Any]]:
    """A call done at once, in this process."""
    future: Future[dict[str, Any]] = Future()
    try:
        future.set_result(_do(str(root), call, report=report))
    except Exception as error:  # noqa: BLE001 - the future raises it where the result is read
        future.set_exception(error)
    return future


class _Ray:
    """A Ray task each, with the results of the calls that it needs as arguments."""

    def __init__(self) -> None:
        ray = load_ray()
        if not ray.is_initialized():
            start(ray)
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        self._trains = ray.remote(max_retries=3, num_cpus=1, num_gpus=gpus)(_do)
        self._makes = ray.remote(max_retries=3, num_cpus=1)(_do)
        self._results: dict[str, Any] = {}

    def submit(self, root: Path, call: Call) -> Future[dict[str, Any]]:
        remote = self._makes if call.step.kind == "data" else self._trains
        needed = [self._results[n.key] for n in call.needs if n.key in self._results]
        result = remote.options(name=call.told).remote(str(root.resolve()), call, *needed)
        self._results[call.key] = result
        future: Future[dict[str, Any]] = result.future()
        return future


def _do(root: str, call: Call, *needed: Mapping[str, Any], report: Reporter | None = None) -> dict[str, Any]:
    """One call, its mistakes as a text; what it needs is done, as the results handed over show."""
    try:
        return Store(Path(root)).do(call, report or Silent())
    except IsoglotError as error:
        return {_FAILED: str(error)}


def _do_interruptibly(root: str, call: Call) -> dict[str, Any]:
    """One call in a worker process, which Ctrl-C ends as it does in the main one."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return _do(root, call)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _one_thread() -> None:
    """Have a worker process use one thread, and end with the process that started it."""
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    end_with_parent()
