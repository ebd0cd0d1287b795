"""Weights of classes in the loss, so that a rare class counts as much as a frequent one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError
from isoglot.tasks.features import IGNORED, EncodedRow

ClassWeight = Literal["balanced"] | Mapping[str, float]


def require_labels(class_weight: ClassWeight | None, labels: Sequence[str] | None, task: str) -> None:
    """Refuse weights for labels that the training data do not have, and for a task without classes."""
    if class_weight is None:
        return
    if labels is None:
        raise ConfigurationError(
            f"[[class_weight]]: {task} has no classes to weigh; it is for the classification of texts, pairs and words"
        )
    if class_weight == "balanced":
        return
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ConfigurationError(
            f"[[class_weight]]: no class is called {', '.join(map(repr, unknown))}; the classes are "
            f"{', '.join(labels)}"
        )


def weights_of(class_weight: ClassWeight, labels: Sequence[str], rows: Sequence[EncodedRow]) -> Tensor:
    """Return the weight of each class, in the order of the labels.

    ``balanced`` weighs as scikit-learn does, by n / (k · count): n training labels in all, k classes that occur, and
    ``count`` labels of the class. Of 3 *spam* and 1 *ham*, *spam* weighs 4 / (2 · 3) = 0.67 and *ham* 2. A class that
    does not occur has the weight 1, which is never used.
    """
    if class_weight != "balanced":
        return torch.tensor([float(class_weight.get(label, 1.0)) for label in labels])
    counts = label_counts(rows, len(labels))
    occurring = counts > 0
    balanced = counts.sum() / (occurring.sum() * np.maximum(counts, 1))
    return torch.tensor(np.where(occurring, balanced, 1.0), dtype=torch.float32)


def label_counts(rows: Sequence[EncodedRow], classes: int) -> NDArray[np.int64]:
    """Count the labels of each class in the rows; ignored positions, such as padding, do not count."""
    counts = np.zeros(classes, np.int64)
    for row in rows:
        labels = np.atleast_1d(row.inputs["labels"])
        counts += np.bincount(labels[labels != IGNORED], minlength=classes)
    return counts


def weight_of_items(labels: Tensor, weights: Tensor) -> Tensor:
    """Add up the weights of the labels that are not ignored: a weighted mean divides by this sum."""
    return weights.to(labels.device)[labels[labels != IGNORED]].sum()


def weighted_loss(model: Any, inputs: Mapping[str, Tensor], weights: Tensor) -> tuple[Tensor, Any]:
    """Compute the weighted mean of the cross entropy over a batch, as ``torch.nn.CrossEntropyLoss(weight=...)`` does.

    Returns:
        The loss, and the model's outputs.
    """
    labels = inputs["labels"]
    # The model is called without labels: it would compute an unweighted loss, which nobody needs.
    outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
    logits = outputs["logits"].float()
    loss: Tensor = nn.functional.cross_entropy(
        logits.flatten(0, -2),
        labels.flatten(),
        weight=weights.to(logits.device),
        ignore_index=IGNORED,
        reduction="sum",
    )
    return loss / weight_of_items(labels, weights), outputs
