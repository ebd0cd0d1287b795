"""Sentence-pair classification: natural language inference and paraphrases."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from datasets import Dataset

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.hub import HubSpec
from isoglot.formats.labelled.pairs import NLI_LABELS, PARAPHRASE_LABELS, UNTRANSLATED, read_pairs
from isoglot.formats.labelled.sources import Location
from isoglot.formats.line_files import jsonl_columns
from isoglot.formats.plain_values import NO_LABEL
from isoglot.formats.schema import PAIR
from isoglot.runs.json_lines import JSON_LINES
from isoglot.tasks.classification import ClassificationTask
from isoglot.tasks.head_task import ALIGN_MLM, PPA, XLM_ALIGN, XTREME


@dataclass
class PairTask(ClassificationTask):
    """Predict a label for two sentences."""

    schema = PAIR
    texts = ("first", "second")
    spellings: ClassVar[Mapping[str, str]]
    """Label as data may write it to the label of the head: ``contradictory`` (XNLI's files) to ``contradiction``."""
    group: ClassVar[tuple[str, ...]] = ("first",)

    def load(self, language: str, split: str) -> Dataset:
        """Load PAIR rows whose labels are spelt as the head's, with an ``id`` if the files have one.

        1. Rows without a label are left out.
        2. Rows of PAWS-X with an untranslated sentence are left out, unless the option ``untranslated`` keeps them.
        3. Labels are replaced by the task's spelling, ``contradictory`` by ``contradiction``. The labels of a trained
           model stay as they are, even if the task spells them otherwise (``contradictory`` of a model on the hub) or
           has no such label (``LABEL_0``).
        """
        dataset = super().load(language, split)
        labels = list(dataset["label"])
        spelling_of = self._spelling_of()  # 3
        unknown = set(labels) - set(spelling_of) - {NO_LABEL}
        if unknown:
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): label {min(unknown)!r} is not of "
                f"{', '.join(self.spellings)}"
            )
        usable: list[int] = []
        for row, (label, *pair) in enumerate(zip(labels, dataset["first"], dataset["second"], strict=True)):
            if label != NO_LABEL and self._untranslated_text not in pair:  # 1, 2
                usable.append(row)
        if len(usable) < len(labels):
            dataset, labels = dataset.select(usable), [labels[row] for row in usable]
        labels_of_head = [spelling_of[label] for label in labels]
        self._require_known(labels_of_head)
        if labels_of_head == labels:
            return dataset
        return dataset.remove_columns("label").add_column("label", labels_of_head, feature=PAIR["label"])

    def is_table(self, path: str) -> bool:
        """Whether a path holds PAIR rows: not JSON lines with the names of XNLI's or SNLI's own files."""
        if not super().is_table(path):
            return False
        return Path(path).suffix not in JSON_LINES or {"first", "second"} <= jsonl_columns(path)

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """Read PAIR rows from a file in the format of XNLI, MultiNLI, SNLI or PAWS-X."""
        return read_pairs(
            location.path,
            language=language,
            labels=self._spelling_of(),
            allowed=self._allowed,
            untranslated=self._untranslated_text,
        )

    def _spelling_of(self) -> dict[str, str]:
        """Return each label that data may have, with the label of the head that it means."""
        return dict(self.spellings) | {label: label for label in self._allowed or ()}

    @property
    def _untranslated_text(self) -> str | None:
        """The text that marks an untranslated sentence, if rows with such a sentence are left out."""
        return UNTRANSLATED if getattr(self, "untranslated", "") == "drop" else None

    def labels(self, dataset: Dataset) -> list[str]:
        """Return all labels of the kind of task, even if the data lack some."""
        del dataset
        return list(dict.fromkeys(self.spellings.values()))


@dataclass
class XNLI(PairTask):
    """Predict whether the second sentence follows from the first: XNLI, MultiNLI, SNLI."""

    kind = "xnli"
    hub = HubSpec(
        "facebook/xnli", "{language}", {"first": "premise", "second": "hypothesis", "label": "label"}
    )
    spellings = NLI_LABELS
    languages = "ar bg de el en es fr hi ru sw th tr ur vi zh"
    presets: ClassVar = {
        "xtreme": {**XTREME, "epochs": 5, "evaluate_every": 200},
        "ppa": {**PPA, "learning_rate": 5e-5, "max_length": 128},
        "align_mlm": {**ALIGN_MLM, "epochs": 5},
        "xlm_align": {**XLM_ALIGN, "learning_rate": (5e-6, 6e-6, 7e-6, 8e-6), "epochs": 10, "warmup": 12_500},
    }


@dataclass
class PAWSX(PairTask):
    """Predict whether two sentences are paraphrases: PAWS-X.

    Args:
        untranslated: Drop rows with a sentence NS, which has no translation, or keep them, as XTREME does: its
            submissions and published scores count all rows.
    """

    untranslated: Literal["drop", "keep"] = "drop"
    kind = "pawsx"
    hub = HubSpec(
        "google-research-datasets/paws-x",
        "{language}",
        {"first": "sentence1", "second": "sentence2", "label": "label"},
    )
    spellings = PARAPHRASE_LABELS
    languages = "de en es fr ja ko zh"
    presets: ClassVar = {
        "xtreme": {**XTREME, "epochs": 5, "evaluate_every": 100},
        "xlm_align": {**XLM_ALIGN, "learning_rate": (1e-5, 2e-5), "epochs": 10},
    }
