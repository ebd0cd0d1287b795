"""Transfer to a language without training data of its own, and the gap to training on it (ALIGN-MLM §3).

SUP: fine-tuned and tested on the derived language
ZS:  fine-tuned on the source language, tested on the derived one
Δ  = SUP − ZS   (in Result rows: ``METRIC_supervised``, ``METRIC_zero_shot``, ``METRIC_delta``)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.finetune import FineTuning, remove_weights
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results.rows import FILE_NAME, Result, append
from isoglot.runs.files import inside, read_json, require_writable, write_json
from isoglot.runs.fingerprint import key_of
from isoglot.runs.lock import occupied
from isoglot.runs.ranks import require_one_process
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.runs.run_each import run_each
from isoglot.runs.sweep import PlannedRun
from isoglot.tasks.base import TrainableTask, check_locations, load_rows, require_distinct_rows
from isoglot.tasks.cards import origin
from isoglot.tasks.description import identify

_MEASURED = "measured.jsonl"
"""Results of one fine-tuned model, in its folder; not called results.jsonl, as a report would show them twice."""

_TESTED = "tested.json"
"""Results of a model that was tested on all its languages; with this file the model is not trained again, even if its
weights were deleted."""


@dataclass(frozen=True)
class TransferOptions:
    """Options of fine-tuning and testing."""

    train: FinetuneOptions | None = None
    split: str = "dev"
    keep: bool = False  # whether fine-tuned weights are kept after their tests; by default they are deleted
    swept: Mapping[str, Any] = field(default_factory=dict)  # values of a sweep, by which reports name the run


def transfer(
    checkpoint: str | Path,
    task: TrainableTask,
    *,
    languages: Sequence[str],
    seed: int = 1,
    options: TransferOptions | None = None,
    out: str | Path,
    progress: AnyReporter | None = None,
    on_measured: Callable[[list[Result]], None] | None = None,
) -> list[Result]:
    """Fine-tune on the source and on each target language, test on the targets, and report the gap.

    The model of the source language is tested on all targets. A call that was stopped goes on where it was.

    Args:
        checkpoint: Pre-trained encoder.
        task: Task with data of all languages.
        languages: Source first (``en``), then the targets (``en-x-trans-inv``, …).
        seed: Seed of all fine-tunings.
        options: Settings, split, and whether weights are kept.
        out: Folder; ``trained-on-en/`` and so on are runs, ``results.jsonl`` holds the rows.
        progress: Receives progress reports; ``print`` shows them as lines.
        on_measured: Receives the rows before they are written.

    Returns:
        Three rows per target, by the task's primary metric, in %.
    """
    require_one_process("transfer", "tests and deletes weights")
    if len(languages) < 2 or len(set(languages)) < len(languages):
        raise ConfigurationError(
            f"got languages {', '.join(languages) or 'none'}; two or more different ones are needed, the source "
            "first: [[languages=('en', 'en-x-trans-inv')]]"
        )
    source, *targets = languages
    settings = options or TransferOptions()
    folder = Path(out)
    require_writable(folder / FILE_NAME)
    _require_own_training_data(task, languages, settings.split)
    folders = {code: inside(folder, f"trained-on-{code}") for code in languages}

    def fine_tuned_and_tested(trained_on: str, tested: Sequence[str]) -> dict[str, Result]:
        path = folders[trained_on]
        with occupied(path):
            tuning = FineTuning(
                checkpoint, task, trained_on, seed, settings.train, path, progress, swept=settings.swept
            )
            rows = _tested(tuning, task, tested, settings)
        return {row.language: row for row in rows}

    # One model of the source language for all targets, then a model of each target.
    zero_shot = fine_tuned_and_tested(source, targets)
    supervised: dict[str, Result] = {}
    for target in targets:
        supervised |= fine_tuned_and_tested(target, [target])
    results: list[Result] = []
    for target in targets:
        results += _with_gap(zero_shot[target], supervised[target])
    if on_measured is not None:
        on_measured(results)
    append(folder / FILE_NAME, results, only_new=True)
    return results


def _require_own_training_data(task: TrainableTask, languages: Sequence[str], split: str) -> None:
    """Refuse data that is missing, and training data that two languages share.

    One file may hold several languages, but not the same rows for two of them: a model "of the target" would be one of
    the source. Rows are read here only if two languages have the same files.
    """
    sources = check_locations(task, [(code, name) for code in languages for name in ("train", split)])
    training_sources = {code: sources[code, "train"] for code in languages}
    different_files = {tuple(path.path for path in paths) for paths in training_sources.values()}
    if len(different_files) < len(languages):
        rows = {code: load_rows(task, code, "train") for code in languages}
        require_distinct_rows(rows, training_sources)


def _with_gap(zero_shot: Result, supervised: Result) -> list[Result]:
    """Name the two results of a language by their settings, and add the gap: ``f1_zero_shot``, …, ``f1_delta``."""
    metric = supervised.metric
    # The gap is of two checkpoints, so it has the hash of neither.
    gap = {"metric": f"{metric}_delta", "value": supervised.value - zero_shot.value, "checkpoint_hash": ""}
    return [
        zero_shot.model_copy(update={"metric": f"{metric}_zero_shot"}),
        supervised.model_copy(update={"metric": f"{metric}_supervised"}),
        supervised.model_copy(update=gap),
    ]


def _tested(
    tuning: FineTuning, task: TrainableTask, languages: Sequence[str], options: TransferOptions
) -> list[Result]:
    """Train on a language and test on some; return results by the task's primary metric.

    Results are read from :data:`_TESTED` if that was written for the same fine-tuning and the same tests.
    """
    folder, report = tuning.folder, tuning.report
    key = key_of(
        {
            "finetune": key_of(tuning.inputs),
            "tested": [identify(task, code, options.split) for code in languages],
            "languages": list(languages),
            "split": options.split,
        }
    )
    earlier = read_json(folder / _TESTED)
    if earlier is not None and earlier["key"] == key:
        report.note(f"{folder}: already done")
        rows = [Result.model_validate(row) for row in earlier["rows"]]
    else:
        tuned = tuning.run()
        measuring = EvaluateOptions(out=folder / _MEASURED)
        all_rows = evaluate_checkpoint(
            tuned, task, languages=languages, split=options.split, options=measuring, progress=report
        )
        rows = [row for row in all_rows if row.metric == task.primary_metric]
        write_json(folder / _TESTED, {"key": key, "rows": [row.model_dump() for row in rows]})
    if not options.keep:
        remove_weights(folder)
    return rows


@dataclass(frozen=True)
class TransferJob:
    """A checkpoint whose transfer is measured in one run, with one combination of settings and one seed."""

    run: PlannedRun
    checkpoint: str | Path
    task: TrainableTask
    options: TransferOptions


def transfer_runs(
    jobs: Sequence[TransferJob],
    languages: Sequence[str],
    *,
    workers: int = 1,
    progress: AnyReporter | None = None,
    on_measured: Callable[[PlannedRun, list[Result]], None] | None = None,
) -> list[list[Result]]:
    """Measure the transfer of every job; a job that fails leaves the others going.

    ``on_measured``: Receives the rows of each job: before they are written if jobs run in this process, or when a job
    is done if each has a process of its own.
    """
    in_processes = workers > 1 and len(jobs) > 1
    by_label = {job.run.label: job for job in jobs}
    runs = [job.run for job in jobs]
    make = partial(_transfer_one, by_label, languages, None if in_processes else on_measured)
    return run_each(
        runs,
        make,
        workers=workers,
        progress=reporter_of(progress),
        verb="transfer",
        done=on_measured if in_processes else None,
    )


def _transfer_one(
    jobs: Mapping[str, TransferJob],
    languages: Sequence[str],
    on_measured: Callable[[PlannedRun, list[Result]], None] | None,
    run: PlannedRun,
    progress: AnyReporter,
) -> list[Result]:
    """Measure one job, in this process or another one."""
    job = jobs[run.label]
    return transfer(
        job.checkpoint,
        job.task,
        languages=languages,
        seed=1 if run.seed is None else run.seed,
        options=job.options,
        out=run.folder,
        progress=progress,
        on_measured=None if on_measured is None else partial(on_measured, run),
    )


def run_folders(checkpoints: Sequence[str | Path], names: Sequence[str] = ()) -> dict[str, str | Path]:
    """Give each checkpoint the name that its results and folder have; return checkpoints by name.

    ``names``: Names in the order of the checkpoints; by default the names of the runs that made them.
    """
    if names and len(names) != len(checkpoints):
        raise ConfigurationError(
            f"got {len(names)} names for {len(checkpoints)} checkpoints; give [[runs]] once for each, in the same order"
        )
    runs: dict[str, str | Path] = {}
    for number, checkpoint in enumerate(checkpoints):
        name = names[number] if names else str(origin(checkpoint_folder(checkpoint))["run"])
        if name in runs:
            raise ConfigurationError(
                f"{runs[name]} and {checkpoint} are both called {name}; give each a name with [[runs]]"
            )
        runs[name] = checkpoint
    return runs
