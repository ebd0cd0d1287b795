"""Text classification: topics (SIB-200), intents (MASSIVE), sentiment; any labels, in any language."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from datasets import Dataset, Features, Value

from isoglot.core.errors import InputError
from isoglot.corpus.labelled_tables import open_table, read_table
from isoglot.formats.labelled.hub import HubSpec
from isoglot.formats.labelled.memory import with_schema
from isoglot.formats.labelled.pairs import labelled_rows
from isoglot.formats.labelled.sources import Location
from isoglot.formats.labelled.splits import COLUMN_NAMES, SPLIT
from isoglot.formats.schema import LABELLED
from isoglot.results.example_counts import ExampleCounts
from isoglot.runs.json_lines import JSON_LINES
from isoglot.tasks.base import Predictions
from isoglot.tasks.classification import ClassificationTask
from isoglot.tasks.head_task import XTREME

_COLUMNS = Features({**LABELLED, "id": Value("string"), SPLIT: Value("string")})
_LINE_FILES = frozenset([".csv", ".tsv", ".txt", *JSON_LINES])
"""Endings of files that this module's reader reads, also before ``.gz``: it knows more names of columns than others."""


@dataclass
class TextClassification(ClassificationTask):
    """Predict a label for a text, such as its topic, intent or sentiment; the labels are those of the training data.

    Args:
        max_length: Tokens of a row.
        text: Column of the text; by default text, sentence, utterance or utt.
        label: Column of the label; by default label, label_text, category, intent or topic.

    **Metrics**: ``accuracy``, and ``macro_f1``, the mean of the F1 of every label that occurs.
    """

    text: str | None = None
    label: str | None = None
    kind = "text_classification"
    schema = LABELLED
    texts = ("text",)
    group: ClassVar[tuple[str, ...]] = ("id",)
    """Rows of one id, such as versions of one text, stay together when data are split."""
    hub = HubSpec("mteb/amazon_massive_intent", "{language}", {"label": "label_text"})
    presets: ClassVar = {"xtreme": {**XTREME, "epochs": 5}}

    def __post_init__(self) -> None:
        """Let the columns that the user named count for data sets of the hub too."""
        super().__post_init__()
        columns = {"text": self.text, "label": self.label}
        self._named = {name: column for name, column in columns.items() if column is not None}
        self.hub = replace(self.hub, columns={**self.hub.columns, **self._named})  # type: ignore[misc]

    def load(self, language: str, split: str) -> Dataset:
        """Load LABELLED rows, and refuse labels that the model does not have."""
        rows = super().load(language, split)
        self._require_known(rows.unique("label"))
        return rows

    def is_table(self, path: str) -> bool:
        """Return False: :meth:`read_file` reads tables too, because it knows more names of columns."""
        del path
        return False

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """Read LABELLED rows of CSV, tab-separated lines or JSON lines, of Parquet, or of a data set on disk."""
        suffixes = {suffix.lower() for suffix in Path(location.path).suffixes}
        if suffixes & _LINE_FILES:
            rows = self._read_lines(location.path, language)
        else:
            rows = with_schema(open_table(location.path, split), LABELLED, self._named)
        return read_table(
            location.path, LABELLED, language=language, split=split, role=f"{self.name} data", rows=rows
        )

    def _read_lines(self, path: str, language: str) -> Dataset:
        """Read a file of CSV, tab-separated lines or JSON lines.

        1. A column is found by its usual names (``text`` may be called ``utterance``), or by the name that the user
           gave.
        2. A row that does not name its language is in ``language``.
        3. Optional columns, such as ``id``, are kept if every row has a value; the split, if any row has one.
        """
        names = {name: COLUMN_NAMES[name] for name in _COLUMNS}  # 1
        names |= {name: (column.lower(),) for name, column in self._named.items()}
        rows = [row for _, row in labelled_rows(path, names)]
        if not rows:
            raise InputError("holds no labelled text; check the path and the format", path=path)
        columns: dict[str, list[str | None]] = {}
        for name in _COLUMNS:
            values = [row.get(name) for row in rows]
            if name == "language":  # 2
                values = [row_language or language for row_language in values]
            if None not in values or (name == SPLIT and any(values)):  # 3
                columns[name] = values
        return Dataset.from_dict(columns, features=Features({name: _COLUMNS[name] for name in columns}))

    def labels(self, dataset: Dataset) -> list[str]:
        """Return the labels of the training data, sorted."""
        return sorted(dataset.unique("label"))

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count accuracy and macro F1 for each example.

        F1 of a label is 2 · right / (gold + predicted), so each example counts, for each label, twice if it is right,
        and once as gold and once as predicted.
        """
        gold, predicted = np.array(dataset["label"]), np.array(predictions)
        labels = np.array(sorted({*(self._allowed or predicted.tolist()), *gold.tolist()}))
        # Tables of truth values: one row per example, one column per label.
        is_gold = gold[:, None] == labels
        is_predicted = predicted[:, None] == labels
        return {
            **super().counts(dataset, predictions, language=language),
            "macro_f1": ExampleCounts(2.0 * (is_gold & is_predicted), 1.0 * is_gold + is_predicted),
        }
