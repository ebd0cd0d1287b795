"""A metric as counts of each example, so that two systems can be compared example by example.

With numerators n and denominators d, summed over the examples, a metric is ``100 · Σn / Σd`` per part; it has one part
(accuracy, F1, error rates), or several that are combined: macro F1 is the mean over classes, F1 of word links the
harmonic mean of precision and recall.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.runs.files import whole_path

Combine = Literal["mean", "harmonic"]
ENDING = ".counts.safetensors"
"""Ending of the files of counts, which lie beside the predictions that they count."""
_HEADER = "isoglot"
_TENSORS = ("numerators", "denominators")
"""Tensors of each metric in a file of counts: `f1/numerators`."""


class ExampleCounts:
    """One metric of a list of examples. Its values are in %, so metrics of another range (a cosine) have no counts.

    Args:
        numerators: Number of right things in each example, such as words (for an error rate, of wrong things).
            Shape: (examples,) or (examples, parts).
        denominators: Number of all things in each example. Same shape.
        combine: How parts become one value. ``mean`` leaves out parts without anything to count.

    Raises:
        ConfigurationError: Counts that are not numbers from 0, or of two shapes.

    Example:
        >>> ExampleCounts([1, 0, 1, 1], [1, 1, 1, 1]).value
        75.0
    """

    def __init__(self, numerators: ArrayLike, denominators: ArrayLike, combine: Combine = "mean") -> None:
        self.numerators, self.denominators = _numbers(numerators), _numbers(denominators)
        shape = self.numerators.shape
        if shape != self.denominators.shape or len(shape) not in (1, 2):
            raise ConfigurationError(
                "numerators and denominators must have one shape, (examples) or (examples, parts), got "
                f"{shape} and {self.denominators.shape}"
            )
        for counts in (self.numerators, self.denominators):
            if not np.isfinite(counts).all() or (counts < 0).any():
                raise ConfigurationError("counts are negative or not finite; give numbers from 0")
        if combine not in get_args(Combine):
            raise ConfigurationError(f"combine must be {' or '.join(get_args(Combine))}, got {combine!r}")
        if len(shape) == 1:  # a metric of one part
            self.numerators, self.denominators = self.numerators[:, None], self.denominators[:, None]
        self.combine = combine

    def __len__(self) -> int:
        return len(self.numerators)

    @property
    def value(self) -> float:
        """The metric in %; 0 if there is nothing to count."""
        return float(combined(self.numerators.sum(0), self.denominators.sum(0), self.combine))


def shares(right: ArrayLike) -> ExampleCounts:
    """Make the counts of a metric that is the mean of one number from 0 to 1 per example: accuracy, exact match."""
    numbers = _numbers(right)
    if (numbers > 1).any():
        raise ConfigurationError(f"got {numbers.max():g}; give one number from 0 to 1 per example, not in %")
    return ExampleCounts(numbers, np.ones_like(numbers))


def _numbers(counts: ArrayLike | Iterator[float]) -> NDArray[np.float64]:
    try:
        return np.asarray(list(counts) if isinstance(counts, Iterator) else counts, np.float64)
    except (TypeError, ValueError):
        raise ConfigurationError(f"counts must be numbers, got {shortened(counts)}") from None


def combined(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], combine: Combine
) -> NDArray[np.float64]:
    """Turn sums over examples into values in %. **Shape**: (..., parts) to (...).

    1. With ``mean``, the mean over the parts that have anything to count: of 1 / 2 and 0 / 0 it is 50.
    2. With ``harmonic``, the harmonic mean over all parts; 0 if one of them is 0. (None is below 0, as counts are not.)
    """
    has_any = denominators > 0
    parts = np.divide(100 * numerators, denominators, out=np.zeros_like(numerators), where=has_any)
    if combine == "mean":  # 1
        return np.asarray(parts.sum(-1) / np.maximum(has_any.sum(-1), 1))
    is_positive = parts > 0  # 2
    # The inverse of a part of 0 is given as 1, so that nothing is divided by 0. A mean with such a part is not used.
    inverses = np.divide(1.0, parts, out=np.ones_like(parts), where=is_positive)
    harmonic_means = parts.shape[-1] / inverses.sum(-1)
    return np.asarray(np.where(is_positive.all(-1), harmonic_means, 0.0))


@dataclass(frozen=True, eq=False)
class CountsFile:
    """The counts of one evaluation, as they lie beside its predictions.

    Args:
        about: What was measured, as in rows of results: ``run``, ``task``, ``language``, ``split``, ``seed``,
            ``checkpoint_hash``, ``options``; and ``data``, a hash of the examples.
        metrics: Counts of each metric.
    """

    about: Mapping[str, Any]
    metrics: Mapping[str, ExampleCounts]

    def write(self, path: Path) -> None:
        """Write a file in one go."""
        header = {**self.about, "combine": {name: counts.combine for name, counts in self.metrics.items()}}
        tensors = {}
        for name, counts in self.metrics.items():
            for tensor in _TENSORS:
                # safetensors writes views wrongly.
                tensors[f"{name}/{tensor}"] = np.ascontiguousarray(getattr(counts, tensor))
        with whole_path(path) as temporary:
            save_file(tensors, temporary, metadata={_HEADER: json.dumps(header)})

    @classmethod
    def read(cls, path: Path) -> CountsFile:
        """Read a file that :meth:`write` wrote.

        Raises:
            InputError: The file is damaged, or holds no counts.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads(file.metadata()[_HEADER])
                metrics = {}
                for name, combine in about.pop("combine").items():
                    numerators, denominators = (file.get_tensor(f"{name}/{tensor}") for tensor in _TENSORS)
                    metrics[name] = ExampleCounts(numerators, denominators, combine)
        except (
            SafetensorError, OSError, KeyError, TypeError, ValueError, AttributeError, ConfigurationError,
        ) as error:  # fmt: skip
            raise InputError(
                f"holds no counts of examples ({error}); evaluate again with [[again=True]]", path=path
            ) from error
        if len({len(counts) for counts in metrics.values()}) > 1:
            raise InputError(
                "metrics have different numbers of examples; evaluate again with [[again=True]]", path=path
            )
        return cls(about, metrics)
