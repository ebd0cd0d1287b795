"""What a task is, and what all tasks share: finding data and taking parts of them."""

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
"""One entry an example in order, or by question."""


@runtime_checkable
class Task(Protocol):
    """Data of one kind and how they are scored; its class may also state :class:`isoglot.tasks.TaskFacts`.

    A task that takes options from the checkpoint that it is put to has ``with_checkpoint``, as
    :class:`TrainableTask`. One whose metrics are counted per example, so that two models' predictions can be compared
    in pairs, has ``counts(dataset, predictions, language=...)``: a mapping from metrics to
    :class:`~isoglot.results.example_counts.ExampleCounts`.

    Attributes:
        name: In results and submissions.
        primary_metric: The one that checkpoints are chosen by; larger is better unless it is ``aer``.
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
    """Columns whose equal values belong together when data are split: the first that the data have counts."""

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """A copy with what the checkpoint was trained with, or keeps, for the options that were not given."""

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
        """A fine-tuned model; what it knows (its labels) is what :meth:`load` allows from now on."""

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Rows with labels; for training, without what cannot be learned from."""

    def reduce(self, logits: Any) -> Any:
        """What of a model's logits :meth:`decode` needs."""

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Outputs of rows as predictions of examples."""

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Metrics in %."""


@runtime_checkable
class Probe(Task, Protocol):
    """A task that measures a pre-trained encoder as it is."""

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Metrics, and what was found for each example."""


def locations_of(task: Task, language: str, split: str) -> list[Location]:
    """What :meth:`Task.load` will read for a language and split: files, folders, or data sets of the hub.

    Nothing is read. A task whose languages are pairs, or have several files, has its own method ``locations``.
    """
    find = getattr(task, "locations", task.data.find)
    return find(language, split)


def check_locations(task: Task, parts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Location]]:
    """Where the data of each language and split are, before work that takes long.

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
            split_names(split)  # a file without splits would be read for any
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
    """Refuse a file without languages as the data of two of them."""
    owners: dict[str, str] = {}
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

    Equal values of the column ``group`` make a group; without one each row is one.
    """
    if group is None:
        number = np.arange(len(dataset))
    else:
        first = {value: i for i, value in enumerate(dict.fromkeys(dataset[group]))}
        number = np.array([first[value] for value in dataset[group]], np.int64)
    count = int(number.max()) + 1 if len(number) else 0
    low, high = round(count * start / 100), round(count * stop / 100)
    return dataset.select(np.flatnonzero((number >= low) & (number < high)).tolist())
