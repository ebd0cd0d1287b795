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
"""Names that transformers gives to outputs that nobody named: ``LABEL_0``."""

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
"""Settings for questions in XTREME's scripts, for a model of SQuAD.

The windows over a context begin ``doc_stride`` tokens apart (``advance``).
"""

PPA: Mapping[str, Any] = {"epochs": 2, "warmup": 1000, "weight_decay": 0.01, "precision": "mixed"}
"""Settings of PPA §3.3, which follows "the standard way of finetuning BERT-like models" (§2.3)."""

ALIGN_MLM: Mapping[str, Any] = {"learning_rate": 2e-5, "max_length": 128, "select": "last"}
"""Settings of ALIGN-MLM Table 11. The authors' scripts keep the last checkpoint: they report scores on the dev set."""

XLM_ALIGN: Mapping[str, Any] = {"warmup": 0.1, "weight_decay": 0.0, "max_length": 128, "select": "joint"}
"""Settings of XLM-Align Table 12, searched on the joint dev data of all languages.

The paper does not give the lengths; they are XTREME's.
"""


@dataclass
class HeadTask:
    """A task whose data are on disk, on the hub or in memory, and whose head is one of transformers'.

    Args:
        data: Where the data are.
        name: In results; by default the kind.
    """

    data: DataSource
    name: str = ""
    kind: ClassVar[str]
    auto: ClassVar[Any]
    """The ``AutoModelFor...`` class of the head."""
    hub: ClassVar[HubSpec]
    schema: ClassVar[Features]
    group: ClassVar[tuple[str, ...]] = ()
    named_options: ClassVar[frozenset[str]] = frozenset()
    """Options that were named when the task was built, even with their default values.

    A task that :func:`isoglot.tasks.build_task` made has its own set; other tasks have this empty one.
    """

    def __post_init__(self) -> None:
        self.name = self.name or self.kind
        self.know(None)

    def know(self, labels: Sequence[str] | None) -> None:
        """Take the labels of the head; after this, data with other labels are refused.

        ``None``, at the start, names no labels: a classifier then takes any, a tagger those it ``allowed`` already.
        """

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """Copy the task, with the values that the model was fine-tuned with for options that were not given.

        An option counts as given if it was named when the task was built by name, even with its default value, or if
        its value is not the default.
        """
        inherited = inherited_options(self, origin(checkpoint))
        given = changed_options(self, {}).keys() | self.named_options
        return replace(self, **{name: value for name, value in inherited.items() if name not in given})

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """Read the rows of a file in one of the task's own formats."""
        raise NotImplementedError

    def is_table(self, path: str) -> bool:
        """Whether a path holds rows of the schema rather than one of the task's own formats."""
        return is_table(path)

    def language_of(self, language: str) -> str:
        """Return the language that rows are in; a subclass may also take a pair of languages."""
        return language

    def load(self, language: str, split: str) -> Dataset:
        """Load rows of the schema from every place that has data of the language and split.

        A place may be asked for in part only, such as the last fifth of its rows as development data.
        """
        row_language = self.language_of(language)
        parts = []
        for location in self.data.find(language, split):
            path = location.path
            if location.on_hub:
                # The name of a configuration on the hub may need the whole pair: `MLQA.{context}.{question}`.
                rows = read_hub(location, self.hub, self.schema, language=language, split=split)
            elif location.rows is not None or self.is_table(path):
                role = f"{self.name} data"
                rows = read_table(
                    path, self.schema, language=row_language, split=split, role=role, rows=location.rows
                )
            else:
                rows = self.read_file(location, row_language, split)
            rows = rows_of_split(rows, split, source=f"{self.name}: {path}")
            if not location.whole:
                rows = take_part(rows, location.start, location.stop, group=group_column(rows, self.group))
            parts.append(rows)
        if len(parts) == 1:
            return parts[0]
        # Files of one task may differ in columns that no task needs, such as ids. Keep the columns that all have.
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
        """Load the pre-trained encoder with a new head.

        ``seed`` decides the weights of the head, and of a pooler that the checkpoint lacks. ``dropout`` replaces every
        rate of dropout in the configuration.
        """
        self.know(labels)
        outputs: dict[str, Any] = {}
        if labels is not None:
            self._require_two(labels)
            outputs["id2label"] = dict(enumerate(labels))
            outputs["label2id"] = {label: number for number, label in enumerate(labels)}
        config = load_config(checkpoint, **outputs)
        if dropout is not None:
            # Families name their rates differently: hidden_dropout_prob, attention_dropout, seq_classif_dropout.
            for name, value in config.to_dict().items():
                if "dropout" in name and isinstance(value, int | float):
                    config.update({name: dropout})
        # The seed decides the new weights, and torch's global generator stays where it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "head"))
            return load_checkpoint(
                class_with_head(self.auto, config), checkpoint, config=config, new_head=True
            )

    def _require_two(self, labels: Sequence[str] | None) -> None:
        """Refuse a single label: transformers takes a head with one output for a regression."""
        if labels is not None and len(labels) < 2:
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): the only label of the training data is "
                f"{labels[0]!r}; two or more are needed"
            )

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """Load a fine-tuned model. After this, data with labels that the model does not have are refused."""
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
        """Count the metrics for each example."""
        raise NotImplementedError

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """Return the metrics in %: the counts of all examples together."""
        counts = self.counts(dataset, predictions, language=language)
        return {name: count.value for name, count in counts.items()}


def keep_label_values(model: PreTrainedModel, labels: Sequence[str], values: Mapping[str, Any]) -> None:
    """Keep in a head's ``config.json`` the labels that are numbers, or true and false, in the training data.

    transformers keeps labels as texts, so a label 1 would come back from `predict` as "1".

    ``labels``: The labels of the head, as texts.
    ``values``: Text of a label to its value, ``{"1": 1}``; labels that are texts are not in it.
    """
    kept = {label: values[label] for label in labels if label in values}
    if kept:
        model.config.label_values = kept


def label_values(model: PreTrainedModel) -> dict[str, Any]:
    """Return the labels of a head that are not texts, by their text in ``id2label``: ``{"1": 1}``."""
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
    """Refuse a head whose ``config.json`` does not say clearly which output is which label.

    1. ``id2label`` numbers all outputs from 0: not ``{1: "yes", 2: "no"}``.
    2. No two outputs have one name.
    3. ``label2id`` says the same as ``id2label``, unless it holds nothing but the names that transformers makes up,
       such as ``LABEL_0``: then only ``id2label`` was filled in.
    """
    problem = _problem_of_labels(config)
    if problem:
        raise ConfigurationError(f"{checkpoint}: {problem}; correct its config.json")


def _problem_of_labels(config: PretrainedConfig) -> str:
    """Return the first broken rule of :func:`_require_clear_labels`, or an empty text."""
    name_of = {int(number): str(name) for number, name in (config.id2label or {}).items()}
    number_of = {str(name): int(number) for name, number in (config.label2id or {}).items()}
    if sorted(name_of) != list(range(len(name_of))):  # 1
        return f"id2label numbers the outputs {', '.join(map(str, sorted(name_of)))}, and they count from 0"
    for name, count in Counter(name_of.values()).items():  # 2
        if count > 1:
            return f"id2label names several outputs {name!r}"
    if all(_PLACEHOLDER.fullmatch(name) for name in number_of):  # 3
        return ""
    number_in_id2label = {name: number for number, name in name_of.items()}
    for name in number_in_id2label | number_of:
        first, second = number_in_id2label.get(name, "not there"), number_of.get(name, "not there")
        if first != second:
            return f"{name!r} is {first} in id2label and {second} in label2id"
    return ""


def model_labels(model: PreTrainedModel) -> list[str]:
    """Return the names of a head's outputs, in order."""
    names: dict[Any, Any] = dict(model.config.id2label or {})
    return [str(names[number]) for number in sorted(names, key=int)]
