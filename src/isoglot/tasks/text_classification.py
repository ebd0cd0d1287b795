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
from isoglot.tasks.base import Predictions
from isoglot.tasks.classification import ClassificationTask
from isoglot.tasks.head_task import XTREME

_COLUMNS = Features({**LABELLED, "id": Value("string"), SPLIT: Value("string")})
_LINE_FILES = frozenset([".csv", ".tsv", ".txt", ".jsonl", ".ndjson"])


@dataclass
class TextClassification(ClassificationTask):
    """A label for a text, such as its topic, intent or sentiment; the labels are those of the training data.

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
    hub = HubSpec("mteb/amazon_massive_intent", "{language}", {"label": "label_text"})
    presets: ClassVar = {"xtreme": {**XTREME, "epochs": 5}}

    def __post_init__(self) -> None:
        """Look for the columns that were named in data sets of the hub too."""
        super().__post_init__()
        self._named = {n: name for n in ("text", "label") if (name := getattr(self, n)) is not None}
        self.hub = replace(self.hub, columns={**self.hub.columns, **self._named})  # type: ignore[misc]

    def load(self, language: str, split: str) -> Dataset:
        """LABELLED rows whose labels the model has."""
        rows = super().load(language, split)
        self._require_known(rows.unique("label"))
        return rows

    def is_table(self, path: str) -> bool:
        """No: its own reader knows more names of columns."""
        del path
        return False

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """LABELLED rows of CSV, tab-separated lines or JSON lines, of Parquet, or of a data set on disk."""
        if _LINE_FILES.isdisjoint(suffix.lower() for suffix in Path(location.path).suffixes):
            rows = with_schema(open_table(location.path, split), LABELLED, self._named)
        else:
            names = {name: COLUMN_NAMES[name] for name in _COLUMNS}
            names |= {name: (column.lower(),) for name, column in self._named.items()}
            fields = [row for _, row in labelled_rows(location.path, names)]
            if not fields:
                raise InputError("holds no labelled text; check the path and the format", path=location.path)
            columns = {name: [row.get(name) for row in fields] for name in _COLUMNS}
            columns["language"] = [tag or language for tag in columns["language"]]
            columns = {
                name: values
                for name, values in columns.items()
                if None not in values or (name == SPLIT and any(values))
            }
            rows = Dataset.from_dict(columns, features=Features({name: _COLUMNS[name] for name in columns}))
        return read_table(
            location.path, LABELLED, language=language, split=split, role=f"{self.name} data", rows=rows
        )

    def labels(self, dataset: Dataset) -> list[str]:
        """The labels of the training data, sorted."""
        return sorted(dataset.unique("label"))

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Accuracy and macro F1."""
        gold, predicted = np.array(dataset["label"]), np.array(predictions)
        classes = np.array(sorted({*(self._allowed or predicted.tolist()), *gold.tolist()}))
        is_gold, is_predicted = (side[:, None] == classes for side in (gold, predicted))
        return {
            **super().counts(dataset, predictions, language=language),
            "macro_f1": ExampleCounts(2.0 * (is_gold & is_predicted), 1.0 * is_gold + is_predicted),
        }
