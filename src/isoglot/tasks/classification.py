"""Tasks with one label per example: the label of one text or of two, read from the first position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.results.confusion import ConfusionMatrix
from isoglot.results.example_counts import ExampleCounts, shares
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import FIRST_LANGUAGE, EncodedRow, RowOutput, takes_segments
from isoglot.tasks.head_task import HeadTask, model_labels
from isoglot.tasks.text_vectors import TextPooling
from isoglot.tasks.vector_classifier import LASER_HIDDEN, Frozen, VectorClassifier, new_classifier

_ENCODED_AT_ONCE = 10_000


@dataclass
class ClassificationTask(HeadTask):
    """A label for the texts of an example, from the first position.

    Args:
        max_length: Tokens of a row; of two texts the longer is cut first.
        frozen: vectors trains a classifier on sentence vectors of the encoder, which stays as it is, or of a function
            (package.module:Name in place of the checkpoint).
        hidden: Units of the classifier's hidden layers, with frozen=vectors.
        layer: Layer that vectors are read from, with frozen=vectors.
        pooling: How a layer becomes a vector, with frozen=vectors: mean or cls.
        prefix: Text before each text, if the encoder was trained with one, with frozen=vectors.

    **Metrics**: ``accuracy``.
    """

    max_length: int = 128
    frozen: Frozen | None = None
    hidden: tuple[int, ...] | int = LASER_HIDDEN
    layer: int = -1
    pooling: TextPooling = "mean"
    prefix: str = ""
    recorded_if_given: ClassVar[tuple[str, ...]] = ("frozen", "hidden", "layer", "pooling", "prefix")
    auto = AutoModelForSequenceClassification
    texts: ClassVar[tuple[str, ...]]
    """Columns of the texts, in the order in which the encoder reads them."""
    primary_metric: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        """Refuse options of vectors without ``frozen``."""
        super().__post_init__()
        changed = [
            name for name in self.recorded_if_given[1:] if getattr(self, name) != getattr(type(self), name)
        ]
        if self.frozen is None and changed:
            raise ConfigurationError(
                f"[[{changed[0]}]]: has an effect only with [[frozen='vectors']]; add that, or leave it out"
            )

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """The encoder with a new head; with ``frozen`` a classifier of its vectors."""
        if self.frozen is None:
            return super().head(checkpoint, labels=labels, seed=seed, dropout=dropout)
        self.know(labels)
        self._require_two(labels)
        hidden = (self.hidden,) if isinstance(self.hidden, int) else self.hidden
        if any(units < 1 for units in hidden):
            raise ConfigurationError(f"hidden: a layer needs 1 unit or more, got {list(hidden)}")
        return new_classifier(
            checkpoint, labels=list(labels or ()), texts=len(self.texts), hidden=hidden, layer=self.layer,
            pooling=self.pooling, prefix=self.prefix, dropout=dropout, seed=seed,
        )  # fmt: skip

    def know(self, labels: Sequence[str] | None) -> None:
        """Labels that data may have from now on."""
        self._allowed = None if labels is None else tuple(labels)

    def _require_known(self, labels: Sequence[str]) -> None:
        """Refuse labels that the model does not have."""
        if self._allowed is not None and (lacking := set(labels) - set(self._allowed)):
            raise ConfigurationError(
                f"{self.name}: label {min(lacking)!r} is not of the model's id2label, {', '.join(self._allowed)}"
            )

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """One row per example, in the tokenizer's own template."""
        del training
        names = {label: i for i, label in enumerate(model_labels(model))}
        if isinstance(model, VectorClassifier):
            return self._numbered(dataset, tokenizer, model, names)
        segments, halves = takes_segments(model, tokenizer), FIRST_LANGUAGE in dataset.column_names
        rows: list[EncodedRow] = []
        for batch in dataset.iter(_ENCODED_AT_ONCE):
            encoded = tokenizer(
                *(batch[column] for column in self.texts),
                truncation="longest_first",
                max_length=self.max_length,
                return_token_type_ids=segments,
                return_attention_mask=False,
            )
            for row, label in enumerate(batch["label"]):
                inputs = {
                    "input_ids": np.array(encoded["input_ids"][row], np.int32),
                    "labels": names.get(label, 0),
                }
                if segments:
                    inputs["token_type_ids"] = np.array(encoded["token_type_ids"][row], np.int8)
                second = encoded.sequence_ids(row).index(1) if halves else 0
                rows.append(EncodedRow(inputs, len(rows), second=second))
        return rows

    def _numbered(
        self, dataset: Dataset, tokenizer: Any, model: VectorClassifier, names: Mapping[str, int]
    ) -> list[EncodedRow]:
        """One row an example, with the numbers of its texts' vectors."""
        columns = [list(dataset[column]) for column in self.texts]
        every = [text for column in columns for text in column]
        numbers = np.array(model.number(every, tokenizer, self.max_length), np.int32)
        rows = numbers.reshape(len(columns), len(dataset)).T
        labels = [names.get(label, 0) for label in dataset["label"]]
        return [
            EncodedRow({"input_ids": row, "labels": label}, number)
            for number, (row, label) in enumerate(zip(rows, labels, strict=True))
        ]

    def reduce(self, logits: Any) -> Any:
        """All of them."""
        return logits

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """The best label of each example."""
        names = list(self._allowed or self.labels(dataset))
        predicted = [""] * len(dataset)
        for row, output in zip(rows, outputs, strict=True):
            predicted[row.example] = names[int(output.argmax())]
        return predicted

    def labels(self, dataset: Dataset) -> list[str]:
        """Outputs of a head for these data."""
        raise NotImplementedError

    def gold(self, dataset: Dataset) -> list[str]:
        """The labels of the data, in the form of predictions."""
        return list(dataset["label"])

    def confusion(self, dataset: Dataset, predictions: Predictions) -> ConfusionMatrix:
        """Count how often each label was predicted for each label."""
        return ConfusionMatrix.of(self.gold(dataset), list(predictions), self._allowed or ())

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Accuracy."""
        del language
        return {"accuracy": shares(list(map(eq, dataset["label"], predictions)))}
