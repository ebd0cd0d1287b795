"""``isoglot.confusion``: which label a classifier gave for which, counted by language."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import codes_of
from isoglot.evaluation.api import evaluate
from isoglot.formats.rows import RowTable, rows_of, table_of
from isoglot.results.confusion import ENDING, Confusion, ConfusionMatrix
from isoglot.runs.reporter import AnyReporter

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.tasks.base import Task

_GOLD = ("label", "tags")
"""Columns of labels that are looked for where none is named: of texts and pairs, and of words."""


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
        gold: Of rows, the column of labels; by default ``label`` or ``tags``.
        predicted: Of rows, the column of predictions. A column ``language`` says which language a row is in.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: More options of :func:`isoglot.evaluate`.

    Returns:
        Counts by language; ``to_frame()`` has a row for each pair of labels, and ``classes()`` precision, recall and
        F1 of every class.

    Raises:
        ConfigurationError: A task without labels, rows without a column, or predictions of several models.
        InputError: Data that cannot be read.

    Example:
        >>> rows = {"label": ["a", "a", "b"], "prediction": ["a", "b", "b"], "language": ["de", "de", "fr"]}
        >>> confusion(rows).to_dict()["de"]
        {'a': {'a': 1, 'b': 1}, 'b': {'a': 0, 'b': 0}}
    """
    if task is not None:
        if languages is None:
            raise ConfigurationError("no languages; name them with [[languages=('de', 'es')]]")
        with tempfile.TemporaryDirectory() as folder:
            # An evaluation leaves the counts of each language beside its predictions.
            evaluate(
                model, task, languages=languages, data=data, columns=columns, tokenizer=tokenizer, split=split,
                predictions=folder, progress=progress, **options,
            )  # fmt: skip
            counted = _read(Path(folder), task if isinstance(task, str) else task.name)
            asked = {code: counted.languages[code] for code in codes_of(languages)}
            return Confusion(asked, counted.about)
    if options:
        raise ConfigurationError(f"{', '.join(options)}: needs a model and [[task]]")
    if isinstance(model, str | Path):
        return _read(Path(model), "")
    return _of_rows(model, gold, predicted)


def _read(folder: Path, task: str) -> Confusion:
    """The counts that lie below a folder of predictions of one model."""
    files = sorted(folder.rglob(f"*{ENDING}")) if folder.is_dir() else [folder] if folder.is_file() else []
    if not files and task:
        raise ConfigurationError(
            f"task {task} has no labels to confuse; it is for the classification of texts, pairs and words"
        )
    if not files:
        raise InputError(
            "no counts of classes in this folder; write them with `isoglot evaluate CHECKPOINT ... --predictions "
            "FOLDER`, or name the task of a checkpoint with [[task='text_classification']]",
            path=folder,
        )
    found = [Confusion.read(file) for file in files]
    identities = {
        tuple(str(one.about.get(name)) for name in ("task", "split", "checkpoint_hash")) for one in found
    }
    if len(identities) > 1:
        places = ", ".join(map(str, dict.fromkeys(file.parent for file in files)))
        raise ConfigurationError(
            f"{folder}: predictions of several models or tasks, in {places}; name one folder"
        )
    languages = {language: matrix for one in found for language, matrix in one.languages.items()}
    about = {name: value for name, value in found[0].about.items() if name not in ("language", "data")}
    return Confusion(languages, about)


def _of_rows(rows: Any, gold: str | None, predicted: str) -> Confusion:
    """Count labels and predictions that stand beside each other in rows."""
    given = rows_of(rows, "rows")
    table = given if isinstance(given, RowTable) else table_of(list(given), "rows")
    label = gold if gold is not None else next((name for name in _GOLD if table.has(name)), _GOLD[0])
    for name, argument in ((label, "gold"), (predicted, "predicted")):
        if not table.has(name):
            listed = ", ".join(map(str, table.names))
            raise ConfigurationError(
                f"rows: no column {name!r}, found {listed}; name it with [[{argument}='NAME']]"
            )
    count = len(table)
    codes = list(table.column("language")) if table.has("language") else [""] * count
    by_language: dict[str, tuple[list[str], list[str]]] = {}
    for code, said, guessed in zip(codes, _labels(table, label), _labels(table, predicted), strict=True):
        labels, guesses = by_language.setdefault(str(code or "all"), ([], []))
        if len(said) != len(guessed):
            raise ConfigurationError(
                f"rows: {len(guessed)} predictions for {len(said)} words; predict every word, in order"
            )
        labels += said
        guesses += guessed
    known = sorted({*chain.from_iterable(chain.from_iterable(sides) for sides in by_language.values())})
    return Confusion({code: ConfusionMatrix.of(*sides, known) for code, sides in by_language.items()})


def _labels(table: RowTable, column: str) -> Iterator[list[str]]:
    """The labels of each row as texts: one, or those of its words."""
    for value in table.column(column):
        several = value if isinstance(value, list | tuple) else [value]
        yield [str(label) for label in several]
