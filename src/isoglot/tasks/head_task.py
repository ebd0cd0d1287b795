"""The base of tasks with a head: load the data, make a new head, load a fine-tuned one."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from datasets import Dataset, Features, concatenate_datasets
from transformers import PretrainedConfig, PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.corpus.labelled_tables import is_table, read_table
from isoglot.formats.labelled.hub import HubSpec, read_hub
from isoglot.formats.labelled.sources import DataSource, Location
from isoglot.formats.labelled.splits import rows_of_split
from isoglot.modules.checkpoint import load_checkpoint, load_config
from isoglot.modules.encoder import max_length
from isoglot.results.example_counts import ExampleCounts
from isoglot.runs.reporter import Reporter
from isoglot.tasks.base import Predictions, TrainableTask, group_column, take_part
from isoglot.tasks.cards import origin
from isoglot.tasks.description import changed_options, inherited_options
from isoglot.tasks.encoder_half_heads import class_with_head

_PLACEHOLDER = re.compile(r"LABEL_\d+")

XTREME: Mapping[str, Any] = {"learning_rate": 2e-5, "max_length": 128}
"""Settings for tags and pairs in XTREME's scripts (Hu et al. 2020, appendix B)."""

XTREME_QUESTIONS: Mapping[str, Any] = {
    "learning_rate": 3e-5,
    "epochs": 3,
    "warmup": 500,
    "weight_decay": 1e-4,
    "max_length": 384,
    "windows": "advance",
    "select": "last",
}
"""Questions there: the model of SQuAD, read in windows that begin ``doc_stride`` tokens apart."""

PPA: Mapping[str, Any] = {"epochs": 2, "warmup": 1000, "weight_decay": 0.01, "precision": "mixed"}
"""PPA §3.3, which follows "the standard way of finetuning BERT-like models" (§2.3)."""

ALIGN_MLM: Mapping[str, Any] = {"learning_rate": 2e-5, "max_length": 128, "select": "last"}
"""ALIGN-MLM Table 11. The authors' scripts keep the last checkpoint: the dev set is the one they report."""

XLM_ALIGN: Mapping[str, Any] = {"warmup": 0.1, "weight_decay": 0.0, "max_length": 128, "select": "joint"}
"""XLM-Align Table 12, searched on the joint dev data of all languages. Lengths are not given: XTREME's."""


@dataclass
class HeadTask:
    """Data on disk or on the hub, and one of the library's heads.

    Args:
        data: Where the data are.
        name: In results; by default the kind.
    """

    data: DataSource
    name: str = ""
    kind: ClassVar[str]
    auto: ClassVar[Any]
    hub: ClassVar[HubSpec]
    schema: ClassVar[Features]
    group: ClassVar[tuple[str, ...]] = ()
    named_options: ClassVar[frozenset[str]] = frozenset()
    """Options that were named when the task was built, even with their default values."""

    def __post_init__(self) -> None:
        self.name = self.name or self.kind
        self.know(None)

    def know(self, labels: Sequence[str] | None) -> None:
        """Take the labels of the head; after this, data with other labels are refused."""

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """A copy of the task. Options that were not named have the values of the model's fine-tuning."""
        inherited = inherited_options(self, origin(checkpoint))
        named = changed_options(self, {}).keys() | self.named_options
        return replace(self, **{name: value for name, value in inherited.items() if name not in named})

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """Rows of a file in one of the task's own formats."""
        raise NotImplementedError

    def is_table(self, path: str) -> bool:
        """Whether a path holds rows of the schema rather than one of the task's own formats."""
        return is_table(path)

    def language_of(self, language: str) -> str:
        """The language that rows are in."""
        return language

    def load(self, language: str, split: str) -> Dataset:
        """Rows of the schema: of every place that has the language and split, the part that was asked for."""
        tag = self.language_of(language)
        parts = []
        for location in self.data.find(language, split):
            path = location.path
            if location.on_hub:
                rows = read_hub(location, self.hub, self.schema, language=language, split=split)
            elif location.rows is not None or self.is_table(path):
                role = f"{self.name} data"
                rows = read_table(path, self.schema, language=tag, split=split, role=role, rows=location.rows)
            else:
                rows = self.read_file(location, tag, split)
            rows = rows_of_split(rows, split, source=f"{self.name}: {path}")
            if not location.whole:
                rows = take_part(rows, location.start, location.stop, group=group_column(rows, self.group))
            parts.append(rows)
        if len(parts) == 1:
            return parts[0]
        # Files of one task may differ in columns that no task needs, such as ids.
        shared = [name for name in parts[0].column_names if all(name in part.column_names for part in parts)]
        return concatenate_datasets([part.select_columns(shared) for part in parts])

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """The pre-trained encoder with a new head.

        ``seed`` decides the weights of the head, and of a pooler that the checkpoint lacks. ``dropout`` replaces every
        rate of dropout in the configuration.
        """
        self.know(labels)
        named: dict[str, Any] = {}
        if labels is not None:
            self._require_two(labels)
            numbers = dict(enumerate(labels))
            named = {"id2label": numbers, "label2id": {name: i for i, name in numbers.items()}}
        config = load_config(checkpoint, **named)
        if dropout is not None:
            rates = [k for k, v in config.to_dict().items() if "dropout" in k and isinstance(v, int | float)]
            config.update(dict.fromkeys(rates, dropout))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "head"))
            return load_checkpoint(
                class_with_head(self.auto, config), checkpoint, config=config, new_head=True
            )

    def _require_two(self, labels: Sequence[str] | None) -> None:
        """Refuse a single label: one output is a regression to the library."""
        if labels is not None and len(labels) < 2:
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): the only label of the training data is "
                f"{labels[0]!r}; two or more are needed"
            )

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """A fine-tuned model."""
        without_head = (
            f"has no head for {self.kind}; run `isoglot finetune {checkpoint} --task {self.kind} ...` first and "
            "evaluate what it writes"
        )
        auto = class_with_head(self.auto, load_config(checkpoint))
        model = load_checkpoint(auto, checkpoint, without_head=without_head)
        _require_clear_labels(model.config, checkpoint)
        self.know(model_labels(model))
        return model

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Metrics as counts of each example."""
        raise NotImplementedError

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Metrics in %."""
        counts = self.counts(dataset, predictions, language=language)
        return {name: count.value for name, count in counts.items()}


def keep_label_values(model: PreTrainedModel, labels: Sequence[str], values: Mapping[str, Any]) -> None:
    """Keep in a head's ``config.json`` which labels are numbers, or true and false, in the training data.

    transformers keeps labels as texts, so a label 1 would come back from `predict` as "1". ``values``: Text of a label
    to its value. Labels that are texts are not kept.
    """
    kept = {label: values[label] for label in labels if label in values}
    if kept:
        model.config.label_values = kept


def label_values(model: PreTrainedModel) -> dict[str, Any]:
    """The labels of a head that are not texts, by their text in ``id2label``: ``{"1": 1}``."""
    values = getattr(model.config, "label_values", None)
    return dict(values) if isinstance(values, Mapping) else {}


def fit_length(task: TrainableTask, model: PreTrainedModel, report: Reporter) -> None:
    """Lower a task's ``max_length`` to the number of positions that the encoder has."""
    longest = max_length(model)
    if longest is not None and task.max_length > longest:
        report.note(
            f"max_length {task.max_length} is more than the encoder's {longest} positions; {longest} is used"
        )
        task.max_length = longest


def _require_clear_labels(config: PretrainedConfig, checkpoint: str | Path) -> None:
    """Refuse a head whose outputs are named in two ways, or that have the same name."""
    names = {int(number): str(name) for number, name in (config.id2label or {}).items()}
    numbers = {str(name): int(number) for name, number in (config.label2id or {}).items()}
    problem = ""
    if sorted(names) != list(range(len(names))):
        problem = f"id2label numbers the outputs {', '.join(map(str, sorted(names)))}, and they count from 0"
    elif twice := [name for name, count in Counter(names.values()).items() if count > 1]:
        problem = f"id2label names several outputs {twice[0]!r}"
    elif not all(map(_PLACEHOLDER.fullmatch, numbers)):  # what transformers writes where nobody named them
        by_name = {name: number for number, name in names.items()}
        if differing := [name for name in by_name | numbers if by_name.get(name) != numbers.get(name)]:
            output, label = (side.get(differing[0], "not there") for side in (by_name, numbers))
            problem = f"{differing[0]!r} is {output} in id2label and {label} in label2id"
    if problem:
        raise ConfigurationError(f"{checkpoint}: {problem}; correct its config.json")


def model_labels(model: PreTrainedModel) -> list[str]:
    """Names of the head's outputs, in order."""
    names: dict[Any, Any] = dict(model.config.id2label or {})
    return [str(names[i]) for i in sorted(names, key=int)]
