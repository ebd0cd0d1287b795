"""Word links for objectives: from the corpus, from the encoder itself, or from one after the other."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from torch import Tensor
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective, OpenBatch

Labels = Literal["self", "corpus", "corpus_then_self"]


@dataclass(eq=False, repr=False)
class LinkObjective(LayerObjective):
    """An objective whose links come from the corpus or from the encoder itself.

    Args:
        labels: Where the links come from: ``self``, the encoder's states; ``corpus``, the view's links; or
            ``corpus_then_self``, which changes after ``self_after_step``.
        self_after_step: Number of optimiser steps with corpus links, for ``corpus_then_self``.
    """

    _: KW_ONLY
    labels: Labels = "self"
    self_after_step: int | None = None

    def check_options(self) -> None:
        """A change of labels has its step."""
        if (self.labels == "corpus_then_self") != (self.self_after_step is not None):
            text = (
                f"got {self.labels} with self_after_step: {self.self_after_step}; corpus_then_self needs a step and "
                "the others take none: labels: corpus_then_self, self_after_step: 10000"
            )
            raise ConfigurationError(Problem(text, ("labels",)))

    @abstractmethod
    def own_links(self, encodings: Encodings, batch: Batch) -> Tensor:
        """The links that the encoder itself finds in a batch."""

    def look_ahead(self, encodings: Encodings, batch: OpenBatch) -> None:
        """Have the encoder find its links now, so that they can be counted."""
        if not self.from_corpus():
            view = batch[self.view]
            device = next(iter(view.values())).device
            view[self._ahead] = self.own_links(encodings, encodings.batch).to(device)

    def links_ahead(self, batch: Batch) -> Tensor | None:
        """What :meth:`look_ahead` found; ``None`` where it was not called."""
        return batch[self.view].get(self._ahead)

    @property
    def _ahead(self) -> str:
        return f"links_{id(self)}"  # another objective on the view finds others

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Count the step, for the change of links."""
        self.step += 1

    def from_corpus(self) -> bool:
        """Whether links are the corpus's at this step."""
        changes = self.self_after_step
        return self.labels == "corpus" or (changes is not None and int(self.step) < changes)
