"""The protocol of a task, and functions of all tasks: find the data, load rows, take a part of them."""

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

Predictions = list[Any] | dict[str, Any]
"""One prediction for each example, in order; of questions a dictionary from the question's id to the answer."""


@runtime_checkable
class Task(Protocol):
    """Data of one kind and how predictions of them are scored.

    The class of a task may also state :class:`isoglot.tasks.TaskFacts`, and have two methods more:

    - ``with_checkpoint``, as :class:`TrainableTask` has it, takes options from the checkpoint that is measured.
    - ``counts(dataset, predictions, language=...)`` maps metrics to
      :class:`~isoglot.results.example_counts.ExampleCounts`, by which two models' predictions are compared in pairs.

    Attributes:
        name: Name in results and submissions.
        primary_metric: Metric by which checkpoints are chosen; larger is better unless it is ``aer``.
        data: Where the data are.
    """

    name: str
    primary_metric: str
    data: DataSource

    def load(self, language: str, split: str) -> Dataset:
        """Examples of one language and split."""


@runtime_checkable
class TrainableTask(Task, Protocol):
    """A task with a head that is fine-tuned."""

    max_length: int
    group: ClassVar[tuple[str, ...]]
    """Columns whose equal values stay together when data are split, such as questions about one article.

    The first of these columns that the data have is used.
    """

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """A copy of the task. Options that were not given have the values of the checkpoint's fine-tuning."""

    def labels(self, dataset: Dataset) -> list[str] | None:
        """Outputs of a head for these data; ``None`` where the head has no labels."""

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """The pre-trained encoder with a new head."""

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """A fine-tuned model. After this :meth:`load` refuses labels that the model does not have."""

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Rows with labels. For training, rows from which nothing can be learned are left out."""

    def reduce(self, logits: Any) -> Any:
        """The part of a model's logits that :meth:`decode` needs, such as the best label of each token."""

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Predictions of the examples, from the outputs of their rows."""

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Metrics in %."""


@runtime_checkable
class Probe(Task, Protocol):
    """A task that measures a pre-trained encoder as it is."""

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Metrics, and the predictions: what was found for each example."""


def locations_of(task: Task, language: str, split: str) -> list[Location]:
    """Where :meth:`Task.load` will read a language and split: files, folders, or data sets of the hub.

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
            # Refuses an unknown split, for which a file without splits would be read whole.
            split_names(split)
            locations[language, split] = locations_of(task, language, split)
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    return locations


def load_rows(task: Task, language: str, split: str) -> Dataset:
    """The examples of a language and split, at least one, with the labels that training and measuring need.

    Prediction needs no labels: it calls :meth:`Task.load` itself.
    """
    rows = task.load(language, split)
    if not len(rows):
        raise ConfigurationError(
            f"{task.name}: the {split} data of {language!r} ({task.data.describe()}) have no example; give others"
        )
    if (require_gold := getattr(task, "require_gold", None)) is not None:
        require_gold(rows)
    return rows


def require_distinct_rows(
    datasets: Mapping[str, Dataset], locations: Mapping[str, Sequence[Location]]
) -> None:
    """Refuse one file that was read as the data of two languages, with the same rows."""
    owners: dict[str, str] = {}  # key of files and rows: the language they were read for
    for language, rows in datasets.items():
        first = {name: value for name, value in rows[0].items() if "language" not in name}
        paths = [location.path for location in locations[language]]
        owner = owners.setdefault(key_of([paths, len(rows), first]), language)
        if owner != language:
            raise ConfigurationError(
                f"{', '.join(paths)}: read for {owner!r} and for {language!r}, with the same rows; name each "
                "language's own file with {language} in [[data]], or one language"
            )


def group_column(dataset: Dataset, names: Sequence[str]) -> str | None:
    """The first of these columns that a data set has, or ``None``."""
    return next((name for name in names if name in dataset.column_names), None)


def take_part(dataset: Dataset, start: float, stop: float, *, group: str | None) -> Dataset:
    """The rows of the groups between two percentages, in their order.

    Rows with equal values of the column ``group`` are a group; without a column each row is a group. Of ten questions
    about three articles, the part from 0 to 67 % is all questions about the first two articles.
    """
    if group is None:
        group_numbers = np.arange(len(dataset))
    else:
        number_of = {value: number for number, value in enumerate(dict.fromkeys(dataset[group]))}
        group_numbers = np.array([number_of[value] for value in dataset[group]], np.int64)
    count = int(group_numbers.max()) + 1 if len(group_numbers) else 0
    first, end = round(count * start / 100), round(count * stop / 100)
    return dataset.select(np.flatnonzero((group_numbers >= first) & (group_numbers < end)).tolist())
