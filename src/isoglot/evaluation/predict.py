"""``isoglot.predict``: predict labels, tags or answers for data without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset, Features
from numpy.typing import NDArray

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import ResultList
from isoglot.evaluation.head import FinetunedModel
from isoglot.evaluation.options import EvaluateOptions
from isoglot.formats.labelled.memory import MemorySource, as_dataset, require_known, schema_values
from isoglot.formats.labelled.splits import COLUMN_NAMES
from isoglot.formats.plain_values import is_missing
from isoglot.formats.rows import RowTable, result_names, rows_of, table_of
from isoglot.modules.isolation import isolated_state
from isoglot.modules.model_folder import model_folder
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of
from isoglot.tasks import build_task, task_with_data
from isoglot.tasks.base import Task, TrainableTask
from isoglot.tasks.cards import origin
from isoglot.tasks.classification import ClassificationTask
from isoglot.tasks.features import RowOutput, StepProgress
from isoglot.tasks.head_task import label_values, model_labels
from isoglot.tasks.pairs import PAWSX
from isoglot.tasks.tagging import TaggingTask

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_NOT_READ = ("label", "tags", "answers", "id", "language")
"""Columns of the task that :func:`_examples` does not read from the data.

Labels are predicted, row numbers stand in for ids, and :func:`_loaded` reads the language.
"""
_OPTIONS = ("max_tokens", "precision", "language_ids")
"""Options of an evaluation that a prediction has too; the others are for the files that an evaluation writes."""


@isolated_state()
def predict(
    model: PreTrainedModel | str | Path,
    task: str | Task,
    data: Any,
    *,
    language: str = "en",
    columns: Mapping[str, Any] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    probabilities: bool = False,
    progress: AnyReporter = True,
    **options: Any,
) -> ResultList[dict[str, Any]]:
    """Label texts, sentence pairs or words, or answer questions, with a fine-tuned model.

    Args:
        model: Folder of a fine-tuned checkpoint or run, hub name, or a model object.
        task: One by name, or a task object.
        data: A list of texts, of pairs of texts, of sentences as lists of words, or of dictionaries; a pandas or polars
            frame, a ``pyarrow.Table``, a ``datasets.Dataset``, or a dictionary of lists. Columns of labels, splits and
            ids need not be there, and are not looked at: every row gets a prediction.
        language: Language of the data, by which a model with language embeddings encodes; a row that names its own in
            a column ``language`` is encoded by that.
        columns: Column of the task to its name in the data, as for :func:`isoglot.evaluate`.
        tokenizer: Tokenizer of a model object.
        probabilities: Also give ``probabilities``: a dictionary from each label to its probability, or for tags a list
            of these, one per word. ``pandas.json_normalize(frame["probabilities"])`` makes a column of each label.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Options of a task by name; ``max_tokens``, ``precision`` and ``language_ids`` of the forward pass.

    Returns:
        For each row its own columns and ``prediction``: a label (a number, where the model learned from numbers), the
        tags of its words, or an answer; for labels of whole examples also their ``probability``. In data that have
        columns of these names the results are called ``prediction_2`` and so on, and a warning says so.
        ``to_frame()`` gives the frame that was given, with its index, order and types, and the results as more columns.

    Raises:
        ConfigurationError: A model without a head for the task, data without a column that it reads, or
            ``probabilities`` of a task without labels.

    Example:
        >>> from tempfile import mkdtemp
        >>> import isoglot as iso
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
        >>> topics = {"text": ["an old river", "a quiet horse"] * 8, "label": ["water", "animals"] * 8}
        >>> run = {"data": Dataset.from_dict(topics), "out": f"{mkdtemp()}/run", "epochs": 1, "select": "last"}
        >>> tuned = iso.finetune(task="text_classification", **encoder, **run)
        >>> (row,) = predict(tuned, "text_classification", ["a deep river"])
        >>> row["text"], row["prediction"] in ("water", "animals"), 0.5 <= row["probability"] <= 1
        ('a deep river', True, True)
    """
    of_evaluations = {name: options.pop(name) for name in [*options] if name in EvaluateOptions.model_fields}
    without_effect = [name for name in of_evaluations if name not in _OPTIONS]
    if without_effect:
        raise ConfigurationError(
            f"[[{without_effect[0]}]]: is for the results of an evaluation; a prediction writes none; leave it out"
        )
    settings = validated(EvaluateOptions, of_evaluations)
    report = reporter_of(progress)
    # A task object is taken as it is, and further options for it are refused.
    built: Task = (
        build_task(task, (), **options) if isinstance(task, str) else task_with_data(task, None, **options)
    )
    rows = _rows(data, columns or {}, getattr(built, "schema", {}))
    with model_folder(model, tokenizer) as checkpoint:
        folder = checkpoint_folder(checkpoint)
        if not isinstance(built, TrainableTask):
            raise ConfigurationError(f"task {built.name} has no head, so a model predicts nothing for it")
        if probabilities and not isinstance(built, ClassificationTask | TaggingTask):
            raise ConfigurationError(
                f"[[probabilities]]: task {built.name} has no labels, so no probability for each of them; leave it out"
            )
        built = built.with_checkpoint(folder)
        head = FinetunedModel(folder, built, origin(folder), settings, report)
        examples = _examples(rows, built, columns or {}, model_labels(head.model))
        sample_values = _sample_values(built, head, probabilities)
        results: dict[str, list[Any]] = {name: [] for name in sample_values}
        if len(rows):
            loaded = _loaded(built, examples, rows, language, columns or {})
            results = _results(head, loaded, report, probabilities)

    # The data may have a column `prediction` already: the result is then called `prediction_2`.
    names = result_names([*sample_values], rows.names, "results")
    columns_of_results = dict(zip(names, results.values(), strict=True))
    samples = dict(zip(names, sample_values.values(), strict=True))
    table = []
    for record, values in zip(rows.records(), zip(*results.values(), strict=True), strict=True):
        table.append({**record, **dict(zip(names, values, strict=True))})
    return ResultList(table, partial(_frame_of, rows, columns_of_results, samples))


def _frame_of(rows: RowTable, results: Mapping[str, list[Any]], samples: Mapping[str, Any], _: Any) -> Any:
    """Return the user's data with the results as more columns; the frame of a :class:`ResultList`.

    ``samples``: A possible value of each result, by which a column without rows gets its type.
    The last argument, the list of results that a :class:`ResultList` passes, is not needed.
    """
    return rows.with_columns(results, samples)


def _rows(data: Any, columns: Mapping[str, Any], schema: Mapping[str, Any]) -> RowTable:
    """Arrange the user's data by columns. A list without names of columns gets those of the task.

    1. A list of texts: the column ``text``.
    2. A list of lists or tuples, for a task that reads words: the column ``words``.
    3. A list of lists or tuples, for any other task: pairs, with the columns ``first`` and ``second``.

    ``columns``: Column of the task to its name in the data. ``schema``: Columns of the task.
    """
    rows = rows_of(data, "data")
    if isinstance(rows, RowTable):
        return rows
    items = list(rows)
    sample = next((item for item in items if not is_missing(item)), None)
    if isinstance(sample, str | bytes):  # 1
        return table_of({columns.get("text", "text"): items}, "data")
    if isinstance(sample, list | tuple | np.ndarray):
        if "words" in schema:  # 2
            return table_of({columns.get("words", "words"): items}, "data")
        items = [tuple(item) if isinstance(item, list | np.ndarray) else item for item in items]  # 3
    return table_of(items, "data", [columns.get(name, name) for name in ("first", "second")])


def _examples(
    rows: RowTable, task: TrainableTask, columns: Mapping[str, Any], labels: Sequence[str]
) -> Dataset:
    """Make one example for each row, with a placeholder for the label, on which predictions do not depend.

    Rows get their number as id, whatever ids they have, because ids of users may repeat. Columns of splits and
    languages do not select rows: every row gets a prediction.
    """
    schema: Features | None = getattr(task, "schema", None)
    if schema is None:
        raise ConfigurationError(
            f"task {task.name} has no `schema`, the columns of data in memory; predict with isoglot.evaluate(..., "
            "predictions=FOLDER)"
        )
    require_known(columns, schema)
    read = Features({name: feature for name, feature in schema.items() if name not in _NOT_READ})
    named = {name: column for name, column in columns.items() if name in read}
    values = schema_values(rows, read, named, also=()) if rows.names else {name: [] for name in read}
    count = len(rows)
    # Placeholders: the model's first label for a text or a word, and no answer for a question.
    if "label" in schema:
        values["label"] = [labels[0]] * count
    if "tags" in schema:
        values["tags"] = [[labels[0]] * len(words) for words in values["words"]]
    if "answers" in schema:
        values["answers"] = [{"text": [], "start": []}] * count
    if "id" in schema:
        values["id"] = list(map(str, range(count)))
    return as_dataset(values, schema)


def _loaded(
    task: TrainableTask, examples: Dataset, rows: RowTable, language: str, columns: Mapping[str, Any]
) -> Dataset:
    """Let the task load the examples, which may change them, and give each the language that its row names."""
    task.data = MemorySource(("data",), {("", ""): examples})
    if isinstance(task, PAWSX):
        # PAWS-X leaves untranslated test rows out, but every row needs a prediction.
        task.untranslated = "keep"
    loaded = task.load(language, "test")
    if len(loaded) != len(examples):
        raise ConfigurationError(
            f"task {task.name} loads {len(loaded)} of {len(examples)} rows, so predictions would belong to other rows; "
            "let its load() keep all rows"
        )
    names = [columns["language"]] if "language" in columns else COLUMN_NAMES["language"]
    column = next((name for name in names if rows.has(name)), None)
    if column is None or "language" not in loaded.column_names:
        return loaded
    # A row that names no language is in the language of the call.
    codes = [language if code is None else str(code) for code in rows.column(column)]
    return loaded.remove_columns("language").add_column("language", codes)


def _sample_values(task: TrainableTask, head: FinetunedModel, probabilities: bool) -> dict[str, Any]:
    """Return a possible value of each result, by its name: data without rows have columns of these types too."""
    every_probability = dict.fromkeys(model_labels(head.model), 1.0)
    if isinstance(task, ClassificationTask):
        label = model_labels(head.model)[0]
        samples = {"prediction": label_values(head.model).get(label, label), "probability": 1.0}
        if probabilities:
            samples["probabilities"] = every_probability
        return samples
    if isinstance(task, TaggingTask):
        samples = {"prediction": [""]}
        if probabilities:
            samples["probabilities"] = [every_probability]
        return samples
    return {"prediction": ""}


def _results(
    head: FinetunedModel, loaded: Dataset, report: Reporter, probabilities: bool
) -> dict[str, list[Any]]:
    """Predict every example, and return the results by name, each with one value per example.

    A classified example gets the label in the type that the model learned from (a number, if labels were numbers), the
    probability of that label, and on request the probability of every label.
    """
    task = head.task
    progress = partial(report.progress, f"predict {task.name}")
    if isinstance(task, TaggingTask) and probabilities:
        return _tagged(head, task, loaded, progress)
    encoded, outputs = head.outputs(loaded, progress=progress)
    predictions = task.decode(loaded, encoded, outputs)
    if isinstance(predictions, dict):  # answers by the id of their question
        predictions = [predictions[question_id] for question_id in loaded["id"]]
    if not isinstance(task, ClassificationTask):
        return {"prediction": predictions}
    labels = model_labels(head.model)
    value_of_label = label_values(head.model)  # 3 of "3", where the model learned from numbers
    best_probability = [0.0] * len(loaded)
    every_probability: list[dict[str, float]] = [{} for _ in range(len(loaded))]
    # `row.example` is the number of the example that an encoded row comes from.
    for row, logits in zip(encoded, outputs, strict=True):
        probability = _softmax(logits)
        best_probability[row.example] = float(np.max(probability))
        every_probability[row.example] = dict(zip(labels, probability.tolist(), strict=True))
    results: dict[str, list[Any]] = {
        "prediction": [value_of_label.get(label, label) for label in predictions],
        "probability": best_probability,
    }
    if probabilities:
        results["probabilities"] = every_probability
    return results


def _tagged(
    head: FinetunedModel, task: TaggingTask, loaded: Dataset, progress: StepProgress
) -> dict[str, list[Any]]:
    """Tag the words of each sentence, and give for each word the probability of every tag."""
    encoded, outputs = head.outputs(loaded, progress=progress, reduce=_all_logits)
    best_labels = [output.argmax(-1) for output in outputs]
    labels = model_labels(head.model)
    every_probability: list[list[dict[str, float]]] = [[{} for _ in tags] for tags in loaded["tags"]]
    # A long sentence may have several encoded rows; `row.detail` says which of its words stand where in this one.
    for row, output in zip(encoded, outputs, strict=True):
        for word, position in row.detail:
            probability = _softmax(output[position]).tolist()
            every_probability[row.example][word] = dict(zip(labels, probability, strict=True))
    return {"prediction": list(task.decode(loaded, encoded, best_labels)), "probabilities": every_probability}


def _all_logits(logits: Any) -> Any:
    """Keep the logits of every label, where a task would keep the best label only."""
    return logits


def _softmax(logits: RowOutput) -> NDArray[np.float64]:
    """Turn the logits of one output into probabilities."""
    # Subtracting the maximum changes no probability, and keeps exp from overflowing.
    exponentials = np.exp(logits - np.max(logits))
    return np.asarray(exponentials / np.sum(exponentials))
