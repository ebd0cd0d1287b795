"""``isoglot evaluate``: a checkpoint, a task and languages in, rows of results out."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from datasets import Dataset

from isoglot.checkpoints.folder import checkpoint_folder, packed_file
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
"""Options of an evaluation that change its figures."""


@isolated_state()
def evaluate(
    checkpoint: str | Path,
    task: Task,
    *,
    languages: Sequence[str],
    split: str = "test",
    options: EvaluateOptions | None = None,
    progress: AnyReporter | None = None,
    measured: Callable[[list[Result]], None] | None = None,
) -> list[Result]:
    """Measure a checkpoint on a task in several languages.

    A task with a head needs a fine-tuned checkpoint, the others are put to any encoder: a folder, a run's folder, or a
    hub name. A fine-tuned model is loaded once, an encoder once per language; rows are batched by length, and each
    language's results are written as soon as they are known. ``languages`` are ISO codes, ``de-es`` for MLQA across
    languages, ``en-de`` for pairs. ``measured`` gets each language's results, even where they cannot be written.

    Returns:
        One row per language and metric, in %, in the order of the languages; rows that existed already are included.

    Raises:
        ConfigurationError: no head for the task, or no data.
        InputError: data that cannot be read.
    """
    options, report = options or EvaluateOptions(), reporter_of(progress)
    languages = list(dict.fromkeys(languages))
    _check(task, languages, options)
    announce = measured or (lambda rows: None)
    source = checkpoint_folder(checkpoint)
    locations = check_locations(task, [(language, split) for language in languages])
    if options.predictions is not None:
        for (language, _), paths in locations.items():
            stem = submission.stem_of(options.predictions, task, language, split)
            submission.refuse_inputs(stem, [location.path for location in paths])
    about = origin(source)
    if (packed := packed_file(checkpoint)) is not None:
        about = {**about, "run": packed.stem}  # not the folder in the cache that it is unpacked into
    task = task.with_checkpoint(source) if hasattr(task, "with_checkpoint") else task
    content = {language: identify(task, language, split) for language in languages}
    evaluations = _evaluations(source, task, about, content, split, options)
    if options.predictions is not None:
        for evaluation in evaluations.values():
            require_own_predictions(evaluation, task, options.predictions)
    rows = {language: known_rows(evaluation, task, options) for language, evaluation in evaluations.items()}
    missing = [language for language in languages if not rows[language]]
    if missing and isinstance(task, TrainableTask):  # from now on it says which labels the data may have
        measure = FinetunedModel(source, task, about, options, report).measure
    elif missing and isinstance(task, Probe):
        measure = partial(task.measure, source)
    elif missing:
        raise ConfigurationError(
            f"task {task.name} can neither be trained nor measured; see Task in isoglot.tasks.base"
        )
    datasets = {language: load_rows(task, language, split) for language in missing}
    require_distinct_rows(datasets, {language: locations[language, split] for language in missing})
    for number, language in enumerate(languages, 1):
        name, evaluation = f"{task.name} {language}", evaluations[language]
        if language not in missing:
            report.note(f"{name} {split}: already measured")
            announce(rows[language])
        else:
            data, step = datasets.pop(language), partial(report.progress, name)
            apart = split != "train" and split_column(data) is not None  # of one file, but other rows
            seen = not apart and _trained_on(about, language, content[language])
            report.note(f"{name} {split}{' (training data of this model)' * seen}")
            scores, predictions = measure(data, language=language, progress=step)
            new = evaluation.rows(scores, len(predictions))
            announce(new)
            counted = _counted(task, data, predictions, language) if options.predictions is not None else {}
            rows[language] = keep(evaluation, task, new, predictions, options, **counted)
        report.progress("languages", number, len(languages))
    return [row for language in languages for row in rows[language]]


def _counted(task: Task, data: Dataset, predictions: Predictions, language: str) -> dict[str, Any]:
    """What lies beside predictions: counts of each example and of classes, of tasks that count."""
    counted: dict[str, Any] = {}
    if hasattr(task, "counts"):
        counted["counts"] = task.counts(data, predictions, language=language)
    if hasattr(task, "confusion"):
        counted["confusion"] = task.confusion(data, predictions)
    return counted


def _check(task: Task, languages: Sequence[str], options: EvaluateOptions) -> None:
    """Refuse what can be seen before any work."""
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
        rows_in(options.out)  # whatever else stands there must not get rows
    if options.predictions is not None:
        require_writable(options.predictions, folder=True)


def _evaluations(
    source: Path | str,
    task: Task,
    about: Mapping[str, Any],
    content: Mapping[str, Any],
    split: str,
    options: EvaluateOptions,
) -> dict[str, Evaluation]:
    """What is measured in each language, as its rows and its key have it."""
    changed = options.model_dump(include=_CHANGE_FIGURES, exclude_defaults=True)
    usual = inherited_options(task, about) if isinstance(task, TrainableTask) else {}
    shared = {
        "run": options.run or str(about["run"]),
        "task": task.name,
        "split": split,
        "seed": seed_of(source, about),
        "checkpoint_hash": measured_hash(source, about),
        "recipe_hash": str(about.get("recipe_hash", "")),
        "options": Result.in_order({**changed_options(task, usual), **changed}),
        "changes": Result.in_order(changes_of(source, about)),
    }
    inputs = {
        "checkpoint": shared["checkpoint_hash"],
        "task": describe_task(task),
        "precision": options.precision,
        "language_ids": options.language_ids,
        "split": split,
        **code_of(task),
    }
    return {
        language: Evaluation(
            {**shared, "language": language},
            {**inputs, "language": language, "data": data},
            key_of({"data": data}),
        )
        for language, data in content.items()
    }


def _trained_on(about: Mapping[str, Any], language: str, content: Sequence[tuple[str, float, float]]) -> bool:
    """Whether the model was fine-tuned on a part of these data: of a file with this hash, from a share to another."""
    if language not in about.get("languages", ()):
        return False
    parts = product((part for data in about.get("trained_on", ()) for part in data), content)
    return any(
        file == learned and start < learned_end and learned_start < end
        for (learned, learned_start, learned_end), (file, start, end) in parts
    )
