"""Confusions: how often each class was predicted for each class, and precision, recall and F1 that follow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.frames import ResultList, Tabular
from isoglot.runs.files import write_text

if TYPE_CHECKING:
    import pandas as pd

ENDING = ".confusion.json"
"""Ending of the files of confusions, which lie beside the predictions that they count."""


@dataclass(frozen=True, slots=True)
class ClassScore(Tabular):
    """Precision, recall and F1 of one class in one language, in %."""

    language: str
    label: str
    precision: float
    recall: float
    f1: float
    examples: int  # that have the label
    predicted: int  # that were given the label


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Counts of how often each class was predicted for each class, in one language.

    Definitions are those of scikit-learn's ``classification_report`` with ``zero_division=0``: the precision of a
    class that was never predicted is 0, the recall of a class without examples is 0, and F1 is 0 where either is.
    A macro average is the mean over the classes that occur, as labels or as predictions.

    Args:
        labels: Names of the classes.
        counts: Examples, one row a label and one column a prediction. Shape: (labels, labels).

    Example:
        >>> matrix = ConfusionMatrix.of(["a", "a", "b"], ["a", "b", "b"])
        >>> matrix.counts.tolist(), round(matrix.scores()["macro_f1"], 2)
        ([[1, 1], [0, 1]], 66.67)
    """

    labels: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, gold: Sequence[str], predicted: Sequence[str], labels: Iterable[str] = ()) -> ConfusionMatrix:
        """Count labels and predictions of the same examples.

        ``labels``: Classes that come first, also where no example has them; the others follow by alphabet.
        """
        if len(gold) != len(predicted):
            raise ConfigurationError(
                f"{len(predicted)} predictions for {len(gold)} labels; predict each example once, in order"
            )
        first = list(dict.fromkeys(labels))
        classes = [*first, *sorted({*gold, *predicted} - {*first})]
        place_of = {label: place for place, label in enumerate(classes)}
        rows = [place_of[label] for label in gold]
        columns = [place_of[label] for label in predicted]
        counts = np.zeros((len(classes), len(classes)), np.int64)
        np.add.at(counts, (rows, columns), 1)
        return cls(tuple(classes), counts)

    def classes(self, language: str = "") -> list[ClassScore]:
        """Compute precision, recall and F1 of every class."""
        scores = []
        for place, label in enumerate(self.labels):
            hits = int(self.counts[place, place])
            examples = int(self.counts[place].sum())  # that have the label
            predicted = int(self.counts[:, place].sum())  # that were given the label
            precision = 100 * hits / predicted if predicted else 0.0
            recall = 100 * hits / examples if examples else 0.0
            # The harmonic mean of precision and recall.
            f1 = 100 * 2 * hits / (examples + predicted) if examples + predicted else 0.0
            scores.append(ClassScore(language, label, precision, recall, f1, examples, predicted))
        return scores

    def scores(self) -> dict[str, float]:
        """Compute macro averages, then each class's ``f1_LABEL``, ``precision_LABEL`` and ``recall_LABEL``."""
        classes = self.classes()
        occurring = [score for score in classes if score.examples or score.predicted]
        found: dict[str, float] = {}
        for name in ("f1", "precision", "recall"):
            values = [getattr(score, name) for score in occurring]
            found[f"macro_{name}"] = float(np.mean(values)) if values else 0.0
        for score in classes:
            for name in ("f1", "precision", "recall"):
                found[f"{name}_{score.label}"] = getattr(score, name)
        return found


def class_metrics(labels: Iterable[str]) -> list[str]:
    """List the names of the scores that :meth:`ConfusionMatrix.scores` computes for these labels."""
    return list(ConfusionMatrix.of([], [], labels).scores())


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of how often each class was predicted for each class, by language.

    Args:
        languages: Counts of each language.
        about: What was measured, as in rows of results: ``run``, ``task``, ``split``, ``seed``.

    Example:
        >>> confusion = Confusion({"de": ConfusionMatrix.of(["a", "a", "b"], ["a", "b", "b"])})
        >>> confusion.to_frame().values.tolist()
        [['de', 'a', 'a', 1], ['de', 'a', 'b', 1], ['de', 'b', 'a', 0], ['de', 'b', 'b', 1]]
        >>> confusion.classes()[1].recall
        100.0
    """

    languages: Mapping[str, ConfusionMatrix]
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the numbers of examples: ``{"de": {"a": {"a": 1, "b": 1}}}`` by language, label and prediction."""
        counts_of: dict[str, dict[str, dict[str, int]]] = {}
        for language, matrix in self.languages.items():
            by_label = {}
            for label, row in zip(matrix.labels, matrix.counts.tolist(), strict=True):
                by_label[label] = dict(zip(matrix.labels, row, strict=True))
            counts_of[language] = by_label
        return counts_of

    def rows(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield language, label, prediction and number of examples, for every pair of classes."""
        for language, by_label in self.to_dict().items():
            for label, by_prediction in by_label.items():
                for prediction, count in by_prediction.items():
                    yield language, label, prediction, count

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for each language, label and prediction (a matrix by ``pivot_table``)."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame(list(self.rows()), columns=["language", "label", "prediction", "count"])

    def classes(self) -> ResultList[ClassScore]:
        """Compute precision, recall and F1 of every class in every language."""
        scores: ResultList[ClassScore] = ResultList()
        for language, matrix in self.languages.items():
            scores += matrix.classes(language)
        return scores

    def __repr__(self) -> str:
        sizes = ", ".join(f"{language}: {matrix.counts.sum()}" for language, matrix in self.languages.items())
        return f"Confusion({sizes})"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: a matrix for each language."""
        frame = self.to_frame().pivot_table(
            index=["language", "label"], columns="prediction", values="count", sort=False
        )
        return str(frame.to_html(float_format="{:.0f}".format, na_rep=""))

    def write(self, path: Path) -> Path:
        """Write the counts as JSON, in one go."""
        languages = {
            language: {"labels": matrix.labels, "counts": matrix.counts.tolist()}
            for language, matrix in self.languages.items()
        }
        record = {"about": dict(self.about), "languages": languages}
        return write_text(path, json.dumps(record, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Confusion:
        """Read a file that :meth:`write` wrote.

        Raises:
            InputError: It is damaged, or holds no confusion.
        """
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            languages = {}
            for language, entry in record["languages"].items():
                labels, counts = tuple(map(str, entry["labels"])), np.array(entry["counts"], np.int64)
                if not labels and not counts.size:
                    counts = np.zeros((0, 0), np.int64)  # JSON has no rows that could tell the shape
                if counts.shape != (len(labels), len(labels)):
                    raise ValueError(f"{len(labels)} labels and counts of shape {counts.shape}")
                if (counts < 0).any():
                    raise ValueError("a count is negative")
                languages[language] = ConfusionMatrix(labels, counts)
            return cls(languages, dict(record["about"]))
        except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"holds no confusion ({error}); evaluate again with [[again=True]]", path=path
            ) from error
