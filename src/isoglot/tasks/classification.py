"""Tasks with one label per example: the label of one text or of two, read from the first position."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq
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

_ENCODED_AT_ONCE = 10_000


@dataclass
class ClassificationTask(HeadTask):
    """A label for the texts of an example, from the first position.

    Args:
        max_length: Tokens of a row; of two texts the longer is cut first.

    **Metrics**: ``accuracy``.
    """

    max_length: int = 128
    auto = AutoModelForSequenceClassification
    texts: ClassVar[tuple[str, ...]]
    """Columns of the texts, in the order in which the encoder reads them."""
    primary_metric: ClassVar[str] = "accuracy"

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
        """How often each label was predicted for each label."""
        return ConfusionMatrix.of(self.gold(dataset), list(predictions), self._allowed or ())

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Accuracy."""
        del language
        return {"accuracy": shares(list(map(eq, dataset["label"], predictions)))}
