"""``isoglot.confusion``: count which label a classifier predicted for which, by language."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import split_codes
from isoglot.evaluation.api import evaluate
from isoglot.formats.labelled.tags import UNLABELLED
from isoglot.formats.plain_values import is_missing
from isoglot.formats.rows import RowTable, table_of
from isoglot.results.confusion import ENDING, Confusion, ConfusionMatrix
from isoglot.runs.reporter import AnyReporter
from isoglot.tasks import task_class

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.tasks.base import Task

_GOLD = ("label", "tags")
"""Columns of labels that are looked for if the user names none: of texts and pairs, then of words."""


def confusion(  # noqa: PLR0913 - the face names what users look for
    model: PreTrainedModel | str | Path | Any,
    task: str | Task | None = None,
    *,
    languages: str | Sequence[str] | None = None,
    data: Any = None,
    columns: Mapping[str, Any] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    split: str = "test",
    gold: str | None = None,
    predicted: str = "prediction",
    progress: AnyReporter = True,
    **options: Any,
) -> Confusion:
    """Count which label was predicted for which, by language.

    Three things can be counted: a fine-tuned model on test data, as ``isoglot.evaluate`` takes them; a folder that
    ``evaluate(..., predictions=FOLDER)`` wrote; and rows with labels and predictions, such as ``isoglot.predict``
    gives.

    Args:
        model: Folder of a fine-tuned checkpoint or run, hub name, or a model object; or without a task a folder of
            predictions, or rows: a list of dictionaries, a frame, a ``datasets.Dataset``, a dictionary of lists.
        task: One by name, or a task object.
        languages: Languages to test, as a list or with commas.
        data: As for :func:`isoglot.evaluate`.
        columns: Column of the task to its name in the data.
        tokenizer: Tokenizer of a model object.
        split: Split to test on.
        gold: Column of labels in rows; by default ``label`` or ``tags``.
        predicted: Column of predictions in rows. A column ``language`` says which language a row is in.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: More options of :func:`isoglot.evaluate`, except ``predictions``.

    Returns:
        Counts by language; ``to_frame()`` has a row for each pair of labels, and ``classes()`` precision, recall and
        F1 of every class.

    Raises:
        ConfigurationError: A task without labels, rows without a column or a prediction, or predictions of several
            models.
        InputError: Data that cannot be read.

    Example:
        >>> rows = {"label": ["a", "a", "b"], "prediction": ["a", "b", "b"], "language": ["de", "de", "fr"]}
        >>> confusion(rows).to_dict()["de"]
        {'a': {'a': 1, 'b': 1}, 'b': {'a': 0, 'b': 0}}
    """
    if task is not None:
        if languages is None:
            raise ConfigurationError("no languages; name them with [[languages=('de', 'es')]]")
        # The option `predictions` and a task without labels are refused before the evaluation, which may take long.
        if "predictions" in options:
            raise ConfigurationError(
                "[[predictions]]: write them with isoglot.evaluate(..., predictions=FOLDER), and count them with "
                "isoglot.confusion(FOLDER)"
            )
        if not hasattr(task_class(task) if isinstance(task, str) else task, "confusion"):
            name = task if isinstance(task, str) else task.name
            raise ConfigurationError(
                f"task {name} has no labels to confuse; it is for the classification of texts, pairs and words"
            )
        with tempfile.TemporaryDirectory() as folder:
            # An evaluation leaves the counts of each language beside its predictions.
            evaluate(
                model, task, languages=languages, data=data, columns=columns, tokenizer=tokenizer, split=split,
                predictions=folder, progress=progress, **options,
            )  # fmt: skip
            measured = _read(Path(folder))
            asked = {code: measured.languages[code] for code in split_codes(languages)}
            return Confusion(asked, measured.about)
    if options:
        raise ConfigurationError(f"{', '.join(options)}: needs a model and [[task]]")
    if isinstance(model, str | Path):
        return _read(Path(model))
    return _of_rows(model, gold, predicted)


def _read(folder: Path) -> Confusion:
    """Read the counts that lie below a folder of predictions, which must be of one model, task and split."""
    if folder.is_dir():
        files = sorted(folder.rglob(f"*{ENDING}"))
    elif folder.is_file():
        files = [folder]
    else:
        files = []
    if not files:
        raise InputError(
            "no counts of classes in this folder; write them with `isoglot evaluate CHECKPOINT ... --predictions "
            "FOLDER`, or name the task of a checkpoint with [[task='text_classification']]",
            path=folder,
        )
    confusions = [Confusion.read(file) for file in files]
    identities = set()
    for one in confusions:
        identities.add(tuple(str(one.about.get(name)) for name in ("task", "split", "checkpoint_hash")))
    if len(identities) > 1:
        folders = ", ".join(map(str, dict.fromkeys(file.parent for file in files)))
        raise ConfigurationError(
            f"{folder}: predictions of several models, tasks or splits, in {folders}; name one folder"
        )
    languages: dict[str, ConfusionMatrix] = {}
    for one in confusions:
        languages |= one.languages
    # Language and data differ from file to file; the rest is the same in all of them.
    about = {name: value for name, value in confusions[0].about.items() if name not in ("language", "data")}
    return Confusion(languages, about)


def _of_rows(rows: Any, gold: str | None, predicted: str) -> Confusion:
    """Count labels and predictions that stand beside each other in rows, by language.

    A label, a tag or a prediction is missing if it is ``None`` or NaN, as frames have it.

    1. Rows without a column ``language``, or with an empty one, are counted under ``all``.
    2. Rows without a label or without tags do not count, and neither do words whose tag is missing or ``_``, as in an
       evaluation.
    3. A label without a prediction is refused: no class was predicted. A row without predictions has none for any word.
    4. Every language has the same labels, in sorted order: those that occur in any language as a label or a prediction.

    Raises:
        ConfigurationError: A column or a prediction is missing, or a row has not as many predictions as tags.
    """
    table = table_of(rows, "rows")
    if gold is None:
        gold = next((name for name in _GOLD if table.has(name)), _GOLD[0])
    for name, argument in ((gold, "gold"), (predicted, "predicted")):
        if not table.has(name):
            listed = ", ".join(map(str, table.names))
            raise ConfigurationError(
                f"rows: no column {name!r}, found {listed}; name it with [[{argument}='NAME']]"
            )
    codes = list(table.column("language")) if table.has("language") else [""] * len(table)
    # As a tag, `_` says that a word has none. As a prediction, it is a class like any other.
    gold_texts = _texts(table, gold, no_tag=UNLABELLED)
    predicted_texts = _texts(table, predicted)
    # Language to the labels that count, and to the prediction for each.
    by_language: dict[str, tuple[list[str], list[str]]] = {}
    for number, (code, row_labels, found) in enumerate(
        zip(codes, gold_texts, predicted_texts, strict=True), 1
    ):
        all_labels, all_predictions = by_language.setdefault(str(code or "all"), ([], []))  # 1
        if row_labels is None:  # 2
            continue
        row_predictions = [None] * len(row_labels) if found is None else found
        if len(row_labels) != len(row_predictions):
            raise ConfigurationError(
                f"rows: row {number} has {len(row_predictions)} predictions for {len(row_labels)} words; predict every "
                "word, in order"
            )
        for label, prediction in zip(row_labels, row_predictions, strict=True):
            if label is None:  # 2
                continue
            if prediction is None:  # 3
                raise ConfigurationError(
                    f"rows: row {number} has the label {label!r} and no prediction in column {predicted!r}; predict "
                    "it, or leave the row out"
                )
            all_labels.append(label)
            all_predictions.append(prediction)
    known: set[str] = set()
    for labels, predictions in by_language.values():
        known.update(labels, predictions)
    matrices = {}
    for code, (labels, predictions) in by_language.items():
        matrices[code] = ConfusionMatrix.of(labels, predictions, sorted(known))  # 4
    return Confusion(matrices)


def _texts(table: RowTable, column: str, no_tag: str | None = None) -> Iterator[list[str | None] | None]:
    """Yield the labels or predictions of each row as texts: one for a text or pair, one per word for a sentence.

    A row whose value is missing gives ``None``. In a sentence, a missing tag is ``None``, and so is the tag ``no_tag``.
    """
    for value in table.column(column):
        if is_missing(value):
            yield None
        elif isinstance(value, list | tuple):
            yield [None if is_missing(tag) or tag == no_tag else str(tag) for tag in value]
        else:
            yield [str(value)]
