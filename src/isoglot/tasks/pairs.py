"""Sentence-pair classification: natural language inference and paraphrases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.corpus.labelled.hub import NO_LABEL, HubSpec
from isoglot.corpus.labelled.pairs import NLI_LABELS, PARAPHRASE_LABELS, UNTRANSLATED, read_pairs
from isoglot.corpus.labelled.places import Place
from isoglot.corpus.read.line_files import jsonl_columns
from isoglot.errors import ConfigurationError
from isoglot.schema import PAIR
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import FIRST_LANGUAGE, EncodedRows, RowOutput, takes_segments
from isoglot.tasks.head_task import HeadTask, model_labels
from isoglot.tasks.presets import ALIGN_MLM, PPA, XLM_ALIGN, XTREME

_ENCODED_AT_ONCE = 10_000


@dataclass
class PairTask(HeadTask):
    """A label for two sentences, from the first position.

    Args:
        max_length: Tokens of a row; the longer sentence is cut first.

    **Metrics**: ``accuracy``.
    """

    max_length: int = 128
    auto = AutoModelForSequenceClassification
    schema = PAIR
    spellings: ClassVar[Mapping[str, str]]
    primary_metric: ClassVar[str] = "accuracy"
    group: ClassVar[tuple[str, ...]] = ("first",)

    def know(self, labels: Sequence[str] | None) -> None:
        """Labels that data may have from now on."""
        self._allowed = None if labels is None else tuple(labels)

    def load(self, language: str, split: str) -> Dataset:
        """PAIR rows, with an ``id`` where the files have one."""
        return self._usable(super().load(language, split))

    def is_table(self, path: str) -> bool:
        """Whether a path holds PAIR rows: not JSON lines with the names of XNLI's or SNLI's own files."""
        if not super().is_table(path):
            return False
        return Path(path).suffix not in (".jsonl", ".ndjson") or {"first", "second"} <= jsonl_columns(path)

    def read_file(self, place: Place, language: str) -> Dataset:
        """PAIR rows of the formats of XNLI, MultiNLI, SNLI and PAWS-X."""
        return read_pairs(
            place.path,
            language=language,
            labels=self.spellings,
            allowed=self._allowed,
            untranslated=self._left_out,
        )

    @property
    def _left_out(self) -> str | None:
        """The sentence whose rows are left out."""
        return UNTRANSLATED if getattr(self, "untranslated", "") == "drop" else None

    def _usable(self, dataset: Dataset) -> Dataset:
        """Rows with a label, spelt as the head's; without PAWS-X's untranslated ones."""
        spellings = self.spellings
        given = list(dataset["label"])
        unknown = set(given) - set(spellings) - {NO_LABEL}
        if unknown:
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): label {min(unknown)!r} is not of {', '.join(spellings)}"
            )
        sides = enumerate(zip(given, dataset["first"], dataset["second"], strict=True))
        kept = [i for i, (label, *pair) in sides if label != NO_LABEL and self._left_out not in pair]
        if len(kept) < len(given):
            dataset, given = dataset.select(kept), [given[i] for i in kept]
        named = [spellings[label] for label in given]
        if self._allowed is not None and (lacking := set(named) - set(self._allowed)):
            raise ConfigurationError(
                f"{self.name}: label {min(lacking)!r} is not of the model's id2label, {', '.join(self._allowed)}"
            )
        if named == given:
            return dataset
        return dataset.remove_columns("label").add_column("label", named, feature=PAIR["label"])

    def labels(self, dataset: Dataset) -> list[str]:
        """The labels of the kind, whether the data have them all or not."""
        del dataset
        return list(dict.fromkeys(self.spellings.values()))

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> EncodedRows:
        """One row a pair, in the tokenizer's own pair template."""
        del training
        names = {label: i for i, label in enumerate(model_labels(model))}
        segments = takes_segments(model, tokenizer)
        inputs: list[dict[str, Any]] = []
        second: list[int] = []
        for start in range(0, len(dataset), _ENCODED_AT_ONCE):
            batch = dataset[start : start + _ENCODED_AT_ONCE]
            encoded = tokenizer(
                batch["first"],
                batch["second"],
                truncation="longest_first",
                max_length=self.max_length,
                return_token_type_ids=segments,
                return_attention_mask=False,
            )
            for row, label in enumerate(batch["label"]):
                item: dict[str, Any] = {
                    "input_ids": np.array(encoded["input_ids"][row], np.int32),
                    "labels": names.get(label, 0),
                }
                if segments:
                    item["token_type_ids"] = np.array(encoded["token_type_ids"][row], np.int8)
                inputs.append(item)
                if FIRST_LANGUAGE in dataset.column_names:
                    second.append(encoded.sequence_ids(row).index(1))
        return EncodedRows(inputs, range(len(inputs)), [None] * len(inputs), second)

    def reduce(self, logits: Any) -> Any:
        """All of them."""
        return logits

    def decode(self, dataset: Dataset, rows: EncodedRows, outputs: Sequence[RowOutput]) -> Predictions:
        """The best label of each pair."""
        names = list(self._allowed or self.labels(dataset))
        predicted = [""] * len(dataset)
        for example, output in zip(rows.examples, outputs, strict=True):
            predicted[example] = names[int(output.argmax())]
        return predicted

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Accuracy."""
        del language
        gold = list(dataset["label"])
        return {"accuracy": 100 * sum(map(eq, gold, predictions)) / len(gold) if gold else 0.0}


@dataclass
class XNLI(PairTask):
    """Natural language inference: XNLI, MultiNLI, SNLI."""

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
    """Paraphrases: PAWS-X.

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
