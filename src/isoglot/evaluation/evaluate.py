"""Measure a checkpoint on a task in several languages, for ``isoglot evaluate`` and :mod:`isoglot.evaluation.api`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset

from isoglot.checkpoints.folder import checkpoint_folder, packed_path
from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.head import FinetunedModel
from isoglot.evaluation.journal import Evaluation, keep, known_rows, require_own_predictions
from isoglot.evaluation.options import EvaluateOptions
from isoglot.formats.labelled.splits import split_column
from isoglot.modules.isolation import isolated_state
from isoglot.results.rows import Result, rows_in
from isoglot.runs.files import require_writable
from isoglot.runs.fingerprint import key_of
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks import submission
from isoglot.tasks.base import (
    Predictions,
    Probe,
    Task,
    TrainableTask,
    check_locations,
    load_rows,
    require_distinct_rows,
)
from isoglot.tasks.cards import changes_of, measured_hash, origin, seed_of
from isoglot.tasks.description import changed_options, code_of, describe_task, identify, inherited_options

_CHANGE_FIGURES = {"language_ids", "precision"}
"""Options that change the figures of an evaluation; only tasks with a head have them."""


@isolated_state()
def evaluate_checkpoint(
    checkpoint: str | Path,
    task: Task,
    *,
    languages: Sequence[str],
    split: str = "test",
    options: EvaluateOptions | None = None,
    progress: AnyReporter | None = None,
    on_measured: Callable[[list[Result]], None] | None = None,
) -> list[Result]:
    """Measure a checkpoint on a task in several languages.

    A task with a head needs a fine-tuned checkpoint, which is loaded once. Other tasks measure any encoder, which is
    loaded once per language. Each language's results are written as soon as they are known, and languages whose
    results are there already are not measured again.

    Args:
        checkpoint: Folder of a checkpoint or of a run, or a name on the hub.
        task: The task, with its data.
        languages: ISO codes; ``de-es`` for MLQA across languages, ``en-de`` for pairs.
        split: Split to measure on.
        options: How to compute, and what to write.
        progress: Receives progress and notes.
        on_measured: Function that is called with the results of each language: with new ones before they are written,
            and also with those that are there already.

    Returns:
        One row per language and metric, in %, in the order of the languages; rows that existed already are included.

    Raises:
        ConfigurationError: The checkpoint has no head for the task, or there are no data.
        InputError: The data cannot be read.
    """
    options, report = options or EvaluateOptions(), reporter_of(progress)
    languages = list(dict.fromkeys(languages))
    _check(task, languages, options)
    announce = on_measured or (lambda rows: None)
    # A name on the hub stays a name.
    folder = checkpoint_folder(checkpoint)
    locations = check_locations(task, [(language, split) for language in languages])
    if options.predictions is not None:
        for (language, _), locations_of_language in locations.items():
            stem = submission.stem_of(options.predictions, task, language, split)
            submission.refuse_inputs(stem, [location.path for location in locations_of_language])

    # Describe the evaluation in each language, and find the rows that an earlier call has written.
    about = origin(folder)
    packed = packed_path(checkpoint)
    if packed is not None:
        # Results name the file that the user named, not the folder in the cache that it is unpacked into.
        about = {**about, "run": packed.stem}
    task = task.with_checkpoint(folder) if hasattr(task, "with_checkpoint") else task
    content = {language: identify(task, language, split) for language in languages}
    evaluations = _evaluations(folder, task, about, content, split, options)
    if options.predictions is not None:
        for evaluation in evaluations.values():
            require_own_predictions(evaluation, task, options.predictions)
    rows = {language: known_rows(evaluation, task, options) for language, evaluation in evaluations.items()}
    missing = [language for language in languages if not rows[language]]

    # Load the model before the data: a fine-tuned model tells the task which labels the data may have.
    if missing and isinstance(task, TrainableTask):
        measure = FinetunedModel(folder, task, about, options, report).measure
    elif missing and isinstance(task, Probe):
        measure = partial(task.measure, folder)
    elif missing:
        raise ConfigurationError(
            f"task {task.name} can neither be trained nor measured; see Task in isoglot.tasks.base"
        )
    # All data are read before the first language is measured, so that a mistake in the last file is found at once.
    datasets = {language: load_rows(task, language, split) for language in missing}
    require_distinct_rows(datasets, {language: locations[language, split] for language in missing})

    for number, language in enumerate(languages, 1):
        name = f"{task.name} {language}"
        evaluation = evaluations[language]
        if language not in missing:
            report.note(f"{name} {split}: already measured")
            announce(rows[language])
        else:
            dataset = datasets.pop(language)
            # `_trained_on` compares whole files. If one file holds all splits, its dev and test rows would count as
            # training data too, although the model learned from the train rows alone.
            is_kept_out = split != "train" and split_column(dataset) is not None
            was_trained_on = not is_kept_out and _trained_on(about, language, content[language])
            remark = " (training data of this model)" if was_trained_on else ""
            report.note(f"{name} {split}{remark}")
            scores, predictions = measure(dataset, language=language, progress=partial(report.progress, name))
            new_rows = evaluation.rows(scores, len(predictions))
            announce(new_rows)
            counted: dict[str, Any] = {}
            if options.predictions is not None:
                counted = _counted(task, dataset, predictions, language)
            rows[language] = keep(evaluation, task, new_rows, predictions, options, **counted)
        report.progress("languages", number, len(languages))
    return [row for language in languages for row in rows[language]]


def _counted(task: Task, data: Dataset, predictions: Predictions, language: str) -> dict[str, Any]:
    """Count right predictions per example, and predicted labels per class, if the task can.

    Returns arguments of :func:`keep`, which writes these counts beside the predictions.
    """
    counted: dict[str, Any] = {}
    if hasattr(task, "counts"):
        counted["counts"] = task.counts(data, predictions, language=language)
    if hasattr(task, "confusion"):
        counted["confusion"] = task.confusion(data, predictions)
    return counted


def _check(task: Task, languages: Sequence[str], options: EvaluateOptions) -> None:
    """Refuse mistakes that can be seen before any work."""
    if not languages:
        raise ConfigurationError("no languages; name them with [[languages=('de', 'es')]]")
    changed = options.model_dump(include=_CHANGE_FIGURES, exclude_defaults=True)
    if changed and not isinstance(task, TrainableTask):
        raise ConfigurationError(
            f"got {' and '.join(sorted(changed))}, but {task.name} measures an encoder in float32, without its "
            "language embeddings; leave it out"
        )
    if options.out is not None:
        require_writable(options.out)
        rows_in(options.out)  # refuses a file of anything else, to which no rows must be added
    if options.predictions is not None:
        require_writable(options.predictions, folder=True)


def _evaluations(
    checkpoint: Path | str,
    task: Task,
    about: Mapping[str, Any],
    content: Mapping[str, Any],
    split: str,
    options: EvaluateOptions,
) -> dict[str, Evaluation]:
    """Describe the evaluation in each language: the fields of its rows, and everything that its figures depend on.

    ``about``: Card of the checkpoint, from :func:`isoglot.tasks.cards.origin`.
    ``content``: Language to its data, from :func:`isoglot.tasks.description.identify`.
    """
    changed = options.model_dump(include=_CHANGE_FIGURES, exclude_defaults=True)
    # Rows name the options that differ from the defaults, or from those that the model was fine-tuned with.
    inherited = inherited_options(task, about) if isinstance(task, TrainableTask) else {}
    fields_of_all_languages = {
        "run": options.run or str(about["run"]),
        "task": task.name,
        "split": split,
        "seed": seed_of(checkpoint, about),
        "checkpoint_hash": measured_hash(checkpoint, about),
        "recipe_hash": str(about.get("recipe_hash", "")),
        "options": Result.in_order({**changed_options(task, inherited), **changed}),
        "changes": Result.in_order(changes_of(checkpoint, about)),
    }
    inputs = {
        "checkpoint": fields_of_all_languages["checkpoint_hash"],
        "task": describe_task(task),
        "precision": options.precision,
        "language_ids": options.language_ids,
        "split": split,
        **code_of(task),
    }
    evaluations = {}
    for language, data in content.items():
        evaluations[language] = Evaluation(
            {**fields_of_all_languages, "language": language},
            {**inputs, "language": language, "data": data},
            key_of({"data": data}),
        )
    return evaluations


def _trained_on(about: Mapping[str, Any], language: str, content: Sequence[tuple[str, float, float]]) -> bool:
    """Whether the model was fine-tuned on a part of these data.

    A part is the hash of a file and two percentages of its rows. A model that was trained on ``("9f3c…", 0, 80)`` has
    not seen ``("9f3c…", 80, 100)``, but has seen some rows of ``("9f3c…", 50, 100)``.

    ``about``: Card of the checkpoint. ``content``: Parts of files that hold the data of the language.
    """
    if language not in about.get("languages", ()):
        return False
    # The card has a list of parts for each training language.
    for trained_parts in about.get("trained_on", ()):
        for trained_file, trained_start, trained_end in trained_parts:
            for file, start, end in content:
                if file == trained_file and start < trained_end and trained_start < end:
                    return True
    return False
