"""``isoglot.finetune``: one fine-tuning, or one for each seed and each combination of swept settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from transformers import PreTrainedModel

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.finetuning.finetune import FineTuning
from isoglot.finetuning.options import FinetuneOptions, settings_for, task_with_settings
from isoglot.formats.labelled.memory import data_source
from isoglot.modules.model_folder import model_folder
from isoglot.runs.history import Checkpoint
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.runs.run_each import run_each
from isoglot.runs.sweep import (
    PlannedRun,
    SweepRequest,
    check_each,
    checked_seeds,
    planned_runs,
    refuse_given_twice,
)
from isoglot.tasks import task_class, task_with_data
from isoglot.tasks.vector_classifier import name_of_function

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, TrainerCallback

    from isoglot.tasks.base import Task

BuildTask = Callable[[Mapping[str, Any]], tuple[Any, FinetuneOptions]]
"""Makes a task and its settings from the swept values of one run: ``{"learning_rate": 1e-5}``."""


@overload
def finetune(
    model: PreTrainedModel | Callable[[list[str]], Any] | str | Path,
    task: str | Task,
    *,
    out: str | Path,
    seed: int = 1,
    sweep: None = None,
    **more: Any,
) -> Checkpoint: ...
@overload
def finetune(
    model: PreTrainedModel | Callable[[list[str]], Any] | str | Path,
    task: str | Task,
    *,
    out: str | Path,
    seed: Sequence[int],
    **more: Any,
) -> list[Checkpoint]: ...
@overload
def finetune(
    model: PreTrainedModel | Callable[[list[str]], Any] | str | Path,
    task: str | Task,
    *,
    out: str | Path,
    sweep: Mapping[str, Sequence[Any]],
    **more: Any,
) -> list[Checkpoint]: ...
def finetune(  # noqa: PLR0913 - the face names what it takes
    model: PreTrainedModel | Callable[[list[str]], Any] | str | Path,
    task: str | Task,
    *,
    out: str | Path,
    language: str | Sequence[str] = "en",
    data: Any = None,
    columns: Mapping[str, Any] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int | Sequence[int] = 1,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    workers: int = 1,
    train: FinetuneOptions | None = None,
    preset: str = "xtreme",
    epochs: float | Sequence[float] | None = None,
    batch_size: int | Sequence[int] | None = None,
    learning_rate: float | Sequence[float] | None = None,
    max_length: int | None = None,
    keep_adapter: bool = False,
    resume: bool = True,
    overwrite: bool = False,
    progress: AnyReporter = True,
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
    **settings: Any,
) -> Checkpoint | list[Checkpoint]:
    """Fine-tune an encoder on a task, as ``isoglot finetune`` does; a finished run with the same inputs is kept.

    Language embeddings of a ``pretrain`` run are used and trained on, see the setting ``language_ids``. The run's
    folder has ``checkpoint/``, ``manifest.json``, and ``grid/`` where several settings were tried.

    Several seeds or a sweep make several runs, ``OUT/seed-1`` or ``OUT/learning_rate=1e-05/seed-1``. All combinations
    are checked before the first run starts.

    Args:
        model: Folder of a checkpoint or run, hub name, or a model object. The object stays as it is: a copy is trained.
            With ``frozen="vectors"`` also a function from a list of texts to an array of vectors, or a class of such.
        task: One by name, or a task object.
        out: Folder of the run.
        language: Language of the training data; several as a list or with commas. With ``setting="code_switch"`` the
            language whose translations are mixed with the originals in ``pivot``.
        data: As for :func:`isoglot.evaluate`. ``{"train": rows, "dev": rows}`` gives development data, by which the
            best checkpoint is chosen; without them, ``dev_fraction=0.1`` or ``select="last"`` is needed.
        columns: Column of the task to its name in the data.
        tokenizer: Tokenizer of a model object.
        seed: Seed of the head, the order of examples and dropout; or several, each for a run of its own: ``[1, 2, 3]``.
        sweep: Values to try, by the name of a setting or of an option of the task: ``{"warmup": [0, 0.1]}``; of several
            names every combination is tried. Each makes a run of its own, where ``learning_rate=[1e-5, 2e-5]`` makes
            one run with the best rate.
        workers: Runs that go on at a time, each in its own process, where there are several.
        train: All settings as one object, in place of ``preset`` and ``settings``.
        preset: Paper whose settings hold where no other is given.
        epochs: Passes over the training data. Several values, here, in ``batch_size`` or in ``learning_rate``, make a
            grid: every combination is trained, and the best on development data is kept.
        batch_size: Examples per optimiser step and device.
        learning_rate: Peak learning rate.
        max_length: Tokens of a row; longer ones are cut.
        keep_adapter: Also write the adapter separately, to ``OUT/adapter``, as peft reads it.
        resume: Whether to go on with an unfinished run.
        overwrite: Replace a run of another model, other data or other settings; a finished run of the same is kept.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        callbacks: More callbacks of ``transformers``, which the trainer calls.
        **settings: More settings of :class:`isoglot.FinetuneOptions`, such as ``warmup=0.1``, and options of the task.

    Returns:
        The checkpoint's folder, which :func:`isoglot.evaluate` and ``AutoModelFor...from_pretrained`` read; of several
        seeds or a sweep a list of them in the order of the runs: the first swept name moves slowest, the seed fastest.

    Raises:
        ConfigurationError: A task without a head, no data, another run in ``out``, or settings that do not fit; of
            several runs those that failed, after the others are done.
        InputError: Data that cannot be read.
    """
    seeds = checked_seeds(seed)
    request = validated(SweepRequest, {"sweep": sweep or {}, "workers": workers})
    # Settings that are arguments of their own join the others.
    own_arguments = {
        "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "max_length": max_length
    }  # fmt: skip
    settings |= {name: value for name, value in own_arguments.items() if value is not None}
    # No setting may be given twice: beside `train`, or by a value and by a sweep.
    if train is not None:
        given = [*settings, "sweep"] if request.sweep else [*settings]
        if given:
            raise ConfigurationError(
                f"got train= and {', '.join(given)}; pass train=options.changed(...) instead"
            )
    refuse_given_twice(request.sweep, settings)
    build = task_builder(
        task, data, columns, preset=preset, settings=settings, train=train, keep_adapter=keep_adapter
    )
    runs = planned_runs(out, request.sweep, seeds)
    if not isinstance(model, str | Path | PreTrainedModel) and callable(model):
        model = name_of_function(model)
    with model_folder(model, tokenizer) as checkpoint:
        made = finetune_runs(
            checkpoint, build, language, runs, workers=request.workers, resume=resume, overwrite=overwrite,
            progress=progress, callbacks=callbacks,
        )  # fmt: skip
    is_single = not request.sweep and isinstance(seed, int)
    return made[0] if is_single else made


def task_builder(
    task: str | Task,
    data: Any,
    columns: Mapping[str, Any] | None,
    *,
    preset: str,
    settings: Mapping[str, Any],
    train: FinetuneOptions | None = None,
    keep_adapter: bool = False,
) -> BuildTask:
    """Return a function that makes the task and its settings of one run from the run's swept values.

    ``task_builder("pos", data, None, preset="xtreme", settings={"epochs": 2})({"warmup": 0.1})`` gives the task, and
    the settings of XTREME with two epochs and a warm-up of 0.1.

    Args:
        task: A task by name, or a task object.
        data: The data, as for :func:`finetune`.
        columns: Column of the task to its name in the data.
        preset: Paper whose settings hold where no other is given.
        settings: Settings of all runs; for a task by name, options of the task too.
        train: All settings, in place of ``preset`` and ``settings``.
        keep_adapter: Also write the adapter separately.
    """
    # The data of a task by name are read once for all runs.
    shared_data = None
    if isinstance(task, str) and data is not None:
        shared_data = data_source(data, task_class(task), columns)

    def build(swept: Mapping[str, Any]) -> tuple[Any, FinetuneOptions]:
        values = {**settings, **swept}
        if shared_data is not None:
            built, options = task_with_settings(str(task), shared_data, paper=preset, **values)
            if train is not None:
                options = train
        else:
            built = task_with_data(task, data, columns)
            options = settings_for(built, paper=preset, **values) if train is None else train
        return built, options.with_kept_adapter() if keep_adapter else options

    return build


def finetune_runs(  # noqa: PLR0913 - what runs are made of
    checkpoint: str | Path,
    build: BuildTask,
    language: str | Sequence[str],
    runs: Sequence[PlannedRun],
    *,
    workers: int = 1,
    resume: bool = True,
    overwrite: bool | None = None,
    progress: AnyReporter | None = None,
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
) -> list[Checkpoint]:
    """Make all runs of seeds and a sweep, after the settings of each are checked; return their checkpoints.

    Args:
        checkpoint: Folder or hub name of the encoder.
        build: Makes the task and the settings of a run from its swept values.
        language: Language or languages of the training data.
        runs: Folder, seed and swept values of each run.
        workers: Runs that go on at a time, each in its own process.
        resume: Whether to go on with an unfinished run.
        overwrite: As in :meth:`FineTuning.run`.
        progress: As in :func:`isoglot.finetune`.
        callbacks: More callbacks of ``transformers``.
    """

    def check(swept: Mapping[str, Any]) -> tuple[Any, FinetuneOptions]:
        task, options = build(swept)
        # The constructor refuses a task, settings or data that do not fit.
        FineTuning(checkpoint, task, language, train=options, callbacks=callbacks)
        return task, options

    labels = [run.label for run in runs]
    built = dict(zip(labels, check_each(runs, check), strict=True))
    make = partial(
        _make_run,
        checkpoint,
        language,
        built=built,
        callbacks=callbacks,
        resume=resume,
        overwrite=overwrite,
    )
    return run_each(runs, make, workers=workers, progress=reporter_of(progress), verb="finetune")


def _make_run(
    checkpoint: str | Path,
    language: str | Sequence[str],
    run: PlannedRun,
    progress: AnyReporter,
    *,
    built: Mapping[str, tuple[Any, FinetuneOptions]],
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]],
    resume: bool,
    overwrite: bool | None,
) -> Checkpoint:
    """Make one run, in this process or another one; ``built`` has task and settings of each run by its label."""
    task, options = built[run.label]
    tuning = FineTuning(
        checkpoint,
        task,
        language,
        seed=1 if run.seed is None else run.seed,
        train=options,
        out=run.folder,
        progress=progress,
        callbacks=callbacks,
        swept=run.values,
    )
    return Checkpoint(tuning.run(resume=resume, overwrite=overwrite))
