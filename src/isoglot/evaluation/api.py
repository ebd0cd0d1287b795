"""``isoglot.evaluate``: measure models on a task; both are given as objects or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.checkpoints.folder import checkpoints_of
from isoglot.core.checks import validated
from isoglot.core.frames import ResultList
from isoglot.core.languages import split_codes
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.evaluation.prediction_folders import prediction_folders
from isoglot.modules.model_folder import model_folder
from isoglot.results.rows import Result
from isoglot.runs.reporter import AnyReporter
from isoglot.tasks import task_with_data

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.tasks.base import Task


def evaluate(  # noqa: PLR0913 - the face names what users look for
    model: PreTrainedModel | str | Path | Sequence[str | Path],
    task: str | Task,
    *,
    languages: str | Sequence[str],
    data: Any = None,
    columns: Mapping[str, Any] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    split: str = "test",
    layer: int | None = None,
    max_length: int | None = None,
    max_tokens: int | None = None,
    out: str | Path | None = None,
    predictions: str | Path | None = None,
    progress: AnyReporter = True,
    **options: Any,
) -> ResultList[Result]:
    """Measure a model on a task in any number of languages, as ``isoglot evaluate`` does.

    Args:
        model: Folder of a checkpoint or run, hub name, or a model object, which is saved to a temporary folder first;
            several checkpoints, or a folder of several runs such as a sweep's, for the rows of all.
        task: One by name (``isoglot evaluate --tasks`` lists them), or a task object.
        languages: Languages to test, as a list or with commas: ``"de,es"``; ``de-es`` is a pair.
        data: A path or template as ``--data`` takes it, or several; rows in memory (a pandas or polars frame, a
            ``pyarrow.Table``, a ``datasets.Dataset``, a dictionary of lists, a list of dictionaries); or a dict from
            languages, splits or both to these. A task object may have its data already.
        columns: Column of the task to its name in the data, such as ``{"text": "utterance"}``. Columns that are called
            as the task has them need not be named; others are left alone.
        tokenizer: Tokenizer of a model object.
        split: Split to test on.
        layer: Layer of the encoder that is measured, of tasks without a head.
        max_length: Tokens of a row; by default those that the model was fine-tuned with.
        max_tokens: Padded tokens in a batch: 1024 on a CPU, 8192 elsewhere.
        out: File to keep the rows in; what it has of the same model and data is not measured again.
        predictions: Folder for predictions, which :func:`isoglot.compare` reads; of several checkpoints a folder in it
            for each.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: More options of the task, and of :class:`isoglot.evaluation.options.EvaluateOptions`, such as
            ``precision="bfloat16"``.

    Returns:
        One row per language and metric, in %.

    Raises:
        ConfigurationError: No head for the task, no data, or an unknown option.
        InputError: Data that cannot be read.

    Example:
        >>> from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer
        >>> encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
        >>> rows = evaluate(task="tatoeba", languages="en-xx", data=tiny_bitext(8), layer=2, **encoder)
        >>> rows[0].metric, rows[0].examples, rows[0].options
        ('accuracy', 8, {'layer': 2})
    """
    # Options that are arguments of their own join the others; then the task takes its share of them.
    own_arguments = {
        "layer": layer, "max_length": max_length, "max_tokens": max_tokens, "out": out, "predictions": predictions
    }  # fmt: skip
    options |= {name: value for name, value in own_arguments.items() if value is not None}
    fields = {name: options.pop(name) for name in [*options] if name in EvaluateOptions.model_fields}
    built = task_with_data(task, data, columns, **options)
    evaluate_options = validated(EvaluateOptions, fields)
    codes = split_codes(languages)
    measure = partial(evaluate_checkpoint, task=built, languages=codes, split=split, progress=progress)
    if not isinstance(model, str | Path | Sequence):  # a model object
        with model_folder(model, tokenizer) as checkpoint:
            return ResultList(measure(checkpoint, options=evaluate_options))

    # Each name may stand for several checkpoints: those of all runs in a folder.
    checkpoints: list[str | Path] = []
    for name in [model] if isinstance(model, str | Path) else model:
        checkpoints += checkpoints_of(name)
    # Each checkpoint has a folder of its own for predictions.
    folders = prediction_folders(checkpoints, evaluate_options.predictions)
    rows = ResultList[Result]()
    for checkpoint, folder in zip(checkpoints, folders, strict=True):
        own_options = evaluate_options.model_copy(update={"predictions": folder})
        with model_folder(checkpoint, tokenizer) as folder_of_model:
            rows += measure(folder_of_model, options=own_options)
    return rows
