"""What tasks with a head have in common: their data, a new head, a fine-tuned one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset, Features
from transformers import PreTrainedModel

from isoglot.corpus.labelled.hub import HubSpec
from isoglot.corpus.labelled.places import DataSource, Place
from isoglot.corpus.labelled.tables import is_table, read_table
from isoglot.tasks.base import load_places
from isoglot.tasks.heads import model_labels, new_head, trained_head


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

    def __post_init__(self) -> None:
        self.name = self.name or self.kind
        self.know(None)

    def know(self, labels: Sequence[str] | None) -> None:
        """Take the labels of the head, which are those that data may have from now on."""

    def read_file(self, place: Place, language: str) -> Dataset:
        """Rows of a file in one of the task's own formats."""
        raise NotImplementedError

    def is_table(self, path: str) -> bool:
        """Whether a path holds rows of the schema rather than one of the task's own formats."""
        return is_table(path)

    def language_of(self, language: str) -> str:
        """The language that rows are in."""
        return language

    def load(self, language: str, split: str) -> Dataset:
        """Rows of the schema."""
        own = self.language_of(language)

        def read(place: Place) -> Dataset:
            if self.is_table(place.path):
                return read_table(
                    place.path, self.schema, language=own, split=split, role=f"{self.name} data"
                )
            return self.read_file(place, own)

        return load_places(
            self.data, language, split, read=read, hub=self.hub, schema=self.schema, group=self.group
        )

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """The pre-trained encoder with a new head."""
        self.know(labels)
        return new_head(self.auto, checkpoint, labels=labels, seed=seed, dropout=dropout)

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """A fine-tuned model."""
        model = trained_head(self.auto, checkpoint, task=self.kind)
        self.know(model_labels(model))
        return model
