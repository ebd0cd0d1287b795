"""``isoglot.predict``: what a fine-tuned model says of examples that need no labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checks import validated
from isoglot.errors import ConfigurationError
from isoglot.evaluation.head import FinetunedModel
from isoglot.evaluation.options import EvaluateOptions
from isoglot.formats.labelled.memory import dataset_of, memory_source
from isoglot.formats.labelled.splits import COLUMN_NAMES
from isoglot.frames import ResultList
from isoglot.modules.isolation import isolated_state
from isoglot.modules.model_folder import model_folder
from isoglot.python_messages import names_arguments
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks import build_task
from isoglot.tasks.base import Task, TrainableTask
from isoglot.tasks.cards import origin
from isoglot.tasks.classification import ClassificationTask
from isoglot.tasks.head_task import model_labels

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_GOLD = ("label", "tags", "answers")
"""Columns that a prediction takes the place of."""


@names_arguments
@isolated_state()
def predict(
    model: PreTrainedModel | str | Path,
    task: str | Task,
    data: Any,
    *,
    language: str = "en",
    columns: Mapping[str, str] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    progress: AnyReporter = True,
    **options: Any,
) -> ResultList[dict[str, Any]]:
    """Label texts, sentence pairs or words, or answer questions, with a fine-tuned model.

    Args:
        model: Folder of a fine-tuned checkpoint or run, hub name, or a model object.
        task: One by name, or a task object.
        data: A list of texts, of pairs of texts, of lists of words, or of dictionaries; a ``datasets.Dataset``, a
            pandas frame, or a dictionary of lists. Columns of labels need not be there, and are not looked at.
        language: Language of the data, by which a model with language embeddings encodes.
        columns: Column of the task to its name in the data, as for :func:`isoglot.evaluate`.
        tokenizer: Tokenizer of a model object.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Options of the task, and ``max_tokens`` and ``precision`` of the forward pass.

    Returns:
        For each example its own columns and ``prediction``: a label, the tags of its words, or an answer; for labels
        of whole examples also their ``probability``. ``to_frame()`` makes a frame of them.

    Raises:
        ConfigurationError: A model without a head for the task, or data without a column that it reads.

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
    fields = {name: options.pop(name) for name in [*options] if name in EvaluateOptions.model_fields}
    settings = validated(EvaluateOptions, fields, what="prediction option")
    report, examples = reporter_of(progress), _examples(data, columns or {})
    with model_folder(model, tokenizer) as checkpoint:
        source = checkpoint_folder(checkpoint)
        built = build_task(task, (), **options) if isinstance(task, str) else task
        if not isinstance(built, TrainableTask):
            raise ConfigurationError(f"task {built.name} has no head, so a model predicts nothing for it")
        built = built.with_checkpoint(source)
        head = FinetunedModel(source, built, origin(source), settings, report)
        schema = getattr(built, "schema", None)
        if schema is None:
            raise ConfigurationError(
                f"task {built.name} has no `schema`, the columns of data in memory; predict with isoglot.evaluate(..., "
                "predictions=FOLDER)"
            )
        plain = _without_gold(examples, schema, columns or {}, model_labels(head.model))
        built.data = memory_source(
            plain, schema, {k: v for k, v in (columns or {}).items() if k not in _GOLD}
        )
        rows = built.load(language, "test")
        encoded, outputs = head.outputs(rows, progress=partial(report.progress, f"predict {built.name}"))
        predictions = built.decode(rows, encoded, outputs)
    if isinstance(predictions, dict):
        predictions = [predictions[name] for name in rows["id"]]
    table = [{**example, "prediction": said} for example, said in zip(examples, predictions, strict=True)]
    if isinstance(built, ClassificationTask):
        for row, output in zip(encoded, outputs, strict=True):
            shares = np.exp(output - np.max(output))
            table[row.example]["probability"] = float(np.max(shares) / np.sum(shares))
    return ResultList(table)


def _examples(data: Any, columns: Mapping[str, str]) -> Dataset:
    """Data in memory as a data set with named columns; texts, and words of sentences, are a column each."""
    if not isinstance(data, str | Path | Mapping | Dataset) and not hasattr(data, "columns"):
        data = list(data)  # of a generator, or a column of a frame or data set
    first = data[0] if isinstance(data, list) and data else None
    if isinstance(first, str | list):
        name = "text" if isinstance(first, str) else "words"
        data = {columns.get(name, name): data}
    return dataset_of(data, "data", [columns.get(name, name) for name in ("first", "second")])


def _without_gold(
    examples: Dataset, schema: Mapping[str, Any], columns: Mapping[str, str], labels: Sequence[str]
) -> Dataset:
    """The data with something in the place of labels, which encoding asks for and predictions do not depend on."""
    named = {name for gold in _GOLD for name in (columns.get(gold, gold), *COLUMN_NAMES.get(gold, ()))}
    plain = examples.remove_columns([name for name in examples.column_names if name in named])
    if "label" in schema:
        plain = plain.add_column("label", [labels[0]] * len(plain))
    elif "tags" in schema:
        words = next((n for n in (columns.get("words", "words"), "tokens") if n in plain.column_names), None)
        if words is not None:  # else it is reported as missing
            plain = plain.add_column("tags", [[labels[0]] * len(row) for row in plain[words]])
    elif "answers" in schema:
        plain = plain.add_column("answers", [{"text": [], "start": []}] * len(plain))
    return plain
