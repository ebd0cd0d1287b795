"""The protocol of a task, and functions for any task: find the data, load examples, take a part of them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.formats.labelled.sources import DataSource, Location
from isoglot.formats.labelled.splits import split_names
from isoglot.runs.fingerprint import key_of
from isoglot.tasks.features import EncodedRow, RowOutput, StepProgress

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_+][A-Za-z0-9]+)*")
"""A language code or a pair of codes: ``de``, ``zh-Hant``, ``de-en``, ``en-x-trans``."""

_SCRIPT_OR_REGION = re.compile(r"[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3}")
"""A script or region behind the code of a language, as BCP 47 writes them: ``Hant`` of ``zh-Hant``, ``BR``, ``419``."""

Predictions = list[Any] | dict[str, Any]
"""One prediction for each example, in order; for questions a dictionary from the question's id to the answer."""


@runtime_checkable
class Task(Protocol):
    """Labelled data of one kind, and how predictions for them are scored.

    The class of a task may also state :class:`isoglot.tasks.TaskFacts`, and may have these methods:

    - ``with_checkpoint``, as :class:`TrainableTask` has it, takes options from the checkpoint that is measured.
    - ``counts(dataset, predictions, language=...)`` maps metrics to
      :class:`~isoglot.results.example_counts.ExampleCounts`, by which two models are compared example by example.
    - ``locations(language, split)`` finds the data of a task whose languages are pairs or have several files.
    - ``require_gold(dataset)`` refuses data without the labels that training and measuring need.

    A metric needs no entry elsewhere: results and reports have each one that ``score`` or ``measure`` returns. Two
    lists say more of some metrics. Values of those in :data:`isoglot.results.rows.SHARES` must be from 0 to 100, and
    captions of tables say "in percent"; a name with a prefix (``csls_…``, ``reverse_…``) needs an entry of its own.
    The first metric of ``_FIRST`` (``reports/scores.py``) that a task has is its main one in reports.

    Attributes:
        name: Name in results and submissions.
        primary_metric: Metric by which checkpoints are chosen; larger is better unless it is ``aer``.
        data: Where the data are.
    """

    name: str
    primary_metric: str
    data: DataSource

    def load(self, language: str, split: str) -> Dataset:
        """Load the examples of one language and split."""


@runtime_checkable
class TrainableTask(Task, Protocol):
    """A task with a head that is fine-tuned.

    The methods are called in this order: ``load``, ``labels``, ``head``, ``encode`` and training; then, for an
    evaluation, ``trained``, ``load``, ``encode``, ``reduce`` for each batch, ``decode`` and ``score``.
    """

    max_length: int
    group: ClassVar[tuple[str, ...]]
    """Columns whose equal values stay together when data are split, such as questions about one article.

    The first of these columns that the data have is used.
    """

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """Copy the task, with the values of the checkpoint's fine-tuning for options that were not given."""

    def labels(self, dataset: Dataset) -> list[str] | None:
        """Return the labels that a head for these data needs an output for; ``None`` if its outputs are no labels."""

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """Load the pre-trained encoder with a new head."""

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """Load a fine-tuned model. After this, :meth:`load` refuses labels that the model does not have."""

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Encode the examples, with labels. For training, rows from which nothing can be learned are left out."""

    def reduce(self, logits: Any) -> Any:
        """Return the part of a batch's logits that :meth:`decode` needs, such as the best label of each token."""

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Return the predictions for the examples, from the outputs of their encoded rows."""

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Return the metrics in %."""


@runtime_checkable
class Probe(Task, Protocol):
    """A task that measures a pre-trained encoder without further training."""

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Return the metrics in %, and a prediction for each example, such as the line of the nearest sentence."""


def split_pair(language: str) -> tuple[str, str]:
    """Split a pair of languages; of a single language the second one is empty.

    1. A script or region belongs to the language before it: ``zh-Hant`` is one language. In ``DE-EN``, where the
       language is in capitals too, ``EN`` is another language.
    2. ``en-x-trans`` is one language: after ``x`` stands a subtag for private use (BCP 47).

    Example:
        >>> split_pair("de-en"), split_pair("zh-Hant-en"), split_pair("zh-Hant"), split_pair("en-x-trans")
        (('de', 'en'), ('zh-Hant', 'en'), ('zh-Hant', ''), ('en-x-trans', ''))
    """
    subtags = language.split("-")
    count = 1
    if subtags[0].islower():  # 1
        while count < len(subtags) and _SCRIPT_OR_REGION.fullmatch(subtags[count]):
            count += 1
    rest = subtags[count:]
    if not rest or rest[0] == "x":  # 2, or nothing follows
        return language, ""
    return "-".join(subtags[:count]), "-".join(rest)


def locations_of(task: Task, language: str, split: str) -> list[Location]:
    """Find the places where :meth:`Task.load` will read a language and split: files, folders, or data sets of the hub.

    Nothing is read yet. A task whose languages are pairs, or have several files, has a method ``locations`` of its own.
    """
    find = getattr(task, "locations", task.data.find)
    return find(language, split)


def check_locations(task: Task, parts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Location]]:
    """Find the data of each language and split, so that missing data are known before the long work starts.

    Raises:
        ConfigurationError: A language is not a code, or has no data; all problems at once.
    """
    locations: dict[tuple[str, str], list[Location]] = {}
    problems: list[str | Problem] = []
    for language, split in parts:
        if not _LANGUAGE.fullmatch(language):
            problems.append(
                f"{language!r} is not a language code; ISO codes such as de, deu, de-en or en-x-trans are accepted"
            )
            continue
        try:
            # Refuse an unknown split, such as `tset`: a file without splits would be read whole for it.
            split_names(split)
            locations[language, split] = locations_of(task, language, split)
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    return locations


def load_rows(task: Task, language: str, split: str) -> Dataset:
    """Load the examples of a language and split, and refuse data without examples or without the labels they need.

    For training and measuring. Prediction, which needs no labels, calls :meth:`Task.load` itself.
    """
    rows = task.load(language, split)
    if not len(rows):
        raise ConfigurationError(
            f"{task.name}: the {split} data of {language!r} ({task.data.describe()}) have no example; give others"
        )
    require_gold = getattr(task, "require_gold", None)
    if require_gold is not None:
        require_gold(rows)
    return rows


def require_distinct_rows(
    datasets: Mapping[str, Dataset], locations: Mapping[str, Sequence[Location]]
) -> None:
    """Refuse one file that was read as the data of two languages, with the same rows.

    It happens if the path lacks ``{language}``. Rows count as the same if there are as many and the first ones are
    equal, apart from the language that was put into them.

    Args:
        datasets: Language to its rows.
        locations: Language to the places that the rows were read from.
    """
    # Key of the files and rows, to the language they were first read for.
    first_language_of: dict[str, str] = {}
    for language, rows in datasets.items():
        first_row = {name: value for name, value in rows[0].items() if "language" not in name}
        paths = [location.path for location in locations[language]]
        key = key_of([paths, len(rows), first_row])
        owner = first_language_of.setdefault(key, language)
        if owner != language:
            raise ConfigurationError(
                f"{', '.join(paths)}: read for {owner!r} and for {language!r}, with the same rows; name each "
                "language's own file with {language} in [[data]], or one language"
            )


def group_column(dataset: Dataset, names: Sequence[str]) -> str | None:
    """Return the first of these columns that a data set has, or ``None``."""
    return next((name for name in names if name in dataset.column_names), None)


def take_part(dataset: Dataset, start: float, stop: float, *, group: str | None) -> Dataset:
    """Take the rows between two percentages, without cutting through a group.

    Rows with equal values of the column ``group`` are a group; without a column each row is a group. Of ten questions
    about three articles, the part from 0 to 67 % is all questions about the first two articles.
    """
    if group is None:
        group_numbers = np.arange(len(dataset))
    else:
        # Groups are numbered in the order in which they first occur.
        number_of = {value: number for number, value in enumerate(dict.fromkeys(dataset[group]))}
        group_numbers = np.array([number_of[value] for value in dataset[group]], np.int64)
    count = int(group_numbers.max()) + 1 if len(group_numbers) else 0
    first, end = round(count * start / 100), round(count * stop / 100)
    is_in_part = (group_numbers >= first) & (group_numbers < end)
    return dataset.select(np.flatnonzero(is_in_part).tolist())
