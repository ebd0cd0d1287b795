"""Tasks with one label per example: the label of one text or of two, predicted from the encoder's first position.

With ``frozen=vectors`` the label is predicted from sentence vectors instead (``vector_classifier.py``).
"""

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
"""Examples that are tokenized at a time, so that not all encodings are in memory at once."""
_VECTOR_OPTIONS = ("hidden", "layer", "pooling", "prefix")
"""Options of a classifier of sentence vectors, which have an effect only with ``frozen``."""


@dataclass
class ClassificationTask(HeadTask):
    """Predict a label for the texts of an example, from the encoder's first position.

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
    recorded_if_given: ClassVar[tuple[str, ...]] = ("frozen", *_VECTOR_OPTIONS)
    """Options that a run's record leaves out at their default values (:mod:`isoglot.tasks.description`)."""
    auto = AutoModelForSequenceClassification
    texts: ClassVar[tuple[str, ...]]
    """Columns of the texts, in the order in which the encoder reads them."""
    primary_metric: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        """Refuse options of sentence vectors without ``frozen``."""
        super().__post_init__()
        changed = [name for name in _VECTOR_OPTIONS if getattr(self, name) != getattr(type(self), name)]
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
        """Load the encoder with a new head; with ``frozen``, a new classifier of the encoder's vectors."""
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
        """Take the labels of the head as ``_allowed``; after this, data with other labels are refused.

        ``None``, with which the base class begins, allows any label.
        """
        self._allowed = None if labels is None else tuple(labels)

    def _require_known(self, labels: Sequence[str]) -> None:
        """Refuse labels that the model does not have."""
        unknown = set() if self._allowed is None else set(labels) - set(self._allowed)
        if unknown:
            raise ConfigurationError(
                f"{self.name}: label {min(unknown)!r} is not of the model's id2label, {', '.join(self._allowed or ())}"
            )

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Encode each example as one row, with the special tokens of the tokenizer's own template.

        A label that the model does not have gets the number 0. Only development data can have such labels: they are
        loaded before there is a model, when :meth:`load` cannot refuse them yet. No score reads the number: scores
        compare the labels themselves.
        """
        del training
        number_of = {label: number for number, label in enumerate(model_labels(model))}
        if isinstance(model, VectorClassifier):
            return self._encode_as_numbers(dataset, tokenizer, model, number_of)
        segments = takes_segments(model, tokenizer)
        has_two_languages = FIRST_LANGUAGE in dataset.column_names
        rows: list[EncodedRow] = []
        for batch in dataset.iter(_ENCODED_AT_ONCE):
            encoded = tokenizer(
                *(batch[column] for column in self.texts),
                truncation="longest_first",
                max_length=self.max_length,
                return_token_type_ids=segments,
                return_attention_mask=False,
            )
            # Narrow integers: the rows of all examples stay in memory.
            for row, label in enumerate(batch["label"]):
                inputs = {
                    "input_ids": np.array(encoded["input_ids"][row], np.int32),
                    "labels": number_of.get(label, 0),
                }
                if segments:
                    inputs["token_type_ids"] = np.array(encoded["token_type_ids"][row], np.int8)
                second = _begin_of_second(encoded.sequence_ids(row)) if has_two_languages else 0
                rows.append(EncodedRow(inputs, len(rows), second=second))
        return rows

    def _encode_as_numbers(
        self, dataset: Dataset, tokenizer: Any, model: VectorClassifier, number_of: Mapping[str, int]
    ) -> list[EncodedRow]:
        """Encode each example as one row of the numbers of its texts' vectors: ``[3, 8]`` for two texts.

        ``number_of``: Label to its number.
        """
        # All first texts, then all second texts, because the model computes the vectors of one list of texts.
        texts: list[str] = []
        for column in self.texts:
            texts += dataset[column]
        numbers = np.array(model.number(texts, tokenizer, self.max_length), np.int32)
        numbers_of_example = numbers.reshape(len(self.texts), len(dataset)).T
        rows: list[EncodedRow] = []
        for text_numbers, label in zip(numbers_of_example, dataset["label"], strict=True):
            inputs = {"input_ids": text_numbers, "labels": number_of.get(label, 0)}
            rows.append(EncodedRow(inputs, len(rows)))
        return rows

    def reduce(self, logits: Any) -> Any:
        """Keep the logits of all labels."""
        return logits

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Return the best label of each example."""
        labels = list(self._allowed or self.labels(dataset))
        predicted = [""] * len(dataset)
        for row, logits in zip(rows, outputs, strict=True):
            predicted[row.example] = labels[int(logits.argmax())]
        return predicted

    def labels(self, dataset: Dataset) -> list[str]:
        """Return the labels that a head for these data needs an output for, in the order of the outputs."""
        raise NotImplementedError

    def gold(self, dataset: Dataset) -> list[str]:
        """Return the labels of the data, in the form of predictions."""
        return list(dataset["label"])

    def confusion(self, dataset: Dataset, predictions: Predictions) -> ConfusionMatrix:
        """Count how often each label was predicted for each label."""
        return ConfusionMatrix.of(self.gold(dataset), list(predictions), self._allowed or ())

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count accuracy for each example."""
        del language
        return {"accuracy": shares(list(map(eq, dataset["label"], predictions)))}


def _begin_of_second(sequence_ids: Sequence[int | None]) -> int:
    """Return the first position of the second text; of a text without pieces the position behind the row.

    ``sequence_ids``: For each token 0 in the first text, 1 in the second, ``None`` for special ones.
    """
    return sequence_ids.index(1) if 1 in sequence_ids else len(sequence_ids)
